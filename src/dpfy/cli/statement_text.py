"""A statement as text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

_SINGLE = (
    ("data set", "dataset"),
    ("made", "date"),
    ("unit", "privacy_unit"),
    ("neighbours", "adjacency_words"),
    ("bound", "contribution_bound"),
    ("counting", "counting"),
    ("mechanisms", "mechanisms"),
    ("composition", "composition"),
    ("accountant", "accountant"),
    ("noise", "noise"),
    ("trust", "trust"),
    ("access", "access"),
    ("releases", "releases"),
    ("tuning", "tuning"),
    ("utility", "utility"),
    ("evidence", "evidence"),
)


def statement_text(statement: Mapping[str, Any]) -> str:
    """Lays a statement out for a terminal of 100 columns."""
    lines = [f"epsilon {statement['epsilon']:.6g}   delta {statement['delta']:.3g}", ""]
    lines += [*textwrap.wrap(statement["plain_words"], 98), ""]
    for title, key in (entry for entry in _SINGLE if entry[1] in statement):
        lines += textwrap.wrap(f"{title + ':':<13}{statement[key]}", 98, subsequent_indent=" " * 13)
    lines += ["", "spent on (share of the Gaussian budget):"]
    by_kind: dict[str, float] = {}
    for charge in statement["charges"]:
        by_kind[charge["kind"]] = by_kind.get(charge["kind"], 0.0) + charge["share"]
    lines += [f"  {kind:<10}{share:7.1%}" for kind, share in by_kind.items()]
    lines += ["", "public inputs:"]
    for entry in statement["public_inputs"]:
        lines += textwrap.wrap(f"- {entry}", 98, initial_indent="  ", subsequent_indent="    ")
    lines += ["", "NOT protected:"]
    for entry in statement["not_protected"]:
        lines += textwrap.wrap(f"- {entry}", 98, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)
