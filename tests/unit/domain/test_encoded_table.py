"""Counts of cells, in pieces and in small code types, are those of a plain count."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfy.domain import counted
from dpfy.domain.counted import EncodedTable
from dpfy.mechanisms.counting import CountScale
from dpfy.privacy import CountingMode

SCALE = CountScale(mode=CountingMode.ROWS, max_records_per_user=1)


def table_of(rows: int, sizes: tuple[int, ...], seed: int, weighted: bool) -> EncodedTable:
    rng = np.random.default_rng(seed)
    types = [np.uint8 if s <= 256 else np.uint16 if s <= 65536 else np.int32 for s in sizes]
    return EncodedTable(
        codes=tuple(rng.integers(0, s, rows).astype(t) for s, t in zip(sizes, types, strict=True)),
        sizes=sizes,
        weights=rng.integers(1, 2521, rows) if weighted else None,
        scale=SCALE,
    )


@settings(deadline=None)
@given(
    st.integers(0, 200),
    st.lists(st.sampled_from([1, 2, 7, 256, 257, 300]), min_size=1, max_size=2),
    st.integers(0, 99),
    st.booleans(),
    st.sampled_from([1, 3, 64, 1 << 16]),
)
def test_counts_are_those_of_a_plain_count(rows: int, sizes: list[int], seed: int, weighted: bool, piece: int) -> None:
    table = table_of(rows, tuple(sizes), seed, weighted)
    plain: Counter[tuple[int, ...]] = Counter()
    for row in range(rows):
        amount = 1 if table.weights is None else int(table.weights[row])
        plain[tuple(int(c[row]) for c in table.codes)] += amount
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "_PIECE_ROWS", piece)
        counts = table.counts(range(len(sizes)))
    assert counts.shape == tuple(sizes)
    assert counts.dtype == np.int64
    assert counts.sum() == sum(plain.values())
    assert all(counts[cell] == amount for cell, amount in plain.items())


def test_the_last_code_of_the_largest_small_column_survives() -> None:
    for size in (256, 257, 65536, 65537):
        code_type = counted._code_type(size)
        assert int(np.array([size - 1]).astype(code_type)[0]) == size - 1
