"""At most so many records of each user, chosen by chance: see PROOF.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfy.contribution.candidates import SourceTable, candidate_rows, engine_errors
from dpfy.errors import ContributionError
from dpfy.privacy import PrivacyUnit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from dpfy.schema.table import TableSchema

__all__ = ["BoundedTable", "bound"]

_KEY_BYTES = 16
_MOST = 1 << 20


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundedTable:
    """A table in which no user has more records than the unit says.

    **Privacy:** red zone: exact private rows, and exact counts in `rows_per_user`. What is computed from it
    may rely on `unit.max_records_per_user` under `unit.adjacency`.

    Args:
        connection: the engine, which belongs to the source table.
        relation: row BIGINT, c0.. as in the source, user BIGINT. Users are numbered from 0 in an order that
            depends on the key alone; with several owners the number is the first owner's and serves
            grouping only. Where each record is a user, its row is the user's number.
        schema: columns c0.. in order.
        unit: with max_records_per_user set.
    """

    connection: DuckDBPyConnection
    relation: str
    schema: TableSchema
    unit: PrivacyUnit
    _rows_per_user: NDArray[np.int64] = field(repr=False)

    def rows_per_user(self) -> NDArray[np.int64]:
        """How many users have 1, 2, ... records, exactly: private.

        Returns:
            int64, shape (max_records_per_user,): at j - 1 the users with j records. With several owners
            each person is counted with all records that are partly theirs.
        """
        return self._rows_per_user.copy()

    def close(self) -> None:
        """Drops the bounded rows; the connection stays open."""
        with engine_errors():
            self.connection.execute(f"DROP VIEW IF EXISTS {self.relation}")
            self.connection.execute(f"DROP TABLE IF EXISTS {self.relation}_rows")


def bound(
    table: SourceTable,
    unit: PrivacyUnit,
    *,
    key: bytes,
    max_records_per_user: int,
    exclude_users: Path | None = None,
    where: str | Sequence[str] | None = None,
) -> BoundedTable:
    """Keeps at most so many records of each user.

    In this order: conditions on a row, opt-outs, rows with a missing user id (they belong to nobody whom
    the guarantee could name, and are dropped), then the choice. It follows sha256 of the key and a row's
    number, never the order or the content of rows. With several owners, rows are taken in that order, and
    one is kept if none of its owners has had the maximum before; a person who is named twice in a row has
    one record there, since the whole record is one change.

    **Privacy:** charges nothing. One owner: adding or removing a user adds or removes at most
    max_records_per_user records and changes nothing else. Several owners: holds for `Adjacency.FIXED_GRAPH`
    only. PROOF.md.

    Args:
        table: the source.
        unit: owners; none: each row is a user, and max_records_per_user must be 1.
        key: at least 16 bytes from a secure source, fresh for this run.
        max_records_per_user: 1 to 2**20.
        exclude_users: file of users to leave out.
        where: conditions on one row, all of which must hold.

    Returns:
        The bounded table, in the source's connection under the name `bounded`.

    Raises:
        ContributionError: a bad bound, filter, opt-out file or user column; no cell is ever quoted.
    """
    if isinstance(max_records_per_user, bool) or not 1 <= max_records_per_user <= _MOST:
        raise ContributionError(
            f"max_records_per_user must be a whole number from 1 to {_MOST}; {max_records_per_user} was given."
        )
    if unit.is_record and max_records_per_user != 1:
        raise ContributionError(
            "without a user column each record is its own unit, so max_records_per_user must be 1.",
            hint="Name the user column with --user.",
        )
    if len(key) < _KEY_BYTES:
        raise ValueError(f"the key must have at least {_KEY_BYTES} bytes")
    connection = table.connection
    columns = "".join(f", s.c{place}" for place in range(len(table.schema.columns)))
    with candidate_rows(table, unit, exclude_users=exclude_users, where=where) as candidates, engine_errors():
        if candidates is None:
            kept = f"SELECT s.row{columns}, s.row AS user FROM {table.relation} s"
            counts = _one_number(connection, f"SELECT count(*) FROM {table.relation}")
        else:
            choose = {0: _all_rows, 1: _one_owner}.get(len(unit.owners), _several_owners)
            try:
                counts = choose(connection, candidates, unit, key.hex(), max_records_per_user)
                connection.execute(
                    f"CREATE OR REPLACE TABLE bounded_rows AS SELECT s.row{columns}, chosen.user "
                    f"FROM {table.relation} s JOIN chosen ON chosen.row = s.row"
                )
                connection.execute("CHECKPOINT")
            finally:
                for name in ("chosen", "kept", "person"):
                    connection.execute(f"DROP TABLE IF EXISTS {name}")
            kept = "SELECT * FROM bounded_rows"
        connection.execute(f"CREATE OR REPLACE VIEW bounded AS {kept}")
    return BoundedTable(
        connection=connection,
        relation="bounded",
        schema=table.schema,
        unit=replace(unit, max_records_per_user=max_records_per_user),
        _rows_per_user=counts,
    )


def _all_rows(
    connection: DuckDBPyConnection, candidates: str, unit: PrivacyUnit, key: str, most: int
) -> NDArray[np.int64]:
    connection.execute(f"CREATE OR REPLACE TEMP TABLE chosen AS SELECT row, row AS user FROM {candidates}")
    return _one_number(connection, "SELECT count(*) FROM chosen")


def _one_owner(
    connection: DuckDBPyConnection, candidates: str, unit: PrivacyUnit, key: str, most: int
) -> NDArray[np.int64]:
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE kept AS SELECT row, id0 FROM {candidates} QUALIFY row_number() OVER "
        f"(PARTITION BY id0 ORDER BY sha256(? || 'row' || row)) <= {most}",
        [key],
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE person AS SELECT id0, records, "
        "row_number() OVER (ORDER BY sha256(? || 'user' || id0)) - 1 AS user "
        "FROM (SELECT id0, count(*) AS records FROM kept GROUP BY id0)",
        [key],
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE chosen AS SELECT kept.row, person.user FROM kept JOIN person USING (id0)"
    )
    counted = connection.execute("SELECT records, count(*) AS users FROM person GROUP BY records").fetchnumpy()
    counts = np.zeros(most, dtype=np.int64)
    counts[np.asarray(counted["records"], dtype=np.int64) - 1] = counted["users"]
    return counts


def _several_owners(
    connection: DuckDBPyConnection, candidates: str, unit: PrivacyUnit, key: str, most: int
) -> NDArray[np.int64]:
    import pyarrow as pa

    places = range(len(unit.owners))
    everyone = " UNION ".join(f"SELECT id{place} AS id FROM {candidates}" for place in places)
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE person AS "
        f"SELECT id, row_number() OVER (ORDER BY sha256(? || 'user' || id)) - 1 AS user FROM ({everyone})",
        [key],
    )
    owners = "".join(f", p{place}.user AS owner{place}" for place in places)
    joins = " ".join(f"JOIN person p{place} ON p{place}.id = c.id{place}" for place in places)
    ordered = connection.execute(
        f"SELECT c.row{owners} FROM {candidates} c {joins} ORDER BY sha256(? || 'row' || c.row)", [key]
    ).fetchnumpy()
    owned = [np.asarray(ordered[f"owner{place}"], dtype=np.int64) for place in places]
    people = int(_one_number(connection, "SELECT count(*) FROM person")[0])
    kept, records = _greedy(owned, people, most)
    # First owners that lost all rows would leave holes in the numbering.
    _, user = np.unique(owned[0][kept], return_inverse=True)
    chosen = pa.table({"row": np.asarray(ordered["row"], dtype=np.int64)[kept], "user": user.astype(np.int64)})
    connection.register("chosen_rows", chosen)
    connection.execute("CREATE OR REPLACE TEMP TABLE chosen AS SELECT row, user FROM chosen_rows")
    connection.unregister("chosen_rows")
    return np.bincount(records, minlength=most + 1)[1:].astype(np.int64)


def _greedy(owned: Sequence[NDArray[np.int64]], people: int, most: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Takes rows in the given order while none of their owners is full.

    Args:
        owned: for each owner's place an int64 array of shape (rows,) with the person's number.
        people: numbers lie below it.
        most: records per person.

    Returns:
        Mask of kept rows, shape (rows,), and records per person, shape (people,).
    """
    records = [0] * people
    kept = np.zeros(len(owned[0]), dtype=np.bool_)
    for position, owners in enumerate(zip(*(column.tolist() for column in owned), strict=True)):
        for owner in owners:
            if records[owner] >= most:
                break
        else:
            kept[position] = True
            for owner in set(owners):
                records[owner] += 1
    return kept, np.array(records, dtype=np.int64)


def _one_number(connection: DuckDBPyConnection, query: str) -> NDArray[np.int64]:
    # All rows are fetched: the engine wants a result read to its end before the next statement.
    return np.array(connection.execute(query).fetchall()[0], dtype=np.int64)
