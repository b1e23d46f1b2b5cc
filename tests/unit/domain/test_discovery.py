"""Discovery finds heavy values, ranges and categories, and names nothing that one user holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpfy.accounting.meter import Meter, plan_charge
from dpfy.domain.columns import CategoryDomain, NumberDomain
from dpfy.domain.counts import ValueCounts
from dpfy.domain.discovery import (
    Discovered,
    DiscoveryRun,
    discover_categories,
    discover_more_categories,
    discover_numbers,
)
from dpfy.domain.keys import Roots, float_to_key, key_to_float, tick_roots
from dpfy.domain.population import NoisyUsers, population_of
from dpfy.mechanisms.counting import CountScale
from dpfy.noise.source import SeededSource
from dpfy.privacy import CountingMode


def discovery(records: int, seed: int = 0, cap: int = 1) -> DiscoveryRun:
    return DiscoveryRun(
        meter=Meter(plan_charge(200.0, 1e-5)),
        noise=SeededSource(seed),
        scale=CountScale(mode=CountingMode.ROWS, max_records_per_user=cap),
        records=float(records),
    )


def counts_of(values: np.ndarray, missing: int = 0) -> ValueCounts:
    keys, counts = np.unique(values, return_counts=True)
    return ValueCounts(keys=keys, counts=counts.astype(np.int64), missing=missing)


def numbers(values: np.ndarray, *, seed: int = 0, **given: Any) -> Discovered:
    options = {"roots": Roots.of_ticks(tick_roots()), "mu_squared": 0.5, "delta": 1e-6, "most_bins": 32} | given
    return discover_numbers(counts_of(values), discovery(len(values), seed), label="x", **{"may_miss": True} | options)


def test_a_spike_gets_its_own_cell_and_the_rest_is_binned() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([np.zeros(18_000, dtype=np.int64), rng.integers(1000, 90_000, 2000)])
    found = numbers(values)
    domain = found.domain
    assert isinstance(domain, NumberDomain)
    assert domain.atoms.tolist() == [0]
    assert domain.bins >= 8
    assert 512 <= domain.edges[0] <= 1100
    assert 80_000 <= domain.edges[-1] <= 131_072


def test_an_extreme_value_does_not_set_the_range() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.integers(20_000, 60_000, 5000), [98_765_432]])
    for seed in range(5):
        found = numbers(values, seed=seed, may_miss=False)
        assert found.domain.edges[-1] <= 131_072


def test_bins_follow_the_mass_of_floats_over_many_scales() -> None:
    values = np.exp(np.random.default_rng(2).normal(0, 4, 20_000))
    found = numbers(float_to_key(values), roots=Roots.of_floats())
    edges = key_to_float(found.domain.edges)
    share = np.histogram(values, np.concatenate([[-np.inf], edges[1:-1], [np.inf]]))[0] / len(values)
    assert found.domain.bins >= 16
    assert share.max() < 0.12


def test_public_range_is_kept_to_its_ends() -> None:
    values = np.random.default_rng(3).integers(1, 13, 3000)
    found = numbers(values, roots=Roots.of_ticks(np.array([1, 13]), public=True))
    keys, _ = found.domain.decode(np.arange(found.domain.bins, dtype=np.int32).repeat(300), np.random.default_rng(0))
    assert keys.min() == 1
    assert keys.max() == 12


def test_steps_of_times_are_found() -> None:
    hour = 3600
    values = np.random.default_rng(4).integers(8 * 4, 18 * 4, 4000) * (hour // 4)
    day = Roots.of_ticks(np.arange(25) * hour, public=True)
    found = numbers(values, roots=day, steps=(hour, hour // 4, 60))
    assert found.domain.step == hour // 4


def test_more_budget_gives_more_bins() -> None:
    values = np.random.default_rng(5).integers(0, 10**6, 5000)
    coarse, fine = numbers(values, mu_squared=0.002), numbers(values, mu_squared=2.0)
    assert coarse.domain.bins < fine.domain.bins <= 40


def test_categories_by_threshold_and_a_second_look() -> None:
    words = np.array(["a"] * 5000 + ["b"] * 400 + ["c"] * 60 + ["only"], dtype=object)
    run = discovery(len(words))
    held = counts_of(words, missing=300)
    first = discover_categories(held, run, mu_squared=0.01, delta=1e-6, label="x", may_miss=True)
    assert isinstance(first.domain, CategoryDomain)
    assert first.domain.values[:2] == ("a", "b")
    assert abs(first.counts[-1] - 300) < 60
    second = discover_more_categories(first, held, run, mu_squared=1.0, delta=1e-6, label="x")
    assert second.domain.values == ("a", "b", "c")
    assert second.variance[0] < first.variance[0]
    assert second.counts[0] == pytest.approx(5000, abs=6)


def test_what_is_charged_is_what_was_asked_for() -> None:
    values = np.random.default_rng(6).integers(0, 1000, 4000)
    run = discovery(4000)
    roots = Roots.of_ticks(tick_roots())
    discover_numbers(
        counts_of(values), run, roots=roots, mu_squared=0.5, delta=1e-6, label="x", may_miss=True, most_bins=32
    )
    assert run.meter.composition.gaussian_mu_squared <= 0.5 * (1 + 1e-9)
    assert run.meter.composition.threshold_delta == pytest.approx(1e-6)


def test_population_from_noisy_counts() -> None:
    edges = (1, 2, 3, 4, 5, 6, 8, 10)
    noisy = NoisyUsers(counts=np.array([100, 210, 300, 90, 4, -3, 5, -6]), sigma=5.0)
    found = population_of(noisy, edges, 4)
    assert 680 <= found.users <= 720
    assert found.rows_per_user.shape == (4,)
    assert found.rows_per_user.sum() == pytest.approx(1.0)
    assert found.records == pytest.approx(found.users * (found.rows_per_user @ np.arange(1, 5)), abs=1)
    nothing = population_of(NoisyUsers(counts=np.array([-5, -2, -9]), sigma=5.0), (1, 2, 3), 3)
    assert nothing.users == 1


def test_where_all_values_have_their_own_cells_there_are_no_bins() -> None:
    values = np.random.default_rng(7).integers(1, 3, 2000)
    for seed in range(5):
        found = numbers(values, seed=seed, mu_squared=0.02, may_miss=False)
        assert found.domain.atoms.tolist() == [1, 2]
        assert found.domain.bins == 0
        keys, _ = found.domain.decode(np.array([0, 1], dtype=np.int32), np.random.default_rng(0))
        assert keys.tolist() == [1, 2]


def test_smooth_columns_get_neither_spikes_nor_gaps() -> None:
    rng = np.random.default_rng(8)
    values = rng.integers(20, 90, 6000)
    found = numbers(values, mu_squared=0.01)
    drawn = found.domain.encode(values, np.zeros(6000, dtype=bool), column="x")
    keys, _ = found.domain.decode(drawn, rng)
    share = np.bincount(keys, minlength=128)[24:86] / 6000
    assert share.max() < 4 / 70
    assert (share > 0).mean() > 0.9


def test_a_range_is_found_where_no_interval_stands_out_alone() -> None:
    """Under 40 standard deviations in all, spread over a dozen intervals, some of them negative."""
    rng = np.random.default_rng(9)
    values = np.rint(rng.normal(10, 400, 4000)).astype(np.int64)
    covered = []
    for seed in range(20):
        # The histogram's noise is a fortieth of the table: sigma = 100.
        found = numbers(values, seed=seed, mu_squared=4 / 0.7 / 100**2, may_miss=False)
        low, high = found.domain.edges[0], found.domain.edges[-1]
        assert high - low <= 2**16
        covered.append(np.mean((values >= low) & (values < high)))
    assert np.median(covered) > 0.85


def test_floats_near_one_are_likelier_than_the_ends_of_the_scale() -> None:
    roots = Roots.of_floats()
    assert roots.magnitudes.shape == (len(roots.borders) - 1,)
    place = np.searchsorted(roots.borders, float_to_key(np.array([1.5, 1e18, 1e-18, -1.5, -1e18])), side="right") - 1
    assert roots.magnitudes[place].tolist() == [0.0, 59.0, 59.0, 0.0, 59.0]
