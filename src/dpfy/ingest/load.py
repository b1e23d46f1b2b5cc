"""From batches of cells to the private table, in one typed pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from dpfy.errors import SourceError
from dpfy.ingest.arrow_types import exact_text, from_arrow, is_words
from dpfy.ingest.private_table import DEFAULT_MEMORY, PrivateTable, open_engine
from dpfy.ingest.values import UnreadableCellError, from_text, physical_type, unreadable
from dpfy.schema import ColumnSpec, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Callable[[Sequence[str]], Iterator["pa.RecordBatch"]]


_ROWS_AT_ONCE = 1 << 18


class _Typed:
    """Turns the cells of each batch into physical columns."""

    def __init__(self, batches: Batches, schema: TableSchema, users: Sequence[str], *, text: bool, name: str):
        self._batches = batches
        self._schema = schema
        self._users = users
        self._text = text
        self._name = name
        self.rows = 0

    @property
    def arrow_schema(self) -> pa.Schema:
        import pyarrow as pa

        columns = [(f"c{i}", physical_type(c)) for i, c in enumerate(self._schema.columns)]
        users = [(f"u{i}", pa.string()) for i in range(len(self._users))]
        return pa.schema([("row", pa.int64()), *columns, *users])

    def tables(self) -> Iterator[pa.Table]:
        """All rows, so many at once that the engine has work for its threads and little is held twice."""
        import pyarrow as pa

        waiting: list[pa.RecordBatch] = []
        for batch in self._batches(self._schema.names):
            waiting.append(self._convert(batch))
            self.rows += batch.num_rows
            if sum(b.num_rows for b in waiting) >= _ROWS_AT_ONCE:
                yield pa.Table.from_batches(waiting, schema=self.arrow_schema)
                waiting = []
        if waiting:
            yield pa.Table.from_batches(waiting, schema=self.arrow_schema)

    def _convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        arrays = [pa.array(np.arange(self.rows, self.rows + batch.num_rows, dtype=np.int64))]
        for spec, cells in zip(self._schema.columns, batch.columns, strict=True):
            try:
                arrays.append(self._physical(spec, cells))
            except UnreadableCellError as error:
                raise unreadable(spec, self.rows + error.position, self._name) from None
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
                raise SourceError(
                    f"{self._name}: column {spec.name!r} of type {cells.type} can't be read as {spec.type}.",
                    hint="Correct the column's type in the schema.",
                    file=self._name,
                ) from None
        arrays += [exact_text(batch.column(self._schema.index(user))) for user in self._users]
        return pa.RecordBatch.from_arrays(arrays, schema=self.arrow_schema)

    def _physical(self, spec: ColumnSpec, cells: pa.Array) -> pa.Array:
        if self._text:
            return from_text(spec, cells, self._schema.reading)
        if is_words(cells.type) and spec.physical != "text":
            # The owner may state that text in a typed source holds dates or numbers.
            return from_text(spec, exact_text(cells), self._schema.reading)
        return from_arrow(spec, cells)


def load(
    batches: Batches,
    schema: TableSchema,
    users: Sequence[str],
    *,
    text: bool,
    name: str,
    memory_limit: str = DEFAULT_MEMORY,
) -> PrivateTable:
    """Reads all rows into a private table.

    **Privacy:** private values go into the engine and nowhere else.

    Args:
        batches: gives the named columns, in that order, batch by batch.
        schema: of the columns.
        users: names of the user columns.
        text: cells are text and are read by the schema.
        name: of the source, for messages.
        memory_limit: of the engine, such as "2GB"; beyond it, encrypted pages go to a private folder.

    Raises:
        SourceError: names the row and column that can't be read.
    """
    import duckdb

    typed = _Typed(batches, schema, users, text=text, name=name)
    connection, spill = open_engine(memory_limit)
    table = PrivateTable(connection=connection, schema=schema, user_columns=users, spill=spill)
    advice = ""
    try:
        table.create(typed.arrow_schema)
        for rows in typed.tables():
            table.append(rows)
        table.create_view()
    except duckdb.Error as error:
        advice = _advice(error)
    except BaseException:
        table.close()
        raise
    # Raised outside the handler: the engine's error may quote cells and must not hang on ours.
    if not advice and typed.rows:
        return table
    table.close()
    if advice:
        raise SourceError(f"{name}: the rows could not be loaded.", hint=advice, file=name)
    raise SourceError(f"no data rows in {name}.", hint="Check that it is the right file.", file=name)


def _advice(error: Exception) -> str:
    """The engine's message may quote cells: only its kind is passed on."""
    return "Raise the memory limit or free disk space." if "Memory" in type(error).__name__ else "Check the source."
