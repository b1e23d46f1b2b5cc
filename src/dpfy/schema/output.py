"""Writing tables: the source's names, order, types and spelling, in the format that the file's suffix names."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpfy.errors import SpecError
from dpfy.schema.column import ColumnSpec
from dpfy.schema.kinds import ColumnKind, arrow_type
from dpfy.schema.table import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

PhysicalColumn = tuple[NDArray[Any], NDArray[np.bool_]]
"""Values (int64 ticks, float64 or text) and the mask of missing ones, both of shape (rows,)."""

_FORMATS = {".csv": "csv", ".txt": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_FORMATS |= {".parquet": "parquet", ".pq": "parquet"}
_PACKINGS = {".gz": "gzip", ".zst": "zstd"}
_ROWS = 1 << 16
_FORMULA = r"^[=+\-@\t\r]"


def arrow_schema(schema: TableSchema) -> pa.Schema:
    """The Arrow schema of the output: all columns but the dropped ones, in their own types."""
    import pyarrow as pa

    return pa.schema([(c.name, arrow_type(c.arrow_type)) for c in schema.output_columns])


def to_table(schema: TableSchema, columns: Sequence[PhysicalColumn]) -> pa.Table:
    """An Arrow table of the output's columns.

    Args:
        schema: of the table.
        columns: one for each of `schema.output_columns`, in order.
    """
    import pyarrow as pa

    arrays = [
        spec.to_arrow(values, missing) for spec, (values, missing) in zip(schema.output_columns, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema))


def output_format(path: Path) -> tuple[str, str, str | None]:
    """The suffix, format and packing of an output file; raises before anything is spent when there is none.

    Raises:
        SpecError: when the suffix is not known.
    """
    suffixes = [s.lower() for s in path.suffixes]
    packing = _PACKINGS.get(suffixes.pop()) if suffixes and suffixes[-1] in _PACKINGS else None
    last = suffixes[-1] if suffixes else ""
    found = _FORMATS.get(last, "")
    if not found or (found == "parquet" and packing):
        raise SpecError(
            f"the output {path.name!r} has no suffix that names a format.",
            hint="Use .csv, .tsv, .jsonl or .parquet (text also with .gz or .zst).",
        )
    return last, found, packing


class TableWriter:
    """Streams columns of physical values into one file.

    The file appears under its name when all is written; on an error nothing is left behind.

    Args:
        path: .csv .tsv .jsonl or .parquet; text formats also with .gz or .zst.
        schema: of the table.
        neutralise_formulas: puts ' before words in CSV that a spreadsheet would run as a formula.

    Raises:
        SpecError: when the suffix is not known or the folder does not exist.
    """

    def __init__(self, path: str | Path, schema: TableSchema, *, neutralise_formulas: bool = False) -> None:
        self.path = Path(path)
        self._schema = schema
        self._columns = schema.output_columns
        self._neutralise = neutralise_formulas
        last, self._format, self._packing = output_format(self.path)
        if not self._columns:
            raise SpecError("no column is left to write.", hint="Drop fewer columns.")
        if not self.path.parent.is_dir():
            raise SpecError(f"the folder of the output {str(self.path)!r} does not exist.", hint="Create it first.")
        self._separator = "\t" if last == ".tsv" else self._schema.reading.separator
        if (last == ".csv" and self._separator in ("auto", "\t")) or self._separator == "auto":
            self._separator = ","
        self._line_end = "\r\n" if self._schema.reading.line_end == "crlf" else "\n"
        self._temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.part")
        self._sink: Any = None
        self._parquet: Any = None
        self._raw: Any = None

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._close_streams(keep=kind is None)
            if kind is None:
                os.replace(self._temporary, self.path)
        except OSError:
            raise SpecError(f"the output {str(self.path)!r} can't be written.", hint="Check disk and rights.") from None
        finally:
            self._temporary.unlink(missing_ok=True)

    def _open(self) -> None:
        import pyarrow as pa

        try:
            self._raw = pa.OSFile(str(self._temporary), "wb")
        except OSError:
            raise SpecError(f"the output {str(self.path)!r} can't be written.", hint="Check disk and rights.") from None
        if self._format == "parquet":
            import pyarrow.parquet as pq

            self._parquet = pq.ParquetWriter(self._raw, arrow_schema(self._schema))
            return
        self._sink = pa.CompressedOutputStream(self._raw, self._packing) if self._packing else self._raw
        if self._format == "csv" and self._schema.reading.header != "no":
            names = [self._quoted_word(c.name) for c in self._columns]
            self._sink.write((self._separator.join(names) + self._line_end).encode())

    def _close_streams(self, *, keep: bool) -> None:
        try:
            for stream in (self._parquet, self._sink, self._raw):
                if stream is not None and not getattr(stream, "closed", False):
                    stream.close()
        except Exception:
            # After an error the streams may be unusable; the file is removed anyway.
            if keep:
                raise

    def write(self, columns: Sequence[PhysicalColumn]) -> None:
        """Appends rows.

        Args:
            columns: one for each of the schema's output columns, in order.

        Raises:
            SpecError: when a value does not fit its column's type.
        """
        rows = len(columns[0][1])
        for begin in range(0, rows, _ROWS):
            part = [(v[begin : begin + _ROWS], m[begin : begin + _ROWS]) for v, m in columns]
            if self._format == "parquet":
                self._parquet.write_table(to_table(self._schema, part))
            elif self._format == "csv":
                self._write_csv(part)
            else:
                self._write_json(part)

    def _write_csv(self, columns: Sequence[PhysicalColumn]) -> None:
        import pyarrow.compute as pc

        cells = [
            self._csv_cells(spec, values, missing)
            for spec, (values, missing) in zip(self._columns, columns, strict=True)
        ]
        if len(cells) == 1:
            # A lone empty cell would be a blank line, which readers skip.
            pieces: list[Any] = [pc.fill_null(cells[0], '""'), self._line_end]
        else:
            between = [self._separator] * (len(cells) - 1) + [self._line_end]
            pieces = [p for pair in zip(cells, between, strict=True) for p in pair]
        self._write_lines(pc.binary_join_element_wise(*pieces, "", null_handling="replace", null_replacement=""))

    def _csv_cells(self, spec: ColumnSpec, values: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        text = spec.to_text(values, missing)
        if spec.physical != "text" and not self._needs_quotes(spec):
            return text
        coded = text.dictionary_encode()
        words = coded.dictionary
        if spec.type is ColumnKind.TEXT and self._neutralise:
            risky = pc.match_substring_regex(words, _FORMULA)
            words = pc.if_else(risky, pc.binary_join_element_wise(pa.scalar("'"), words, ""), words)
        special = pc.match_substring_regex(words, self._special())
        if pc.any(special).as_py():
            quote = self._schema.reading.quote
            doubled = pc.replace_substring(words, quote, quote * 2)
            words = pc.if_else(special, pc.binary_join_element_wise(quote, doubled, quote, ""), words)
        return words.take(coded.indices)

    def _needs_quotes(self, spec: ColumnSpec) -> bool:
        """Numbers and dates can hold the separator too: 1,5 or 1,000 or 12, May."""
        marks = (spec.decimal_mark, spec.thousands, *(spec.format or ""))
        return self._separator in marks or spec.type in (ColumnKind.DATE, ColumnKind.DATETIME)

    def _special(self) -> str:
        marks = "".join("\\" + c for c in dict.fromkeys((self._separator, self._schema.reading.quote)))
        return f"[{marks}\\r\\n]|^$"

    def _quoted_word(self, word: str) -> str:
        quote = self._schema.reading.quote
        if any(c in word for c in (self._separator, quote, "\r", "\n")) or not word:
            return quote + word.replace(quote, quote * 2) + quote
        return word

    def _write_json(self, columns: Sequence[PhysicalColumn]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        pieces: list[Any] = []
        for position, (spec, (values, missing)) in enumerate(zip(self._columns, columns, strict=True)):
            start = "{" if position == 0 else ", "
            pieces += [pa.scalar(f"{start}{json.dumps(spec.name, ensure_ascii=False)}: ")]
            pieces += [_json_tokens(spec, values, missing)]
        self._write_lines(pc.binary_join_element_wise(*pieces, pa.scalar("}\n"), ""))

    def _write_lines(self, lines: Any) -> None:
        """Writes strings that end their lines: one after the other they are the array's own bytes."""
        import pyarrow as pa

        offsets = np.frombuffer(lines.buffers()[1], dtype=np.int32)[lines.offset :][: len(lines) + 1]
        begin, end = int(offsets[0]), int(offsets[-1])
        data = lines.buffers()[2]
        self._sink.write(data[begin:end] if data is not None else pa.py_buffer(b""))


def _json_tokens(spec: ColumnSpec, values: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if spec.type in (ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT):
        plain = spec.model_copy(update={"decimal_mark": ".", "thousands": "none"})
        tokens = plain.to_text(values, missing)
    elif spec.type is ColumnKind.BOOLEAN or (spec.type is ColumnKind.DURATION):
        tokens = spec.to_text(values, missing)
    else:
        coded = spec.to_text(values, missing).dictionary_encode()
        words = [json.dumps(w, ensure_ascii=False) for w in coded.dictionary.to_pylist()]
        tokens = pa.array(words, type=pa.string()).take(coded.indices)
    return pc.fill_null(tokens, "null")
