"""How many records users have, for a private choice of the bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpfy.contribution.candidates import SourceTable, candidate_rows, engine_errors
from dpfy.errors import ContributionError
from dpfy.privacy import PrivacyUnit

__all__ = ["PUBLIC_EDGES", "choose_cap", "rows_per_user_histogram"]

PUBLIC_EDGES: tuple[int, ...] = tuple(
    sorted({1, 2, 3, 6} | {(1 << power) * part // 4 for power in range(2, 20) for part in (4, 5, 6)} | {1 << 20})
)
"""1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, ... 2**20: fixed beforehand, the same for all data."""


def rows_per_user_histogram(
    table: SourceTable,
    unit: PrivacyUnit,
    edges: Sequence[int] = PUBLIC_EDGES,
    *,
    exclude_users: Path | None = None,
    where: str | Sequence[str] | None = None,
) -> NDArray[np.int64]:
    """Counts users by how many records they have, before any bound.

    **Privacy:** red zone: exact counts. Each user is in exactly one cell, so adding or removing a user
    changes one cell by 1 (l1 and l2 sensitivity 1). Under the fixed graph of several owners, who owns which
    record is the same in both neighbours, and the counts do not change at all. What leaves the red zone
    must be noisy and charged.

    Args:
        table: the source.
        unit: with at least one owner.
        edges: rising, from 1, public. Cell j counts users with over edges[j - 1] and up to edges[j]
            records; the last one also those with more.
        exclude_users: file of users to leave out, applied first.
        where: conditions on one row, applied first.

    Returns:
        int64, shape (len(edges),).

    Raises:
        ContributionError: the unit is a record, or see `bound`.
    """
    if unit.is_record:
        raise ContributionError("records per user need a user column.", hint="Name it with --user.")
    bounds = np.asarray(edges, dtype=np.int64)
    if len(bounds) == 0 or bounds[0] != 1 or np.any(np.diff(bounds) <= 0):
        raise ValueError("edges must rise from 1")
    with candidate_rows(table, unit, exclude_users=exclude_users, where=where) as candidates, engine_errors():
        # A person who is named twice in a row has one record there.
        named = " UNION ".join(f"SELECT row, id{place} AS id FROM {candidates}" for place in range(len(unit.owners)))
        source = f"({named})" if len(unit.owners) > 1 else f"(SELECT id0 AS id FROM {candidates})"
        counted = table.connection.execute(
            "SELECT records, count(*) AS users FROM "
            f"(SELECT count(*) AS records FROM {source} GROUP BY id) GROUP BY records"
        ).fetchnumpy()
    records = np.asarray(counted["records"], dtype=np.int64)
    cell = np.minimum(np.searchsorted(bounds, records, side="left"), len(bounds) - 1)
    counts = np.zeros(len(bounds), dtype=np.int64)
    np.add.at(counts, cell, np.asarray(counted["users"], dtype=np.int64))
    return counts


def choose_cap(noisy_counts: NDArray[np.int64] | Sequence[float], edges: Sequence[int], quantile: float) -> int:
    """Chooses max_records_per_user so that about this share of users keeps all records.

    **Privacy:** post-processing of counts that are noisy and charged already.

    Args:
        noisy_counts: shape (len(edges),); may be negative.
        edges: the public edges of the counts.
        quantile: in (0, 1).

    Returns:
        One of the edges; the first when the counts say nothing.
    """
    counts = np.asarray(noisy_counts, dtype=np.float64)
    if counts.shape != (len(edges),) or not 0.0 < quantile < 1.0:
        raise ValueError("one count per edge and a quantile inside (0, 1) are needed")
    # Sums of unclipped counts are unbiased. Clipping each would add up the noise of the many empty cells at
    # the top.
    total = float(counts.sum())
    if total <= 0.0:
        return int(edges[0])
    reached = np.flatnonzero(np.cumsum(counts) >= quantile * total)
    return int(edges[reached[0]]) if len(reached) else int(edges[-1])
