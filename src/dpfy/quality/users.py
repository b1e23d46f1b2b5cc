"""Figures about users: how many rows each has, and what stays the same within one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfy.quality.distances import Histogram, total_variation
from dpfy.quality.figures import Bar, StaticShare, UserFigures, absent, measured
from dpfy.quality.values import KeyArray

IndexArray = npt.NDArray[np.int64]
MOST_ROWS_TOLD_APART = 100
_STEPS = ((11, 20), (21, 50), (51, 0))


def user_codes(column: Any) -> IndexArray:
    """One code a row for its user, from 0 on; -1 where the id is missing."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def sizes(users: IndexArray) -> IndexArray:
    """Rows of each user that has any."""
    counts = np.bincount(users[users >= 0])
    return counts[counts > 0]


def _share_by_size(counts: IndexArray) -> Histogram:
    values, users = np.unique(np.minimum(counts, MOST_ROWS_TOLD_APART), return_counts=True)
    return values.astype(np.int64), users / max(1, len(counts))


def rows_per_user_bars(real: IndexArray, synthetic: IndexArray) -> tuple[Bar, ...]:
    """Shares of users by number of rows: one by one to ten, then in steps."""
    steps = [(n, n) for n in range(1, 11)] + list(_STEPS)
    most = max(real.max(initial=0), synthetic.max(initial=0))
    bars = []
    for low, high in steps:
        if low > most:
            break
        label = str(low) if low == high else f"{low}–{high}" if high else f"{low}+"
        shares = [
            float(((c >= low) & ((c <= high) if high else True)).mean()) if len(c) else None for c in (real, synthetic)
        ]
        bars.append(Bar(label=label, real=shares[0], synthetic=shares[1]))
    return tuple(bars)


class WithinUser:
    """Rows in the order of their users, for questions about one user's rows.

    Args:
        users: int64 codes, shape (rows,), -1 for a missing id (left out).
    """

    def __init__(self, users: IndexArray) -> None:
        order = np.argsort(users, kind="stable")
        order = order[users[order] >= 0]
        ordered = users[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(order) else order
        lengths = np.diff(np.r_[starts, len(order)])
        self._order, self._starts, self._lengths = order, starts, lengths

    def static_share(self, keys: KeyArray) -> float:
        """Share of users with two or more rows in whom the column keeps one value; NaN without such users."""
        several = self._lengths > 1
        if not several.any():
            return float("nan")
        ordered = keys[self._order]
        same = ordered == np.repeat(ordered[self._starts], self._lengths)
        kept = np.logical_and.reduceat(same, self._starts)
        return float(kept[several].mean())


def user_figures(
    real: IndexArray, synthetic: IndexArray, keys: Iterable[tuple[str, Sequence[KeyArray]]]
) -> UserFigures:
    """Rows per user and static columns.

    Args:
        real: user codes of the real rows.
        synthetic: user codes of the synthetic rows.
        keys: for each column its name and its exact keys in (real, synthetic).
    """
    counts = sizes(real), sizes(synthetic)
    within = WithinUser(real), WithinUser(synthetic)
    no_users = "One of the tables has no rows with a user id."
    no_several = "No user has two or more rows."
    static = []
    for name, (first, second) in keys:
        shares = within[0].static_share(first), within[1].static_share(second)
        static.append(
            StaticShare(
                name=name,
                real=measured(shares[0], otherwise=no_several),
                synthetic=measured(shares[1], otherwise=no_several),
            )
        )
    both = len(counts[0]) and len(counts[1])
    distance = total_variation(_share_by_size(counts[0]), _share_by_size(counts[1])) if both else 0.0
    return UserFigures(
        real_users=len(counts[0]),
        synthetic_users=len(counts[1]),
        rows_per_user_distance=measured(distance) if both else absent(no_users),
        rows_per_user=rows_per_user_bars(*counts),
        static=tuple(static),
    )
