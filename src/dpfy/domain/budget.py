"""How the budget for domains is split: public arithmetic on noisy figures that a run and a plan share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfy.mechanisms.counting import CountScale

FIRST_LOOK = 0.6
"""The share of a category column's part that its first look takes."""
LEVELS = 3
"""Rounds of splitting intervals after the first histogram of a range."""
_STEP_SHARE = 0.1
_VALUES_SHARE = 0.3
_RESOLUTIONS = (250.0, 600.0, 2000.0, 5000.0, 12500.0)
_DOMAIN_SHARES = (0.8, 0.5, 0.5, 0.4, 0.35)


def resolution(records: float, scale: CountScale, mu_squared: float, columns: int) -> float:
    """How many standard deviations of noise all records make, if each column got an equal part of a budget.

    Args:
        records: noisy, or a public guess.
        scale: what a user adds up to.
        mu_squared: budget, > 0.
        columns: number of model columns.
    """
    of_one_user = scale.user_total / scale.one
    return float(max(records, 1.0) / of_one_user * (mu_squared / max(1, columns)) ** 0.5)


def domain_share(resolution: float) -> float:
    """The share of a run's budget that goes to domains, when no column is public.

    A coarse view is of no use when the range is wrong: the less can be seen, the more of it goes to what columns hold.

    **Source:** measured on six tables; docs/benchmarks.md.
    """
    return float(np.interp(np.log(resolution), np.log(_RESOLUTIONS), _DOMAIN_SHARES))


def count_share(*, is_record: bool, has_cap: bool) -> float:
    """The share of a run's budget for the number of records, or of users by records.

    One count is cheap; a histogram needs more, and more still when the contribution bound hangs on it.

    Args:
        is_record: each record is its own user.
        has_cap: the owner has bounded the records of a user.
    """
    if is_record:
        return 0.01
    return 0.03 if has_cap else 0.05


def domain_mu_squared(mu_squared: float, *, records: float, scale: CountScale, columns: int, hidden: int) -> float:
    """What a run spends on domains, out of its whole budget.

    Args:
        mu_squared: of the whole run.
        records: noisy, or a public guess; users in per-user counting.
        scale: what a user adds up to.
        columns: number of model columns.
        hidden: how many of them are discovered.
    """
    share = domain_share(resolution(records, scale, mu_squared, columns))
    return share * mu_squared * hidden / max(1, columns)


@dataclass(frozen=True, kw_only=True)
class ColumnBudget:
    """What one discovered column may spend.

    Args:
        mu_squared: for all its mechanisms.
        delta: for its thresholds.
    """

    mu_squared: float
    delta: float

    @classmethod
    def equal_parts(cls, mu_squared: float, delta: float, hidden: int) -> ColumnBudget:
        """The part of each discovered column.

        Args:
            mu_squared: the domain's whole budget.
            delta: the thresholds' whole budget.
            hidden: number of model columns that are discovered.
        """
        return cls(mu_squared=mu_squared / max(1, hidden), delta=delta / max(1, hidden))

    @property
    def first_look(self) -> ColumnBudget:
        """What the first look at categories takes."""
        return self._part(FIRST_LOOK)

    def second_look(self, looked: int, large: int) -> ColumnBudget:
        """What a column with a large catch-all gets on top.

        Args:
            looked: number of columns that had a first look.
            large: number of those among them with a large catch-all.
        """
        return self._part((1 - FIRST_LOOK) * looked / large)

    def _part(self, share: float) -> ColumnBudget:
        return ColumnBudget(mu_squared=self.mu_squared * share, delta=self.delta * share)


@dataclass(frozen=True, kw_only=True)
class NumberSplit:
    """The parts of a number column's budget, in mu squared.

    Args:
        step: for the step of times of day; 0 when there is none to find.
        values: for single heavy values, and missing.
        level: for each of 1 + LEVELS histograms over intervals.
    """

    step: float
    values: float
    level: float

    @classmethod
    def of(cls, mu_squared: float, *, has_steps: bool) -> NumberSplit:
        """Splits a column's budget."""
        step = _STEP_SHARE * mu_squared if has_steps else 0.0
        rest = mu_squared - step
        return cls(step=step, values=_VALUES_SHARE * rest, level=(1.0 - _VALUES_SHARE) * rest / (1 + LEVELS))
