"""Hints for the owner about a schema that does not meet its table. Nothing here is released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfy.errors import SpecError
from dpfy.schema import ColumnKind, TableSchema, blank_mismatch

if TYPE_CHECKING:
    from dpfy.ingest import PrivateTable

__all__ = ["category_hints", "missing_user_hints"]


def missing_user_hints(table: PrivateTable) -> tuple[str, ...]:
    """Says that rows without a user id are left out, if there are any; how many is not said.

    **Privacy:** reads private values; the sentence goes to the owner's screen alone.
    """
    if not table.user_columns:
        return ()
    absent = " OR ".join(f"u{place} IS NULL" for place in range(len(table.user_columns)))
    found = table.connection.sql(f"SELECT 1 FROM {table.relation} WHERE {absent} LIMIT 1").fetchall()
    names = ", ".join(table.user_columns)
    return (f"some rows have no user id in {names}; they belong to nobody and are left out.",) if found else ()


def category_hints(table: PrivateTable, schema: TableSchema) -> tuple[str, ...]:
    """Compares listed categories with the values that are there.

    **Privacy:** reads private values; the sentences go to the owner's screen alone and name listed words only.

    Args:
        table: private.
        schema: what the owner confirmed.

    Returns:
        One sentence for each column whose listed words differ from the data in blanks or case.

    Raises:
        SpecError: when for that reason no listed word of a column occurs at all; nothing was charged yet.
    """
    hints = []
    for spec in schema.columns:
        if spec.type is not ColumnKind.TEXT or not isinstance(spec.categories, tuple) or not spec.is_modelled:
            continue
        rows = table.connection.sql(f"SELECT DISTINCT {table.column(spec.name)} FROM {table.relation}").fetchall()
        found = [row[0] for row in rows if row[0] is not None]
        reasons = blank_mismatch(spec.categories, found)
        if not reasons:
            continue
        words = ", ".join(sorted(map(repr, reasons)))
        kinds = " and ".join(sorted(set(reasons.values())))
        if not set(spec.categories) & set(found):
            raise SpecError(
                f"column {spec.name!r}: none of its listed categories is there; {words} would be but for {kinds}.",
                hint="Set --blanks strip, or list the words as they stand in the data.",
            )
        hints.append(
            f"column {spec.name!r}: listed categories {words} differ from values of the data in {kinds} alone."
        )
    return tuple(hints)
