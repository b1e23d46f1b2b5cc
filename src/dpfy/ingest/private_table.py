"""The private table: typed columns in an engine that never leaves the process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from dpfy.schema import ColumnKind, ColumnSpec, TableSchema

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

DEFAULT_MEMORY = "2GB"


class PrivateTable:
    """A source's rows, typed, in an in-memory DuckDB database.

    Columns of `relation`: `row` BIGINT (position from 0); `c0`, `c1` ... in schema order as BIGINT ticks, DOUBLE or
    VARCHAR with NULL where missing; `u0`, `u1` ... exact text of the user columns. Columns of `natural_view`: `row`
    and the original names with their natural types, for row filters; where a column is itself called "row" (in any
    case), the position is called `natural_row`.

    **Privacy:** holds every private value. It can't be pickled or copied, and it prints nothing.

    Args:
        connection: owned by the table from now on.
        schema: of the columns.
        user_columns: names of the columns behind u0, u1 ...
        spill: private folder for pages that do not fit into memory; removed on close.
    """

    relation = "private_rows"
    natural_view = "private_natural"

    def __init__(
        self,
        *,
        connection: duckdb.DuckDBPyConnection,
        schema: TableSchema,
        user_columns: Sequence[str] = (),
        spill: str | None = None,
    ) -> None:
        self.connection = connection
        self.schema = schema
        self.user_columns = tuple(user_columns)
        self._spill = spill
        self._open = True

    @property
    def natural_row(self) -> str:
        """Name of the row position in `natural_view`."""
        taken = {n.casefold() for n in self.schema.names}
        name = "row"
        while name in taken:
            name = f"natural_{name}"
        return name

    def column(self, name: str) -> str:
        """The engine's name of a column, such as "c3".

        Raises:
            SpecError: when there is no such column.
        """
        return f"c{self.schema.index(name)}"

    def create(self, columns: pa.Schema) -> None:
        """Makes the empty table.

        Args:
            columns: of `relation`.
        """
        self.connection.register("incoming", columns.empty_table())
        self.connection.execute(f"CREATE TABLE {self.relation} AS SELECT * FROM incoming")
        self.connection.unregister("incoming")

    def append(self, rows: pa.Table) -> None:
        """Adds rows and packs them.

        Args:
            rows: with the columns of `create`.
        """
        self.connection.register("incoming", rows)
        self.connection.execute(f"INSERT INTO {self.relation} SELECT * FROM incoming")
        self.connection.unregister("incoming")
        self.connection.execute("CHECKPOINT")

    def create_view(self) -> None:
        """Makes the view with the original names."""
        selected = [f"row AS {quoted(self.natural_row)}"]
        seen = {self.natural_row}
        for index, spec in enumerate(self.schema.columns):
            # The engine compares names without case: a second spelling of a name can't be in the view.
            # Nor can a name be empty there.
            if spec.name and spec.name.casefold() not in seen:
                selected.append(f"{natural_expression(spec, f'c{index}')} AS {quoted(spec.name)}")
                seen.add(spec.name.casefold())
        self.connection.execute(
            f"CREATE OR REPLACE VIEW {self.natural_view} AS SELECT {', '.join(selected)} FROM {self.relation}"
        )

    def close(self) -> None:
        """Frees the rows and removes the spill folder; may be called twice."""
        if self._open:
            self._open = False
            self.connection.close()
            if self._spill is not None:
                shutil.rmtree(self._spill, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PrivateTable(columns={len(self.schema.columns)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private table can't be pickled or copied")


def open_engine(memory_limit: str = DEFAULT_MEMORY) -> tuple[duckdb.DuckDBPyConnection, str]:
    """A private in-memory engine, and the folder it may spill into.

    Spilled pages are encrypted with a key that lives in the process. The engine's built-in cipher has no certified
    random source, which it wants to have acknowledged; the folder is readable by its owner alone and removed.
    """
    import duckdb

    spill = tempfile.mkdtemp(prefix="dpfy-spill-")
    connection = duckdb.connect(":memory:")
    for statement in (
        "SET force_mbedtls_unsafe = 'true'",
        "SET temp_file_encryption = true",
        f"SET temp_directory = '{spill.replace(chr(39), chr(39) * 2)}'",
        "SET threads = 2",
        "SET TimeZone = 'UTC'",
        f"SET memory_limit = '{memory_limit}'",
        "SET autoinstall_known_extensions = false",
        "SET enable_progress_bar = false",
        # Tables in memory are packed only where they are asked to be: a tenth of the size, and faster to scan.
        "ATTACH ':memory:' AS red_zone (COMPRESS)",
        "USE red_zone",
    ):
        connection.execute(statement)
    return connection, spill


def quoted(name: str) -> str:
    """A name as the engine's identifier."""
    return '"' + name.replace('"', '""') + '"'


_MICROSECONDS = {"s": "* 1000000", "ms": "* 1000", "us": "", "ns": "// 1000"}


def natural_expression(spec: ColumnSpec, column: str) -> str:
    """SQL for a column's values in their natural type."""
    kind = spec.type
    if kind is ColumnKind.INTEGER or spec.physical in ("float", "text"):
        return f"CAST({column} AS BOOLEAN)" if kind is ColumnKind.BOOLEAN else column
    if kind is ColumnKind.DECIMAL:
        return f"{column} / {float(10**spec.decimals)!r}::DOUBLE"
    if kind is ColumnKind.DATE:
        return f"DATE '1970-01-01' + CAST({column} AS INTEGER)"
    micro = f"({column} {_MICROSECONDS[spec.unit]})"
    if kind is ColumnKind.DATETIME:
        stamp = f"make_timestamp({micro})"
        return stamp if spec.zone_name is None else f"timezone('UTC', {stamp})"
    if kind is ColumnKind.TIME:
        return f"CAST(TIMESTAMP '1970-01-01' + to_microseconds({micro}) AS TIME)"
    return f"to_microseconds({micro})"


def engine_type(spec: ColumnSpec) -> Any:
    """The engine's type of a physical column."""
    return {"ticks": "BIGINT", "float": "DOUBLE", "text": "VARCHAR"}[spec.physical]
