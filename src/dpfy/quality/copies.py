"""A copy check: do synthetic rows meet real rows more often than rows of an independent table would?

The verdict rests on real rows that only one person has. Rows that many people share are met by chance, and a
generator that favours the common is no copyist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpfy.quality.figures import CopyFigures, CopyRate, Verdict, absent, measured
from dpfy.quality.users import IndexArray
from dpfy.quality.values import ColumnValues, FloatArray, KeyArray, exact_keys

LABEL = "A copy check, no measure of privacy"
GRIDS = (20, 50, 200, 1000)
_CALM_EXPECTATION = 0.02
_STANDARD_ERRORS = 4.0
_NO_ROWS = "The synthetic table has no rows."
_WIDENING = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, kw_only=True)
class RowKeys:
    """64-bit keys of whole rows: equal rows have equal keys."""

    real: KeyArray
    synthetic: KeyArray
    holdout: KeyArray | None


def _mixed(keys: KeyArray, salt: int) -> KeyArray:
    """Spreads keys over 64 bits, differently for each column (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        z = keys + np.uint64(salt + 1) * _WIDENING
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def row_keys(columns: Sequence[Sequence[KeyArray]]) -> list[KeyArray]:
    """Row keys of several tables from the column keys of each: columns[c][t] is column c of table t."""
    out = [np.zeros(len(keys), dtype=np.uint64) for keys in columns[0]]
    with np.errstate(over="ignore"):
        for salt, tables in enumerate(columns):
            for keys, table in zip(out, tables, strict=True):
                keys += _mixed(_mixed(table, salt), 31 * salt + 7)
    return out


class RealRows:
    """How many people have each row of the real table."""

    def __init__(self, keys: KeyArray, people: IndexArray) -> None:
        # One entry for a row of one person, however often that person has it.
        order = np.lexsort((people, keys))
        k, p = keys[order], people[order]
        first = np.r_[True, (k[1:] != k[:-1]) | (p[1:] != p[:-1])] if len(k) else np.zeros(0, bool)
        self._keys, self._owners = np.unique(k[first], return_counts=True)

    def owners(self, keys: KeyArray) -> IndexArray:
        """People who have each of these rows; 0 where nobody has."""
        if not len(self._keys):
            return np.zeros(len(keys), dtype=np.int64)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._owners[place], 0)


def _owners(keys: Sequence[RowKeys], people: IndexArray) -> list[list[IndexArray]]:
    """Owners of synthetic and of independent rows, for each set of keys."""
    out = []
    for item in keys:
        rows = RealRows(item.real, people)
        independent = rows.owners(item.real) - 1 if item.holdout is None else rows.owners(item.holdout)
        out.append([rows.owners(item.synthetic), independent])
    return out


def copy_rate(keys: Sequence[RowKeys], people: IndexArray, *, least_excess: float, least_ratio: float) -> CopyRate:
    """Rates of meeting real rows, and whether they are above those of independent rows.

    Args:
        keys: row keys; several sets when a row may meet another in any of several grids.
        people: the person behind each real row; each row its own without users.
        least_excess: smallest share above the expected one that counts.
        least_ratio: the same as a multiple of the expected share.
    """
    owners = _owners(keys, people)
    met = [np.maximum.reduce([o[t] for o in owners]) > 0 for t in (0, 1)]
    single = [np.logical_or.reduce([o[t] == 1 for o in owners]) for t in (0, 1)]
    # A row that meets a shared row in one grid and a lone one in another is no sign of copying.
    single = [s & ~np.logical_or.reduce([o[t] > 1 for o in owners]) for t, s in enumerate(single)]
    if not len(met[1]):
        return unknown_rate("There are no independent rows to judge by.")
    if not len(met[0]):
        return unknown_rate(_NO_ROWS)
    share, expected = float(single[0].mean()), float(single[1].mean())
    pooled = (single[0].sum() + single[1].sum()) / (len(single[0]) + len(single[1]))
    error = math.sqrt(max(pooled * (1 - pooled), 1e-12) * (1 / len(single[0]) + 1 / len(single[1])))
    excess = share - expected
    return CopyRate(
        share=measured(float(met[0].mean())),
        expected=measured(float(met[1].mean())),
        single_share=measured(share),
        expected_single=measured(expected),
        flagged=excess >= max(least_excess, least_ratio * expected) and excess > _STANDARD_ERRORS * error,
    )


def unknown_rate(reason: str) -> CopyRate:
    """No rates, and why."""
    nothing = absent(reason)
    return CopyRate(share=nothing, expected=nothing, single_share=nothing, expected_single=nothing, flagged=False)


def grid_edges(numbers: FloatArray, bins: int, *, shifted: bool) -> FloatArray:
    """Quantile edges that lie in gaps between values, so that a tiny shift of a number seldom crosses one."""
    values = np.unique(numbers[np.isfinite(numbers)])
    if len(values) < 2:
        return np.empty(0)
    levels = (np.arange(1, bins) - (0.5 if shifted else 0.0)) / bins
    wanted = np.quantile(numbers[np.isfinite(numbers)], levels)
    below = np.clip(np.searchsorted(values, wanted), 1, len(values) - 1)
    # Halves are taken before the sum: the largest floats would overflow.
    return np.unique(values[below - 1] / 2 + values[below] / 2)


def _grid_keys(columns: Sequence[ColumnValues], bins: int, *, shifted: bool) -> list[KeyArray]:
    real = columns[0].numbers
    assert real is not None
    edges = grid_edges(real, bins, shifted=shifted)
    out = []
    for column in columns:
        numbers = column.numbers
        assert numbers is not None
        code = np.digitize(np.where(column.missing, 0.0, numbers), edges)
        out.append(np.where(column.missing, -1, code).astype(np.int64).view(np.uint64))
    return out


def _as_row_keys(keys: list[KeyArray]) -> RowKeys:
    return RowKeys(real=keys[0], synthetic=keys[1], holdout=keys[2] if len(keys) > 2 else None)


def _near_grids(columns: Sequence[Sequence[ColumnValues]]) -> Iterator[tuple[int, list[RowKeys]]]:
    """From coarse to fine, the row keys in two grids that are half a bin apart."""
    words = {c: exact_keys(tables) for c, tables in enumerate(columns) if tables[0].numbers is None}
    for bins in GRIDS:
        grids = []
        for shifted in (False, True):
            parts = [
                words[c] if c in words else _grid_keys(tables, bins, shifted=shifted)
                for c, tables in enumerate(columns)
            ]
            grids.append(_as_row_keys(row_keys(parts)))
        yield bins, grids


def _near(columns: Sequence[Sequence[ColumnValues]], people: IndexArray) -> tuple[CopyRate, str]:
    if all(tables[0].numbers is None for tables in columns):
        return unknown_rate("There are no numbers or dates that could be shifted a little."), ""
    rate, bins = unknown_rate(_NO_ROWS), GRIDS[0]
    for chosen, grids in _near_grids(columns):
        bins = chosen
        # The grid is chosen by what independent rows do, so that it does not depend on the synthetic table.
        rate = copy_rate(grids, people, least_excess=0.02, least_ratio=1.0)
        if (rate.expected_single.value or 0.0) <= _CALM_EXPECTATION and (rate.expected.value or 0.0) <= 0.5:
            break
    rule = (
        f"Numbers and dates are rounded to {bins} bins of equally many real rows (in two grids, half a "
        f"bin apart) and "
        "categories must agree: the coarsest of "
        f"{', '.join(map(str, GRIDS))} bins in which independent rows seldom meet a lone real row."
    )
    return rate, rule


def check_copies(
    columns: Sequence[Sequence[ColumnValues]],
    people: npt.NDArray[np.int64] | None,
    progress: Callable[[float], None] = lambda share: None,
) -> CopyFigures:
    """Judges exact and near copies.

    Args:
        columns: columns[c] holds column c of (real, synthetic) or of (real, synthetic, holdout).
        people: the user of each real row; None: each row stands for itself.
        progress: called with the share done, in [0, 1].

    Returns:
        Rates and a verdict: undecided when the synthetic table has no rows.
    """
    rows = len(columns[0][0])
    owner = np.arange(rows) if people is None else people
    whose = "row" if people is None else "user"
    exact = copy_rate(
        [_as_row_keys(row_keys([exact_keys(tables) for tables in columns]))],
        owner,
        least_excess=0.005,
        least_ratio=0.25,
    )
    progress(0.4)
    near, near_rule = _near(columns, owner)
    progress(1.0)
    verdict, explanation = _verdict(exact, near, whose)
    holdout = len(columns[0]) > 2
    return CopyFigures(
        label=LABEL,
        verdict=verdict,
        explanation=explanation,
        exact=exact,
        near=near,
        near_rule=near_rule,
        baseline_rule="Independent rows are those of the holdout."
        if holdout
        else f"Independent rows are the real rows themselves, held against those of every other {whose}.",
    )


def _verdict(exact: CopyRate, near: CopyRate, whose: str) -> tuple[Verdict, str]:
    if exact.share.value is None:
        return "undecided", exact.share.reason
    lone = "occurs once" if whose == "row" else "only one user has"
    for rate, word in ((exact, "equal"), (near, "nearly equal")):
        if rate.flagged:
            return "flagged", (
                f"{rate.single_share.value:.1%} of the synthetic rows are {word} to a real row that {lone}; "
                f"among independent rows {rate.expected_single.value:.1%} are. Rows look copied: find out "
                f"why "
                "before anything is handed on."
            )
    usual = (
        " In a table with so few distinct rows equal rows are normal." if (exact.expected.value or 0.0) > 0.5 else ""
    )
    return "not_flagged", (
        f"{exact.share.value:.1%} of the synthetic rows equal a real row; among independent rows "
        f"{exact.expected.value:.1%} do.{usual} Nothing points to copied rows."
    )
