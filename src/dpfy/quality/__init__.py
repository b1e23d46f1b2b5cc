"""Compares a real table with a synthetic one, inside the red zone.

**Privacy:** nothing here is noised or charged. Every figure is computed from raw data and is for the
data owner only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["QualityFigures", "ReportColumn", "ReportFiles", "compare", "write_report"]

if TYPE_CHECKING:
    from dpfy.quality.comparison import compare
    from dpfy.quality.figures import QualityFigures, ReportColumn
    from dpfy.quality.report import ReportFiles, write_report

_HOMES = {
    "QualityFigures": "figures",
    "ReportColumn": "figures",
    "ReportFiles": "report",
    "compare": "comparison",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    """Loads the parts on first use, so that importing the room stays light."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"dpfy.quality.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'dpfy.quality' has no attribute {name!r}")
