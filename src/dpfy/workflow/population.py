"""Bounding what a user contributes, and counting users and records on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpfy.accounting.meter import Meter
from dpfy.domain.population import Population, count_records, count_users, population_of
from dpfy.mechanisms.counting import USER_WEIGHT
from dpfy.noise.source import NoiseSource
from dpfy.privacy import CountingMode
from dpfy.workflow.request import CAP_QUANTILE, FitRequest

if TYPE_CHECKING:
    from dpfy.contribution import BoundedTable
    from dpfy.ingest import PrivateTable


def bound_and_count(
    table: PrivateTable, request: FitRequest, *, mu_squared: float, meter: Meter, noise: NoiseSource
) -> tuple[BoundedTable, Population]:
    """Bounds contributions; chooses the cap privately when none is given.

    **Privacy:** one Gaussian histogram of users by number of records (sensitivity 1), or one noisy count of records
    when the unit is a record; mu_squared is charged.

    Args:
        table: private.
        request: unit, filters and opt-outs.
        mu_squared: budget, > 0.
        meter: charged before noise is drawn.
        noise: the source; also gives the key of the choice of rows.

    Returns:
        The bounded table and the noisy sizes.
    """
    from dpfy.contribution import PUBLIC_EDGES, bound, choose_cap, rows_per_user_histogram

    unit = request.unit
    cap = unit.max_records_per_user
    chosen: dict[str, Any] = {"exclude_users": request.exclude_users, "where": request.where}
    if unit.is_record:
        bounded = bound(table, unit, key=noise.random_key(), max_records_per_user=1, **chosen)
        exact = int(bounded.rows_per_user().sum())
        return bounded, count_records(exact, mu_squared=mu_squared, meter=meter, noise=noise)
    if cap is None:
        edges = PUBLIC_EDGES
        exact_users = rows_per_user_histogram(table, unit, edges, **chosen)
        noisy = count_users(exact_users, mu_squared=mu_squared, meter=meter, noise=noise)
        cap = choose_cap(noisy.standing, edges[: len(noisy.standing)], CAP_QUANTILE)
        if request.counting is CountingMode.USERS:
            cap = min(cap, USER_WEIGHT)
        bounded = bound(table, unit, key=noise.random_key(), max_records_per_user=cap, **chosen)
        return bounded, population_of(noisy, edges, cap, len(unit.owners))
    bounded = bound(table, unit, key=noise.random_key(), max_records_per_user=cap, **chosen)
    edges = (*(e for e in PUBLIC_EDGES if e < cap), cap)
    starts = np.array((0, *edges[:-1]))
    exact_users = np.add.reduceat(bounded.rows_per_user(), starts).astype(np.int64)
    noisy = count_users(exact_users, mu_squared=mu_squared, meter=meter, noise=noise)
    return bounded, population_of(noisy, edges, cap, len(unit.owners))
