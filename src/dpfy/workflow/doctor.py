"""Use case: is everything in order?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dpfy.errors import DpfyError
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.workspace import Workspace
from dpfy.noise.source import SecureSource

__all__ = ["examine"]

_PACKAGES = ("duckdb", "pyarrow", "numpy", "scipy", "dp-accounting", "cryptography", "scikit-learn")


def examine(workspace: Path | None) -> list[dict[str, Any]]:
    """Runs every check; each finding has check, ok and detail."""
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("python", _python),
        ("packages", _packages),
        ("noise", _noise),
        ("workspace", lambda: _workspace(workspace)),
        ("ledger", lambda: _ledger(workspace)),
    )
    findings = []
    for name, check in checks:
        try:
            findings.append({"check": name, "ok": True, "detail": check()})
        except DpfyError as error:
            findings.append({"check": name, "ok": False, "detail": str(error)})
    return findings


def _python() -> str:
    found = sys.version.split()[0]
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        raise DpfyError(f"Python {found}; 3.11 to 3.13 is needed.")
    return found


def _packages() -> str:
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            raise DpfyError(f"{package} is not installed.", hint="pip install dpfy") from None
    return ", ".join(found)


def _noise() -> str:
    first, second = SecureSource().words(64), SecureSource().words(64)
    if (first == second).any():
        raise DpfyError("the operating system's randomness repeats itself.")
    return "AES-256-CTR keyed by the operating system"


def _workspace(workspace: Path | None) -> str:
    place = Workspace.locate(workspace)
    mode = place.folder.stat().st_mode & 0o777
    if mode & 0o077:
        raise DpfyError(f"{place.folder} can be read by others (mode {mode:o}).", hint=f"chmod 700 {place.folder}")
    place.check_keys()
    return str(place.folder)


def _ledger(workspace: Path | None) -> str:
    with Ledger.open(Workspace.locate(workspace)) as ledger:
        return f"journal of {ledger.verify()} entries replays to the balances"
