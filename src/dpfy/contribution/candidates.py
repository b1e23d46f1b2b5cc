"""The rows that may be kept: filtered, without opt-outs and without rows that belong to nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dpfy.contribution.opt_outs import read_opt_outs
from dpfy.contribution.owners import id_expressions
from dpfy.contribution.row_filter import row_filter
from dpfy.errors import ContributionError
from dpfy.privacy import PrivacyUnit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from dpfy.schema.table import TableSchema

__all__ = ["SourceTable", "candidate_rows", "engine_errors"]


_ONLY_OWNERS = (
    "When records have several owners, a filter may only read the columns that name them: "
    "which rows of others are kept would depend on a user's content otherwise."
)


class SourceTable(Protocol):
    """What is needed of an ingested table: `relation` has row, c0.. and u0.., `natural_view` the original
    names."""

    @property
    def connection(self) -> DuckDBPyConnection:
        """The engine."""
        ...

    @property
    def relation(self) -> str:
        """Table with row BIGINT, c0.., and u0.. (exact text of the unit's columns, in their order)."""
        ...

    @property
    def natural_view(self) -> str:
        """View with the original column names, and the row's number."""
        ...

    @property
    def natural_row(self) -> str:
        """What the row's number is called there: "row", unless a column has that name."""
        ...

    @property
    def schema(self) -> TableSchema:
        """Columns c0.. in order."""
        ...


@contextmanager
def engine_errors() -> Iterator[None]:
    """Replaces the engine's messages, which can quote cells.

    Raises:
        ContributionError: for anything the engine refuses.
    """
    import duckdb

    try:
        yield
    except duckdb.BinderException:
        raise ContributionError(
            "a filter must compare like with like; this one compares text with a number, or a number with a date.",
            hint="Quote text as 'x', write dates as DATE '2024-01-31', or use CAST(column AS INTEGER).",
        ) from None
    except duckdb.OutOfMemoryException:
        raise ContributionError("bounding what users contribute needs more memory or disk than there is.") from None
    except duckdb.Error:
        raise ContributionError("the table can't be filtered and bounded; the engine refuses a step.") from None


@contextmanager
def candidate_rows(
    table: SourceTable,
    unit: PrivacyUnit,
    *,
    exclude_users: Path | None,
    where: str | Sequence[str] | None,
) -> Iterator[str | None]:
    """A temporary table of the rows that may be kept: row, and for each owner its id as id0, id1, ...

    None where that is all rows, and none has an owner.

    **Privacy:** red zone. Filter (of one row's own cells), opt-outs (a fixed list) and the missing-user
    rule each keep or drop a row whatever else is in the table.

    Args:
        table: the source.
        unit: owners; none for records, which then have no ids.
        exclude_users: file of users to leave out; a record goes when one of its owners is on it.
        where: conditions on a row; with several owners on its owners only (PROOF.md).

    Raises:
        ContributionError: see `row_filter` and `read_opt_outs`.
    """
    missing = [column for column in unit.columns if column not in table.schema.names]
    if missing:
        raise ContributionError(
            f"the user column {missing[0]!r} is not in the table.",
            hint=f"The columns are {', '.join(map(repr, table.schema.names))}.",
        )
    one = len(unit.owners) <= 1
    predicate = row_filter(
        where,
        columns=table.schema.names if one else unit.columns,
        connection=table.connection,
        restriction="" if one else _ONLY_OWNERS,
    )
    opted_out = read_opt_outs(exclude_users, unit) if exclude_users is not None else []
    ids = id_expressions(unit, table="s")
    conditions = [f"({expression}) IS NOT NULL" for expression in ids]
    if predicate is not None:
        conditions.append(f"s.row IN (SELECT {table.natural_row} FROM {table.natural_view} WHERE {predicate})")
    if opted_out:
        conditions += [f"({expression}) NOT IN (SELECT id FROM opted_out)" for expression in ids]
    listed = "".join(f", {expression} AS id{place}" for place, expression in enumerate(ids))
    execute = table.connection.execute
    with engine_errors():
        try:
            if not conditions:
                yield None
                return
            if opted_out:
                _load_ids(table.connection, opted_out)
            execute(
                f"CREATE OR REPLACE TEMP TABLE candidate AS SELECT s.row{listed} FROM {table.relation} s "
                f"WHERE {' AND '.join(conditions)}"
            )
            yield "candidate"
        finally:
            execute("DROP TABLE IF EXISTS candidate")
            execute("DROP TABLE IF EXISTS opted_out")


def _load_ids(connection: DuckDBPyConnection, ids: Sequence[str]) -> None:
    import pyarrow as pa

    connection.register("opted_out_ids", pa.table({"id": pa.array(ids, pa.string())}))
    connection.execute("CREATE OR REPLACE TEMP TABLE opted_out AS SELECT DISTINCT id FROM opted_out_ids")
    connection.unregister("opted_out_ids")
