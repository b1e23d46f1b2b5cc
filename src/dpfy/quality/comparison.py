"""Compares a real table with a synthetic one: reads both, lays bins, and asks each part for its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfy.errors import SpecError
from dpfy.quality.associations import association_matrix, associations
from dpfy.quality.binning import ColumnBins, EncodedTable, encode_table, fit_bins
from dpfy.quality.copies import check_copies
from dpfy.quality.distances import distances, floor_of
from dpfy.quality.distributions import distribution
from dpfy.quality.figures import (
    AssociationFigures,
    DistanceFigures,
    QualityFigures,
    ReportColumn,
    TableSize,
    UserFigures,
)
from dpfy.quality.users import IndexArray, user_codes, user_figures
from dpfy.quality.utility import utility
from dpfy.quality.values import ColumnValues, exact_keys, read_column

MOST_ROWS = 200_000
MOST_CELLS = 20_000_000
MOST_SHOWN = 60
_COPY_CELLS = 6_000_000

Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class _Tables:
    """The tables as arrays: columns[c][t] is column c of table t (real, synthetic and perhaps holdout)."""

    columns: list[list[ColumnValues]]
    bins: list[ColumnBins]
    encoded: list[EncodedTable]
    users: list[IndexArray] | None
    notes: list[str]


def compare(
    real: Any,
    synthetic: Any,
    *,
    columns: Sequence[ReportColumn],
    target: str | None,
    user: str | None,
    holdout: Any = None,
    leave_out: Sequence[str] = (),
    progress: Progress | None = None,
) -> QualityFigures:
    """Computes every figure of the report.

    **Privacy:** none. The figures come from raw data, are charged to nobody and must stay with the data
    owner.

    Args:
        real: the private pyarrow table; at least one row.
        synthetic: the synthetic pyarrow table; may have no rows.
        columns: what is compared, with the schema's kinds.
        target: the column for the utility figure; None for the last three columns in turn.
        user: the column that names the user in all tables, or None.
        holdout: real rows that the generator has not seen, or None.
        leave_out: keys and other columns to leave alone.
        progress: called with the name of a step and the share done, in [0, 1].

    Returns:
        The figures. Tables over 200,000 rows (fewer if very wide) are sampled with a fixed seed.

    Raises:
        SpecError: for columns that a table lacks, a target that is not compared, or a real table without
            rows.
    """
    tell = progress or (lambda step, share: None)
    shown = _chosen(columns, leave_out, user)
    tables = [real, synthetic] + ([holdout] if holdout is not None and holdout.num_rows else [])
    _check(tables, shown, target, user)
    tell("reading", 0.0)
    notes: list[str] = []
    if user is not None and len(tables) > 2 and _overlap(real, holdout, user):
        notes.append(
            f"The holdout shares users (column {user!r}) with the real table, so that it is no holdout: it is not used."
        )
        tables = tables[:2]
    sizes = [table.num_rows for table in tables]
    most = min(MOST_ROWS, MOST_CELLS // len(shown))
    tables = [_sampled(table, most, user) for table in tables]
    if any(table.num_rows < size for table, size in zip(tables, sizes, strict=True)):
        unit = "rows" if user is None else "whole users"
        notes.append(f"Of each table at most about {most:,} rows are used: {unit} drawn with a fixed seed.")
    read = _read(tables, shown, user, notes)
    return _figures(read, sizes, shown, target, user, tuple(leave_out), tell)


def _figures(
    read: _Tables,
    sizes: Sequence[int],
    shown: Sequence[ReportColumn],
    target: str | None,
    user: str | None,
    left_out: tuple[str, ...],
    tell: Progress,
) -> QualityFigures:
    real, synthetic = read.encoded[:2]
    holdout = read.encoded[2] if len(read.encoded) > 2 else None
    people = None if read.users is None else _unit_of(read.users[0])
    tell("distances", 0.1)
    floor = floor_of(real, synthetic.rows, holdout, people)
    apart = distances(
        real,
        synthetic,
        holdout,
        columns=shown,
        floor=floor,
        progress=lambda share: tell("distances", 0.1 + 0.3 * share),
    )
    tell("associations", 0.4)
    linked = _associations(read, apart, [c.name for c in shown])
    pictures = tuple(
        distribution(bins, values[:2], [table.codes[place] for table in read.encoded[:2]])
        for place, (bins, values) in enumerate(zip(read.bins, read.columns, strict=True))
    )
    tell("copies", 0.55)
    copies = check_copies(
        *_fewer_cells(read.columns, people), progress=lambda share: tell("copies", 0.55 + 0.1 * share)
    )
    tell("utility", 0.65)
    useful = utility(read.columns, people, target, progress=lambda share: tell("utility", 0.65 + 0.3 * share))
    tell("users", 0.95)
    by_user = _users(read)
    tell("done", 1.0)
    used = [table.rows for table in read.encoded]
    return QualityFigures(
        real=TableSize(rows=sizes[0], used=used[0]),
        synthetic=TableSize(rows=sizes[1], used=used[1]),
        holdout=TableSize(rows=sizes[2], used=used[2]) if len(used) > 2 else None,
        columns=tuple(shown),
        target=target,
        user=user,
        left_out=left_out,
        distances=apart,
        distributions=pictures,
        associations=linked,
        utility=useful,
        users=by_user,
        copies=copies,
        notes=tuple(read.notes),
    )


def _chosen(columns: Sequence[ReportColumn], leave_out: Sequence[str], user: str | None) -> list[ReportColumn]:
    out = {*leave_out, user}
    shown = [column for column in columns if column.name not in out]
    names = [column.name for column in shown]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SpecError(f"Each column must be named once; named twice: {', '.join(map(repr, twice))}.")
    if not shown:
        raise SpecError("At least one column must be compared; none is left.", hint="Leave out fewer columns.")
    return shown


def _check(tables: Sequence[Any], shown: Sequence[ReportColumn], target: str | None, user: str | None) -> None:
    wanted = [column.name for column in shown] + ([user] if user is not None else [])
    for table, name in zip(tables, ("real", "synthetic", "holdout"), strict=False):
        lacking = [column for column in wanted if table.column_names.count(column) != 1]
        if lacking:
            listed = ", ".join(map(repr, lacking[:8])) + (f" and {len(lacking) - 8} more" * (len(lacking) > 8))
            raise SpecError(
                f"The {name} table must have each compared column once; it lacks or repeats {listed}.",
                hint="Compare tables with the same columns, or leave these out.",
            )
    if target is not None and target not in {column.name for column in shown}:
        raise SpecError(
            f"The target must be one of the compared columns; {target!r} is none.",
            hint="Name another target, or don't leave it out.",
        )
    if tables[0].num_rows == 0:
        raise SpecError("The real table must have rows; it has none.")


def _overlap(real: Any, holdout: Any, user: str) -> bool:
    words = [read_column(user, "category", [table])[0][0].words for table in (real, holdout)]
    import pyarrow.compute as pc

    found = pc.is_in(words[1].drop_null(), value_set=words[0].drop_null())
    return bool(pc.any(found).as_py())


def _sampled(table: Any, most: int, user: str | None) -> Any:
    if table.num_rows <= most:
        return table
    rng = np.random.default_rng(0)
    if user is None:
        return table.take(np.sort(rng.choice(table.num_rows, most, replace=False)))
    unit = _unit_of(user_codes(table.column(user)))
    order = rng.permutation(int(unit.max()) + 1)
    rows = np.bincount(unit, minlength=len(order))[order]
    kept = max(1, int(np.searchsorted(np.cumsum(rows), most, side="right")))
    return table.take(np.flatnonzero(np.isin(unit, order[:kept])))


def _unit_of(users: IndexArray) -> IndexArray:
    """A row without a user id stands for itself."""
    lone = users < 0
    out = users.copy()
    out[lone] = users.max(initial=-1) + 1 + np.arange(int(lone.sum()))
    return out


def _read(tables: Sequence[Any], shown: Sequence[ReportColumn], user: str | None, notes: list[str]) -> _Tables:
    columns: list[list[ColumnValues]] = []
    for column in shown:
        values, note = read_column(column.name, column.kind, tables)
        columns.append(values)
        if note:
            notes.append(note)
    bins = [fit_bins(values[0]) for values in columns]
    encoded = [encode_table(bins, [values[t] for values in columns]) for t in range(len(tables))]
    users = None if user is None else [user_codes(table.column(user)) for table in tables]
    if users is not None and any((u < 0).any() for u in users[:2]):
        notes.append(f"Rows without a value in {user!r} are left out of the figures about users.")
    return _Tables(columns=columns, bins=bins, encoded=encoded, users=users, notes=notes)


def worst_columns(apart: DistanceFigures, most: int) -> list[int]:
    """Places of the columns with the largest distances, in the order of the table."""
    order = sorted(range(len(apart.columns)), key=lambda c: -(apart.columns[c].distance.value or 0.0))
    return sorted(order[:most])


def _associations(read: _Tables, apart: DistanceFigures, names: Sequence[str]) -> AssociationFigures:
    chosen = worst_columns(apart, MOST_SHOWN)
    both = [association_matrix(read.encoded[t], [values[t] for values in read.columns], chosen) for t in (0, 1)]
    return associations(names, chosen, both[0], both[1])


def _users(read: _Tables) -> UserFigures | None:
    if read.users is None:
        return None
    keys = ((values[0].name, exact_keys(values[:2])) for values in read.columns)
    return user_figures(read.users[0], read.users[1], keys)


def _fewer_cells(
    columns: Sequence[Sequence[ColumnValues]], people: IndexArray | None
) -> tuple[list[list[ColumnValues]], IndexArray | None]:
    """Very wide tables: the copy check looks at fewer synthetic rows, and at all real ones."""
    most = max(1000, _COPY_CELLS // len(columns))
    if len(columns[0][1]) <= most:
        return [list(tables) for tables in columns], people
    rows = np.sort(np.random.default_rng(0).choice(len(columns[0][1]), most, replace=False))
    return [[tables[0], tables[1].take(rows), *tables[2:]] for tables in columns], people
