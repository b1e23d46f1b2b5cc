"""Fitting the marginal generator: 1-ways, selection, pairs, estimation. PROOF.md stands beside this file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.counted import EncodedTable
from dpfy.domain.discovery import Discovered
from dpfy.domain.simplex import projected
from dpfy.errors import SpecError
from dpfy.generators.tabular.marginal.budget import MeasuringSplit, pair_shares
from dpfy.generators.tabular.marginal.estimate import NoisyMarginal, TreeModel, estimate
from dpfy.generators.tabular.marginal.params import MarginalParams, Progress
from dpfy.generators.tabular.marginal.select import PairErrors, all_pairs, choose_pairs
from dpfy.generators.tabular.marginal.tree import clique_tree
from dpfy.mechanisms.histogram import GaussianHistogram

if TYPE_CHECKING:
    from dpfy.accounting.meter import Meter
    from dpfy.noise.source import NoiseSource

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MeasuringBudget:
    """What fit may spend.

    Args:
        mu_squared: Gaussian budget, > 0; spent to the end.
        records: noisy number of records in counting (rows, or users in per-user counting), in records.
    """

    mu_squared: float
    records: float


def fit_marginals(
    table: EncodedTable,
    found: Sequence[Discovered],
    budget: MeasuringBudget,
    params: MarginalParams,
    *,
    meter: Meter,
    noise: NoiseSource,
    progress: Progress,
) -> TreeModel:
    """Measures marginals and fits the clique-tree model.

    **Privacy:** unit and adjacency are those of the table's bounding. Charges Gaussian events that compose to
    budget.mu_squared: 1-ways, one vector of pair errors, chosen pairs. All else is post-processing.

    Args:
        table: private codes.
        found: domains with the counts that discovery has paid for.
        budget: what may be spent.
        params: public parameters.
        meter: charged before each draw.
        noise: the source.
        progress: shows stages.

    Returns:
        The fitted model.

    **Source:** selection after one-shot noisy errors, estimation by private-pgm's maximum entropy (McKenna et al.
    2019) in its dual; PROOF.md.
    """
    columns = len(table.sizes)
    for i, j in params.forced:
        if table.sizes[i] * table.sizes[j] > params.clique_limit:
            raise SpecError("two columns of a `follows` rule have too many values to be modelled together.")
    split = MeasuringSplit.of(budget.mu_squared, columns, params)
    pooled = measure_one_ways(table, found, split.one_ways, meter=meter, noise=noise, progress=progress)
    one_ways = [to_probabilities(p, budget.records) for p in pooled]
    if columns < 2:
        return _independent(one_ways, table.sizes)
    pairs = all_pairs(columns)
    errors = PairErrors(mu_squared=split.select).run(
        table,
        pairs,
        one_ways,
        budget.records,
        meter=meter,
        noise=noise,
        progress=lambda share: progress("compare pairs", share),
    )
    sigma_of_one = table.scale.user_total / (table.scale.one * split.pairs**0.5)
    chosen = choose_pairs(pairs, errors, table.sizes, params, sigma_of_one=sigma_of_one)
    if not chosen:
        # No pair stands out of its noise: what was meant for pairs sharpens the columns.
        pooled = measure_one_ways(table, pooled, split.pairs, meter=meter, noise=noise, progress=progress)
        return _independent([to_probabilities(p, budget.records) for p in pooled], table.sizes)
    marginals = measure_pairs(table, chosen, split.pairs, params, meter=meter, noise=noise, progress=progress)
    tree = clique_tree(chosen, table.sizes, drawn_first=params.drawn_first)
    return estimate(
        tree,
        one_ways,
        marginals,
        total=max(budget.records, 1.0),
        penalty=params.penalty,
        iterations=params.iterations,
        progress=lambda share: progress("estimate", share),
    )


def _independent(one_ways: Sequence[Floats], sizes: Sequence[int]) -> TreeModel:
    return TreeModel(tree=clique_tree([], sizes), base=tuple(one_ways), columns=(), theta=())


def measure_one_ways(
    table: EncodedTable,
    found: Sequence[Discovered],
    mu_squared: float,
    *,
    meter: Meter,
    noise: NoiseSource,
    progress: Progress,
) -> list[Discovered]:
    """Noisy 1-way counts, pooled with what was measured before.

    **Privacy:** one Gaussian histogram a column, equal parts of mu_squared.

    Returns:
        The domains with pooled counts and variances, in records.
    """
    from dpfy.accounting.meter import ChargeKind

    result = []
    one = table.scale.one
    for column, prior in enumerate(found):
        progress("measure columns", column / len(found))
        mechanism = GaussianHistogram.of_budget(mu_squared / len(found), table.scale.user_total)
        noisy = mechanism.run(
            table.counts((column,)),
            meter=meter,
            noise=noise,
            label=f"values of model column {column + 1}",
            kind=ChargeKind.MEASURE,
        )
        variance = (mechanism.sigma / one) ** 2
        precision = 1.0 / prior.variance  # 0 where nothing was measured before
        pooled_variance = 1.0 / (precision + 1.0 / variance)
        counts = pooled_variance * (prior.counts * precision + noisy / one / variance)
        result.append(Discovered(domain=prior.domain, counts=counts, variance=pooled_variance))
    return result


def to_probabilities(found: Discovered, records: float) -> Floats:
    """Projects noisy counts onto probabilities: none negative, sum 1; cells near zero keep a trace.

    Args:
        found: noisy counts and their variances, in records.
        records: noisy total.

    Returns:
        float64 probabilities; 0 only for missing.
    """
    total = max(records, 1.0)
    counts = found.counts.copy()
    absent = found.domain.missing_code
    if absent is not None and len(counts) > 1 and counts[absent] < 3.0 * found.variance[absent] ** 0.5:
        # A share of empty cells that does not stand out of its noise is taken as none.
        counts[absent] = 0.0
    trace = np.minimum(0.05 * np.sqrt(found.variance), 0.01 * total / len(found.counts))
    raised = np.maximum(projected(counts, total), trace)
    if absent is not None and counts[absent] == 0.0 and len(counts) > 1:
        raised[absent] = 0.0
    return np.asarray(raised / raised.sum(), dtype=np.float64)


def measure_pairs(
    table: EncodedTable,
    chosen: Sequence[tuple[int, int]],
    mu_squared: float,
    params: MarginalParams,
    *,
    meter: Meter,
    noise: NoiseSource,
    progress: Progress,
) -> list[NoisyMarginal]:
    """Measures the chosen pairs; larger tables get more of the budget.

    **Privacy:** one Gaussian histogram a pair; the parts of mu_squared sum to it.
    """
    from dpfy.accounting.meter import ChargeKind

    shares = pair_shares(chosen, table.sizes, params)
    marginals = []
    one = table.scale.one
    for index, (pair, part) in enumerate(zip(chosen, shares, strict=True)):
        progress("measure pairs", index / len(chosen))
        mechanism = GaussianHistogram.of_budget(mu_squared * float(part), table.scale.user_total)
        noisy = mechanism.run(
            table.counts(pair),
            meter=meter,
            noise=noise,
            label=f"model columns {pair[0] + 1} and {pair[1] + 1} together",
            kind=ChargeKind.MEASURE,
        )
        marginals.append(NoisyMarginal(columns=pair, counts=noisy / one, variance=(mechanism.sigma / one) ** 2))
    return marginals
