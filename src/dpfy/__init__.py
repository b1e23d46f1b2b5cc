"""dpfy: synthetic tables about people under one differential-privacy guarantee for a whole user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "fit", "load", "synth"]

if TYPE_CHECKING:
    from dpfy.workflow.fit import fit
    from dpfy.workflow.load import load
    from dpfy.workflow.synth import synth


def __getattr__(name: str) -> Any:
    """Loads the workflows on first use, so that `import dpfy` stays fast."""
    if name in ("fit", "load", "synth"):
        from importlib import import_module

        return getattr(import_module(f"dpfy.workflow.{name}"), name)
    raise AttributeError(f"module 'dpfy' has no attribute {name!r}")
