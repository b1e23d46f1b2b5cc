"""Associations: Pearson and Cramer's V against known values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dpfy.quality.associations import pearson


def test_pearson_equals_the_textbook_formula_with_missing_pairs_left_out():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=200), rng.normal(size=200)
    y = y + x
    y[:20] = np.nan
    x[5] = np.inf
    known = np.isfinite(x) & np.isfinite(y)
    r = pearson([x, y, np.full(200, 3.0)])
    assert r[0, 1] == pytest.approx(np.corrcoef(x[known], y[known])[0, 1], abs=1e-10)
    assert np.isnan(r[0, 2])


def test_pearson_keeps_its_digits_for_large_values():
    x = 1e15 + np.arange(100.0)
    assert pearson([x, -x])[0, 1] == pytest.approx(-1.0)


def test_cramers_v_is_one_for_a_copy_and_zero_for_a_stranger(figures_of):
    rng = np.random.default_rng(0)
    a = rng.choice(list("pqr"), 3000)
    table = pa.table({"a": a, "same": np.char.upper(a), "other": rng.choice(list("xyz"), 3000)})
    found = figures_of(table, table).associations
    assert found.real[0][1] == pytest.approx(1.0, abs=0.01)
    assert found.real[0][2] == pytest.approx(0.0, abs=0.05)
    assert found.mean_difference.value == 0.0


def test_cramers_v_does_not_grow_with_the_number_of_cells(figures_of):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.integers(0, 20, 300).astype(str) for name in "ab"})
    assert figures_of(table, table).associations.real[0][1] < 0.12  # 0.25 without the correction


def test_a_changed_sign_shows_in_the_difference(figures_of):
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    real = pa.table({"x": x, "y": x + rng.normal(size=1000)})
    made = pa.table({"x": x, "y": -x + rng.normal(size=1000)})
    assert figures_of(real, made).associations.mean_difference.value == pytest.approx(1.41, abs=0.1)


def test_a_constant_column_has_no_association(figures_of):
    table = pa.table({"x": [1.0, 2.0, 3.0], "one": ["a", "a", "a"]})
    found = figures_of(table, table).associations
    assert found.real[0][1] is None
    assert found.mean_difference.value is None
    assert found.mean_difference.reason
