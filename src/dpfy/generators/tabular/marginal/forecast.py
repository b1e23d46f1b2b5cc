"""What a run will be able to see, from public information alone: the run's own arithmetic without its data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dpfy.domain.budget import ColumnBudget, NumberSplit, domain_mu_squared
from dpfy.domain.discovery import STANDS_OUT, bins_worth
from dpfy.domain.model_column import ModelColumn
from dpfy.domain.table import MOST_BINS, has_public_categories, hidden_columns, public_domain
from dpfy.generators.tabular.marginal.budget import MeasuringSplit
from dpfy.generators.tabular.marginal.params import MarginalParams
from dpfy.mechanisms.counting import CountScale
from dpfy.mechanisms.histogram import GaussianHistogram
from dpfy.mechanisms.threshold import GaussianThreshold
from dpfy.schema import ColumnSpec

TRUSTED = 0.05
COARSE = 0.25
PARTS = 4
"""A pair's numbers are judged in so many parts: their bins grow with the budget, and so many are always of use."""
_IN_95_OF_100 = 1.645
_MEAN_ABSOLUTE = math.sqrt(2.0 / math.pi)


class Trust(StrEnum):
    """What noise alone leaves of a pair's table."""

    TRUSTED = "trusted"
    COARSE = "coarse only"
    LOST = "lost in noise"

    @classmethod
    def of(cls, error: float) -> Trust:
        """The verdict on an expected total variation error."""
        return cls.TRUSTED if error <= TRUSTED else cls.COARSE if error <= COARSE else cls.LOST


@dataclass(frozen=True, kw_only=True)
class Spending:
    """The parts of a run's budget, in mu squared.

    Args:
        count: number of records or users.
        domains: what columns hold.
        one_ways: columns.
        select: which pairs depend on each other.
        pairs: chosen pairs.
    """

    count: float
    domains: float
    one_ways: float
    select: float
    pairs: float


@dataclass(frozen=True, kw_only=True)
class ColumnForecast:
    """What can be seen of one model column. Counts are in records (users in per-user counting).

    Args:
        label: the column.
        kind: "public categories", "categories" or "numbers".
        cells: of its table; None where categories are discovered.
        parts: cells that a pair is judged in; numbers in PARTS.
        noise: standard deviation of a cell of its 1-way table.
        named_from: records with which a value is named in half of all runs; None where categories are public.
        named_surely: the same in 95 of 100 runs.
        visible_from: records that an interval of numbers needs to stand out; None for categories.
    """

    label: str
    kind: str
    cells: int | None
    parts: int | None
    noise: float
    named_from: float | None
    named_surely: float | None
    visible_from: float | None


@dataclass(frozen=True, kw_only=True)
class PairForecast:
    """What can be seen of a pair of columns whose sizes are known.

    Args:
        labels: the two columns.
        cells: of their joint table.
        records_per_cell: on average.
        noise: standard deviation of a cell, if as many pairs are measured as `pairs_measured` of the forecast says.
        error: expected total variation distance that noise alone causes in its table by parts, before estimation draws
            strength from other tables.
        trust: the verdict on it.
    """

    labels: tuple[str, str]
    cells: int
    records_per_cell: float
    noise: float
    error: float
    trust: Trust


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a run will be able to see."""

    spending: Spending
    columns: tuple[ColumnForecast, ...]
    pairs: tuple[PairForecast, ...]
    pairs_measured: int


def forecast(
    specs: Sequence[ColumnSpec],
    columns: Sequence[ModelColumn],
    *,
    mu_squared: float,
    threshold_delta: float,
    records: float,
    scale: CountScale,
    params: MarginalParams,
) -> Forecast:
    """Predicts a run's noise.

    **Privacy:** reads no data; charges nothing.

    Args:
        specs: the schema's columns.
        columns: its model columns.
        mu_squared: of the whole run.
        threshold_delta: for all thresholds.
        records: a public guess; of users in per-user counting.
        scale: what a user adds up to.
        params: the run's parameters.
    """
    hidden = hidden_columns(specs, columns)
    count = params.count_share * mu_squared
    domains = domain_mu_squared(mu_squared, records=records, scale=scale, columns=len(columns), hidden=len(hidden))
    split = MeasuringSplit.of(mu_squared - count - domains, len(columns), params)
    each = ColumnBudget.equal_parts(domains, threshold_delta, len(hidden))
    of_cell = _noise(split.one_ways / max(1, len(columns)), scale)
    seen = [_column(specs[c.source], c, each, records=records, scale=scale, noise=of_cell) for c in columns]
    measured = max(1, len(columns) - 1)
    return Forecast(
        spending=Spending(
            count=count, domains=domains, one_ways=split.one_ways, select=split.select, pairs=split.pairs
        ),
        columns=tuple(seen),
        pairs=_pairs(seen, _noise(split.pairs / measured, scale), records) if len(columns) > 1 else (),
        pairs_measured=measured,
    )


def _noise(mu_squared: float, scale: CountScale) -> float:
    return GaussianHistogram.of_budget(mu_squared, scale.user_total).sigma / scale.one


def _column(
    spec: ColumnSpec, column: ModelColumn, budget: ColumnBudget, *, records: float, scale: CountScale, noise: float
) -> ColumnForecast:
    label = column.label(spec)
    if has_public_categories(spec):
        cells = public_domain(spec, column).cells
        return ColumnForecast(
            label=label,
            kind="public categories",
            cells=cells,
            parts=cells,
            noise=noise,
            named_from=None,
            named_surely=None,
            visible_from=None,
        )
    if spec.is_category:
        look = budget.first_look
        threshold = GaussianThreshold.of_budget(look.mu_squared, look.delta, scale)
        kind, counted, parts, visible = "categories", None, None, None
    else:
        split = NumberSplit.of(budget.mu_squared, has_steps=bool(column.steps(spec)))
        threshold = GaussianThreshold.of_budget(split.values, budget.delta, scale)
        level = _noise(split.level, scale)
        kind, visible = "numbers", STANDS_OUT * level
        bins, may_miss = bins_worth(records, level, MOST_BINS), spec.missing != "never"
        counted, parts = bins + may_miss, min(bins, PARTS) + may_miss
    return ColumnForecast(
        label=label,
        kind=kind,
        cells=counted,
        parts=parts,
        noise=noise,
        named_from=threshold.threshold / scale.one,
        named_surely=(threshold.threshold + _IN_95_OF_100 * threshold.sigma) / scale.one,
        visible_from=visible,
    )


def _pairs(columns: Sequence[ColumnForecast], noise: float, records: float) -> tuple[PairForecast, ...]:
    found = []
    for a, b in itertools.combinations(columns, 2):
        if a.cells is None or b.cells is None or a.parts is None or b.parts is None:
            continue
        cells, parts = a.cells * b.cells, a.parts * b.parts
        # A part adds up cells / parts cells, each with noise of its own.
        of_part = noise * (cells / parts) ** 0.5
        error = min(1.0, _MEAN_ABSOLUTE * of_part * parts / 2.0 / max(records, 1.0))
        found.append(
            PairForecast(
                labels=(a.label, b.label),
                cells=cells,
                records_per_cell=records / cells,
                noise=noise,
                error=error,
                trust=Trust.of(error),
            )
        )
    return tuple(found)
