"""Reading tables of people: files and data frames into one read-only private table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["PrivateTable", "Source", "open_source"]

if TYPE_CHECKING:
    from dpfy.ingest.private_table import PrivateTable
    from dpfy.ingest.source import Source, open_source

_HOMES = {"PrivateTable": "private_table", "Source": "source", "open_source": "source"}


def __getattr__(name: str) -> Any:
    """Loads the engines on first use."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"dpfy.ingest.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'dpfy.ingest' has no attribute {name!r}")
