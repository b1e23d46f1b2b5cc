"""The ledger as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines with columns of equal width."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    ]
    return "\n".join(lines)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def accounts_text(accounts: Sequence[Mapping[str, Any]]) -> str:
    """One line an account."""
    if not accounts:
        return "The ledger is empty."
    head = ("data sets", "spent epsilon", "spent delta", "held epsilon", "cap epsilon", "remaining", "runs")
    return table(
        head,
        [
            (
                ", ".join(a["names"]),
                _figure(a["spent_epsilon"]),
                _figure(a["spent_delta"]),
                _figure(a["held_epsilon"]),
                _figure(a["cap_epsilon"]),
                _figure(a["remaining_epsilon"]),
                str(a["runs"]),
            )
            for a in accounts
        ],
    )


def history_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """One line a run."""
    if not entries:
        return "No runs."
    head = ("time", "data set", "operation", "state", "epsilon", "delta", "mechanism runs")
    return table(
        head,
        [
            (
                e["time"],
                e["dataset"],
                e["operation"],
                e["state"],
                _figure(e["epsilon"]),
                _figure(e["delta"]),
                str(len(e["charges"])),
            )
            for e in entries
        ],
    )
