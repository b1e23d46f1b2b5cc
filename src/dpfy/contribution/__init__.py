"""Filters, opt-outs, owners, and the bound on what one user contributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfy.contribution.bounding import BoundedTable, bound
    from dpfy.contribution.owners import parse_user_option
    from dpfy.contribution.records_per_user import PUBLIC_EDGES, choose_cap, rows_per_user_histogram

__all__ = [
    "PUBLIC_EDGES",
    "BoundedTable",
    "bound",
    "choose_cap",
    "parse_user_option",
    "rows_per_user_histogram",
]

_HOMES = {
    "BoundedTable": "bounding",
    "bound": "bounding",
    "parse_user_option": "owners",
    "PUBLIC_EDGES": "records_per_user",
    "choose_cap": "records_per_user",
    "rows_per_user_histogram": "records_per_user",
}


def __getattr__(name: str) -> Any:
    # NumPy loads when a name that needs it is asked for, so that a shell can set its threads first.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dpfy.contribution.{_HOMES[name]}"), name)
