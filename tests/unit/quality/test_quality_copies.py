"""The copy check: copies and near copies are flagged, independent and naturally equal rows are not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dpfy.quality import ReportColumn


@pytest.fixture
def case(shared, read_csv, figures_of, columns_of):
    def run(real_name, made_name, **options):
        real, made = (read_csv(shared(f"cases/{name}")) for name in (real_name, made_name))
        columns = columns_of(real)
        return figures_of(real, made, columns=columns, user="user_id", leave_out=("id",), **options).copies

    return run


def test_renumbered_keys_do_not_hide_a_copy(case):
    found = case("043/real.csv", "043/copy_newkeys.csv")
    assert found.verdict == "flagged"
    assert found.exact.flagged
    assert found.exact.share.value == 1.0


def test_a_little_noise_does_not_hide_a_copy(case):
    found = case("043/real.csv", "043/copy_jitter.csv")
    assert found.verdict == "flagged"
    assert not found.exact.flagged
    assert found.near.flagged
    assert found.near.share.value > 0.9


def test_jitter_wider_than_the_gaps_between_values_is_seen(figures_of, people_table):
    real = people_table(2000, 1)
    place = real.column_names.index("spend")
    moved = real["spend"].to_numpy() + np.random.default_rng(0).choice([-0.3, 0.3], real.num_rows)
    found = figures_of(real, real.set_column(place, "spend", pa.array(moved))).copies
    assert not found.exact.flagged
    assert found.near.flagged
    assert found.near.share.value > 0.7


def test_independent_rows_are_not_flagged(case):
    found = case("043/real.csv", "043/independent.csv")
    assert found.verdict == "not_flagged"
    assert found.near.share.value < 0.05


def test_equal_rows_are_normal_in_a_table_with_twelve(case):
    found = case("072/repeats.csv", "072/repeats.csv")
    assert found.verdict == "not_flagged"
    assert (found.exact.share.value, found.exact.expected.value) == (1.0, 1.0)
    assert "normal" in found.explanation


def test_copied_training_rows_are_flagged_beside_a_clean_holdout(case, shared, read_csv):
    held = read_csv(shared("cases/066/holdout_clean.csv"))
    assert case("066/train.csv", "066/leak.csv", holdout=held).verdict == "flagged"
    assert case("066/train.csv", "066/holdout_clean.csv").verdict == "not_flagged"


def test_rates_by_hand(figures_of):
    real = pa.table({"a": ["p", "p", "q", "r"], "b": ["1", "1", "2", "3"]})
    made = pa.table({"a": ["p", "q", "q", "p"], "b": ["1", "2", "9", "9"]})
    exact = figures_of(real, made).copies.exact
    assert exact.share.value == 0.5  # p1 and q2
    assert exact.single_share.value == 0.25  # q2 alone: p1 occurs twice
    assert exact.expected.value == 0.5  # each p1 meets the other
    assert exact.expected_single.value == 0.5


def test_rows_of_one_user_do_not_make_each_other_expected(figures_of):
    real = pa.table({"u": ["1", "1", "2", "3"], "a": ["p", "p", "q", "q"]})
    columns = [ReportColumn(name="a", kind="category")]
    exact = figures_of(real, real, columns=columns, user="u").copies.exact
    assert exact.expected.value == 0.5
    assert exact.single_share.value == 0.5


@pytest.mark.parametrize("copied", [0, 100])
def test_a_few_copied_rows_among_many(figures_of, people_table, copied):
    real, fresh = people_table(2000, 1), people_table(2000, 2)
    made = pa.concat_tables([fresh.slice(copied), real.slice(0, copied)])
    found = figures_of(real, made).copies
    assert found.verdict == ("flagged" if copied else "not_flagged")


def test_large_integers_that_differ_by_one_are_not_equal(figures_of):
    base = 2**60
    real = pa.table({"n": pa.array([base + 2 * i for i in range(50)], pa.int64())})
    made = pa.table({"n": pa.array([base + 2 * i + 1 for i in range(50)], pa.int64())})
    assert figures_of(real, made).copies.exact.share.value == 0.0
    assert figures_of(real, real).copies.exact.share.value == 1.0


def test_negative_zero_and_integer_or_float_storage_make_no_difference(figures_of):
    real = pa.table({"n": pa.array([0, 1, 2, None], pa.int64())})
    made = pa.table({"n": pa.array([-0.0, 1.0, 2.0, None], pa.float64())})
    found = figures_of(real, made)
    assert found.copies.exact.share.value == 1.0
    assert found.distances.columns[0].distance.value == 0.0


def test_a_generator_that_favours_the_common_is_no_copyist(figures_of):
    rng = np.random.default_rng(0)

    def draw(rows, tilt):
        p = np.arange(1, 31.0) ** -tilt
        return pa.table({n: rng.choice(30, rows, p=p / p.sum()).astype(str) for n in "ab"})

    found = figures_of(draw(800, 1.0), draw(800, 1.6)).copies
    assert found.exact.share.value > found.exact.expected.value + 0.05
    assert found.verdict == "not_flagged"


def test_the_label_promises_nothing(figures_of):
    table = pa.table({"a": ["x", "y"]})
    assert figures_of(table, table).copies.label == "A copy check, no measure of privacy"
    none = figures_of(table, table.slice(0, 0)).copies
    assert none.verdict == "undecided"
    assert none.exact.share.value is None
    assert "no rows" in none.explanation
