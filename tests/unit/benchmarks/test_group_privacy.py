"""Guarantees of rows and of users with several rows."""

from __future__ import annotations

import math

import pytest
from benchmarks.group_privacy import (
    row_epsilon_gaussian,
    row_epsilon_zcdp,
    user_epsilon_gaussian,
    zcdp_epsilon,
    zcdp_rho,
)
from scipy.stats import norm

DELTA = 1e-5


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The delta of the Gaussian mechanism, straight from the formula."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def test_one_row_changes_nothing() -> None:
    assert user_epsilon_gaussian(3.0, DELTA, 1) == pytest.approx(3.0, rel=1e-6)
    assert row_epsilon_zcdp(3.0, DELTA, 1) == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("rows", [2, 5])
def test_user_epsilon_is_that_of_a_mechanism_with_so_many_times_the_sensitivity(rows: int) -> None:
    mu = 0.7
    row = next(e for e in (x / 1000 for x in range(1, 20000)) if gaussian_delta(e, mu) <= DELTA)
    found = user_epsilon_gaussian(row, DELTA, rows)
    assert gaussian_delta(found, rows * mu) == pytest.approx(DELTA, rel=0.1)


def test_three_for_a_row_is_about_twenty_one_for_five_rows() -> None:
    assert user_epsilon_gaussian(3.0, DELTA, 5) == pytest.approx(21.14, abs=0.01)


def test_row_epsilon_is_the_inverse() -> None:
    row = row_epsilon_gaussian(3.0, DELTA, 5)
    assert row < 3.0 / 5  # dividing epsilon by the rows would promise too much
    assert user_epsilon_gaussian(row, DELTA, 5) == pytest.approx(3.0, rel=1e-6)


def test_zcdp_conversion_beats_the_simple_one_and_never_the_exact_gaussian() -> None:
    for epsilon in (0.3, 1.0, 3.0, 10.0):
        rho = zcdp_rho(epsilon, DELTA)
        assert zcdp_epsilon(rho, DELTA) == pytest.approx(epsilon, rel=1e-6)
        assert rho + 2 * math.sqrt(rho * math.log(1 / DELTA)) > epsilon
        # A Gaussian mechanism with mu = sqrt(2 rho) is rho-zCDP, and its exact delta is lower.
        assert gaussian_delta(epsilon, math.sqrt(2 * rho)) < DELTA


def test_zcdp_rows_multiply_rho_by_their_square() -> None:
    row = row_epsilon_zcdp(3.0, DELTA, 5)
    assert zcdp_epsilon(25 * zcdp_rho(row, DELTA), DELTA) == pytest.approx(3.0, rel=1e-6)
