"""Codes and back: numbers, categories, keys of floats, JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfy.domain.binning import Atoms, Leaves, cut_into_bins, number_domain
from dpfy.domain.columns import CategoryDomain, NumberDomain, domain_from_json, nearest
from dpfy.domain.keys import Roots, float_to_key, key_to_float, tick_roots
from dpfy.domain.simplex import projected
from dpfy.errors import OutOfDomainError, SealBrokenError


def numbers(step: int = 1) -> NumberDomain:
    """Bins [0, 10) and [10, 40), own cell 7, missing."""
    leaves = Leaves(
        low=np.array([0, 10]), high=np.array([10, 40]), counts=np.array([50.0, 50.0]), variance=np.array([1.0, 1.0])
    )
    inside = Atoms(keys=np.array([12]), counts=np.array([40.0]), variance=1.0)
    domain, counts, _ = number_domain(leaves, np.array([7]), inside, most_bins=2, has_missing=True, step=step)
    assert counts.tolist() == [50.0, 50.0]
    return domain


def test_numbers_encode_and_clamp() -> None:
    domain = numbers()
    keys = np.array([-5, 0, 7, 9, 10, 39, 1000, 3])
    missing = np.array([False] * 7 + [True])
    codes = domain.encode(keys, missing, column="x")
    assert codes.tolist() == [0, 0, 2, 0, 1, 1, 1, 3]
    assert domain.cells == 4


def test_decoded_keys_fall_into_their_bin_and_keep_heavy_values() -> None:
    domain = numbers()
    codes = np.repeat(np.arange(4, dtype=np.int32), 2000)
    keys, missing = domain.decode(codes, np.random.default_rng(0))
    assert missing.tolist() == (codes == 3).tolist()
    assert ((keys[:2000] >= 0) & (keys[:2000] < 10)).all()
    assert ((keys[2000:4000] >= 10) & (keys[2000:4000] < 40)).all()
    assert (keys[4000:6000] == 7).all()
    assert 0.75 < (keys[2000:4000] == 12).mean() < 0.87
    again = domain.encode(keys[:6000], np.zeros(6000, dtype=bool), column="x")
    assert (again[keys[:6000] != 7] == codes[:6000][keys[:6000] != 7]).all()


def test_steps_are_kept() -> None:
    keys, _ = numbers(step=5).decode(np.zeros(500, dtype=np.int32), np.random.default_rng(0))
    assert set(keys.tolist()) <= {0, 5}


def test_empty_cells_where_none_may_be_name_the_column() -> None:
    domain = CategoryDomain(values=("a",), has_other=True, has_missing=False)
    with pytest.raises(OutOfDomainError) as raised:
        domain.encode(np.array([0, -1]), np.array([False, True]), column="plan")
    assert raised.value.column == "plan"


def test_unlisted_values_go_to_the_catch_all() -> None:
    domain = CategoryDomain(values=("a", "b"), has_other=True, has_missing=True)
    codes = domain.encode(np.array([1, -1, -1]), np.array([False, False, True]), column="plan")
    assert codes.tolist() == [1, 2, 3]
    strict = CategoryDomain(values=("a",), has_other=False, has_missing=False)
    with pytest.raises(OutOfDomainError):
        strict.encode(np.array([-1]), np.array([False]), column="plan")


@pytest.mark.parametrize(
    "domain", [numbers(), CategoryDomain(values=("ä", "b"), has_other=True, has_missing=False),
               CategoryDomain(values=(3, -1), has_other=False, has_missing=True)]
)  # fmt: skip
def test_domains_survive_json(domain: NumberDomain | CategoryDomain) -> None:
    again = domain_from_json(json.loads(json.dumps(domain.to_json())))
    assert again.to_json() == domain.to_json()
    assert again.cells == domain.cells


@pytest.mark.parametrize("broken", [{}, {"kind": "number"}, {"kind": "category", "values": 3}])
def test_damaged_domains_are_refused(broken: dict[str, object]) -> None:
    with pytest.raises(SealBrokenError):
        domain_from_json(broken)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_float_keys_keep_order_and_come_back(values: list[float]) -> None:
    array = np.array(values)
    keys = float_to_key(array)
    np.testing.assert_array_equal(key_to_float(keys), array + 0.0)
    order = np.argsort(array, kind="stable")
    assert (np.diff(keys[order].astype(object)) >= 0).all()


def test_negative_zero_is_zero() -> None:
    assert float_to_key(np.array([-0.0]))[0] == float_to_key(np.array([0.0]))[0]


def test_root_borders_rise() -> None:
    for borders in (tick_roots(), Roots.of_floats().borders):
        assert (np.diff(borders.astype(object)) > 0).all()


def test_nearest_handles_far_apart_keys() -> None:
    values = np.array([-(2**62), 0, 2**62])
    assert nearest(values, np.array([-(2**62) + 5, 10, 2**62 - 1])).tolist() == [0, 1, 2]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(1.0, 1e6))
def test_projection_is_nearest_on_the_simplex(counts: list[float], total: float) -> None:
    found = projected(np.array(counts), total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-6)
    positive = found > 0
    shifts = np.array(counts)[positive] - found[positive]
    assert np.ptp(shifts) < 1e-3 * max(1.0, np.abs(counts).max())


def test_bins_hold_about_equal_mass() -> None:
    counts = np.full(64, 10.0)
    leaves = Leaves(low=np.arange(64), high=np.arange(1, 65), counts=counts, variance=np.ones(64))
    starts = cut_into_bins(leaves, 8)
    assert len(starts) == 8
    assert np.ptp(np.diff(np.append(starts, 64))) <= 2
