"""The workspace folder and its keys."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpfy.errors import SourceError, SpecError
from dpfy.ledger.workspace import Workspace


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_comes_from_the_argument_the_variable_or_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPFY_HOME", raising=False)
    assert Workspace.locate().folder.resolve() == tmp_path / ".dpfy"
    monkeypatch.setenv("DPFY_HOME", str(tmp_path / "set"))
    assert Workspace.locate().folder == tmp_path / "set"
    assert Workspace.locate(tmp_path / "given").folder == tmp_path / "given"
    assert mode(tmp_path / "given") == 0o700


def test_keys_are_created_once_and_for_the_owner_only(tmp_path: Path) -> None:
    workspace = Workspace.locate(tmp_path / "home")
    key, signing = workspace.fingerprint_key, workspace.signing_key
    assert len(key) == 32
    again = Workspace.locate(tmp_path / "home")
    assert again.fingerprint_key == key
    assert again.signing_key.private_bytes_raw() == signing.private_bytes_raw()
    files = sorted(path.name for path in workspace.folder.iterdir())
    assert files == ["fingerprint.key", "signing.pem"]
    assert {mode(path) for path in workspace.folder.iterdir()} == {0o600}


def test_of_many_that_create_a_key_at_once_all_read_the_same(tmp_path: Path) -> None:
    workspace = Workspace.locate(tmp_path)
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: workspace.fingerprint_key, range(64)))) == 1


def test_fingerprints_depend_on_content_and_key(tmp_path: Path) -> None:
    one, other = Workspace.locate(tmp_path / "one"), Workspace.locate(tmp_path / "other")
    assert one.fingerprint(b"x") == one.fingerprint(b"x")
    assert len({one.fingerprint(b"x"), one.fingerprint(b"y"), other.fingerprint(b"x")}) == 3


def test_a_folder_that_is_a_file_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecError, match="file"):
        Workspace.locate(tmp_path / "file")


@pytest.mark.parametrize("name", ["fingerprint.key", "signing.pem"])
def test_changed_keys_are_refused(tmp_path: Path, name: str) -> None:
    workspace = Workspace.locate(tmp_path)
    (tmp_path / name).write_bytes(b"short")
    with pytest.raises(SourceError, match=name):
        _ = workspace.fingerprint_key if name.startswith("f") else workspace.signing_key
