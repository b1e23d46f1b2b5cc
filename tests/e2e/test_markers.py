"""A unique token in every cell of a table appears in no artifact, log, error or temporary file."""

from __future__ import annotations

import base64
import gzip
import io
import zipfile
from pathlib import Path

import pytest

from tests.e2e.command import dpfy

MARK = "zqx-"


def marked_table(path: Path, *, ragged: bool = False) -> None:
    """300 rows in which every cell of every column is unique."""
    with path.open("w") as stream:
        stream.write("person,name,note,number,money,day\n")
        for row in range(300):
            number = 7_731_000_000 + row
            more = ",surplus" if ragged and row == 250 else ""
            stream.write(
                f'{MARK}u{row},{MARK}n{row},"{MARK}t{row}, quoted",{number},{88_311_000 + row}.25,'
                f"{1900 + row // 12}-{1 + row % 12:02d}-17{more}\n"
            )


def forms(token: str) -> list[bytes]:
    """A token as it may stand in bytes."""
    plain = token.encode()
    shifted = []
    for shift in (0, 1, 2):
        # Only the characters that depend on nothing but the token.
        first, last = -(-8 * shift // 6), 8 * (shift + len(plain)) // 6
        shifted.append(base64.b64encode(bytes(shift) + plain + bytes(3))[first:last])
    long_enough = [form for form in shifted if len(form) >= 5]
    return [plain, token.encode("utf-16-le"), token.encode("utf-16-be"), plain.hex().encode(), *long_enough]


def contents(path: Path) -> list[bytes]:
    """A file's bytes, and what is packed inside it."""
    data = path.read_bytes()
    found = [data]
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                found.append(archive.read(name))
                if zipfile.is_zipfile(io.BytesIO(found[-1])):
                    with zipfile.ZipFile(io.BytesIO(found[-1])) as inner:
                        found += [inner.read(part) for part in inner.namelist()]
    if data[:2] == b"\x1f\x8b":
        found.append(gzip.decompress(data))
    return found


def leaks(places: list[Path], texts: list[str], exact: list[str]) -> list[str]:
    """Where a marker shows."""
    tokens = [form for token in (MARK, *exact) for form in forms(token)]
    found = [f"text: {t[:80]}" for t in texts if any(form in t.encode() for form in tokens)]
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and any(form in data for data in contents(path) for form in tokens):
                found.append(str(path))
            if any(form in str(path).encode() for form in tokens):
                found.append(f"name of {path}")
    return found


EXACT = ["7731000000", "7731000299", "88311000.25", "8831100025", "88311299.25", "1924-12-17"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--user", "person", "--max-records-per-user", "2"],
        ["--user", "person"],
        ["--where", "number > 5"],
        ["--target", "name"],
        ["--where", "cast(name as integer) > 5"],
        ["--where", "note = 3"],
        ["--date-format", "day=%d/%m/%Y"],
        ["--delta", "0.02"],
    ],
)
def test_no_cell_leaves_the_red_zone(tmp_path: Path, options: list[str]) -> None:
    source = tmp_path / "in" / "marked.csv"
    source.parent.mkdir()
    marked_table(source)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    done = dpfy(
        "synth", source, "--epsilon", 5, "--out", out / "o.csv", "--json", *options,
        home=tmp_path / "home", cwd=out, TMPDIR=str(temporary),
    )  # fmt: skip
    assert done.code in (0, 2), done.err
    assert leaks([out, tmp_path / "home", temporary], [done.out, done.err], EXACT) == []
    assert list(temporary.iterdir()) == []


def test_errors_do_not_quote_cells(tmp_path: Path) -> None:
    source = tmp_path / "ragged.csv"
    marked_table(source, ragged=True)
    for options in ([], ["--encoding", "utf-16"], ["--separator", ";"], ["--decimal", ","], ["--header", "no"]):
        done = dpfy("synth", source, "--epsilon", 5, "--out", tmp_path / "o.csv", *options, home=tmp_path / "home")
        assert leaks([tmp_path / "home"], [done.out, done.err], EXACT) == []
        assert "Traceback" not in done.err
    proposed = dpfy("schema", source, home=tmp_path / "home")
    assert leaks([], [proposed.out, proposed.err], EXACT) == []


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.dpfy", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("statement.json", f'"{MARK}n7"')
    (tmp_path / "b.bin").write_bytes(f"xx{MARK}".encode("utf-16-le"))
    (tmp_path / "c.txt").write_bytes(base64.b64encode(f"ab{MARK}cdef".encode()))
    assert len(leaks([tmp_path], [f"see {MARK}u1"], [])) == 4
