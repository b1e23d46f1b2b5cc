"""The exact Gaussian formula against independent arithmetic, and the direction of its rounding."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from dp_accounting.dp_event import GaussianDpEvent
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpfy.accounting.composition import compose
from dpfy.accounting.gaussian import delta_of, epsilon_of, mu_of

LOG_EPSILON = st.floats(math.log(1e-3), math.log(1e3)).map(math.exp)
LOG_DELTA = st.floats(math.log(1e-15), math.log(0.1)).map(math.exp)


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.3), (1.0, 1.0), (3.0, 0.8), (0.01, 0.05), (8.0, 2.5)])
def test_delta_is_the_textbook_difference_of_two_normal_tails(epsilon: float, mu: float) -> None:
    plain = norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * norm.sf(epsilon / mu + mu / 2)
    assert delta_of(epsilon, mu) == pytest.approx(plain, rel=1e-8)


def test_delta_matches_fifty_digit_arithmetic_at_the_ends() -> None:
    mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")
    with mpmath.workdps(60):
        for epsilon, mu in [(1e-3, 1.2e-4), (1e-3, 0.24), (1e3, 37.0), (1e3, 42.0), (30.0, 3.0), (2.0, 60.0)]:
            e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
            exact = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
            assert delta_of(epsilon, mu) == pytest.approx(float(exact), rel=1e-9)


@settings(max_examples=150, deadline=None)
@given(LOG_EPSILON, LOG_DELTA)
@example(1e-3, 1e-15)
@example(1e-3, 0.1)
@example(1e3, 1e-15)
@example(1e3, 0.1)
def test_calibration_never_exceeds_the_target_and_uses_nearly_all_of_it(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    reached = epsilon_of(mu, delta)
    assert reached <= epsilon
    assert reached >= 0.999 * epsilon
    assert delta_of(epsilon, mu) <= delta
    # A little less noise breaks the promise: the calibration is tight, not only sound.
    assert delta_of(epsilon, mu * 1.001) > delta


@settings(max_examples=100, deadline=None)
@given(st.floats(-4, 1.7).map(lambda x: 10.0**x), LOG_DELTA)
def test_the_reported_epsilon_is_rounded_up(mu: float, delta: float) -> None:
    epsilon = epsilon_of(mu, delta)
    assert delta_of(epsilon, mu) <= delta
    if epsilon > 0:
        assert delta_of(epsilon * (1 - 1e-6), mu) > delta


@settings(max_examples=60, deadline=None)
@given(LOG_EPSILON, LOG_DELTA, st.floats(1.01, 3.0))
def test_more_epsilon_or_delta_allows_more_mu(epsilon: float, delta: float, factor: float) -> None:
    assert mu_of(epsilon * factor, delta) > mu_of(epsilon, delta)
    assert mu_of(epsilon, min(delta * factor, 0.5)) > mu_of(epsilon, delta)


def test_ends_of_the_scale() -> None:
    assert epsilon_of(0.0, 1e-5) == 0.0
    assert epsilon_of(1.0, 0.0) == math.inf
    assert epsilon_of(1.0, -1e-9) == math.inf
    assert epsilon_of(1e-9, 1e-5) == 0.0
    with pytest.raises(ValueError):
        mu_of(0.0, 1e-5)


@pytest.mark.parametrize("epsilon", [1e-3, 1e3])
def test_extreme_epsilons_take_milliseconds(epsilon: float) -> None:
    start = time.perf_counter()
    for delta in (1e-15, 1e-5, 0.1):
        epsilon_of(mu_of(epsilon, delta), delta)
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0, 30.0])
def test_agrees_with_privacy_loss_distributions(epsilon: float) -> None:
    delta = 1e-6
    mu = mu_of(epsilon, delta)
    composition = compose([GaussianDpEvent(1.0 / mu)])
    assert composition.epsilon(delta) == pytest.approx(epsilon, rel=1e-6)
    # The distribution is put on a grid of 1e-4 and rounded up, so it may read a little above.
    assert composition.epsilon_pld(delta) == pytest.approx(epsilon, rel=2e-3, abs=2e-4)


def test_mu_squared_is_rounded_up() -> None:
    multipliers = [1.1, 2.3, 3.7, 0.9]
    exact = sum((1 / Fraction(m)) ** 2 for m in multipliers)
    total = compose([GaussianDpEvent(m) for m in multipliers]).gaussian_mu_squared
    assert Fraction(total) >= exact
    assert total == pytest.approx(float(exact), rel=1e-13)
