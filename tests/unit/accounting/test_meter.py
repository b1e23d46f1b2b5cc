"""The meter holds a run to its plan."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from dp_accounting.dp_event import (
    ComposedDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfy.accounting.composition import compose
from dpfy.accounting.events import ThresholdDpEvent
from dpfy.accounting.meter import ChargeKind, Meter, plan_charge
from dpfy.errors import PrivacyParameterError, UnchargedReleaseError


def gaussian(mu_squared: float) -> GaussianDpEvent:
    return GaussianDpEvent(mu_squared**-0.5)


@settings(max_examples=60, deadline=None)
@given(st.floats(-3, 3).map(lambda x: 10.0**x), st.floats(-15, -1).map(lambda x: 10.0**x), st.floats(0, 0.9))
def test_a_plan_stays_under_its_target(epsilon: float, delta: float, share: float) -> None:
    epsilon, delta = min(max(epsilon, 1e-3), 1e3), min(max(delta, 1e-15), 0.1)
    plan = plan_charge(epsilon, delta, share)
    assert 0.99 * epsilon <= compose(plan.events).epsilon(delta) <= epsilon
    assert plan.threshold_delta == pytest.approx(share * delta)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.1, 20.0),
    st.lists(st.tuples(st.floats(0.01, 0.6), st.just(0.0) | st.floats(1e-6, 0.6)), min_size=1, max_size=8),
)
def test_what_a_meter_lets_pass_never_exceeds_the_plan(epsilon: float, parts: list[tuple[float, float]]) -> None:
    plan = plan_charge(epsilon, 1e-6)
    meter = Meter(plan)
    passed = []
    for mu_share, delta_share in parts:
        event = ComposedDpEvent(
            [
                gaussian(mu_share * plan.gaussian_mu_squared),
                *([ThresholdDpEvent(delta_share * plan.threshold_delta)] if delta_share > 0 else []),
            ]
        )
        before = (meter.remaining_mu_squared, meter.remaining_threshold_delta, meter.charges)
        try:
            meter.charge(event, label="part", kind=ChargeKind.MEASURE)
            passed.append(event)
        except UnchargedReleaseError:
            assert (meter.remaining_mu_squared, meter.remaining_threshold_delta, meter.charges) == before
    assert [charge.event for charge in meter.charges] == passed
    assert compose(passed).epsilon(1e-6) <= epsilon


def test_the_whole_plan_can_be_spent_in_equal_parts_and_no_more() -> None:
    plan = plan_charge(3.0, 1e-6)
    meter = Meter(plan)
    for part in range(7):
        meter.charge(gaussian(plan.gaussian_mu_squared / 7), label=f"part {part}", kind=ChargeKind.SELECT)
    assert meter.remaining_mu_squared < 1e-9
    with pytest.raises(UnchargedReleaseError):
        meter.charge(gaussian(1e-6), label="one more", kind=ChargeKind.SELECT)
    meter.charge(ThresholdDpEvent(plan.threshold_delta), label="names", kind=ChargeKind.DOMAIN)
    with pytest.raises(UnchargedReleaseError):
        meter.charge(ThresholdDpEvent(1e-12), label="names", kind=ChargeKind.DOMAIN)
    assert meter.composition.epsilon(plan.delta) <= 3.0
    assert [charge.kind for charge in meter.charges] == [ChargeKind.SELECT] * 7 + [ChargeKind.DOMAIN]


def test_delta_can_be_lowered_but_not_raised_and_not_below_what_is_spent() -> None:
    plan = plan_charge(1.0, 1e-5)
    meter = Meter(plan)
    meter.charge(gaussian(0.1 * plan.gaussian_mu_squared), label="users", kind=ChargeKind.COUNT)
    with pytest.raises(UnchargedReleaseError):
        meter.lower_delta(2e-5)
    lowered = meter.lower_delta(1e-7)
    assert lowered.epsilon == 1.0
    assert lowered.threshold_delta == pytest.approx(2e-8)
    assert lowered.gaussian_mu_squared < plan.gaussian_mu_squared
    meter.charge(gaussian(meter.remaining_mu_squared), label="rest", kind=ChargeKind.MEASURE)
    meter.charge(ThresholdDpEvent(2e-8), label="names", kind=ChargeKind.DOMAIN)
    assert 0.99 < meter.composition.epsilon(1e-7) <= 1.0
    with pytest.raises(UnchargedReleaseError):
        meter.lower_delta(1e-9)
    assert meter.planned is lowered


def test_a_closed_meter_refuses_everything() -> None:
    meter = Meter(plan_charge(1.0, 1e-5))
    meter.close()
    with pytest.raises(UnchargedReleaseError):
        meter.charge(gaussian(1e-9), label="late", kind=ChargeKind.QUALITY)
    with pytest.raises(UnchargedReleaseError):
        meter.lower_delta(1e-6)


def test_events_that_are_not_gaussian_pass_only_as_planned() -> None:
    training = SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.5)), 10)
    plan = plan_charge(1.0, 1e-5)
    with pytest.raises(UnchargedReleaseError):
        Meter(plan).charge(training, label="training", kind=ChargeKind.TRAIN)
    meter = Meter(replace(plan, other_events=(training,)))
    meter.charge(training, label="training", kind=ChargeKind.TRAIN)
    with pytest.raises(UnchargedReleaseError):
        meter.charge(training, label="training", kind=ChargeKind.TRAIN)
    with pytest.raises(UnchargedReleaseError):
        meter.lower_delta(1e-6)


def test_an_event_without_noise_is_never_charged() -> None:
    meter = Meter(plan_charge(1.0, 1e-5))
    with pytest.raises(PrivacyParameterError):
        meter.charge(GaussianDpEvent(math.nan), label="broken", kind=ChargeKind.MEASURE)
    assert meter.charges == ()


def test_threads_together_stay_under_the_plan() -> None:
    plan = plan_charge(1.0, 1e-5)
    meter = Meter(plan)

    def attempt(part: int) -> bool:
        try:
            meter.charge(gaussian(plan.gaussian_mu_squared / 10), label=str(part), kind=ChargeKind.MEASURE)
        except UnchargedReleaseError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(30))) == 10


@pytest.mark.parametrize(("epsilon", "delta", "share"), [(0, 1e-5, 0.2), (1, 0, 0.2), (1, 1e-5, 1.0), (1, 1e-5, -0.1)])
def test_plans_out_of_range_are_refused(epsilon: float, delta: float, share: float) -> None:
    with pytest.raises(PrivacyParameterError):
        plan_charge(epsilon, delta, share)


def test_the_room_loads_dp_accounting_only_when_it_is_needed() -> None:
    code = (
        "import sys; from dpfy.accounting.meter import Meter, plan_charge; Meter(plan_charge(1.0, 1e-5));"
        "sys.exit('dp_accounting' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
