"""Partition selection: which values of an unknown domain may be named."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfy.mechanisms.counting import CountScale

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

    from dpfy.accounting.meter import ChargeKind, Meter
    from dpfy.noise.source import NoiseSource


@dataclass(frozen=True, kw_only=True)
class GaussianThreshold:
    """Noisy counts of the values that are there, kept where the noisy count reaches a threshold.

    **Privacy:** on the values that both neighbours hold this is a Gaussian mechanism with l2 sensitivity
    scale.user_total. Values that only one user holds are named with probability at most delta in all: see PROOF.md.
    Charges one Gaussian and one threshold event before noise is drawn.

    Args:
        sigma: standard deviation in counting units, > 0.
        delta: in (0, 0.1).
        scale: what a user adds up to.

    **Source:** Gaussian variant of Korolova et al. (2009); PROOF.md has the union bound for several records a user.
    """

    sigma: float
    delta: float
    scale: CountScale

    @classmethod
    def of_budget(cls, mu_squared: float, delta: float, scale: CountScale) -> GaussianThreshold:
        """The mechanism that costs mu_squared and delta."""
        if not mu_squared > 0:
            raise ValueError("mu_squared must be positive")
        return cls(sigma=scale.user_total / mu_squared**0.5, delta=delta, scale=scale)

    @property
    def event(self) -> DpEvent:
        """What `run` does, as data."""
        from dp_accounting.dp_event import ComposedDpEvent

        from dpfy.accounting.events import ThresholdDpEvent, gaussian_event

        return ComposedDpEvent([gaussian_event(self.sigma, self.scale.user_total), ThresholdDpEvent(self.delta)])

    @property
    def threshold(self) -> int:
        """The smallest noisy count that is named, in counting units."""
        from scipy.special import ndtri

        total, most = float(self.scale.user_total), self.scale.max_records_per_user
        spread_out = total / most - self.sigma * float(ndtri(self.delta / most))
        in_one_value = total - self.sigma * float(ndtri(self.delta))
        # Half a unit more, because the noise is rounded to whole numbers.
        return math.ceil(max(spread_out, in_one_value) + 0.5)

    def run(
        self,
        keys: NDArray[np.generic],
        counts: NDArray[np.int64],
        *,
        always: NDArray[np.int64],
        meter: Meter,
        noise: NoiseSource,
        label: str,
        kind: ChargeKind,
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Charges, then releases which keys pass and their noisy counts.

        Args:
            keys: any dtype, shape (m,): the distinct values that are there.
            counts: int64, shape (m,), each > 0, in counting units.
            always: int64: counts of public cells of the same histogram, disjoint from the keys, released in any case.
            meter: charged before noise is drawn.
            noise: the source.
            label: names the release in the statement.
            kind: what the charge is for.

        Returns:
            Mask of the keys that may be named, the noisy counts of those alone, the noisy counts of `always`.
        """
        meter.charge(self.event, label=label, kind=kind)
        noisy = noise.perturb(
            np.concatenate([always, counts]),
            self.sigma,
            l2_sensitivity=self.scale.user_total,
            label=label,
            keys=keys,
        )
        public, noisy = noisy[: len(always)], noisy[len(always) :]
        named = noisy >= self.threshold
        return named, noisy[named], public
