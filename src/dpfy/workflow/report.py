"""Use case: the owner's report. Reads raw data; covered by no guarantee, and says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfy.domain.columns import CategoryDomain
from dpfy.schema import ColumnKind, ColumnSpec
from dpfy.workflow.fit import FitOutcome

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfy.contribution import BoundedTable

__all__ = ["report_on"]

MOST_ROWS = 200_000


def report_on(
    outcome: FitOutcome,
    folder: Path,
    *,
    rows: int,
    seed: int,
    target: str | None,
    progress: Callable[[float], None],
) -> Path:
    """Compares the bounded real table with the synthetic one.

    **Privacy:** none: exact figures of raw data, for the owner in the red zone; marked so.

    Args:
        outcome: of the fit, its private table still open.
        folder: where report.html and report.json go.
        rows: rows of the synthetic table.
        seed: the seed of its sampling, so that the same rows are drawn again.
        target: column to be predicted.
        progress: shows the share that is done.

    Returns:
        Path of report.html.
    """
    from dpfy.quality import ReportColumn, compare, write_report

    sealed = outcome.sealed
    owners = sealed.contents.owners
    user = owners[0][0] if owners and len(owners[0]) == 1 else None
    specs = [spec for spec in sealed.schema.columns if not spec.drop]
    users = {name for owner in owners for name in owner}
    # A column in which no value could be named has nothing to compare.
    blank = {
        sealed.schema.columns[column.source].name
        for column, domain in zip(sealed.contents.columns, sealed.contents.domains, strict=True)
        if isinstance(domain, CategoryDomain) and not domain.values
    }
    modelled = [spec for spec in specs if spec.is_modelled and spec.name not in users]
    kept = [spec for spec in modelled if spec.name not in blank or spec.name == target] or modelled
    columns = [ReportColumn(name=spec.name, kind=_kind(spec)) for spec in kept]
    figures = compare(
        real_table(outcome.bounded, specs),
        sealed.sample(min(rows, MOST_ROWS), seed=seed),
        columns=columns,
        target=target,
        user=user,
        leave_out=[spec.name for spec in specs if spec.name not in {c.name for c in columns} and spec.name != user],
        progress=lambda _stage, share: progress(share),
    )
    statement: dict[str, Any] = dict(sealed.statement)
    files = write_report(figures, statement, folder, title=str(statement["dataset"]))
    return Path(files.html)


def real_table(bounded: BoundedTable, specs: list[ColumnSpec]) -> pa.Table:
    """The bounded rows with the types of the output: private."""
    import numpy as np
    import pyarrow as pa

    names = [spec.name for spec in bounded.schema.columns]
    chosen = ", ".join(f"c{names.index(spec.name)}" for spec in specs)
    held = bounded.connection.sql(f"SELECT {chosen} FROM {bounded.relation} ORDER BY row").to_arrow_table()
    arrays = []
    for spec, column in zip(specs, held.columns, strict=True):
        joined = column.combine_chunks()
        missing = np.asarray(joined.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        blank: Any = "" if spec.physical == "text" else 0
        values = joined.fill_null(blank).to_numpy(zero_copy_only=False) if spec.type is not ColumnKind.EMPTY else None
        if values is None:
            values, missing = np.full(len(joined), "", dtype=object), np.ones(len(joined), dtype=bool)
        arrays.append(spec.to_arrow(values, missing))
    return pa.table(arrays, names=[spec.name for spec in specs])


def _kind(spec: ColumnSpec) -> Any:
    if spec.is_category:
        return "category"
    return "date" if spec.type in (ColumnKind.DATE, ColumnKind.DATETIME) else "number"
