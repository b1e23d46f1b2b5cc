"""Checks on a schema before anything is spent: what would fail only when rows are written."""

from __future__ import annotations

from collections.abc import Sequence

from dpfy.errors import SpecError
from dpfy.schema import TableSchema
from dpfy.sealed.keys import KeyPattern

__all__ = ["check_keys", "check_schema"]


def check_schema(schema: TableSchema, user_columns: Sequence[str]) -> None:
    """Makes sure that rows by this schema can be made.

    Args:
        schema: confirmed or proposed.
        user_columns: names of the columns that name the user.

    Raises:
        SpecError: names the column with a key pattern or an output type that can't be used.
    """
    from dpfy.schema.output import arrow_schema

    for spec in schema.columns:
        if spec.drop and spec.name in user_columns:
            raise SpecError(
                f"column {spec.name!r} names the user, so it can't be dropped.",
                hint="Its ids are made up anew. Leave `drop` out, and remove the column from the output.",
            )
    check_keys(schema, user_columns, None)
    arrow_schema(schema)
    if not schema.output_columns:
        raise SpecError("no column is left to write.", hint="Drop fewer columns.")


def check_keys(schema: TableSchema, user_columns: Sequence[str], rows: int | None) -> None:
    """Makes sure that key patterns can be read, and have enough values.

    Args:
        schema: whose columns are looked at.
        user_columns: these need a key for each user, whose number is not known yet.
        rows: of the output; None when it is not known yet.

    Raises:
        SpecError: names the column.
    """
    for spec in schema.columns:
        if spec.key_pattern is None or spec.drop or not (spec.key or spec.name in user_columns):
            continue
        try:
            capacity = KeyPattern.parse(spec.key_pattern).capacity
        except SpecError as error:
            raise SpecError(f"column {spec.name!r}: {error.message}", hint=error.hint) from None
        if rows is not None and spec.name not in user_columns and rows > capacity:
            raise SpecError(
                f"column {spec.name!r} needs {rows} different keys, but its pattern allows {capacity}.",
                hint="Widen key_pattern in the schema, or ask for fewer rows.",
            )
