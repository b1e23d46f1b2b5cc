"""What the owner states about a table: columns, ranges, categories, spelling. Pure; no private data."""

from dpfy.schema.column import ColumnSpec
from dpfy.schema.kinds import ColumnKind
from dpfy.schema.options import ReadingOptions
from dpfy.schema.table import TableSchema, blank_mismatch, schema_from_data
from dpfy.schema.yaml_text import dump_schema, load_schema, parse_schema

__all__ = [
    "ColumnKind",
    "ColumnSpec",
    "ReadingOptions",
    "TableSchema",
    "blank_mismatch",
    "dump_schema",
    "load_schema",
    "parse_schema",
    "schema_from_data",
]
