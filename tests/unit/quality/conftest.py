"""Tables for the tests of the quality room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from tests.shared import shared as shared_path

from dpfy.quality import QualityFigures, ReportColumn, compare


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """A file of the shared data; the test is skipped by the file's name when it is not there."""

    return shared_path


@pytest.fixture(scope="session")
def read_csv() -> Callable[[Path], pa.Table]:
    """Reads a CSV file with empty cells as missing."""
    options = arrow_csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
    return lambda path: arrow_csv.read_csv(path, convert_options=options)


def kinds(table: pa.Table) -> list[ReportColumn]:
    """Columns by storage type: what a schema would say of simple tables."""
    out = []
    for field in table.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        date = pa.types.is_date(field.type) or pa.types.is_timestamp(field.type)
        kind = "number" if number else "date" if date else "category"
        out.append(ReportColumn(name=field.name, kind=kind))
    return out


@pytest.fixture(scope="session")
def columns_of() -> Callable[[pa.Table], list[ReportColumn]]:
    """Report columns by storage type."""
    return kinds


@pytest.fixture(scope="session")
def figures_of() -> Callable[..., QualityFigures]:
    """Compares two tables with kinds taken from the storage types."""

    def run(real: pa.Table, synthetic: pa.Table, **options: object) -> QualityFigures:
        settings = {"columns": kinds(real), "target": None, "user": None, **options}
        return compare(real, synthetic, **settings)

    return run


def people(rows: int, seed: int) -> pa.Table:
    """Rows with a category that depends on a number, and a date."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows)
    spend = np.round(rng.gamma(2.0, 20.0, rows) + age, 2)
    plan = np.where(rng.random(rows) < age / 90, "plus", "basic")
    city = rng.choice(["Aford", "Beham", "Cewick", "Dester"], rows, p=[0.4, 0.3, 0.2, 0.1])
    day = np.datetime64("2021-01-01") + rng.integers(0, 700, rows)
    return pa.table({"age": age, "spend": spend, "city": city, "day": pa.array(day), "plan": plan})


@pytest.fixture(scope="session")
def people_table() -> Callable[[int, int], pa.Table]:
    """Makes tables of invented people: (rows, seed)."""
    return people
