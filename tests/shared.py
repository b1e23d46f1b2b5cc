"""Where the shared data and cases lie; tests that need them skip by name when they are not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("DPFY_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared(name: str) -> Path:
    """A shared file or folder.

    Args:
        name: relative to the shared folder, such as "data/randhie.csv".
    """
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"shared/{name} is not there")
    return path
