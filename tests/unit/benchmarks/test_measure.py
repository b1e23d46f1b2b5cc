"""Processes measured from outside."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.measure import run_measured
from benchmarks.peers.declared_table import DeclaredColumn


def python(code: str, tmp_path: Path, limit: float = 20.0) -> tuple[object, str]:
    log = tmp_path / "log.txt"
    measured = run_measured([sys.executable, "-c", code], log=log, limit=limit, environment={"ASKED": "yes"})
    return measured, log.read_text()


def test_cpu_and_memory_of_children_count(tmp_path: Path) -> None:
    burn = "b = bytearray(900_000_000)\nimport time\nwhile time.process_time() < 0.4: pass"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}], check=True)"
    measured, _ = python(outer, tmp_path)
    assert measured.status == "done"  # type: ignore[attr-defined]
    assert measured.cpu_seconds >= 0.4  # type: ignore[attr-defined]
    # Well above what this process itself may hold, which a fork briefly shares.
    assert 900 < measured.peak_megabytes < 1100  # type: ignore[attr-defined]


def test_what_fails_is_told(tmp_path: Path) -> None:
    measured, log = python("import os; print(os.environ['ASKED']); raise SystemExit(3)", tmp_path)
    assert measured.status == "failed"  # type: ignore[attr-defined]
    assert log == "yes\n"


def test_what_is_too_slow_is_ended(tmp_path: Path) -> None:
    measured, _ = python("import time; time.sleep(60)", tmp_path, limit=0.3)
    assert measured.status == "too slow"  # type: ignore[attr-defined]
    assert measured.wall_seconds < 10  # type: ignore[attr-defined]


COLUMNS = [
    DeclaredColumn(name="word", categories=("a", "b", "")),
    DeclaredColumn(name="short", lower=1, upper=16, whole=True),
    DeclaredColumn(name="long", lower=0, upper=99999, whole=True, own=(0, 99999), skewed=True),
    DeclaredColumn(name="part", lower=0, upper=1, own=(0.5,), missing=True),
]
TEXTS = {
    "word": ["a", "", "b"],
    "short": ["1", "16", "7"],
    "long": ["0", "99999", "7688"],
    "part": ["", "0.5", "0.25"],
}


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_declared_cells_come_back_as_values_of_the_same_cell(column: DeclaredColumn) -> None:
    cells = column.encode(TEXTS[column.name])
    assert cells.min() >= 0
    assert cells.max() < column.cells
    back = column.decode(cells, np.random.default_rng(1))
    assert column.encode(back).tolist() == cells.tolist()
    if column.name in ("word", "short"):
        assert back == TEXTS[column.name]


def test_values_outside_a_declared_range_count_at_its_end() -> None:
    column = DeclaredColumn(name="age", lower=17, upper=90, whole=True)
    assert column.encode(["5", "120"]).tolist() == [0, column.cells - 1]


def test_every_cell_of_a_declared_column_can_be_decoded() -> None:
    for column in COLUMNS:
        cells = np.arange(column.cells)
        assert len(column.decode(cells, np.random.default_rng(2))) == column.cells
