"""Distances: hand-computed examples, planted differences, the floor, and agreement with the yardstick."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

from dpfy.quality.distances import choose_sets, combination_at


def test_one_and_two_way_distances_by_hand(figures_of):
    real = pa.table({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]})
    made = pa.table({"a": ["x", "x", "x", "y"], "b": ["u", "v", "u", "v"]})
    found = figures_of(real, made).distances
    # a: (.5, .5) against (.75, .25); b: equal; pairs: (xu .5, yv .5) against (xu .5, xv .25, yv .25)
    assert [c.distance.value for c in found.columns] == [0.25, 0.0]
    assert found.of(1).mean.value == 0.125
    assert found.of(2).mean.value == 0.25
    assert found.of(3) is None


def test_missing_unseen_and_heavy_values_have_bins_of_their_own(figures_of):
    real = pa.table({"n": [0.0] * 40 + [float(i) for i in range(1, 51)] + [None] * 10})
    made = pa.table({"n": [0.0] * 30 + [float(i) for i in range(1, 51)] + [None] * 20})
    assert figures_of(real, made).distances.columns[0].distance.value == pytest.approx(0.1)
    words = figures_of(pa.table({"w": ["a", "b", None, "a"]}), pa.table({"w": ["a", "c", "d", "a"]}))
    assert words.distances.columns[0].distance.value == pytest.approx(0.5)


def test_a_heavy_value_is_told_from_its_neighbours(figures_of):
    def spiked(zeros):
        return pa.table({"n": [0.0] * zeros + [0.25] * (100 - zeros) + [float(i) for i in range(1, 101)]})

    found = figures_of(spiked(100), spiked(80)).distances.columns[0]
    assert found.distance.value == pytest.approx(0.1)


def test_numbers_lie_in_twenty_quantile_bins(figures_of):
    real = pa.table({"n": np.arange(1000.0)})
    # Within a bin of 50 rows nothing is seen; one bin further everything of that bin is.
    moved = np.arange(1000.0)
    moved[:50] = 25.0
    assert figures_of(real, pa.table({"n": moved})).distances.columns[0].distance.value == 0.0
    moved[:50] = 52.0  # the first edge lies just below 50
    assert figures_of(real, pa.table({"n": moved})).distances.columns[0].distance.value == 0.05


def test_a_shifted_column_is_seen_in_that_column_alone(figures_of, people_table):
    real, made = people_table(2000, 1), people_table(2000, 2)
    place = made.column_names.index("spend")
    shifted = made.set_column(place, "spend", pa.array(made["spend"].to_numpy() + 15))
    before, after = figures_of(real, made).distances, figures_of(real, shifted).distances
    changes = {b.name: a.distance.value - b.distance.value for a, b in zip(after.columns, before.columns, strict=True)}
    assert changes.pop("spend") > 0.1
    assert set(changes.values()) == {0.0}


def test_broken_dependence_is_seen_in_two_ways_only(figures_of, people_table):
    real, made = people_table(2000, 1), people_table(2000, 2)
    order = np.random.default_rng(0).permutation(made.num_rows)
    broken = made.set_column(made.column_names.index("spend"), "spend", made["spend"].take(order))
    before, after = figures_of(real, made).distances, figures_of(real, broken).distances
    assert after.of(1).mean.value == pytest.approx(before.of(1).mean.value, abs=1e-12)

    def pair(found):
        return next(p.distance.value for p in found.pairs if (p.first, p.second) == ("age", "spend"))

    assert pair(after) > pair(before) + 0.1


@pytest.mark.parametrize("rows", [2000, 1000])
def test_the_floor_is_what_an_independent_sample_shows(figures_of, people_table, rows):
    found = figures_of(people_table(2000, 1), people_table(rows, 2)).distances
    for ways, off in ((1, 0.5), (2, 0.15), (3, 0.1)):  # over five columns alone the draw itself varies much
        assert found.of(ways).floor.value == pytest.approx(found.of(ways).mean.value, rel=off)


def test_the_floor_splits_users_not_rows(figures_of):
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(200), 10)
    table = pa.table({"user": users, "home": rng.integers(0, 10, 200).astype(str)[users]})
    by_row = figures_of(table, table, columns=_words("home"))
    by_user = figures_of(table, table, columns=_words("home"), user="user")
    assert by_user.distances.of(1).floor.value > 1.8 * by_row.distances.of(1).floor.value


def _words(*names):
    from dpfy.quality import ReportColumn

    return [ReportColumn(name=name, kind="category") for name in names]


def test_a_holdout_becomes_the_floor(figures_of):
    real, held = pa.table({"a": ["x", "y"] * 10}), pa.table({"a": ["x"] * 3 + ["y"]})
    found = figures_of(real, pa.table({"a": ["y"] * 8}), holdout=held).distances.of(1)
    assert (found.mean.value, found.floor.value, found.against_holdout.value) == (0.5, 0.25, 0.75)


def test_a_holdout_that_shares_users_is_not_used(figures_of):
    real = pa.table({"user": ["1", "2"] * 10, "a": ["x", "y"] * 10})
    held = pa.table({"user": ["2", "3"], "a": ["x", "x"]})
    found = figures_of(real, real, columns=_words("a"), user="user", holdout=held)
    assert found.holdout is None
    assert any("shares users" in note for note in found.notes)
    apart = held.set_column(0, "user", pa.array(["8", "9"]))
    assert figures_of(real, real, columns=_words("a"), user="user", holdout=apart).holdout.rows == 2


def test_sets_are_the_same_every_time_and_bounded():
    every = [combination_at(i, 7, 3) for i in range(math.comb(7, 3))]
    assert every == choose_sets(7, 3, 1000, 0)
    chosen = choose_sets(300, 2, 2000, 1)
    assert len(set(chosen)) == 2000
    assert chosen == choose_sets(300, 2, 2000, 1)
    assert all(0 <= a < b < 300 for a, b in chosen)


def test_agrees_with_the_yardstick_on_adult(figures_of, shared, read_csv, tmp_path):
    script, source = shared("bench/evaluate_table.py"), shared("data/adult_train.csv")
    real = read_csv(source).slice(0, 6000)
    rng = np.random.default_rng(3)
    base = rng.integers(0, real.num_rows, 5000)
    made = pa.table(
        {
            name: real[name].take(np.where(rng.random(5000) < 0.3, rng.permutation(6000)[:5000], base))
            for name in real.column_names
        }
    )
    paths = {name: tmp_path / f"{name}.csv" for name in ("real", "made")}
    arrow_csv.write_csv(real, paths["real"])
    arrow_csv.write_csv(made, paths["made"])
    done = subprocess.run(
        [sys.executable, script, "--train", paths["real"], "--holdout", paths["real"], paths["made"]],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    yardstick = json.loads(done.stdout)
    found = figures_of(real, made, target="income").distances
    for ways in (1, 2, 3):
        assert found.of(ways).mean.value == pytest.approx(yardstick[f"tvd{ways}_train"], abs=0.003)
