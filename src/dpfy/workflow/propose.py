"""Use case: propose a schema for the owner to confirm."""

from __future__ import annotations

from dataclasses import dataclass

from dpfy.schema import ReadingOptions, TableSchema, dump_schema

__all__ = ["Proposal", "run_propose"]


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A proposed schema, its YAML text, and what the owner should know."""

    schema: TableSchema
    text: str
    notes: tuple[str, ...]


def run_propose(source: str, reading: ReadingOptions) -> Proposal:
    """Infers types and formats.

    **Privacy:** reads all rows and shows storage types to the owner; no category, range or count is shown.
    """
    from dpfy.ingest import open_source

    opened = open_source(source, reading)
    schema = opened.propose()
    return Proposal(schema=schema, text=dump_schema(schema, opened.suggestions), notes=tuple(opened.notes))
