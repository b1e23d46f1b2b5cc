"""Thresholds as in the proof, and events that say what the code does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from dpfy.accounting.composition import compose
from dpfy.accounting.meter import ChargeKind, Meter, plan_charge
from dpfy.mechanisms.counting import USER_WEIGHT, CountScale
from dpfy.mechanisms.histogram import GaussianHistogram
from dpfy.mechanisms.threshold import GaussianThreshold
from dpfy.noise.source import SeededSource
from dpfy.privacy import CountingMode


@pytest.mark.parametrize("cap", [1, 2, 5, 40])
@pytest.mark.parametrize("mode", list(CountingMode))
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_no_way_to_spread_a_user_exceeds_delta(cap: int, mode: CountingMode, delta: float) -> None:
    scale = CountScale(mode=mode, max_records_per_user=cap)
    mechanism = GaussianThreshold.of_budget(0.01, delta, scale)
    rng = np.random.default_rng(0)
    spreads = [[cap], [1] * cap]
    spreads += [
        np.diff(np.sort([0, *rng.integers(0, cap + 1, int(rng.integers(1, 6))), cap])).tolist() for _ in range(60)
    ]
    for spread in spreads:
        rows = [int(r) for r in spread if r > 0]
        counts = [r * scale.weight(sum(rows)) for r in rows]
        chance = sum(norm.sf((mechanism.threshold - 0.5 - c) / mechanism.sigma) for c in counts)
        assert chance <= delta * (1 + 1e-9)
    # Not far above it either: the threshold is not wasteful.
    worst = max(
        norm.sf((mechanism.threshold - 1.5 - scale.user_total) / mechanism.sigma),
        cap * norm.sf((mechanism.threshold - 1.5 - scale.user_total / cap) / mechanism.sigma),
    )
    assert worst > 0.5 * delta


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
def test_weights_of_a_user_never_exceed_one(rows: int) -> None:
    scale = CountScale(mode=CountingMode.USERS, max_records_per_user=100)
    assert rows * scale.weight(rows) <= USER_WEIGHT == scale.user_total


def test_events_compose_to_the_budget() -> None:
    scale = CountScale(mode=CountingMode.ROWS, max_records_per_user=5)
    events = [GaussianHistogram.of_budget(0.02, 5.0).event, GaussianThreshold.of_budget(0.03, 1e-7, scale).event]
    composed = compose(events)
    assert composed.gaussian_mu_squared == pytest.approx(0.05)
    assert composed.threshold_delta == pytest.approx(1e-7)


def test_only_named_keys_and_public_cells_come_out() -> None:
    scale = CountScale(mode=CountingMode.ROWS, max_records_per_user=1)
    mechanism = GaussianThreshold.of_budget(1.0, 1e-6, scale)
    meter = Meter(plan_charge(10.0, 1e-5))
    named, noisy, public = mechanism.run(
        np.array(["a", "b"], dtype=object), np.array([500, 1]), always=np.array([0]), meter=meter,
        noise=SeededSource(0), label="x", kind=ChargeKind.DOMAIN,
    )  # fmt: skip
    assert named.tolist() == [True, False]
    assert noisy.shape == (1,)
    assert abs(int(noisy[0]) - 500) < 10
    assert public.shape == (1,)


def test_counts_must_be_whole() -> None:
    with pytest.raises(TypeError):
        SeededSource(0).perturb(np.array([1.5]), 1.0, l2_sensitivity=1.0, label="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf"), 2.0**58])
def test_noise_scales_that_are_none(sigma: float) -> None:
    with pytest.raises(ValueError):
        SeededSource(0).rounded_gaussian(sigma, 3)


def test_budgets_must_be_positive() -> None:
    for budget in (0.0, -1.0):
        with pytest.raises(ValueError):
            GaussianHistogram.of_budget(budget, 1.0)
