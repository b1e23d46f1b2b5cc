"""A small table with the shape that ingest hands over, and the shared files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pytest
from tests.shared import shared

from dpfy.schema.column import ColumnSpec
from dpfy.schema.table import TableSchema


@dataclass(frozen=True)
class SmallTable:
    connection: duckdb.DuckDBPyConnection
    relation: str
    natural_view: str
    schema: TableSchema
    natural_row: str = "row"


MakeTable = Callable[..., SmallTable]


@pytest.fixture
def make_table() -> MakeTable:
    """Builds a table from columns of Python values; user columns are given by name, `rows` sets the row
    numbers."""

    def make(
        columns: dict[str, Sequence[object]], users: Sequence[str] = (), rows: Sequence[int] | None = None
    ) -> SmallTable:
        connection = duckdb.connect()
        count = len(next(iter(columns.values())))
        number = "natural_row" if "row" in columns else "row"
        natural = pa.table(columns).append_column(number, pa.array(rows or range(count), pa.int64()))
        physical = pa.table(
            {
                "row": natural[number],
                **{f"c{place}": natural[name] for place, name in enumerate(columns)},
                **{f"u{place}": natural[name].cast(pa.string()) for place, name in enumerate(users)},
            }
        )
        for name, content in (("source", physical), ("source_natural", natural)):
            connection.register("incoming", content)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
            connection.unregister("incoming")
        schema = TableSchema(columns=tuple(ColumnSpec(name=name, type="text") for name in columns))
        return SmallTable(connection, "source", "source_natural", schema, number)

    return make


@pytest.fixture
def shared_columns() -> Callable[[str], dict[str, list[str | None]]]:
    """Columns of a shared CSV file as exact text, empty cells missing."""

    def read(name: str) -> dict[str, list[str | None]]:
        with shared(name).open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        return {column: [line[column] or None for line in lines] for column in lines[0]}

    return read
