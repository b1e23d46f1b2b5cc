"""Total variation distances between two tables over sets of one, two and three columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpfy.quality.binning import BIN_RULE, EncodedTable
from dpfy.quality.figures import (
    ColumnDistance,
    DistanceFigures,
    Measure,
    PairDistance,
    ReportColumn,
    WayDistance,
    absent,
    measured,
)

MOST_PAIRS = 2000
MOST_TRIPLES = 500
_LEAST_ROWS_FOR_FLOOR = 8
_SPLITS = 4
_CELLS_FOR_SPLITS = 1_000_000
_NO_ROWS = "The synthetic table has no rows."

Histogram = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
Columns = tuple[int, ...]


def histogram(table: EncodedTable, columns: Columns) -> Histogram:
    """Occupied cells and their shares of the rows."""
    code, size = table.joint(columns)
    if size <= max(4096, 4 * table.rows):
        counts = np.bincount(code, minlength=size)
        cells = counts.nonzero()[0]
        return cells, counts[cells] / max(1, table.rows)
    cells, counts = np.unique(code, return_counts=True)
    return cells, counts / max(1, table.rows)


def total_variation(first: Histogram, second: Histogram) -> float:
    """Half the sum of absolute differences of the shares, in [0, 1]."""
    if len(first[0]) == 0 or len(second[0]) == 0:
        return math.nan
    place = np.minimum(np.searchsorted(first[0], second[0]), len(first[0]) - 1)
    both = first[0][place] == second[0]
    # Rounded: equal tables are to show 0, not what is left of adding up shares.
    return max(0.0, round(1.0 - float(np.minimum(first[1][place[both]], second[1][both]).sum()), 12))


def combination_at(index: int, items: int, size: int) -> Columns:
    """The combination at a place in lexicographic order, without listing those before it."""
    chosen, start = [], 0
    for left in range(size, 0, -1):
        while (block := math.comb(items - start - 1, left - 1)) <= index:
            index -= block
            start += 1
        chosen.append(start)
        start += 1
    return tuple(chosen)


def choose_sets(items: int, size: int, most: int, seed: int) -> list[Columns]:
    """All sets of so many columns, or `most` of them drawn with a fixed seed."""
    possible = math.comb(items, size)
    if possible <= most:
        return list(itertools.combinations(range(items), size))
    drawn = np.random.default_rng(seed).choice(possible, most, replace=False)
    return [combination_at(int(index), items, size) for index in drawn]


TablePair = tuple[EncodedTable, EncodedTable]


@dataclass(frozen=True, kw_only=True)
class Floor:
    """Pairs of tables whose distance is owed to sampling alone.

    Args:
        halves: pairs of tables of disjoint people, whose distances are averaged.
        quarters: pairs of smaller ones, to see how the distance shrinks with size; none without scaling.
        growth: size of the comparison at hand over the size of `halves` (harmonic means of rows).
        rule: what was done, for the reader.
    """

    halves: tuple[TablePair, ...] = ()
    quarters: tuple[TablePair, ...] = ()
    growth: float = 1.0
    rule: str


def floor_of(
    real: EncodedTable,
    synthetic_rows: int,
    holdout: EncodedTable | None,
    groups: npt.NDArray[np.int64] | None,
) -> Floor:
    """Lays out what sampling noise is measured on.

    Args:
        real: the real table.
        synthetic_rows: rows of the synthetic table.
        holdout: other real rows of the same kind, or None.
        groups: int64, shape (rows,), the user of each real row; None: each row stands alone.
    """
    if holdout is not None and holdout.rows:
        return Floor(
            halves=((real, holdout),),
            rule=f"The distance between the real table and the holdout ({holdout.rows:,} rows) as it is, not "
            "scaled to the size of the synthetic table. Hold it against 'synthetic against holdout'.",
        )
    units = np.arange(real.rows) if groups is None else groups
    distinct, place = np.unique(units, return_inverse=True)
    if len(distinct) < _LEAST_ROWS_FOR_FLOOR:
        return Floor(rule="Too few rows or users to split the real table.")
    halves: list[TablePair] = []
    quarters: list[TablePair] = []
    rng = np.random.default_rng(0)
    splits = _SPLITS if real.rows * len(real.codes) <= _CELLS_FOR_SPLITS else 1
    for _ in range(splits):
        quarter = (rng.permutation(len(distinct)) % 4)[place]
        part = [real.take(np.flatnonzero(quarter == q)) for q in range(4)]
        quarters += [(part[0], part[2]), (part[1], part[3])]
        halves.append((real.take(np.flatnonzero(quarter < 2)), real.take(np.flatnonzero(quarter >= 2))))
    size = _harmonic(real.rows, synthetic_rows or real.rows)
    whose = "rows" if groups is None else "users"
    return Floor(
        halves=tuple(halves),
        quarters=tuple(quarters),
        growth=size / float(np.mean([_harmonic(a.rows, b.rows) for a, b in halves])),
        rule=f"The real table is split into two random halves by {whose} ({splits} times, fixed seed); their "
        "distance is carried over to the sizes compared here by the rate at which it falls from quarters to "
        "halves. An independent sample of the same people and size would show about this.",
    )


def _harmonic(first: int, second: int) -> float:
    return 2.0 / (1.0 / max(1, first) + 1.0 / max(1, second))


def _floors(floor: Floor, sets: Sequence[Columns]) -> list[float]:
    if not floor.halves:
        return [math.nan] * len(sets)
    halves = _mean_distances(floor.halves, sets)
    if not floor.quarters:
        return [float(x) for x in halves]
    quarters = _mean_distances(floor.quarters, sets)
    # Dense cells shrink with the root of the size, cells seen once hardly at all: the data tell which.
    rate = math.log2(max(1e-12, float(quarters.mean())) / max(1e-12, float(halves.mean())))
    return [float(x) for x in halves * floor.growth ** -min(0.5, max(0.0, rate))]


def _mean_distances(pairs: Sequence[TablePair], sets: Sequence[Columns]) -> npt.NDArray[np.float64]:
    return np.array(
        [np.mean([total_variation(histogram(a, columns), histogram(b, columns)) for a, b in pairs]) for columns in sets]
    )


def distances(
    real: EncodedTable,
    synthetic: EncodedTable,
    holdout: EncodedTable | None,
    *,
    columns: Sequence[ReportColumn],
    floor: Floor,
    progress: Callable[[float], None] = lambda share: None,
) -> DistanceFigures:
    """Mean distances over 1, 2 and 3 columns, each column's and each compared pair's own.

    Args:
        real: codes of the real table.
        synthetic: codes of the synthetic table; may have no rows.
        holdout: codes of a holdout, or None.
        columns: names and kinds, in the order of the codes.
        floor: what sampling noise is measured on.
        progress: called with the share done, in [0, 1].

    Returns:
        The figures; null with a reason where the synthetic table has no rows.
    """
    sets = {
        1: choose_sets(len(columns), 1, len(columns), 0),
        2: choose_sets(len(columns), 2, MOST_PAIRS, 1),
        3: choose_sets(len(columns), 3, MOST_TRIPLES, 0),
    }
    total, done = sum(map(len, sets.values())), 0
    ways: list[WayDistance] = []
    own: dict[int, list[float]] = {}
    floors: dict[int, list[float]] = {}
    for size, chosen in sets.items():
        if not chosen:
            continue
        against: list[float] = []
        own[size] = []
        for columns_set in chosen:
            drawn = histogram(synthetic, columns_set)
            own[size].append(total_variation(histogram(real, columns_set), drawn))
            if holdout is not None and holdout.rows:
                against.append(total_variation(histogram(holdout, columns_set), drawn))
            done += 1
            progress(0.6 * done / total)
        floors[size] = _floors(floor, chosen)
        ways.append(
            WayDistance(
                ways=size,
                mean=_mean(own[size], _NO_ROWS),
                floor=_mean(floors[size], floor.rule),
                against_holdout=_mean(against, _NO_ROWS) if against else absent("No holdout was given."),
                compared=len(chosen),
                possible=math.comb(len(columns), size),
            )
        )
    return DistanceFigures(
        ways=tuple(ways),
        columns=tuple(
            ColumnDistance(name=c.name, kind=c.kind, distance=_one(d, _NO_ROWS), floor=_one(f, floor.rule))
            for c, d, f in zip(columns, own[1], floors[1], strict=True)
        ),
        pairs=tuple(
            PairDistance(
                first=columns[pair[0]].name,
                second=columns[pair[1]].name,
                distance=_one(d, _NO_ROWS),
                floor=_one(f, floor.rule),
            )
            for pair, d, f in zip(sets[2], own.get(2, []), floors.get(2, []), strict=True)
        ),
        bin_rule=BIN_RULE,
        floor_rule=floor.rule,
    )


def _one(value: float, reason: str) -> Measure:
    return measured(value, otherwise=reason)


def _mean(values: Sequence[float], reason: str) -> Measure:
    return measured(float(np.mean(values)) if len(values) else math.nan, otherwise=reason)
