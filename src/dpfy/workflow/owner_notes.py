"""What the owner should know about a fit, told from released figures alone."""

from __future__ import annotations

from collections.abc import Sequence

from dpfy.domain.columns import CategoryDomain, ColumnDomain
from dpfy.domain.model_column import ModelColumn
from dpfy.mechanisms.counting import CountScale
from dpfy.schema import TableSchema

__all__ = ["MOST_DEFAULT_ROWS", "default_rows", "released_notes"]

ENOUGH = 12.0
"""A column's records over the noise of one interval, below which ranges and categories are mostly noise."""
MOST_DEFAULT_ROWS = 10_000


def default_rows(records: int, count_sigma: float) -> int:
    """The number of rows when none is asked for; a count below its own noise is not taken at its word."""
    return records if records >= 3.0 * count_sigma else min(records, MOST_DEFAULT_ROWS)


def released_notes(
    *,
    schema: TableSchema,
    columns: Sequence[ModelColumn],
    domains: Sequence[ColumnDomain],
    hidden: int,
    domain_mu_squared: float,
    scale: CountScale,
    counted: float,
    records: int,
    count_sigma: float,
) -> tuple[str, ...]:
    """Sentences about what noise has drowned.

    **Privacy:** post-processing: reads public parameters and noisy figures that were paid for.

    Args:
        schema: the columns.
        columns: model columns.
        domains: their domains.
        hidden: number of model columns that were discovered.
        domain_mu_squared: what discovery could spend.
        scale: counting unit and a user's total.
        counted: noisy number of records or users in counting.
        records: noisy number of records.
        count_sigma: noise of the number of records or users.
    """
    notes = []
    if records < 3.0 * count_sigma:
        notes.append("the noisy number of records lies below its own noise; say with --rows how many rows you want.")
    if hidden:
        noise = scale.user_total / scale.one / (0.5 * domain_mu_squared / hidden / 4) ** 0.5
        if counted < ENOUGH * noise:
            notes.append(
                f"at this epsilon and bound the table is small for {hidden} discovered columns: most ranges and "
                "categories are noise. Declare them in a schema (they are then public), drop columns, lower "
                "--max-records-per-user, or take a larger epsilon."
            )
    for column, domain in zip(columns, domains, strict=True):
        if isinstance(domain, CategoryDomain) and not domain.values:
            spec = schema.columns[column.source]
            notes.append(
                f"column {spec.name!r}: no value was frequent enough to be named, so no cell holds one. Drop it, set "
                "key: true if it is an identifier, or state its categories."
            )
    return tuple(notes)
