"""The owner is told what noise has drowned, from released figures alone."""

from __future__ import annotations

from dpfy.domain.columns import CategoryDomain
from dpfy.domain.model_column import ModelColumn, Part
from dpfy.mechanisms.counting import CountScale
from dpfy.privacy import CountingMode
from dpfy.schema import ColumnSpec, TableSchema
from dpfy.workflow.owner_notes import MOST_DEFAULT_ROWS, default_rows, released_notes

SCHEMA = TableSchema(columns=(ColumnSpec(name="note", type="text"), ColumnSpec(name="plan", type="text")))  # type: ignore[arg-type]
COLUMNS = (ModelColumn(source=0, part=Part.VALUE), ModelColumn(source=1, part=Part.VALUE))
NAMED = CategoryDomain(values=("a",), has_other=True, has_missing=True)
EMPTY = CategoryDomain(values=(), has_other=True, has_missing=True)


def notes(counted: float, domains: tuple[CategoryDomain, ...] = (NAMED, NAMED), cap: int = 1) -> tuple[str, ...]:
    return released_notes(
        schema=SCHEMA,
        columns=COLUMNS,
        domains=domains,
        hidden=2,
        domain_mu_squared=0.1,
        scale=CountScale(mode=CountingMode.ROWS, max_records_per_user=cap),
        counted=counted,
        records=int(counted),
        count_sigma=20.0,
    )


def test_large_tables_get_no_note() -> None:
    assert notes(100_000.0) == ()


def test_small_tables_and_large_bounds_are_pointed_out() -> None:
    assert any("small" in note for note in notes(100.0))
    assert not any("small" in note for note in notes(400.0))
    assert any("small" in note for note in notes(400.0, cap=10))


def test_columns_without_a_named_value_are_pointed_out() -> None:
    found = notes(100_000.0, (EMPTY, NAMED))
    assert len(found) == 1
    assert "'note'" in found[0]


def test_a_count_below_its_noise_is_not_taken_at_its_word() -> None:
    assert any("--rows" in note for note in notes(30.0))
    assert default_rows(3_000_000, 2_000_000.0) == MOST_DEFAULT_ROWS
    assert default_rows(50, 2_000_000.0) == 50
    assert default_rows(3_000_000, 100.0) == 3_000_000
