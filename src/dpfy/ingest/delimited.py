"""Delimited text as batches of exact text cells."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpfy.errors import SourceError
from dpfy.ingest.dialect import Dialect, is_blank, no_rows, sniff
from dpfy.ingest.encoding import TextForm, examine
from dpfy.schema import ReadingOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfy.ingest.files import SourceFile

_SAMPLE_BYTES = 1 << 20
_BLOCK = 4 << 20
_LARGEST_BLOCK = 1 << 30


class DelimitedFile:
    """One delimited file.

    **Privacy:** hands out private cells; messages name lines only.

    Args:
        file: the file.
        options: how it is read.
    """

    def __init__(self, file: SourceFile, options: ReadingOptions) -> None:
        self.file = file
        self.options = options
        self.form: TextForm = examine(file, options.encoding, options.quote)
        text, complete = self._beginning()
        self.dialect: Dialect = sniff(text, options, file=file.name, complete=complete)
        if not self.dialect.sample and complete:
            raise no_rows(file.name)
        self._body_bytes = self.form.mark + len(text[: self.dialect.body].encode(self.form.encoding))
        self._checked_quotes = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.dialect.names

    def _beginning(self) -> tuple[str, bool]:
        wanted = max(_SAMPLE_BYTES, 4 * self.form.longest_line if self.form.longest_line < 1 << 28 else 0)
        with self.file.open() as stream:
            head = stream.read(wanted)
        decoder = codecs.getincrementaldecoder(self.form.encoding)("strict")
        return decoder.decode(head[self.form.mark :]), len(head) >= self.form.size + self.form.mark

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows as text; null where a cell is empty or a missing marker.

        Raises:
            SourceError: names the line of a ragged row, an unclosed quote or a cell that is too long.
        """
        import pyarrow as pa

        if self.form.quotes % 2 and not self._checked_quotes:
            # An odd number of quotes may be an inch mark, or a quote that swallows the rest of the file.
            self._diagnose(otherwise=None)
        self._checked_quotes = True
        block = max(_BLOCK, min(4 * self.form.longest_line, _LARGEST_BLOCK))
        try:
            yield from self._parse(block)
            return
        except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
            too_long = "straddling" in str(error)
        # Raised outside the handler: the engine's error quotes the line and must not hang on ours.
        if too_long:
            raise SourceError(
                f"{self.file.name}: a record is longer than {block} bytes.",
                hint="A quote may never be closed; or raise largest_cell.",
                file=self.file.name,
            )
        self._diagnose(otherwise="a line can't be split into cells")

    def _parse(self, block: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.csv as pcsv

        names = [f"t{i}" for i in range(len(self.names))]
        separator, single = self.dialect.separator, len(names) == 1

        def unusual(row: Any) -> str:
            return "skip" if not row.text.replace(separator, "").strip() else "error"

        with self.file.open() as packed:
            packed.read(self._body_bytes)
            stream = packed
            if self.form.encoding not in ("utf-8", "ascii"):
                stream = pa.transcoding_input_stream(packed, self.form.encoding, "utf-8")
            try:
                reader = pcsv.open_csv(
                    stream,
                    read_options=pcsv.ReadOptions(column_names=names, block_size=block),
                    parse_options=pcsv.ParseOptions(
                        delimiter=separator,
                        quote_char=self.options.quote,
                        newlines_in_values=self.form.quotes > 0,
                        invalid_row_handler=unusual,
                    ),
                    convert_options=pcsv.ConvertOptions(
                        column_types={n: pa.string() for n in names},
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=True,
                        null_values=["", *self.options.missing_markers],
                    ),
                )
            except pa.ArrowInvalid as error:
                if "Empty CSV" in str(error):
                    return
                raise
            for batch in reader:
                self._check_cells(batch)
                yield batch if single else without_blank_rows(batch)

    def _check_cells(self, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        if self.form.longest_line <= self.options.largest_cell and not self.form.quotes:
            return
        for position, column in enumerate(batch.columns):
            longest = pc.max(pc.binary_length(column)).as_py() or 0
            if longest > self.options.largest_cell:
                raise SourceError(
                    f"{self.file.name}: column {self.names[position]!r} has a cell of more than "
                    f"{self.options.largest_cell} characters.",
                    hint="Raise largest_cell, or check for a quote that is never closed.",
                    file=self.file.name,
                )

    def _diagnose(self, *, otherwise: str | None) -> None:
        """Looks for the line that is to blame, with the slow reader.

        Raises:
            SourceError: when there is one, or when `otherwise` says what went wrong.
        """
        wide = len(self.names)
        with self.file.open() as packed:
            packed.read(self.form.mark)
            text = io.TextIOWrapper(io.BufferedReader(_Raw(packed)), encoding=self.form.encoding, newline="")
            reader = csv.reader(text, delimiter=self.dialect.separator, quotechar=self.options.quote, strict=True)
            begin = 1
            try:
                for record in reader:
                    if len(record) != wide and not is_blank(record):
                        raise SourceError(
                            f"{self.file.name}, line {begin}: expected {wide} cells, got {len(record)}.",
                            hint="Mend that line; cells that hold the separator must be in quotes.",
                            file=self.file.name,
                            line=begin,
                        )
                    begin = reader.line_num + 1
            except csv.Error:
                raise SourceError(
                    f"{self.file.name}, line {begin}: a quote is opened in this record and never closed, or "
                    "text follows a closing quote.",
                    hint="Close the quote, double it if it is part of the text, or set quote.",
                    file=self.file.name,
                    line=begin,
                ) from None
        if otherwise is not None:
            raise SourceError(
                f"{self.file.name}: {otherwise}.", hint="Set separator and quote.", file=self.file.name
            ) from None


class _Raw(io.RawIOBase):
    """An Arrow stream as Python's raw bytes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def without_blank_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Leaves out rows whose cells are all empty: they are blank lines of a spreadsheet, not records."""
    import pyarrow.compute as pc

    empty = None
    for column in batch.columns:
        if column.null_count == 0:
            return batch
        nulls = column.is_null()
        empty = nulls if empty is None else pc.and_(empty, nulls)
        if not pc.any(empty).as_py():
            return batch
    return batch if empty is None else batch.filter(pc.invert(empty))
