"""Bins of a column, laid by the real table and used for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfy.quality.values import ColumnValues, FloatArray, number_word

CodeArray = npt.NDArray[np.integer[Any]]

QUANTILE_BINS = 20
HEAVY_SHARE = 0.3
MOST_POINTS = 12
BIN_RULE = (
    f"Numbers and dates lie in {QUANTILE_BINS} quantile bins of the real table; a value that holds at least "
    f"{HEAVY_SHARE:.0%} of the rows has a bin of its own, and so has 'missing'. Numbers with at most "
    f"{MOST_POINTS} "
    "distinct values and categories are compared value by value; values that the real table lacks share "
    "one bin."
)


@dataclass(frozen=True, kw_only=True)
class ColumnBins:
    """The bins of one column: a vocabulary of words, single points, or edges with heavy values beside them.

    Args:
        words: Arrow string array of the real table's values, most frequent first; None for numbers.
        points: ascending distinct values of a discrete number column; None if it has edges or words.
        edges: ascending inner edges.
        heavy: values with bins of their own; infinities always are.
        size: number of codes, with those for missing and unseen.
        missing: the code of a missing value.
    """

    words: Any = None
    points: FloatArray | None = None
    edges: FloatArray = field(default_factory=lambda: np.empty(0))
    heavy: FloatArray = field(default_factory=lambda: np.empty(0))
    size: int
    missing: int

    def encode(self, column: ColumnValues) -> CodeArray:
        """Codes in [0, size), shape (rows,)."""
        code = self._word_codes(column) if self.words is not None else self._number_codes(column)
        return code.astype(np.int16 if self.size < 2**15 else np.int32)

    def _word_codes(self, column: ColumnValues) -> npt.NDArray[np.int64]:
        import pyarrow.compute as pc

        if len(self.words) == 0 or len(column) == 0:
            found = np.full(len(column), self.missing + 1, dtype=np.int64)
        else:
            index = pc.index_in(column.words, value_set=self.words).fill_null(self.missing + 1)
            found = np.asarray(index.to_numpy(zero_copy_only=False), dtype=np.int64)
        return np.where(column.missing, self.missing, found)

    def _number_codes(self, column: ColumnValues) -> npt.NDArray[np.int64]:
        numbers = column.numbers
        assert numbers is not None
        if self.points is not None:
            if len(self.points) == 0:
                code = np.full(len(numbers), self.missing + 1, dtype=np.int64)
            else:
                place = np.clip(np.searchsorted(self.points, numbers), 0, len(self.points) - 1)
                code = np.where(self.points[place] == numbers, place, self.missing + 1)
        else:
            code = np.digitize(np.where(column.missing, 0.0, numbers), self.edges)
            for offset, value in enumerate(self.heavy):
                code = np.where(numbers == value, len(self.edges) + 1 + offset, code)
        return np.where(column.missing, self.missing, code).astype(np.int64)

    def label(self, code: int) -> str:
        """The value behind the code of a word or a point."""
        if self.words is not None:
            return str(self.words[code].as_py())
        assert self.points is not None
        return number_word(float(self.points[code])) or ""


def fit_bins(real: ColumnValues) -> ColumnBins:
    """Lays the bins of one column by its real values."""
    if real.words is not None:
        import pyarrow.compute as pc

        counts = real.words.drop_null().value_counts()
        order = pc.sort_indices(counts.field("counts"), sort_keys=[("", "descending")])
        words = counts.field("values").take(order)
        return ColumnBins(words=words, size=len(words) + 2, missing=len(words))
    assert real.numbers is not None
    values, counts = np.unique(real.numbers[~real.missing] + 0.0, return_counts=True)
    if len(values) <= MOST_POINTS:
        return ColumnBins(points=values, size=len(values) + 2, missing=len(values))
    heavy = values[(counts >= HEAVY_SHARE * counts.sum()) | np.isinf(values)]
    rest = real.numbers[~real.missing & ~np.isin(real.numbers, heavy)]
    edges = np.unique(np.quantile(rest, np.linspace(0, 1, QUANTILE_BINS + 1)))[1:-1] if len(rest) else np.empty(0)
    inner = len(edges) + 1 + len(heavy)
    return ColumnBins(edges=edges, heavy=heavy, size=inner + 1, missing=inner)


@dataclass(frozen=True, kw_only=True)
class EncodedTable:
    """A table as codes: one array a column, all of the same length."""

    codes: tuple[CodeArray, ...]
    sizes: tuple[int, ...]
    rows: int

    def take(self, rows: npt.NDArray[np.int64]) -> EncodedTable:
        """The rows at these places."""
        return EncodedTable(codes=tuple(c[rows] for c in self.codes), sizes=self.sizes, rows=len(rows))

    def joint(self, columns: Sequence[int]) -> tuple[npt.NDArray[np.int64], int]:
        """One code a row for several columns together, and how many such codes there are."""
        code, size = np.zeros(self.rows, dtype=np.int64), 1
        for column in columns:
            code = code * self.sizes[column] + self.codes[column]
            size *= self.sizes[column]
        return code, size


def encode_table(bins: Sequence[ColumnBins], columns: Sequence[ColumnValues]) -> EncodedTable:
    """Encodes all columns of one table."""
    codes = tuple(b.encode(c) for b, c in zip(bins, columns, strict=True))
    return EncodedTable(codes=codes, sizes=tuple(b.size for b in bins), rows=len(codes[0]) if codes else 0)
