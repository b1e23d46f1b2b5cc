"""What a guarantee for one row says about a user with several rows, and the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["row_epsilon_gaussian", "row_epsilon_zcdp", "user_epsilon_gaussian", "zcdp_epsilon", "zcdp_rho"]


def user_epsilon_gaussian(row_epsilon: float, delta: float, rows: int) -> float:
    """The epsilon for a user with so many rows, when one row has row_epsilon by Gaussian mechanisms alone.

    A user's rows move the exact answer up to `rows` times as far, so mu grows by that factor: exact, both at delta.
    """
    from dpfy.accounting.gaussian import epsilon_of, mu_of

    return epsilon_of(rows * mu_of(row_epsilon, delta), delta)


def row_epsilon_gaussian(user_epsilon: float, delta: float, rows: int) -> float:
    """The row epsilon that gives a user with so many rows user_epsilon; the inverse of `user_epsilon_gaussian`."""
    from dpfy.accounting.gaussian import epsilon_of, mu_of

    return epsilon_of(mu_of(user_epsilon, delta) / rows, delta)


def row_epsilon_zcdp(user_epsilon: float, delta: float, rows: int) -> float:
    """The same for a system that spends rho of zCDP: rho grows by rows ** 2.

    **Source:** Bun and Steinke (2016), proposition 27 (group privacy of zCDP).
    """
    return zcdp_epsilon(zcdp_rho(user_epsilon, delta) / rows**2, delta)


def _log_delta(rho: float, epsilon: float) -> float:
    """log of delta that rho-zCDP has at epsilon: Canonne, Kamath, Steinke (2020), corollary 13."""
    if epsilon <= rho:
        return 0.0

    def at(alpha: float) -> float:
        return (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)

    # The bound is convex in alpha around its minimum, which the simple conversion's alpha bounds from above.
    low, high = 1.0 + 1e-9, (epsilon + 1.0) / (2 * rho) + 2.0
    for _ in range(200):
        third = (high - low) / 3
        low, high = (low + third, high) if at(low + third) > at(high - third) else (low, high - third)
    return min(0.0, at((low + high) / 2))


def _bisect(holds: Callable[[float], bool], outside: float, inside: float) -> float:
    for _ in range(100):
        middle = (outside + inside) / 2
        outside, inside = (outside, middle) if holds(middle) else (middle, inside)
    return inside


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon of rho-zCDP at delta."""
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return _bisect(lambda epsilon: _log_delta(rho, epsilon) <= math.log(delta), 0.0, simple)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho whose epsilon at delta is at most the given one."""
    simple = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    return _bisect(lambda rho: _log_delta(rho, epsilon) <= math.log(delta), epsilon, simple)
