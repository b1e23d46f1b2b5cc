"""Use case: read a sealed generator's statement."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfy.ledger.workspace import Workspace
from dpfy.sealed.file import read_sealed

__all__ = ["Seen", "look"]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a sealed generator says of itself.

    Args:
        statement: the privacy statement.
        signed_by: hex public key of who sealed it.
        sealed_here: that key is the workspace's.
    """

    statement: dict[str, Any]
    signed_by: str
    sealed_here: bool


def look(model: Path, workspace: Path | None) -> Seen:
    """Checks a .dpfy file and reads its statement; a workspace that is not there is not made.

    Raises:
        SealBrokenError: when the file is none, is damaged, or was changed after sealing.
    """
    parts = read_sealed(model, statement_only=True)
    folder = Path(workspace or os.environ.get("DPFY_HOME") or ".dpfy")
    here = ""
    if (folder / "signing.pem").exists():
        here = Workspace.locate(folder).signing_key.public_key().public_bytes_raw().hex()
    return Seen(statement=dict(parts.statement), signed_by=parts.signed_by, sealed_here=here == parts.signed_by)
