"""A bounded table as the domain and the generators may see it: value counts for mechanisms, and codes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.columns import CategoryDomain, ColumnDomain, NumberDomain
from dpfy.domain.counts import ValueCounts
from dpfy.domain.model_column import ModelColumn
from dpfy.mechanisms.counting import USER_WEIGHT, CountScale
from dpfy.privacy import CountingMode
from dpfy.schema import ColumnSpec

if TYPE_CHECKING:
    from dpfy.contribution import BoundedTable

_BATCH_ROWS = 1 << 17
_PIECE_ROWS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class EncodedTable:
    """The bounded table in codes: private, red zone only.

    Args:
        codes: uint8, uint16 or int32 of shape (rows,), one a model column.
        sizes: cells of each.
        weights: int64 of shape (rows,): what a row counts; None when every row counts 1.
        scale: the counting unit and a user's total in it.
    """

    codes: tuple[NDArray[np.integer], ...]
    sizes: tuple[int, ...]
    weights: NDArray[np.int64] | None
    scale: CountScale

    def __repr__(self) -> str:
        return "EncodedTable(private)"

    def counts(self, columns: Sequence[int]) -> NDArray[np.int64]:
        """Exact counts of the cells of a marginal, in counting units.

        Args:
            columns: ascending indices of model columns.

        Returns:
            int64, one axis a column.
        """
        shape = [self.sizes[c] for c in columns]
        cells = math.prod(shape)
        rows = len(self.codes[0]) if self.codes else 0
        # Pieces stay in the cache; with many cells a piece is as long as the table that it adds to.
        piece = max(_PIECE_ROWS, cells)
        counted = np.zeros(cells, dtype=np.int64)
        for start in range(0, rows, piece):
            part = slice(start, start + piece)
            flat = self.codes[columns[0]][part].astype(np.int64)
            for column in columns[1:]:
                flat *= self.sizes[column]
                flat += self.codes[column][part]
            if self.weights is None:
                counted += np.bincount(flat, minlength=cells)
            else:
                # Whole weights below 2**12 add up exactly in float64 for up to 2**40 rows.
                exact = np.bincount(flat, weights=self.weights[part], minlength=cells)
                counted += np.rint(exact).astype(np.int64)
        return counted.reshape(shape)


class CountedTable:
    """Counts and codes of a bounded table.

    **Privacy:** hands out exact private figures; only mechanisms may read them. Each user's rows add up to at most
    `scale.user_total` counting units in any set of disjoint cells.

    Args:
        bounded: the table after contribution bounding.
        mode: how rows count.
    """

    def __init__(self, bounded: BoundedTable, mode: CountingMode) -> None:
        cap = bounded.unit.max_records_per_user or 1
        self.scale = CountScale(mode=mode, max_records_per_user=cap)
        self._connection = bounded.connection
        self._relation = bounded.relation
        self.columns: tuple[ColumnSpec, ...] = tuple(bounded.schema.columns)
        if mode is CountingMode.USERS:
            self._connection.execute(
                f"CREATE OR REPLACE TEMP VIEW weighted AS SELECT b.*, {USER_WEIGHT} // w.n AS weight FROM "
                f'{self._relation} b JOIN (SELECT "user", count(*) AS n FROM {self._relation} GROUP BY "user") w '
                'USING ("user")'
            )
            self._relation = "weighted"
        self._weight = "count(*)" if mode is CountingMode.ROWS else "sum(weight)"

    def __repr__(self) -> str:
        return "CountedTable(private)"

    def value_counts(self, column: ModelColumn) -> ValueCounts:
        """Exact counts of a model column's distinct values."""
        spec = self.columns[column.source]
        name = f"c{column.source}"
        present = self._connection.sql(
            f"SELECT {name} AS v, CAST({self._weight} AS BIGINT) AS n FROM {self._relation} "
            f"WHERE {name} IS NOT NULL GROUP BY {name}"
        ).to_arrow_table()
        absent = self._connection.sql(
            f"SELECT CAST({self._weight} AS BIGINT) FROM {self._relation} WHERE {name} IS NULL"
        ).fetchall()
        missing = int(absent[0][0] or 0)
        counts = present["n"].to_numpy()
        if _is_text(spec):
            keys = np.array(present["v"].to_pylist(), dtype=object)
        else:
            keys = column.keys(present["v"].to_numpy(), spec)
        # The engine's order is that of the rows; sorted, ties among noisy counts can't tell it.
        order = np.argsort(keys)
        keys, counts = keys[order], counts[order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else order
        if len(first) < len(keys):
            keys, counts = keys[first], np.add.reduceat(counts, first)
        return ValueCounts(keys=keys, counts=counts, missing=missing)

    def encode(
        self,
        columns: Sequence[ModelColumn],
        domains: Sequence[ColumnDomain],
        progress: Callable[[int], None] | None = None,
    ) -> EncodedTable:
        """Turns all rows into codes, batch by batch.

        Raises:
            OutOfDomainError: when a column holds empty cells that its schema excludes.
        """
        weighted = self.scale.mode is CountingMode.USERS
        sources = sorted({c.source for c in columns})
        parts: list[list[NDArray[np.integer]]] = [[] for _ in columns]
        weights: list[NDArray[np.int64]] = []
        for batch in self._batches(sources, weighted):
            for index, (column, domain) in enumerate(zip(columns, domains, strict=True)):
                codes = self._codes(batch.column(f"c{column.source}"), column, domain)
                parts[index].append(codes.astype(_code_type(domain.cells)))
            if weighted:
                weights.append(batch.column("weight").to_numpy().astype(np.int64))
            if progress is not None:
                progress(batch.num_rows)
        joined = tuple(np.concatenate(p) if p else np.zeros(0, dtype=np.uint8) for p in parts)
        return EncodedTable(
            codes=joined,
            sizes=tuple(d.cells for d in domains),
            weights=np.concatenate(weights) if weighted and weights else None,
            scale=self.scale,
        )

    def _batches(self, sources: Sequence[int], weighted: bool) -> Iterator[Any]:
        names = ", ".join(f"c{s}" for s in sources)
        chosen = ", ".join(filter(None, [names, "weight" if weighted else ""])) or "row"
        yield from self._connection.sql(f"SELECT {chosen} FROM {self._relation}").to_arrow_reader(_BATCH_ROWS)

    def _codes(self, array: Any, column: ModelColumn, domain: ColumnDomain) -> NDArray[np.int32]:
        import pyarrow as pa
        import pyarrow.compute as pc

        spec = self.columns[column.source]
        label = column.label(spec)
        missing = np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        if _is_text(spec):
            assert isinstance(domain, CategoryDomain)
            text = array.cast(pa.large_string())
            found = pc.index_in(text, value_set=pa.array(list(domain.values), type=pa.large_string()))
            position = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
            position[missing] = -1
            return domain.encode(position, missing, column=label)
        filled = array.fill_null(0).to_numpy(zero_copy_only=False)
        keys = column.keys(filled, spec)
        if isinstance(domain, NumberDomain):
            return domain.encode(keys, missing, column=label)
        return domain.encode(_positions(domain, keys), missing, column=label)


def _positions(domain: CategoryDomain, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    values = np.array(domain.values, dtype=np.int64)
    if not len(values):
        return np.full(len(keys), -1, dtype=np.int64)
    order = np.argsort(values)
    place = np.minimum(np.searchsorted(values[order], keys), len(values) - 1)
    return np.where(values[order][place] == keys, order[place], -1)


def _code_type(cells: int) -> type[np.integer]:
    """The smallest type that holds a column's codes."""
    return np.uint8 if cells <= 1 << 8 else np.uint16 if cells <= 1 << 16 else np.int32


def _is_text(spec: ColumnSpec) -> bool:
    return spec.physical == "text"
