"""The Gaussian mechanism on whole counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

    from dpfy.accounting.meter import ChargeKind, Meter
    from dpfy.noise.source import NoiseSource


@dataclass(frozen=True, kw_only=True)
class GaussianHistogram:
    """Noisy whole counts of cells that are fixed beforehand.

    **Privacy:** mu-GDP with mu = l2_sensitivity / sigma, for neighbours whose counts differ by at most
    l2_sensitivity in the l2 norm; charges one Gaussian event before noise is drawn.

    Args:
        sigma: standard deviation of the noise in counting units, > 0.
        l2_sensitivity: in counting units, > 0.

    **Source:** Dong, Roth, Su, "Gaussian differential privacy" (2019), theorem 2.7.
    """

    sigma: float
    l2_sensitivity: float

    @classmethod
    def of_budget(cls, mu_squared: float, l2_sensitivity: float) -> GaussianHistogram:
        """The histogram that costs mu_squared."""
        if not mu_squared > 0:
            raise ValueError("mu_squared must be positive")
        return cls(sigma=l2_sensitivity / mu_squared**0.5, l2_sensitivity=l2_sensitivity)

    @property
    def event(self) -> DpEvent:
        """What `run` does, as data."""
        from dpfy.accounting.events import gaussian_event

        return gaussian_event(self.sigma, self.l2_sensitivity)

    def run(
        self, counts: NDArray[np.int64], *, meter: Meter, noise: NoiseSource, label: str, kind: ChargeKind
    ) -> NDArray[np.int64]:
        """Charges, then releases noisy counts.

        Args:
            counts: int64, any shape, exact counts in counting units.
            meter: charged before noise is drawn.
            noise: the source.
            label: names the release in the statement.
            kind: what the charge is for.

        Returns:
            int64, shape of counts; may be negative.
        """
        meter.charge(self.event, label=label, kind=kind)
        return noise.perturb(counts, self.sigma, l2_sensitivity=self.l2_sensitivity, label=label)
