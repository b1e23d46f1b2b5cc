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


def count_records(exact: int, *, mu_squared: float, meter: Meter, noise: NoiseSource) -> Population:
    """Releases the number of records, when the unit is one record.

    **Privacy:** one record moves the count by 1: a Gaussian histogram of one cell, sensitivity 1.
    """
    noisy = _release(np.array([exact], dtype=np.int64), mu_squared, "number of records", meter, noise)
    size = max(1, int(noisy[0]))
    return Population(users=size, records=size, rows_per_user=np.ones(1))


@dataclass(frozen=True, kw_only=True)
class NoisyUsers:
    """Noisy number of users by number of records.

    Args:
        counts: int64, one for each public interval.
        sigma: standard deviation of each.
    """

    counts: NDArray[np.int64]
    sigma: float

    @property
    def standing(self) -> NDArray[np.int64]:
        """The counts up to where their sum stands out of its own noise most: far out there is nothing but noise."""
        noise = self.sigma * np.sqrt(np.arange(1, len(self.counts) + 1))
        clear = np.cumsum(self.counts) - 4.0 * noise
        if clear.max() <= 0:
            clear = np.cumsum(self.counts) - noise
        return self.counts[: int(np.argmax(clear)) + 1]


def count_users(exact: NDArray[np.int64], *, mu_squared: float, meter: Meter, noise: NoiseSource) -> NoisyUsers:
    """Releases how many users have how many records.

    **Privacy:** each user stands in exactly one cell, so adding or removing one moves one cell by 1: sensitivity 1.

    Args:
        exact: int64, number of users in each public interval of rows per user.

    Returns:
        Noisy counts of the same intervals.
    """
    noisy = _release(exact, mu_squared, "number of users by number of records", meter, noise)
    return NoisyUsers(counts=noisy, sigma=mu_squared**-0.5)


def population_of(noisy: NoisyUsers, upto: Sequence[int], cap: int, owners: int = 1) -> Population:
    """Users, records and rows per user from noisy interval counts; users above the cap count at the cap.

    Post-processing.

    Args:
        noisy: noisy counts; the i-th interval holds users with more than upto[i - 1] and at most upto[i] records.
        upto: public, ascending, starting with 1.
        cap: the contribution bound.
        owners: people that a record belongs to; it counts for each of them.
    """
    counts = noisy.standing.astype(np.float64)
    total = max(1.0, float(counts.sum()))
    shares = np.zeros(cap)
    below = 0
    for count, high in zip(projected(counts, total), upto, strict=False):
        inside = np.arange(min(below, cap - 1), min(high, cap))
        shares[inside] += count / len(inside)
        below = high
    shares /= shares.sum()
    mean = float(shares @ np.arange(1, cap + 1))
    return Population(users=round(total), records=max(1, round(total * mean / owners)), rows_per_user=shares)


def _release(
    exact: NDArray[np.int64], mu_squared: float, label: str, meter: Meter, noise: NoiseSource
) -> NDArray[np.int64]:
    from dpfy.accounting.meter import ChargeKind

    mechanism = GaussianHistogram.of_budget(mu_squared, 1.0)
    return mechanism.run(exact, meter=meter, noise=noise, label=label, kind=ChargeKind.COUNT)
