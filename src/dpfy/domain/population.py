"""How many users and records there are: noisy, and paid for like anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.simplex import projected
from dpfy.mechanisms.histogram import GaussianHistogram

if TYPE_CHECKING:
    from dpfy.accounting.meter import Meter
    from dpfy.noise.source import NoiseSource

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Population:
    """Released sizes.

    Args:
        users: noisy number of users (records, when the unit is a record), >= 1.
        records: noisy number of records after bounding, >= 1.
        rows_per_user: float64 of shape (cap,): share of users with 1..cap records; sums to 1.
    """

    users: int
    records: int
    rows_per_user: Floats


def coarse_edges(cap: int) -> tuple[int, ...]:
    """Public borders for rows per user: each number up to 6, then steps that grow; the last is cap + 1."""
    edges, width = [1], 1
    while edges[-1] <= cap:
        if edges[-1] >= 6:
            width = max(1, edges[-1] // 4)
        edges.append(edges[-1] + width)
    return (*(e for e in edges if e <= cap), cap + 1)


def count_records(exact: int, *, mu_squared: float, meter: Meter, noise: NoiseSource) -> Population:
    """Releases the number of records, when the unit is one record.

    **Privacy:** one record moves the count by 1: a Gaussian histogram of one cell, sensitivity 1.
    """
    noisy = _release(np.array([exact], dtype=np.int64), mu_squared, "number of records", meter, noise)
    size = max(1, int(noisy[0]))
    return Population(users=size, records=size, rows_per_user=np.ones(1))


def count_users(exact: NDArray[np.int64], *, mu_squared: float, meter: Meter, noise: NoiseSource) -> NDArray[np.int64]:
    """Releases how many users have how many records.

    **Privacy:** each user stands in exactly one cell, so adding or removing one moves one cell by 1: sensitivity 1.

    Args:
        exact: int64, number of users in each public interval of rows per user.

    Returns:
        int64, noisy, same shape.
    """
    return _release(exact, mu_squared, "number of users by number of records", meter, noise)


def population_of(noisy: NDArray[np.int64], edges: Sequence[int], cap: int) -> Population:
    """Users, records and rows per user from noisy interval counts; users above the cap count at the cap.

    Post-processing.

    Args:
        noisy: noisy counts of the intervals [edges[i], edges[i + 1]).
        edges: ascending, starting with 1.
        cap: the contribution bound.
    """
    total = max(1.0, float(noisy.sum()))
    clean = projected(noisy.astype(np.float64), total)
    shares = np.zeros(cap)
    for count, low, high in zip(clean, edges[:-1], edges[1:], strict=True):
        inside = np.minimum(np.arange(low, min(high, cap + 1) if low <= cap else low + 1), cap)
        np.add.at(shares, inside - 1, count / len(inside))
    shares /= shares.sum()
    mean = float(shares @ np.arange(1, cap + 1))
    return Population(users=round(total), records=max(1, round(total * mean)), rows_per_user=shares)


def _release(
    exact: NDArray[np.int64], mu_squared: float, label: str, meter: Meter, noise: NoiseSource
) -> NDArray[np.int64]:
    from dpfy.accounting.meter import ChargeKind

    mechanism = GaussianHistogram.of_budget(mu_squared, 1.0)
    return mechanism.run(exact, meter=meter, noise=noise, label=label, kind=ChargeKind.COUNT)
