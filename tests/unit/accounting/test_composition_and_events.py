"""Composition, and events as JSON."""

from __future__ import annotations

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.dp_event import (
    ComposedDpEvent,
    GaussianDpEvent,
    MixtureOfGaussiansDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfy.accounting.composition import EXACT_GAUSSIAN, compose
from dpfy.accounting.events import ThresholdDpEvent, events_from_json, events_to_json, gaussian_event
from dpfy.errors import PrivacyParameterError

MULTIPLIERS = st.lists(st.floats(0.2, 100.0), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(MULTIPLIERS, st.randoms(use_true_random=False))
def test_order_and_grouping_do_not_matter(multipliers: list[float], random: object) -> None:
    events = [GaussianDpEvent(m) for m in multipliers]
    shuffled = list(events)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    nested = [ComposedDpEvent(events[:2]), ComposedDpEvent([ComposedDpEvent(events[2:]), NoOpDpEvent()])]
    flat = compose(events)
    assert compose(shuffled) == flat
    assert compose(nested) == flat
    one = compose([GaussianDpEvent(math.fsum(m**-2 for m in multipliers) ** -0.5)])
    assert one.epsilon(1e-6) == pytest.approx(flat.epsilon(1e-6), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(MULTIPLIERS, st.floats(0.2, 100.0))
def test_one_more_run_never_costs_less(multipliers: list[float], more: float) -> None:
    events = [GaussianDpEvent(m) for m in multipliers]
    assert compose([*events, GaussianDpEvent(more)]).epsilon(1e-6) >= compose(events).epsilon(1e-6)


def test_repetition_is_composition() -> None:
    assert compose([SelfComposedDpEvent(GaussianDpEvent(7.0), 9)]).epsilon(1e-6) == pytest.approx(
        compose([GaussianDpEvent(7.0)] * 9).epsilon(1e-6), rel=1e-12
    )


def test_thresholds_take_their_delta_from_the_whole() -> None:
    composed = compose([GaussianDpEvent(2.0), ThresholdDpEvent(4e-7), ThresholdDpEvent(5e-7)])
    assert composed.threshold_delta == pytest.approx(9e-7)
    assert composed.epsilon(1e-6) == pytest.approx(compose([GaussianDpEvent(2.0)]).epsilon(1e-7), rel=1e-6)
    assert composed.epsilon(9e-7) == math.inf
    assert composed.epsilon_pld(9e-7) == math.inf
    assert composed.accountant == EXACT_GAUSSIAN


def test_sampled_training_goes_through_privacy_loss_distributions() -> None:
    training = SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.5)), 100)
    both = compose([GaussianDpEvent(3.0), training])
    assert both.accountant.startswith("PLDAccountant (dp-accounting 0.")
    alone = compose([training]).epsilon(1e-6)
    gaussian = compose([GaussianDpEvent(3.0)]).epsilon(1e-6)
    assert max(alone, gaussian) < both.epsilon(1e-6) < alone + gaussian


def test_nothing_costs_nothing() -> None:
    assert compose([]).epsilon(1e-9) == 0.0
    assert compose([NoOpDpEvent()]).epsilon(1e-9) == 0.0


def test_a_threshold_inside_a_sampled_event_is_refused() -> None:
    with pytest.raises(PrivacyParameterError):
        compose([PoissonSampledDpEvent(0.1, ComposedDpEvent([GaussianDpEvent(1.0), ThresholdDpEvent(1e-9)]))])


EVENTS = st.recursive(
    st.one_of(
        st.floats(1e-3, 1e6).map(GaussianDpEvent),
        st.floats(1e-15, 1.0).map(ThresholdDpEvent),
        st.floats(0.1, 9.0).map(lambda s: MixtureOfGaussiansDpEvent(s, [0.0, 1.0], [0.9, 0.1])),
        st.just(NoOpDpEvent()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(ComposedDpEvent),
        st.builds(SelfComposedDpEvent, inner, st.integers(1, 9)),
        st.builds(PoissonSampledDpEvent, st.floats(0.01, 1.0), inner),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=4))
def test_events_come_back_from_json_bit_for_bit(events: list[dp_event.DpEvent]) -> None:
    text = events_to_json(events)
    assert list(events_from_json(text)) == events
    assert events_to_json(events_from_json(text)) == text


@pytest.mark.parametrize("noise", [0.0, -1.0, math.nan, math.inf])
def test_events_without_noise_are_refused(noise: float) -> None:
    for event in (
        GaussianDpEvent(noise),
        PoissonSampledDpEvent(0.1, GaussianDpEvent(noise)),
        ComposedDpEvent([SelfComposedDpEvent(GaussianDpEvent(noise), 2)]),
    ):
        with pytest.raises(PrivacyParameterError):
            events_to_json([event])
        with pytest.raises(PrivacyParameterError):
            compose([event])
    with pytest.raises(PrivacyParameterError):
        gaussian_event(noise, 1.0)
    with pytest.raises(PrivacyParameterError):
        gaussian_event(1.0, noise)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[3]",
        '[{"type":"NonPrivateDpEvent"}]',
        '[{"type":"os.system","noise_multiplier":1}]',
        '[{"type":"GaussianDpEvent"}]',
        '[{"type":"GaussianDpEvent","noise_multiplier":0}]',
        '[{"type":"GaussianDpEvent","noise_multiplier":NaN}]',
        '[{"type":"GaussianDpEvent","noise_multiplier":"1"}]',
        '[{"type":"GaussianDpEvent","noise_multiplier":true}]',
        '[{"type":"GaussianDpEvent","noise_multiplier":1,"extra":1}]',
        '[{"type":"SelfComposedDpEvent","count":-1,"event":{"type":"NoOpDpEvent"}}]',
        '[{"type":"ThresholdDpEvent","delta":1.5}]',
    ],
)
def test_text_that_is_no_list_of_known_events_is_refused(text: str) -> None:
    with pytest.raises(PrivacyParameterError):
        events_from_json(text)


def test_unknown_types_are_refused() -> None:
    with pytest.raises(PrivacyParameterError):
        compose([dp_event.NonPrivateDpEvent()])
    with pytest.raises(PrivacyParameterError):
        events_to_json([dp_event.UnsupportedDpEvent()])
