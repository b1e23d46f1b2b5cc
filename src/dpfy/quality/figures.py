"""The figures of a comparison: plain frozen records that become report.json as they are.

A figure that can't be computed is null with a reason; there is never a NaN or an infinity in one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["category", "number", "date"]
Verdict = Literal["flagged", "not_flagged", "undecided"]


@dataclass(frozen=True, kw_only=True)
class ReportColumn:
    """A column that is compared.

    Args:
        name: its name in both tables.
        kind: how the schema reads it.
    """

    name: str
    kind: Kind


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One figure, or the reason why there is none."""

    value: float | None
    reason: str = ""


def measured(value: float, *, otherwise: str = "The figure is not defined for this data.") -> Measure:
    """A figure; null with the reason `otherwise` when the value is not finite."""
    number = float(value)
    return Measure(value=number) if math.isfinite(number) else Measure(value=None, reason=otherwise)


def absent(reason: str) -> Measure:
    """No figure, and why."""
    return Measure(value=None, reason=reason)


@dataclass(frozen=True, kw_only=True)
class ColumnDistance:
    """1-way total variation distance of one column, in [0, 1], and what chance alone would give."""

    name: str
    kind: Kind
    distance: Measure
    floor: Measure


@dataclass(frozen=True, kw_only=True)
class PairDistance:
    """2-way total variation distance of one pair of columns, in [0, 1]."""

    first: str
    second: str
    distance: Measure
    floor: Measure


@dataclass(frozen=True, kw_only=True)
class WayDistance:
    """Mean distance over sets of so many columns.

    Args:
        ways: columns in a set: 1, 2 or 3.
        mean: synthetic against real.
        floor: what sampling alone gives, see DistanceFigures.floor_rule.
        against_holdout: synthetic against the holdout, to be held against the floor; null without a holdout.
        compared: how many sets were compared.
        possible: how many sets there are.
    """

    ways: int
    mean: Measure
    floor: Measure
    against_holdout: Measure
    compared: int
    possible: int


@dataclass(frozen=True, kw_only=True)
class DistanceFigures:
    """Total variation distances, and the rules by which they were computed."""

    ways: tuple[WayDistance, ...]
    columns: tuple[ColumnDistance, ...]
    pairs: tuple[PairDistance, ...]
    bin_rule: str
    floor_rule: str

    def of(self, ways: int) -> WayDistance | None:
        """The mean distance over sets of so many columns; None when there are too few columns."""
        return next((item for item in self.ways if item.ways == ways), None)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Share of rows with one value; null where a table has no rows."""

    label: str
    real: float | None
    synthetic: float | None


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """One column's distribution in both tables.

    Args:
        bars: single values (categories, heavy values, missing), as shares of all rows.
        edges: edges of the histogram's bins, ascending; seconds since 1970-01-01 for dates. Empty
            without histogram.
        real: shares of all rows per bin, one fewer than edges.
        synthetic: the same for the synthetic table.
        clipped: True when the end bins also hold the values beyond them.
    """

    name: str
    kind: Kind
    bars: tuple[Bar, ...]
    edges: tuple[float, ...] = ()
    real: tuple[float, ...] = ()
    synthetic: tuple[float, ...] = ()
    clipped: bool = False


@dataclass(frozen=True, kw_only=True)
class AssociationFigures:
    """Pairwise association: Pearson's r between numbers, Cramer's V (bias-corrected, binned) otherwise.

    Args:
        columns: names of rows and columns of the matrices.
        real: square matrix, in [-1, 1]; null where it is not defined.
        synthetic: the same for the synthetic table.
        mean_difference: mean absolute difference over the pairs defined in both.
        reason: why entries are null.
    """

    columns: tuple[str, ...]
    real: tuple[tuple[float | None, ...], ...]
    synthetic: tuple[tuple[float | None, ...], ...]
    mean_difference: Measure
    reason: str = "null: one of the two columns has a single value, or the table has no rows"


@dataclass(frozen=True, kw_only=True)
class TargetUtility:
    """How well a model trained on synthetic rows predicts real rows that it has not seen.

    Args:
        task: classification (score: AUC, macro one-against-rest above two classes) or regression (score: R2).
        trained_on_real: the score of the same model trained on real rows: the ceiling.
        trained_on_synthetic: the score when trained on synthetic rows.
        baseline: the score of a model that knows nothing: AUC 0.5, R2 0.
    """

    target: str
    task: Literal["classification", "regression"]
    score: Literal["AUC", "R2"]
    trained_on_real: Measure
    trained_on_synthetic: Measure
    baseline: float
    accuracy_real: Measure
    accuracy_synthetic: Measure
    accuracy_baseline: Measure
    classes: int
    real_training_rows: int
    synthetic_training_rows: int
    test_rows: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UtilityFigures:
    """Utility for each target, and the rule that chose targets and test rows."""

    rule: str
    targets: tuple[TargetUtility, ...]


@dataclass(frozen=True, kw_only=True)
class StaticShare:
    """Share of users with two or more rows in whom a column keeps one value."""

    name: str
    real: Measure
    synthetic: Measure


@dataclass(frozen=True, kw_only=True)
class UserFigures:
    """Rows per user and what stays the same within a user."""

    real_users: int
    synthetic_users: int
    rows_per_user_distance: Measure
    rows_per_user: tuple[Bar, ...]
    static: tuple[StaticShare, ...]


@dataclass(frozen=True, kw_only=True)
class CopyRate:
    """Share of synthetic rows that meet a real row, beside what an independent table would give.

    Args:
        share: meets any real row.
        expected: the same for independent rows.
        single_share: meets a real row that only one person (or row, without users) has.
        expected_single: the same for independent rows.
        flagged: single_share is above its expectation by more than chance and model error explain.
    """

    share: Measure
    expected: Measure
    single_share: Measure
    expected_single: Measure
    flagged: bool


@dataclass(frozen=True, kw_only=True)
class CopyFigures:
    """A copy check, no measure of privacy."""

    label: str
    verdict: Verdict
    explanation: str
    exact: CopyRate
    near: CopyRate
    near_rule: str
    baseline_rule: str


@dataclass(frozen=True, kw_only=True)
class TableSize:
    """Rows of a table and how many of them were worked on."""

    rows: int
    used: int


@dataclass(frozen=True, kw_only=True)
class QualityFigures:
    """Everything that a report shows about one synthetic table."""

    real: TableSize
    synthetic: TableSize
    holdout: TableSize | None
    columns: tuple[ReportColumn, ...]
    target: str | None
    user: str | None
    left_out: tuple[str, ...]
    distances: DistanceFigures
    distributions: tuple[Distribution, ...]
    associations: AssociationFigures
    utility: UtilityFigures
    users: UserFigures | None
    copies: CopyFigures
    notes: tuple[str, ...] = ()
