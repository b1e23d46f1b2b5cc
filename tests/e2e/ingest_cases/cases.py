"""Where the shared cases lie, and the way of a file through reading and writing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from dpfy.ingest import PrivateTable, Source, open_source
from dpfy.schema import ReadingOptions
from dpfy.schema.output import PhysicalColumn, TableWriter
from tests.shared import shared

__all__ = ["shared"]


def facts(case: str) -> dict[str, Any]:
    """Known truths of a case."""
    return json.loads(shared(f"cases/{case}/facts.json").read_text())


def opened(name: str, **options: Any) -> Source:
    """A source of one shared file."""
    return open_source(shared(name), ReadingOptions(**options))


def physical(table: PrivateTable) -> list[PhysicalColumn]:
    """All columns in row order."""
    columns = []
    for index, spec in enumerate(table.schema.columns):
        query = f"SELECT c{index} FROM {table.relation} ORDER BY row"
        held = table.connection.sql(query).to_arrow_table().column(0).combine_chunks()
        missing = np.asarray(held.is_null())
        filled = held.fill_null("" if spec.physical == "text" else 0)
        columns.append((filled.to_numpy(zero_copy_only=False), missing))
    return columns


def rewritten(source: Source, path: Path) -> Path:
    """The same rows, written again by their schema."""
    with source.read() as table, TableWriter(path, table.schema) as writer:
        writer.write(physical(table))
    return path


def cells(path: Path, **form: Any) -> list[list[str]]:
    """A text file's cells, as Python's own reader sees them; blank lines are left out."""
    encoding = form.pop("encoding", "utf-8")
    with path.open(newline="", encoding=encoding) as stream:
        return [row for row in csv.reader(stream, **form) if any(row)]


def natural(table: PrivateTable, what: str, where: str = "true") -> list[tuple[Any, ...]]:
    """Rows of the view with the original names."""
    return table.connection.execute(f"SELECT {what} FROM {table.natural_view} WHERE {where}").fetchall()
