"""Exact counts of one column's values: private, inside the red zone only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class ValueCounts:
    """How often each value stands in a column, in counting units.

    **Privacy:** exact and private; only a mechanism may read it.

    Args:
        keys: distinct values, ascending: int64 keys, or text as object.
        counts: int64, each > 0.
        missing: count of rows without a value.
    """

    keys: NDArray[np.generic]
    counts: NDArray[np.int64]
    missing: int

    def __repr__(self) -> str:
        return "ValueCounts(private)"

    def without(self, keys: NDArray[np.int64]) -> ValueCounts:
        """The same without some values.

        Args:
            keys: int64, ascending.
        """
        place = np.searchsorted(self.keys, keys)
        held = place[place < len(self.keys)]
        held = held[self.keys[held] == keys[: len(held)]]
        if not len(held):
            return self
        return ValueCounts(keys=np.delete(self.keys, held), counts=np.delete(self.counts, held), missing=self.missing)

    def clamped(self, low: int, high: int) -> ValueCounts:
        """The same with keys below low counted at low, and keys from high on counted at high - 1."""
        # An interval of one key holds everything.
        start = int(np.searchsorted(self.keys, low, side="right")) if low < high - 1 else len(self.keys)
        end = max(start, int(np.searchsorted(self.keys, high - 1, side="left")))
        at_ends = [(low, self.counts[:start]), (high - 1, self.counts[end:])]
        ends = [
            (np.array([key] * bool(len(counts)), dtype=np.int64), np.array([counts.sum()] * bool(len(counts))))
            for key, counts in at_ends
        ]
        return ValueCounts(
            keys=np.concatenate([ends[0][0], self.keys[start:end], ends[1][0]]).astype(np.int64),
            counts=np.concatenate([ends[0][1], self.counts[start:end], ends[1][1]]).astype(np.int64),
            missing=self.missing,
        )

    def within(self, borders: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts in the intervals between borders; what lies beyond falls into the first or last.

        Args:
            borders: int64 of shape (m + 1,), ascending.

        Returns:
            int64 of shape (m,).
        """
        running = np.concatenate([[0], np.cumsum(self.counts)])
        place = np.searchsorted(self.keys, borders[1:-1])
        return np.asarray(np.diff(running[np.concatenate([[0], place, [len(self.keys)]])]), dtype=np.int64)

    def within_each(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts in disjoint intervals [low, high)."""
        running = np.concatenate([[0], np.cumsum(self.counts)])
        return np.asarray(
            running[np.searchsorted(self.keys, high)] - running[np.searchsorted(self.keys, low)], dtype=np.int64
        )
