"""What several mechanism runs on the same people cost together.

Gaussian mechanisms compose exactly (mu squared adds, also when each is chosen after seeing the results of
those before it, as long as the sum is bounded beforehand), and thresholds add their delta. With only these
the exact formula gives epsilon; anything else goes through dp_accounting's privacy loss distributions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dpfy.accounting.gaussian import epsilon_of
from dpfy.errors import PrivacyParameterError

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

__all__ = ["EXACT_GAUSSIAN", "Composition", "compose", "pld_accountant"]

EXACT_GAUSSIAN = "exact Gaussian formula (dpfy)"
_ROUND_UP = 1.0 + 2.0**-48  # more than the rounding of the terms and of their sum


@cache
def pld_accountant() -> str:
    """Name and version of the accountant used for anything but Gaussians and thresholds."""
    from importlib.metadata import version

    return f"PLDAccountant (dp-accounting {version('dp-accounting')})"


@dataclass(frozen=True, kw_only=True)
class Composition:
    """Several mechanism runs as one.

    **Privacy:** for the adjacency under which the events hold (add or remove one user, unless a caller says
    otherwise).

    Args:
        gaussian_mu_squared: sum of (l2 sensitivity / sigma) ** 2 over all Gaussian runs, rounded up.
        threshold_delta: sum of the deltas of thresholds, rounded up.
        other_events: what is neither.

    **Source:** Dong, Roth, Su (2019), corollary 3.3 (exact composition); Smith and Thakurta, "Fully adaptive
    composition for Gaussian differential privacy" (2022) for runs that are chosen on the way.
    """

    gaussian_mu_squared: float
    threshold_delta: float
    other_events: tuple[DpEvent, ...] = ()

    @property
    def accountant(self) -> str:
        """What computes `epsilon`, for the statement."""
        return pld_accountant() if self.other_events else EXACT_GAUSSIAN

    def epsilon(self, delta: float) -> float:
        """The smallest known epsilon at this delta, rounded up.

        Args:
            delta: the whole delta, thresholds included.

        Returns:
            epsilon >= 0; inf when the thresholds leave nothing of delta.
        """
        if self.other_events:
            return self.epsilon_pld(delta)
        left = delta - self.threshold_delta
        if self.gaussian_mu_squared == 0.0 and left >= 0.0:
            return 0.0
        return epsilon_of(math.sqrt(self.gaussian_mu_squared) * _ROUND_UP, left)

    def epsilon_pld(self, delta: float) -> float:
        """The same through privacy loss distributions: an upper bound, up to the grid of the distribution."""
        from dp_accounting import NeighboringRelation
        from dp_accounting.dp_event import GaussianDpEvent
        from dp_accounting.pld import PLDAccountant

        left = delta - self.threshold_delta
        if left <= 0.0:
            return math.inf
        accountant = PLDAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
        if self.gaussian_mu_squared > 0.0:
            accountant.compose(GaussianDpEvent(1.0 / (math.sqrt(self.gaussian_mu_squared) * _ROUND_UP)))
        for event in self.other_events:
            if not accountant.supports(event):
                raise PrivacyParameterError(f"no accountant is known for {type(event).__name__} in this composition.")
            accountant.compose(event)
        return float(accountant.get_epsilon(left))


def compose(events: Iterable[DpEvent]) -> Composition:
    """Composes mechanism runs; their order doesn't matter.

    Args:
        events: any number, nested compositions too.

    Raises:
        PrivacyParameterError: for an event of unknown type, without noise, or a threshold inside a sampled
            event.
    """
    from dp_accounting import dp_event

    from dpfy.accounting.events import ThresholdDpEvent, check_event

    mu_squared: list[float] = []
    deltas: list[float] = []
    others: list[DpEvent] = []

    def holds_threshold(event: DpEvent) -> bool:
        if isinstance(event, dp_event.ComposedDpEvent):
            return any(holds_threshold(part) for part in event.events)
        if isinstance(event, (dp_event.SelfComposedDpEvent, dp_event.PoissonSampledDpEvent)):
            return holds_threshold(event.event)
        return isinstance(event, ThresholdDpEvent)

    def collect(event: DpEvent, count: int) -> None:
        if isinstance(event, dp_event.GaussianDpEvent):
            mu_squared.append(count / event.noise_multiplier / event.noise_multiplier)
        elif isinstance(event, ThresholdDpEvent):
            deltas.append(count * event.delta)
        elif isinstance(event, dp_event.ComposedDpEvent):
            for part in event.events:
                collect(part, count)
        elif isinstance(event, dp_event.SelfComposedDpEvent):
            collect(event.event, count * event.count)
        elif holds_threshold(event):
            raise PrivacyParameterError("a threshold inside a sampled event can't be accounted for.")
        elif not isinstance(event, dp_event.NoOpDpEvent):
            others.append(event if count == 1 else dp_event.SelfComposedDpEvent(event, count))

    for event in events:
        check_event(event)
        collect(event, 1)
    return Composition(
        gaussian_mu_squared=math.fsum(mu_squared) * _ROUND_UP,
        threshold_delta=math.fsum(deltas) * _ROUND_UP,
        other_events=tuple(others),
    )
