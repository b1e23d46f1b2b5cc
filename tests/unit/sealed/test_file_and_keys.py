"""The sealed file detects every change; keys are fresh, unique and of the wanted shape."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpfy.errors import SealBrokenError, SpecError
from dpfy.sealed.file import SealedParts, read_sealed, write_sealed
from dpfy.sealed.keys import KeyMaker, KeyPattern

KEY = Ed25519PrivateKey.generate()


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    path = tmp_path / "m.dpfy"
    parts = SealedParts(
        statement={"epsilon": 1.0, "words": "ä" * 400}, generator={"model": [1, 2]}, arrays={"x": np.arange(500.0)}
    )
    write_sealed(path, parts, KEY)
    return path


def test_what_is_written_comes_back(sealed: Path) -> None:
    parts = read_sealed(sealed)
    assert parts.statement["epsilon"] == 1.0
    assert parts.generator == {"model": [1, 2]}
    np.testing.assert_array_equal(parts.arrays["x"], np.arange(500.0))
    assert parts.signed_by == KEY.public_key().public_bytes_raw().hex()


def test_every_changed_byte_is_seen(sealed: Path) -> None:
    original = sealed.read_bytes()
    seen = 0
    for place in range(0, len(original), max(1, len(original) // 150)):
        changed = bytearray(original)
        changed[place] ^= 0x41
        sealed.write_bytes(bytes(changed))
        try:
            parts = read_sealed(sealed)
        except SealBrokenError:
            seen += 1
        else:
            # A byte that no reader looks at, such as a zip attribute: what is read must be unchanged.
            assert parts.statement["epsilon"] == 1.0
            assert parts.arrays["x"].sum() == np.arange(500.0).sum()
    assert seen > 100


def repacked(path: Path, **changed: bytes | None) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= {name.replace("__", "."): data for name, data in changed.items() if data is not None}
    for name in [n.replace("__", ".") for n, data in changed.items() if data is None]:
        members.pop(name)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    "change",
    [
        {"statement__json": b'{"epsilon": 0.1}'},
        {"signature": b"0" * 64},
        {"signature": None},
        {"extra__json": b"{}"},
        {"arrays__npz": b"none"},
        {"manifest__json": b"{}"},
        {"manifest__json": b"[]"},
    ],
)
def test_exchanged_parts_are_refused(sealed: Path, change: dict[str, bytes | None]) -> None:
    repacked(sealed, **change)
    with pytest.raises(SealBrokenError):
        read_sealed(sealed)


def test_a_new_manifest_needs_the_key(sealed: Path) -> None:
    import hashlib

    with zipfile.ZipFile(sealed) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    forged = b'{"epsilon": 0.1}'
    manifest["sha256"]["statement.json"] = hashlib.sha256(forged).hexdigest()
    repacked(sealed, statement__json=forged, manifest__json=json.dumps(manifest).encode())
    with pytest.raises(SealBrokenError):
        read_sealed(sealed)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"hello" * 100])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.dpfy"
    path.write_bytes(data)
    with pytest.raises(SealBrokenError):
        read_sealed(path)
    with pytest.raises(SealBrokenError):
        read_sealed(tmp_path / "not there.dpfy")


def test_arrays_hold_no_objects(tmp_path: Path) -> None:
    parts = SealedParts(statement={}, generator={}, arrays={"x": np.array([object()], dtype=object)})
    with pytest.raises(ValueError):
        write_sealed(tmp_path / "m.dpfy", parts, KEY)
    assert list(tmp_path.iterdir()) == []


def test_statements_hold_no_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_sealed(tmp_path / "m.dpfy", SealedParts(statement={"e": float("nan")}, generator={}, arrays={}), KEY)


@pytest.mark.parametrize(
    ("pattern", "shape"),
    [
        ("case-[0-9]{4}", r"case-\d{4}"),
        (r"\d\d[A-F]{3}", r"\d\d[A-F]{3}"),
        ("[a-c][xyz]", "[a-c][xyz]"),
        (r"\[\d{6}\]", r"\[\d{6}\]"),
    ],
)
def test_keys_have_their_shape_and_never_repeat(pattern: str, shape: str) -> None:
    maker = KeyMaker.fresh(pattern, "id", np.random.default_rng(0))
    capacity = KeyPattern.parse(pattern).capacity
    size = min(capacity, 5000)
    found = [*maker.values(np.arange(size // 2)), *maker.values(np.arange(size // 2, size))]
    assert len(set(found)) == size
    assert all(re.fullmatch(shape, value) for value in found)


def test_patterns_that_run_out_say_so() -> None:
    maker = KeyMaker.fresh("case-[0-9]", "id", np.random.default_rng(0))
    maker.check(10)
    with pytest.raises(SpecError, match="pattern"):
        maker.check(11)


@pytest.mark.parametrize("pattern", ["", "[z-a]"])
def test_patterns_that_are_none(pattern: str) -> None:
    with pytest.raises(SpecError):
        KeyPattern.parse(pattern)
