"""Small files and what is read from them, for the tests of this room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpfy.ingest import PrivateTable, Source, open_source
from dpfy.schema import ReadingOptions, TableSchema


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def source_of(folder: Path, content: str | bytes, name: str = "t.csv", **options: Any) -> Source:
    """A source made of one file."""
    return open_source(written(folder, name, content), ReadingOptions(**options))


def kinds(schema: TableSchema) -> dict[str, str]:
    """Kind by column."""
    return {c.name: str(c.type) for c in schema.columns}


def values(table: PrivateTable, column: str) -> list[Any]:
    """Physical values of a column in row order."""
    name = table.column(column)
    return [v for (v,) in table.connection.execute(f"SELECT {name} FROM {table.relation} ORDER BY row").fetchall()]


def users(table: PrivateTable, number: int = 0) -> list[Any]:
    """Exact text of a user column in row order."""
    return [v for (v,) in table.connection.execute(f"SELECT u{number} FROM {table.relation} ORDER BY row").fetchall()]
