"""Lets several commands carry one list of options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from dpfy.cli import options

READING: Mapping[str, tuple[Any, Any]] = {
    "separator": (options.Separator, "auto"),
    "decimal_mark": (options.DecimalMark, "auto"),
    "thousands": (options.Thousands, "auto"),
    "encoding": (options.Encoding, "auto"),
    "header": (options.Header, "auto"),
    "quote": (options.Quote, '"'),
    "missing": (options.Missing, None),
    "dates": (options.Dates, "auto"),
    "date_format": (options.DateFormat, None),
    "exclude": (options.Exclude, None),
    "blanks": (options.Blanks, "keep"),
    "largest_cell": (options.LargestCell, None),
}
FITTING: Mapping[str, tuple[Any, Any]] = {
    "delta": (options.Delta, None),
    "user": (options.User, None),
    "max_records_per_user": (options.MaxRecords, None),
    "distinct_owners": (options.DistinctOwners, False),
    "counting": (options.Counting, "rows"),
    "schema": (options.Schema, None),
    "generator": (options.Generator, "marginal"),
    "target": (options.Target, None),
    "name": (options.Name, None),
    "population": (options.Population, None),
    "exclude_users": (options.ExcludeUsers, None),
    "where": (options.Where, None),
    "rule": (options.Rule, None),
    "workspace": (options.Workspace, None),
    "json_output": (options.Json, False),
    **READING,
}


def carries(shared: Mapping[str, tuple[Any, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds options to a command whose function takes them as keywords.

    Args:
        shared: annotation and default by parameter name.
    """

    def add(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in shared.items()
        ]
        own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        command.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in [*own, *more]}
        return command

    return add
