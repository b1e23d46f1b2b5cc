"""The exact trade of epsilon and delta of the Gaussian mechanism, and its two inverses.

mu is l2 sensitivity / sigma. All results are rounded to the side that promises less.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import erfcx, log_ndtr

__all__ = ["delta_of", "epsilon_of", "log_delta_of", "mu_of"]

_LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF_PI = math.sqrt(0.5 * math.pi)
_SQRT_HALF = math.sqrt(0.5)
# The relative error of delta below is under 1e-10 in the whole range (epsilon 1e-3 to 1e3, delta 1e-15 to
# 0.1). What is calibrated keeps more distance than what is reported, so that a spent plan never reads as
# more than the plan.
_REPORT_SLACK = 1e-9
_CALIBRATION_SLACK = 4e-9
_MOST_STEPS = 200


def _mills_ratio(x: float) -> float:
    return _SQRT_HALF_PI * float(erfcx(x * _SQRT_HALF))


def log_delta_of(epsilon: float, mu: float) -> float:
    """The logarithm of the smallest delta at which a mu-GDP mechanism is (epsilon, delta)-DP.

    Args:
        epsilon: >= 0.
        mu: >= 0.

    Returns:
        log(delta), -inf when delta is 0.

    **Source:** Balle and Wang, "Improving the Gaussian mechanism for differential privacy" (2018), theorem
    8, written
    with Mills ratios: e^epsilon phi(b) = phi(a) for a = epsilon/mu - mu/2 and b = a + mu, hence
    delta = phi(a) (R(a) - R(b)) with R(x) = Phi(-x) / phi(x), which neither overflows nor cancels.
    """
    if mu == 0.0:
        return -math.inf
    a = epsilon / mu - 0.5 * mu
    b = a + mu
    if math.isinf(a) and a > 0:
        return -math.inf
    log_density = -0.5 * a * a - _LOG_SQRT_TWO_PI
    if a < -5.0:  # delta is close to 1, and R(a) may overflow
        lost = math.exp(log_density) * _mills_ratio(b)
        return math.log(math.exp(float(log_ndtr(-a))) - lost)
    gap = _mills_ratio(a) - _mills_ratio(b)
    return log_density + math.log(gap) if gap > 0.0 else -math.inf


def delta_of(epsilon: float, mu: float) -> float:
    """The smallest delta at which a mu-GDP mechanism is (epsilon, delta)-DP; see `log_delta_of`."""
    return math.exp(log_delta_of(epsilon, mu))


def _bisect(holds: Callable[[float], bool], outside: float, inside: float) -> float:
    """Moves `inside` (where `holds`) towards `outside` (where it doesn't) until the two are neighbours."""
    for _ in range(_MOST_STEPS):
        middle = 0.5 * (outside + inside)
        if middle in (outside, inside) or abs(outside - inside) <= 1e-15 * abs(inside):
            break
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon at which a mu-GDP mechanism is (epsilon, delta)-DP, rounded up.

    Args:
        mu: >= 0.
        delta: any number; nothing holds for delta <= 0 unless mu is 0.

    Returns:
        epsilon >= 0, inf when there is none.
    """
    if mu == 0.0 or delta >= 1.0:
        return 0.0
    if not delta > 0.0 or math.isinf(mu):
        return math.inf
    target = math.log(delta) - _REPORT_SLACK

    def holds(epsilon: float) -> bool:
        return log_delta_of(epsilon, mu) <= target

    if holds(0.0):
        return 0.0
    outside, inside = 0.0, max(mu, 1e-6)
    while not holds(inside):
        outside, inside = inside, 2.0 * inside
        if math.isinf(inside):
            return math.inf
    return _bisect(holds, outside, inside)


def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu at which a mu-GDP mechanism is still (epsilon, delta)-DP, rounded down.

    Args:
        epsilon: > 0, e.g. in [1e-3, 1e3].
        delta: > 0, e.g. in [1e-15, 0.1].

    Returns:
        mu > 0 whose `epsilon_of` at delta is at most epsilon and over 0.999 epsilon.
    """
    if not (epsilon > 0.0 and 0.0 < delta < 1.0):
        raise ValueError("epsilon must be positive and delta inside (0, 1)")
    target = math.log(delta) - _CALIBRATION_SLACK

    def holds(mu: float) -> bool:
        return log_delta_of(epsilon, mu) <= target

    inside, outside = 0.0, math.sqrt(epsilon)
    while holds(outside):
        inside, outside = outside, 2.0 * outside
    return _bisect(holds, outside, inside)
