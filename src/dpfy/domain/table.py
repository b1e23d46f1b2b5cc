"""The domain of a whole table: public where the schema says so, discovered and charged elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpfy.domain.budget import ColumnBudget
from dpfy.domain.columns import CategoryDomain, ColumnDomain
from dpfy.domain.counted import CountedTable
from dpfy.domain.discovery import (
    Discovered,
    DiscoveryRun,
    discover_categories,
    discover_more_categories,
    discover_numbers,
)
from dpfy.domain.model_column import ModelColumn
from dpfy.schema import ColumnSpec

LARGE_OTHER = 0.03
MOST_BINS = 32


@dataclass(frozen=True, kw_only=True)
class TableDomain:
    """Model columns with their domains.

    Args:
        columns: what the generator sees, in order.
        found: domain and prior counts of each.
    """

    columns: tuple[ModelColumn, ...]
    found: tuple[Discovered, ...]

    @property
    def domains(self) -> tuple[ColumnDomain, ...]:
        """The domain of each model column."""
        return tuple(f.domain for f in self.found)


def has_public_categories(spec: ColumnSpec) -> bool:
    """Whether the owner listed the column's categories."""
    return isinstance(spec.categories, (list, tuple))


def hidden_columns(specs: Sequence[ColumnSpec], columns: Sequence[ModelColumn]) -> list[int]:
    """Which model columns are discovered."""
    return [i for i, c in enumerate(columns) if not has_public_categories(specs[c.source])]


def discover_table(
    table: CountedTable,
    columns: tuple[ModelColumn, ...],
    run: DiscoveryRun,
    *,
    mu_squared: float,
    delta: float,
    progress: Callable[[str], None] | None = None,
) -> TableDomain:
    """Discovers every column's domain.

    **Privacy:** unit and adjacency are those of the table's bounding. Spends at most mu_squared and delta: equal parts
    for each column that is not public; categories get FIRST_LOOK of theirs at first, and the rest goes to the columns
    whose noisy catch-all is large. What is not needed stays with the meter.

    Args:
        table: counted and bounded.
        columns: the model columns.
        run: meter, noise, scale and noisy number of records.
        mu_squared: the domain's whole budget, > 0.
        delta: the thresholds' whole budget, > 0.
        progress: called with each column's label.

    Returns:
        The domains, with the counts that discovery has paid for.
    """
    hidden = hidden_columns(table.columns, columns)
    each = ColumnBudget.equal_parts(mu_squared, delta, len(hidden))
    found: list[Discovered] = []
    for index, column in enumerate(columns):
        spec = table.columns[column.source]
        if progress is not None:
            progress(column.label(spec))
        if index not in hidden:
            domain = public_domain(spec, column)
            nothing_yet = np.full(domain.cells, np.inf)
            found.append(Discovered(domain=domain, counts=np.zeros(domain.cells), variance=nothing_yet))
        else:
            found.append(_discover(table, column, run, each))
    looked = [i for i in hidden if isinstance(found[i].domain, CategoryDomain)]
    large = [i for i in looked if _other_share(found[i], run.records) > LARGE_OTHER]
    if large:
        again = each.second_look(len(looked), len(large))
        for index in large:
            column = columns[index]
            label = column.label(table.columns[column.source])
            found[index] = discover_more_categories(
                found[index],
                table.value_counts(column),
                run,
                mu_squared=again.mu_squared,
                delta=again.delta,
                label=label,
            )
    return TableDomain(columns=columns, found=tuple(found))


def _discover(table: CountedTable, column: ModelColumn, run: DiscoveryRun, budget: ColumnBudget) -> Discovered:
    spec = table.columns[column.source]
    held = table.value_counts(column)
    label = column.label(spec)
    may_miss = spec.missing != "never"
    if spec.is_category:
        return discover_categories(
            held,
            run,
            mu_squared=budget.first_look.mu_squared,
            delta=budget.first_look.delta,
            label=label,
            may_miss=may_miss,
        )
    return discover_numbers(
        held,
        run,
        roots=column.roots(spec),
        mu_squared=budget.mu_squared,
        delta=budget.delta,
        label=label,
        may_miss=may_miss,
        most_bins=MOST_BINS,
        steps=column.steps(spec),
    )


def public_domain(spec: ColumnSpec, column: ModelColumn) -> CategoryDomain:
    """The domain of a column whose categories the owner listed.

    It has a catch-all even so: a value that is not listed must neither stop the run nor pass for another value.
    """
    listed = spec.categories
    assert isinstance(listed, (list, tuple))
    if spec.physical == "text":
        values: tuple[str, ...] | tuple[int, ...] = tuple(str(v) for v in listed)
    else:
        values = tuple(int(column.keys(np.array([spec.tick(v)]), spec)[0]) for v in listed)
    return CategoryDomain(values=values, has_other=True, has_missing=spec.missing != "never")


def _other_share(found: Discovered, records: float) -> float:
    return 1.0 - float(np.maximum(found.counts, 0.0).sum()) / max(records, 1.0)
