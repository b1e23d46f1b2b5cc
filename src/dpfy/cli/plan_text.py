"""A plan as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpfy.cli.ledger_text import table
from dpfy.generators.tabular.marginal.forecast import PARTS

if TYPE_CHECKING:
    from dpfy.workflow.plan import Plan

MOST_PAIRS = 40


def plan_text(plans: Sequence[Plan]) -> str:
    """Epsilons side by side: the budget, columns, pairs."""
    head = ("", *(f"epsilon {p.epsilon:g}" for p in plans))
    parts = [table(head, _budget(plans)), "", *_columns(head, plans)]
    pairs = _pairs(head, plans)
    return "\n".join([*parts, *pairs])


def _budget(plans: Sequence[Plan]) -> list[tuple[str, ...]]:
    spent = [p.forecast.spending for p in plans]
    whole = [s.count + s.domains + s.one_ways + s.select + s.pairs for s in spent]
    rows: list[tuple[str, ...]] = [
        ("delta", *(f"{p.delta:.2g}" for p in plans)),
        ("mu of all Gaussian noise", *(f"{p.mu:.3g}" for p in plans)),
    ]
    for name, label in (
        ("count", "share for sizes"),
        ("domains", "share for domains"),
        ("one_ways", "share for columns"),
        ("select", "share for choosing pairs"),
        ("pairs", "share for pairs"),
    ):
        rows.append((label, *(f"{getattr(s, name) / w:.0%}" for s, w in zip(spent, whole, strict=True))))
    rows.append(("noise of a column's cell, in records", *(_number(p.forecast.columns[0].noise) for p in plans)))
    if plans[0].forecast.pairs:
        rows.append(("noise of a pair's cell, in records", *(_number(p.forecast.pairs[0].noise) for p in plans)))
        for word in ("trusted", "coarse only", "lost in noise"):
            rows.append((f"pairs {word}", *(str(sum(q.trust == word for q in p.forecast.pairs)) for p in plans)))
    return rows


def _columns(head: Sequence[str], plans: Sequence[Plan]) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for place, column in enumerate(plans[0].forecast.columns):
        at = [p.forecast.columns[place] for p in plans]
        if column.kind == "public categories":
            rows.append((column.label, *(f"{c.cells} cells, public" for c in at)))
        elif column.kind == "categories":
            rows.append((column.label, *(f"a value from {_number(c.named_from or 0)}" for c in at)))
        else:
            rows.append(
                (column.label, *(f"{c.cells} cells, an interval from {_number(c.visible_from or 0)}" for c in at))
            )
    return ["What columns hold, and from how many records on a value or an interval is seen:", table(head, rows), ""]


def _pairs(head: Sequence[str], plans: Sequence[Plan]) -> list[str]:
    # The worst first at the largest epsilon: what no budget here makes visible.
    order = sorted(range(len(plans[-1].forecast.pairs)), key=lambda i: -plans[-1].forecast.pairs[i].error)
    by_labels = [{q.labels: q for q in p.forecast.pairs} for p in plans]
    rows: list[tuple[str, ...]] = []
    for place in order[:MOST_PAIRS]:
        labels = plans[-1].forecast.pairs[place].labels
        at = [found[labels] for found in by_labels]
        rows.append((" x ".join(labels), *(f"{q.error:.0%} {q.trust}" for q in at)))
    if not rows:
        return ["No pair of columns has sizes that are known beforehand."]
    more = len(order) - len(rows)
    return [
        f"Error that noise alone leaves in a pair's table, if {plans[0].forecast.pairs_measured} pairs are measured "
        f"(total variation: 0% none, 100% nothing is left; numbers in {PARTS} parts):",
        table(head, rows),
        *([f"... and {more} better ones; --json has all."] if more else []),
    ]


def _number(value: float) -> str:
    return f"{math.ceil(value)}" if value >= 10 else f"{value:.1f}"
