"""How the measuring budget is split: public arithmetic that a fit and a plan share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfy.generators.tabular.marginal.params import MarginalParams

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MeasuringSplit:
    """The parts of the measuring budget, in mu squared; they sum to it.

    Args:
        one_ways: for all model columns together, in equal parts.
        select: for the errors of all pairs.
        pairs: for the chosen pairs.
    """

    one_ways: float
    select: float
    pairs: float

    @classmethod
    def of(cls, mu_squared: float, columns: int, params: MarginalParams) -> MeasuringSplit:
        """Splits what is left after count and domain.

        Args:
            mu_squared: budget, > 0.
            columns: number of model columns; one alone gets everything.
            params: the shares.
        """
        if columns < 2:
            return cls(one_ways=mu_squared, select=0.0, pairs=0.0)
        one_ways, select = mu_squared * params.one_way_share, mu_squared * params.select_share
        return cls(one_ways=one_ways, select=select, pairs=mu_squared - one_ways - select)


def pair_shares(pairs: Sequence[tuple[int, int]], sizes: Sequence[int], params: MarginalParams) -> Floats:
    """The share of the pairs' budget that each measured pair gets: larger tables get more.

    Args:
        pairs: that are measured together.
        sizes: cells of each model column.
        params: weight of the target.

    Returns:
        float64 of shape (pairs,), sums to 1.
    """
    cells = np.array([sizes[i] * sizes[j] for i, j in pairs], dtype=np.float64)
    weight = np.array([params.target_weight if params.target in pair else 1.0 for pair in pairs])
    share = cells ** (2 / 3) * weight
    return np.asarray(share / share.sum() if len(share) else share, dtype=np.float64)
