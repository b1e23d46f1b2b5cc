"""Utility and users."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dpfy.quality import ReportColumn
from dpfy.quality.utility import choose_targets, split_rows


def test_useful_and_useless_tables_are_told_apart(figures_of, people_table):
    real, good = people_table(1500, 1), people_table(1500, 2)
    order = np.random.default_rng(0).permutation(good.num_rows)
    shuffled = good.set_column(good.column_names.index("plan"), "plan", good["plan"].take(order))
    useful = figures_of(real, good, target="plan").utility.targets[0]
    useless = figures_of(real, shuffled, target="plan").utility.targets[0]
    assert useful.task == "classification"
    assert useful.trained_on_synthetic.value == pytest.approx(useful.trained_on_real.value, abs=0.06)
    assert useless.trained_on_synthetic.value < useful.trained_on_synthetic.value - 0.1
    assert useful.accuracy_real.value > useful.accuracy_baseline.value


def test_a_number_is_predicted_by_regression(figures_of, people_table):
    found = figures_of(people_table(1500, 1), people_table(1500, 2), target="spend").utility.targets[0]
    assert (found.task, found.score, found.baseline) == ("regression", "R2", 0.0)
    assert 0.05 < found.trained_on_synthetic.value < 0.6
    assert found.accuracy_real.value is None


def test_several_classes_give_a_macro_score(figures_of):
    rng = np.random.default_rng(0)
    x = rng.normal(size=900)
    table = pa.table({"x": x, "c": np.digitize(x + 0.1 * rng.normal(size=900), [-0.5, 0.5]).astype(str)})
    found = figures_of(table, table, target="c").utility.targets[0]
    assert found.classes == 3
    assert found.trained_on_synthetic.value > 0.95


def test_the_rule_without_a_target_is_public(figures_of, people_table):
    chosen, rule = choose_targets(["a", "b", "c", "d"], None)
    assert chosen == ["d", "c", "b"]
    assert "last 3 columns" in rule
    found = figures_of(people_table(300, 1), people_table(300, 2)).utility
    assert [t.target for t in found.targets] == ["plan", "day", "city"]


def test_test_rows_come_from_other_users():
    people = np.repeat(np.arange(50), 4)
    training, test = split_rows(200, people)
    assert not set(people[training]) & set(people[test])
    assert len(test) == 40


def test_unseen_missing_and_single_valued_targets_are_withstood(figures_of):
    rng = np.random.default_rng(0)
    real = pa.table({"x": rng.normal(size=200), "w": ["a", "b"] * 100, "y": ["p", "q", None, "p"] * 50})
    made = pa.table({"x": rng.normal(size=200), "w": ["a", "new"] * 100, "y": ["p", "q", "r", None] * 50})
    found = figures_of(real, made, target="y").utility.targets[0]
    assert found.trained_on_synthetic.value is not None
    assert found.synthetic_training_rows == 100
    assert found.notes
    one = made.set_column(2, "y", pa.array(["p"] * 200))
    assert figures_of(real, one, target="y").utility.targets[0].trained_on_synthetic.value == 0.5
    constant = figures_of(real.set_column(2, "y", pa.array(["p"] * 200)), made, target="y").utility.targets[0]
    assert constant.trained_on_real.value is None
    assert "single value" in constant.trained_on_real.reason


def test_many_classes_are_pooled(figures_of):
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(40)])
    p = np.arange(1, 41.0) ** -1.0
    table = pa.table({"x": rng.normal(size=800), "y": rng.choice(words, 800, p=p / p.sum())})
    found = figures_of(table, table, target="y").utility.targets[0]
    assert found.classes == 20
    assert any("19 most frequent" in note for note in found.notes)


USER_COLUMNS = [ReportColumn(name="born", kind="number"), ReportColumn(name="visit", kind="category")]


def test_rows_per_user_and_static_columns_by_hand(figures_of):
    real = pa.table({"u": list("aabbcd"), "born": [1, 1, 2, 2, 3, 4], "visit": list("xyxxzz")})
    made = pa.table({"u": list("aabbcc"), "born": [1, 1, 2, 9, 3, 3], "visit": list("xyxyxy")})
    found = figures_of(real, made, columns=USER_COLUMNS, user="u").users
    assert (found.real_users, found.synthetic_users) == (4, 3)
    assert found.rows_per_user_distance.value == 0.5  # half of the real users have one row, no synthetic one
    assert [(b.label, b.real, b.synthetic) for b in found.rows_per_user] == [("1", 0.5, 0.0), ("2", 0.5, 1.0)]
    static = {s.name: (s.real.value, s.synthetic.value) for s in found.static}
    assert static == {"born": (1.0, pytest.approx(2 / 3)), "visit": (0.5, 0.0)}


def test_rows_without_a_user_are_left_out_and_told(figures_of):
    real = pa.table({"u": ["a", "a", None, None], "born": [1, 1, 2, 3], "visit": list("xyxx")})
    found = figures_of(real, real, columns=USER_COLUMNS, user="u")
    assert found.users.real_users == 1
    assert any("without a value in 'u'" in note for note in found.notes)
