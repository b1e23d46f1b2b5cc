"""Value counts after clamping and leaving values out are those of a plain count of changed values."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpfy.domain.counts import ValueCounts

VALUES = st.lists(st.integers(-20, 20), max_size=60)


def counts_of(values: list[int]) -> ValueCounts:
    keys, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return ValueCounts(keys=keys, counts=counts.astype(np.int64), missing=3)


def as_dict(held: ValueCounts) -> dict[int, int]:
    assert held.missing == 3
    assert held.keys.dtype == held.counts.dtype == np.int64
    assert (np.diff(held.keys) > 0).all()
    return dict(zip(held.keys.tolist(), held.counts.tolist(), strict=True))


@given(VALUES, st.integers(-25, 25), st.integers(1, 30))
def test_clamped(values: list[int], low: int, width: int) -> None:
    high = low + width
    plain = counts_of([min(max(v, low), high - 1) for v in values])
    assert as_dict(counts_of(values).clamped(low, high)) == as_dict(plain)


@given(VALUES, st.sets(st.integers(-25, 25), max_size=6))
def test_without(values: list[int], gone: set[int]) -> None:
    keys = np.array(sorted(gone), dtype=np.int64)
    plain = counts_of([v for v in values if v not in gone])
    assert as_dict(counts_of(values).without(keys)) == as_dict(plain)


@given(VALUES, st.lists(st.integers(-25, 25), min_size=2, max_size=8, unique=True))
def test_within_intervals(values: list[int], borders: list[int]) -> None:
    edges = np.array(sorted(borders), dtype=np.int64)
    held = counts_of(values)
    inside = [sum(a <= v < b for v in values) for a, b in itertools.pairwise(edges)]
    assert held.within_each(edges[:-1], edges[1:]).tolist() == inside
    assert held.within(edges).sum() == len(values)
    assert held.within(edges)[1:-1].tolist() == inside[1:-1]
