"""The domain's budget: parts sum to the whole, and the share rises where little can be seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfy.domain.budget import LEVELS, ColumnBudget, NumberSplit, domain_share, resolution
from dpfy.mechanisms.counting import CountScale
from dpfy.privacy import CountingMode


@given(st.floats(1e-9, 1e3), st.booleans())
def test_a_number_columns_parts_sum_to_its_budget(mu_squared: float, has_steps: bool) -> None:
    split = NumberSplit.of(mu_squared, has_steps=has_steps)
    assert split.step + split.values + (1 + LEVELS) * split.level == pytest.approx(mu_squared, rel=1e-12)
    assert (split.step > 0) == has_steps


@given(st.floats(1e-9, 1e3), st.integers(1, 40), st.data())
def test_second_looks_spend_what_first_looks_left(mu_squared: float, looked: int, data: st.DataObject) -> None:
    large = data.draw(st.integers(1, looked))
    each = ColumnBudget.equal_parts(mu_squared, 1e-6, looked)
    again = each.second_look(looked, large)
    assert looked * each.first_look.mu_squared + large * again.mu_squared == pytest.approx(mu_squared, rel=1e-9)
    assert looked * each.first_look.delta + large * again.delta == pytest.approx(1e-6, rel=1e-9)


def test_the_less_can_be_seen_the_more_goes_to_the_domain() -> None:
    shares = [domain_share(z) for z in np.geomspace(1, 1e6, 50)]
    assert (np.diff(shares) <= 0).all()
    assert 0.3 < shares[-1] < shares[0] < 0.9


def test_resolution_counts_users_not_rows() -> None:
    rows = CountScale(mode=CountingMode.ROWS, max_records_per_user=10)
    users = CountScale(mode=CountingMode.USERS, max_records_per_user=10)
    assert resolution(10_000, rows, 0.09, 9) == pytest.approx(100.0)
    assert resolution(1000, users, 0.09, 9) == pytest.approx(100.0)
    assert resolution(-5, rows, 0.09, 9) > 0
