"""Records per user before bounding, and the choice of the bound."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import MakeTable

from dpfy.contribution.records_per_user import PUBLIC_EDGES, choose_cap, rows_per_user_histogram
from dpfy.errors import ContributionError
from dpfy.privacy import PrivacyUnit

BY_ID = PrivacyUnit(owners=(("id",),))


def test_public_edges_rise_from_one_to_a_million() -> None:
    assert PUBLIC_EDGES[:14] == (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40)
    assert PUBLIC_EDGES[-1] == 2**20
    assert list(PUBLIC_EDGES) == sorted(set(PUBLIC_EDGES))


def test_each_user_is_in_exactly_one_cell(make_table: MakeTable) -> None:
    sizes = [1, 1, 2, 3, 4, 7, 30]
    ids = [f"u{user}" for user, size in enumerate(sizes) for _ in range(size)]
    counts = rows_per_user_histogram(make_table({"id": [*ids, None]}, ["id"]), BY_ID, (1, 2, 4, 8))
    assert counts.tolist() == [2, 1, 2, 2]
    for gone in range(len(sizes)):
        fewer = make_table({"id": [name for name in ids if name != f"u{gone}"]}, ["id"])
        assert np.abs(counts - rows_per_user_histogram(fewer, BY_ID, (1, 2, 4, 8))).sum() == 1


def test_filters_come_first(make_table: MakeTable) -> None:
    table = make_table({"id": ["a", "a", "a", "b"], "x": [1, 2, 3, 4]}, ["id"])
    assert rows_per_user_histogram(table, BY_ID, (1, 2, 3), where="x > 1").tolist() == [1, 1, 0]


def test_all_owners_count_and_once_a_row(make_table: MakeTable) -> None:
    table = make_table({"s": ["a", "a", "b"], "d": ["b", "a", "c"]}, ["s", "d"])
    unit = PrivacyUnit(owners=(("s",), ("d",)))
    assert rows_per_user_histogram(table, unit, (1, 2, 3)).tolist() == [1, 2, 0]


def test_records_have_no_users(make_table: MakeTable) -> None:
    with pytest.raises(ContributionError):
        rows_per_user_histogram(make_table({"x": [1]}), PrivacyUnit())


@pytest.mark.parametrize("edges", [(), (2, 3), (1, 1), (1, 3, 2)])
def test_edges_must_rise_from_one(make_table: MakeTable, edges: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        rows_per_user_histogram(make_table({"id": ["a"]}, ["id"]), BY_ID, edges)


def test_the_cap_covers_the_share_of_users() -> None:
    edges = (1, 2, 4, 8)
    assert choose_cap([50, 30, 15, 5], edges, 0.5) == 1
    assert choose_cap([50, 30, 15, 5], edges, 0.8) == 2
    assert choose_cap([50, 30, 15, 5], edges, 0.95) == 4
    assert choose_cap([50, 30, 15, 5], edges, 0.99) == 8


@pytest.mark.parametrize("counts", [[0, 0, 0], [-3, -2, 1], [-1, -1, -1]])
def test_counts_that_say_nothing_give_the_smallest_cap(counts: list[int]) -> None:
    assert choose_cap(counts, (1, 2, 4), 0.9) == 1


def test_noise_in_empty_cells_does_not_lift_the_cap() -> None:
    generator = np.random.default_rng(5)
    exact = np.zeros(len(PUBLIC_EDGES))
    exact[:4] = [4000, 3000, 2000, 1000]
    caps = [choose_cap(exact + generator.normal(0, 20, exact.size), PUBLIC_EDGES, 0.95) for _ in range(200)]
    assert set(caps) <= {4}


@pytest.mark.parametrize("quantile", [0.0, 1.0, -1.0])
def test_quantiles_outside_are_refused(quantile: float) -> None:
    with pytest.raises(ValueError):
        choose_cap([1], (1,), quantile)
