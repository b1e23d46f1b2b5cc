"""Whether one more run fits under a cap: pure arithmetic on what the account's runs cost.

What is proven. For runs that are Gaussian mechanisms and thresholds alone: mu squared and the thresholds'
deltas add, also when each run is chosen after seeing the results of all before it, because admission bounds
the sums beforehand (a Gaussian-DP filter; Smith and Thakurta 2022). With any other event in the account
(training by sampled gradients) the account costs the sum of its runs' epsilons and deltas: basic
composition, which holds for adaptively chosen parameters too (Rogers, Roth, Ullman, Vadhan 2016, "Privacy
odometers and filters"), and is sound but not tight. Taking the smaller of the two would not be sound, since
each bounds a different rule of stopping.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

from dpfy.accounting.composition import Composition, compose
from dpfy.accounting.meter import PlannedCharge, plan_charge
from dpfy.errors import BudgetExceededError, PrivacyParameterError

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

__all__ = ["Cap", "Cost", "admit", "lower_cap", "total_cost"]

LARGEST_DELTA = 0.1
"""Under a cap on epsilon the deltas of an account may add up to this at most, whatever its cap on delta:
beyond, an epsilon says nothing."""
_SMALLEST_EPSILON = 1e-3
_SHOWN_DIGITS = 4
_SLACK = 1e-12  # relative, as the meter's
_ROUND_UP = 1.0 + 2.0**-48


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one run counts.

    Args:
        epsilon: at delta, rounded up.
        delta: thresholds included.
        gaussian_mu_squared: sum over the run's Gaussian mechanisms.
        threshold_delta: part of delta.
        exact: the run is made of Gaussian mechanisms and thresholds alone.
    """

    epsilon: float
    delta: float
    gaussian_mu_squared: float
    threshold_delta: float
    exact: bool

    def within(self, planned: Cost) -> bool:
        """Whether nothing in it is more than in a plan."""
        return (
            self.epsilon <= planned.epsilon
            and 0.0 <= self.delta <= planned.delta
            and self.gaussian_mu_squared <= planned.gaussian_mu_squared * (1.0 + _SLACK)
            and self.threshold_delta <= planned.threshold_delta * (1.0 + _SLACK)
            and self.exact >= planned.exact
        )

    @classmethod
    def of_plan(cls, planned: PlannedCharge) -> Cost:
        """The cost of a plan, which must not promise less than its events cost."""
        cost = cls.of_events(planned.events, planned.delta)
        if not (cost.epsilon <= planned.epsilon and 0.0 < planned.epsilon < math.inf and planned.delta < 1.0):
            raise PrivacyParameterError("the planned events cost more than the epsilon and delta of their plan.")
        return cls(
            epsilon=planned.epsilon,
            delta=planned.delta,
            gaussian_mu_squared=cost.gaussian_mu_squared,
            threshold_delta=cost.threshold_delta,
            exact=cost.exact,
        )

    @classmethod
    def of_events(cls, events: Iterable[DpEvent], delta: float) -> Cost:
        """The cost of events at a delta."""
        composed = compose(events)
        return cls(
            epsilon=composed.epsilon(delta),
            delta=delta,
            gaussian_mu_squared=composed.gaussian_mu_squared,
            threshold_delta=composed.threshold_delta,
            exact=not composed.other_events,
        )


@dataclass(frozen=True, kw_only=True)
class Cap:
    """The most that an account may spend; None where nothing is capped."""

    epsilon: float | None = None
    delta: float | None = None


def lower_cap(one: Cap, other: Cap) -> Cap:
    """The cap of two accounts that turn out to be one."""
    return Cap(epsilon=_lower(one.epsilon, other.epsilon), delta=_lower(one.delta, other.delta))


def _lower(one: float | None, other: float | None) -> float | None:
    given = [value for value in (one, other) if value is not None]
    return min(given) if given else None


def _as_written(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def _sum_as_written(values: Iterable[float]) -> Decimal:
    """Adds numbers as people write them: three times 1e-6 is 3e-6, which binary floats miss by a hair."""
    return sum((_as_written(value) for value in values), Decimal(0))


def total_cost(costs: Sequence[Cost]) -> tuple[float, float]:
    """What several runs on the same people cost together.

    Args:
        costs: one per run; the order doesn't matter.

    Returns:
        epsilon and delta, rounded up. One run costs exactly what it says, several at most the sum of their
        epsilons. A run with a large delta must not make the others look cheap: epsilon is the largest over
        the runs with a delta of at most so much, each group at the sum of its own deltas, and over each run
        alone.
    """
    if not costs:
        return 0.0, 0.0
    delta = float(_sum_as_written(cost.delta for cost in costs))
    largest = max(cost.epsilon for cost in costs)
    for bound in sorted({cost.delta for cost in costs}):
        largest = max(largest, _composed([cost for cost in costs if cost.delta <= bound]))
    return largest, delta


def _composed(costs: Sequence[Cost]) -> float:
    """Epsilon of all these runs together at the sum of their deltas."""
    if len(costs) == 1:
        return costs[0].epsilon
    delta = float(_sum_as_written(cost.delta for cost in costs))
    if delta >= 1.0:
        return math.inf
    summed = math.fsum(cost.epsilon for cost in costs) * _ROUND_UP
    if not all(cost.exact for cost in costs):
        return summed
    composed = Composition(
        gaussian_mu_squared=math.fsum(cost.gaussian_mu_squared for cost in costs) * _ROUND_UP,
        threshold_delta=math.fsum(cost.threshold_delta for cost in costs),
    )
    return composed.epsilon(delta)


def _fits(costs: Sequence[Cost], request: Cost, cap: Cap) -> bool:
    everything = [*costs, request]
    delta = _sum_as_written(cost.delta for cost in everything)
    if cap.delta is not None and delta > _as_written(cap.delta):
        return False
    if cap.epsilon is None:
        return True
    return delta <= _as_written(LARGEST_DELTA) and total_cost(everything)[0] <= cap.epsilon


def _round_down(value: float) -> float:
    exact = Decimal(value)
    if exact <= 0:
        return 0.0
    step = Decimal(1).scaleb(exact.adjusted() - _SHOWN_DIGITS + 1)
    return float((exact / step).to_integral_value(ROUND_FLOOR) * step)


def _largest(costs: Sequence[Cost], planned: PlannedCharge, cap: Cap) -> float:
    """The largest epsilon of a run with the same delta that fits now, rounded down; 0 when none does."""

    def fits(epsilon: float) -> bool:
        if epsilon < _SMALLEST_EPSILON:
            return False
        if planned.other_events:  # what such a run composes to is known only once it is planned: its epsilon counts
            request = Cost(
                epsilon=epsilon,
                delta=planned.delta,
                gaussian_mu_squared=0.0,
                threshold_delta=0.0,
                exact=False,
            )
        else:
            request = Cost.of_plan(plan_charge(epsilon, planned.delta, planned.threshold_share))
        return _fits(costs, request, cap)

    inside, outside = 0.0, min(planned.epsilon, 1e3)
    if not fits(_SMALLEST_EPSILON):
        return 0.0
    inside = _SMALLEST_EPSILON
    while outside - inside > 1e-7 * outside:
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if fits(middle) else (inside, middle)
    shown = _round_down(inside)
    return shown if fits(shown) else 0.0


def admit(costs: Sequence[Cost], planned: PlannedCharge, cap: Cap, *, dataset: str) -> Cost:
    """Decides on one more run.

    Args:
        costs: of all runs of the account that count, held ones as planned.
        planned: the request.
        cap: of the account.
        dataset: for the message.

    Returns:
        The cost of the request.

    Raises:
        BudgetExceededError: it doesn't fit; names what was requested, what is left, and what would fit.
        PrivacyParameterError: the plan promises less than its events cost.
    """
    request = Cost.of_plan(planned)
    if _fits(costs, request, cap):
        return request
    spent, spent_delta = total_cost(costs)
    remaining = math.inf if cap.epsilon is None else max(cap.epsilon - spent, 0.0)
    largest = _largest(costs, planned, cap)
    limits = [f"epsilon {cap.epsilon:g}"] if cap.epsilon is not None else []
    limits += [f"delta {cap.delta:g}"] if cap.delta is not None else []
    left = "" if cap.epsilon is None else f"epsilon {_round_down(remaining):g} is left, and "
    fitting = f"the largest run that fits is epsilon {largest:g}" if largest else "no further run fits"
    raise BudgetExceededError(
        f"epsilon {planned.epsilon:g} at delta {planned.delta:g} was requested for {dataset!r}, whose cap is "
        f"{' and '.join(limits)}: {left}{fitting} at this delta. No row was read.",
        requested=planned.epsilon,
        remaining=remaining,
        largest=largest,
        hint=(
            "Ask for no more than that, or let the owner raise the cap."
            if spent_delta + planned.delta <= LARGEST_DELTA
            else f"The deltas of all runs may add up to {LARGEST_DELTA:g} at most: ask for a smaller delta."
        ),
    )
