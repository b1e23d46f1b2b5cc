"""The meter of one run: every mechanism is charged here before its noise is drawn."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dpfy.accounting.composition import Composition, compose
from dpfy.accounting.gaussian import mu_of
from dpfy.errors import PrivacyParameterError, UnchargedReleaseError
from dpfy.privacy import parse_delta, parse_epsilon

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

__all__ = ["Charge", "ChargeKind", "Meter", "PlannedCharge", "plan_charge"]

_SLACK = 1e-12  # relative; `mu_of` keeps more than this below its target


class ChargeKind(StrEnum):
    """What a mechanism run was for."""

    COUNT = "count"
    DOMAIN = "domain"
    SELECT = "select"
    MEASURE = "measure"
    QUALITY = "quality"
    AUDIT = "audit"
    TRAIN = "train"
    PREPROCESS = "preprocess"


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One mechanism run, as the statement and the ledger name it.

    Args:
        label: what was released; holds no private value.
        kind: what for.
        event: the run as data.
    """

    label: str
    kind: ChargeKind
    event: DpEvent


@dataclass(frozen=True, kw_only=True)
class PlannedCharge:
    """The most that a run may spend.

    **Privacy:** whatever spends no more than this is (epsilon, delta)-DP, also when the mechanisms are
    chosen on the way.

    Args:
        epsilon: the target.
        delta: the target, thresholds included.
        gaussian_mu_squared: for all Gaussian mechanisms together.
        threshold_delta: for all thresholds together, part of delta.
        other_events: runs that are neither (training by sampled gradients), exactly as they will be charged.
    """

    epsilon: float
    delta: float
    gaussian_mu_squared: float
    threshold_delta: float
    other_events: tuple[DpEvent, ...] = ()

    @property
    def events(self) -> tuple[DpEvent, ...]:
        """The plan as events, for the ledger."""
        from dp_accounting.dp_event import GaussianDpEvent

        from dpfy.accounting.events import ThresholdDpEvent

        events: list[DpEvent] = []
        if self.gaussian_mu_squared > 0.0:
            events.append(GaussianDpEvent(1.0 / math.sqrt(self.gaussian_mu_squared)))
        if self.threshold_delta > 0.0:
            events.append(ThresholdDpEvent(self.threshold_delta))
        return (*events, *self.other_events)

    @property
    def threshold_share(self) -> float:
        """The part of delta that thresholds may use."""
        return self.threshold_delta / self.delta

    def covers(self, spent: Composition) -> bool:
        """Whether a composition of Gaussians, thresholds and planned others stays inside the plan."""
        return (
            spent.gaussian_mu_squared <= self.gaussian_mu_squared * (1.0 + _SLACK)
            and spent.threshold_delta <= self.threshold_delta * (1.0 + _SLACK)
            and _without(self.other_events, spent.other_events) is not None
        )


def _without(planned: tuple[DpEvent, ...], used: tuple[DpEvent, ...]) -> tuple[DpEvent, ...] | None:
    """Takes each used event out of the planned ones; None when one of them was not planned."""
    left = list(planned)
    for event in used:
        if event not in left:
            return None
        left.remove(event)
    return tuple(left)


def plan_charge(epsilon: float, delta: float, threshold_share: float = 0.2) -> PlannedCharge:
    """Plans Gaussian mechanisms and thresholds for a target.

    Args:
        epsilon: in [1e-3, 1e3].
        delta: in [1e-15, 0.1].
        threshold_share: part of delta for thresholds, in [0, 1).

    Returns:
        A plan that never exceeds the target and uses over 99.9% of epsilon.

    Raises:
        PrivacyParameterError: for values out of range.
    """
    epsilon, delta = parse_epsilon(epsilon), parse_delta(delta)
    if not 0.0 <= threshold_share < 1.0:
        raise PrivacyParameterError(f"threshold_share must lie in [0, 1), 1 excluded; {threshold_share:g} was given.")
    threshold_delta = threshold_share * delta
    mu = mu_of(epsilon, delta - threshold_delta)
    return PlannedCharge(epsilon=epsilon, delta=delta, gaussian_mu_squared=mu * mu, threshold_delta=threshold_delta)


class Meter:
    """Holds a run to its plan.

    **Privacy:** refuses a mechanism before its noise is drawn, so the runs charged here compose to at most
    the plan. The decision reads public numbers alone. Adaptive choice of the next mechanism is covered,
    because the bound on the sum of mu squared is fixed beforehand (a Gaussian-DP filter).

    Args:
        planned: the plan that the ledger has reserved.

    **Source:** Smith and Thakurta (2022); Koskela, Tobaben, Honkela, "Individual privacy accounting with
    Gaussian differential privacy" (2022), theorem 6.
    """

    def __init__(self, planned: PlannedCharge) -> None:
        self._lock = threading.Lock()
        self._planned = planned
        self._charges: tuple[Charge, ...] = ()
        self._spent = Composition(gaussian_mu_squared=0.0, threshold_delta=0.0)
        self._closed = False

    @property
    def planned(self) -> PlannedCharge:
        """The plan in force; `lower_delta` replaces it."""
        return self._planned

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What was charged, in order."""
        return self._charges

    @property
    def composition(self) -> Composition:
        """What was charged, composed."""
        return self._spent

    @property
    def remaining_mu_squared(self) -> float:
        """What Gaussian mechanisms may still use."""
        return max(self._planned.gaussian_mu_squared - self._spent.gaussian_mu_squared, 0.0)

    @property
    def remaining_threshold_delta(self) -> float:
        """What thresholds may still use."""
        return max(self._planned.threshold_delta - self._spent.threshold_delta, 0.0)

    def charge(self, event: DpEvent, *, label: str, kind: ChargeKind) -> None:
        """Charges a mechanism run; call it before noise is drawn.

        Args:
            event: the run as data.
            label: what is released; no private value.
            kind: what for.

        Raises:
            UnchargedReleaseError: the plan does not cover it, or the meter is closed; nothing is charged
                then.
            PrivacyParameterError: the event has no noise, or no accountant.
        """
        charge = Charge(label=label, kind=ChargeKind(kind), event=event)
        with self._lock:
            if self._closed:
                raise UnchargedReleaseError(f"{label}: the run's meter is closed, nothing more can be released.")
            spent = compose([*(made.event for made in self._charges), event])
            if not self._planned.covers(spent):
                raise UnchargedReleaseError(
                    f"{label}: the plan does not cover this mechanism.",
                    hint="Plan its charge before the run, or give it more noise.",
                )
            self._charges = (*self._charges, charge)
            self._spent = spent

    def lower_delta(self, delta: float) -> PlannedCharge:
        """Lowers delta at the same epsilon, once the noisy number of users is known.

        **Privacy:** the guarantee that was planned holds in any case. That the lower delta holds too is the
        exact composition of the mechanisms that are then run, given the released count from which it was
        computed.

        Args:
            delta: at most the planned one; equal or nearly equal leaves the plan as it is.

        Returns:
            The plan now in force: same epsilon, same share for thresholds, less mu.

        Raises:
            UnchargedReleaseError: delta would rise, more than the new plan is already spent, or the plan
                has events that are not Gaussian.
        """
        with self._lock:
            if self._closed or delta > self._planned.delta:
                raise UnchargedReleaseError("delta may only be lowered, and only while the meter is open.")
            if self._planned.other_events:
                raise UnchargedReleaseError("delta can't be lowered for a plan with sampled training in it.")
            lowered = plan_charge(self._planned.epsilon, delta, self._planned.threshold_share)
            if not lowered.covers(self._spent):
                raise UnchargedReleaseError("more is spent already than the lower delta allows.")
            self._planned = lowered
            return lowered

    def close(self) -> None:
        """Ends the run: later charges are refused."""
        with self._lock:
            self._closed = True
