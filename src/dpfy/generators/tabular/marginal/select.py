"""One-shot selection of pairs: one noisy vector of errors, then a greedy clique tree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.counted import EncodedTable
from dpfy.generators.tabular.marginal.params import MarginalParams
from dpfy.generators.tabular.marginal.tree import eliminate
from dpfy.mechanisms.histogram import GaussianHistogram

if TYPE_CHECKING:
    from dpfy.accounting.meter import Meter
    from dpfy.noise.source import NoiseSource

Floats = NDArray[np.float64]
GRID = 256
"""Errors are rounded to 1/256 of a counting unit, so that noise meets whole numbers."""
COUNTS_OF_PAIRS = (4, 7, 10, 14, 20, 28, 40, 56, 80, 120, 180, 280, 420, 640)


@dataclass(frozen=True, kw_only=True)
class PairErrors:
    """Noisy L1 errors of all pairs against independence.

    **Privacy:** the exact vector changes by at most user_total in each entry when one user is added or removed (the
    1-ways and the number of records are released already and stay fixed), hence by sqrt(pairs) * user_total in l2;
    rounding each entry to the grid adds at most two grid steps. Charges one Gaussian event.

    Args:
        mu_squared: budget, > 0.
    """

    mu_squared: float

    def run(
        self,
        table: EncodedTable,
        pairs: Sequence[tuple[int, int]],
        one_ways: Sequence[Floats],
        records: float,
        *,
        meter: Meter,
        noise: NoiseSource,
        progress: object = None,
    ) -> Floats:
        """Releases the noisy error of each pair.

        Args:
            table: private codes.
            pairs: ascending model-column indices; public.
            one_ways: released 1-way probabilities.
            records: released number of records.
            meter: charged before noise is drawn.
            noise: the source.

        Returns:
            float64 of shape (pairs,), in records.
        """
        from dpfy.accounting.meter import ChargeKind

        one = table.scale.one
        exact = np.empty(len(pairs), dtype=np.int64)
        for index, (i, j) in enumerate(pairs):
            independent = np.outer(one_ways[i], one_ways[j]) * (records * one)
            exact[index] = round(float(np.abs(table.counts((i, j)) - independent).sum()) * GRID)
            if callable(progress):
                progress(index / len(pairs))
        sensitivity = (table.scale.user_total * GRID + 2) * len(pairs) ** 0.5
        mechanism = GaussianHistogram.of_budget(self.mu_squared, sensitivity)
        noisy = mechanism.run(
            exact, meter=meter, noise=noise, label="which pairs depend on each other", kind=ChargeKind.SELECT
        )
        return noisy / (GRID * one)


def all_pairs(columns: int) -> list[tuple[int, int]]:
    """All pairs of model columns."""
    return list(itertools.combinations(range(columns), 2))


def choose_pairs(
    pairs: Sequence[tuple[int, int]],
    errors: Floats,
    sizes: Sequence[int],
    params: MarginalParams,
    *,
    sigma_of_one: float,
) -> list[tuple[int, int]]:
    """Chooses pairs whose gain outweighs their noise, as long as the clique tree stays under its limit.

    Post-processing of noisy errors.

    Args:
        pairs: candidates.
        errors: noisy L1 errors, in records.
        sizes: cells of each model column.
        params: limits, weights, forced pairs.
        sigma_of_one: noise of a cell if the whole measuring budget went to one pair, in records.

    Returns:
        The chosen pairs, best first; forced pairs lead.
    """
    cells = np.array([sizes[i] * sizes[j] for i, j in pairs], dtype=np.float64)
    weight = np.array([params.target_weight if params.target in pair else 1.0 for pair in pairs])
    best: list[tuple[int, int]] = list(params.forced)
    best_gain = 0.0
    for number in COUNTS_OF_PAIRS:
        gains = weight * (errors - params.noise_penalty * sigma_of_one * number**0.5 * cells)
        chosen, gain = _greedy(pairs, gains, sizes, params, number)
        if gain > best_gain:
            best, best_gain = chosen, gain
        if number > len(pairs) or gain < 0.5 * best_gain:
            break
    return best


def _greedy(
    pairs: Sequence[tuple[int, int]],
    gains: Floats,
    sizes: Sequence[int],
    params: MarginalParams,
    number: int,
) -> tuple[list[tuple[int, int]], float]:
    chosen = list(params.forced)
    held = set(chosen)
    gain = 0.0
    refused = 0
    for index in np.argsort(-gains):
        if gains[index] <= 0 or len(chosen) >= number or refused > 60:
            break
        pair = pairs[index]
        if pair in held:
            gain += gains[index]
            continue
        if eliminate([*chosen, pair], sizes, drawn_first=params.drawn_first, limit=params.clique_limit) is None:
            refused += 1
            continue
        chosen.append(pair)
        held.add(pair)
        gain += float(gains[index])
    return chosen, gain
