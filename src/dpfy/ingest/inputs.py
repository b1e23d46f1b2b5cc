"""What every kind of source offers, and delimited files as one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from dpfy.errors import SourceError
from dpfy.ingest.delimited import DelimitedFile
from dpfy.ingest.evidence import ColumnEvidence
from dpfy.ingest.text_types import Proposal, propose_text_columns
from dpfy.schema import ReadingOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfy.ingest.files import SourceFile


class TableInput(Protocol):
    """A table that can be read again and again, batch by batch."""

    text: bool
    """Whether cells are text whose types are inferred."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are read, in order."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided about the layout."""
        ...

    @property
    def reading(self) -> ReadingOptions:
        """The options with what the source proved."""
        ...

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of all rows, in this order."""
        ...

    def propose(self) -> Proposal:
        """Types of all columns."""
        ...


def kept_names(names: Sequence[str], exclude: Sequence[str], source: str) -> tuple[str, ...]:
    """Columns without the excluded ones.

    Raises:
        SourceError: when an excluded column does not exist, or none is left.
    """
    unknown = [n for n in exclude if n not in names]
    if unknown:
        raise SourceError(
            f"{source}: there is no column {unknown[0]!r} to exclude.",
            hint=f"The columns are {', '.join(map(repr, names))}.",
            file=source,
        )
    left = tuple(n for n in names if n not in exclude)
    if not left:
        raise SourceError(f"{source}: no column is left to read.", file=source)
    return left


def check_same_columns(first: Sequence[str], other: Sequence[str], first_file: str, other_file: str) -> None:
    """Refuses a file whose columns differ from the first one's.

    Raises:
        SourceError: names the file and a column that differs.
    """
    if set(first) == set(other):
        return
    lacking = [n for n in first if n not in other]
    more = [n for n in other if n not in first]
    what = f"lacks the column {lacking[0]!r}" if lacking else f"has the further column {more[0]!r}"
    raise SourceError(
        f"{other_file} {what}: the files of one source must have the same columns as {first_file}.",
        hint="Give the files the same columns, or read them one by one.",
        file=other_file,
    )


_INDEX_NAME = re.compile(r"(?:Unnamed: ?\d+)?")


class DelimitedInput:
    """Delimited files as one table of text.

    Args:
        files: at least one.
        options: how they are read.
    """

    text = True

    def __init__(self, files: Sequence[SourceFile], options: ReadingOptions) -> None:
        self._options = options
        self._files = [DelimitedFile(f, options) for f in files]
        self._source = self._files[0].file.name
        self._notes: list[str] = []
        self._dropped: dict[int, str] = {}
        first = self._files[0]
        self._leave_out_nameless(first)
        self._all = tuple(n for i, n in enumerate(first.names) if i not in self._dropped)
        for other in self._files[1:]:
            check_same_columns(first.names, other.names, first.file.name, other.file.name)
        self._names = kept_names(self._all, options.exclude, self._source)
        for file in self._files:
            if file.form.assumed:
                self._notes.append(f"{file.file.name} is not UTF-8; it is read as {file.form.encoding}.")
        if first.dialect.names_are_assumed:
            self._notes.append(
                f"nothing tells the first line of {self._source} from its rows; it is taken as the columns' names, "
                "which are public. Set header to no if it is a record, or to yes to say that it is not."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are read."""
        return self._names

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided about the layout."""
        return tuple(self._notes)

    @property
    def reading(self) -> ReadingOptions:
        """The options with separator and header as found."""
        dialect = self._files[0].dialect
        found = {"separator": dialect.separator, "header": "yes" if dialect.header else "no"}
        if self._options.line_end == "auto" and dialect.crlf:
            found["line_end"] = "crlf"
        return self._options.model_copy(update=found)

    def _leave_out_nameless(self, file: DelimitedFile) -> None:
        names, sample = file.names, file.dialect.sample
        for position, name in enumerate(names):
            if not _INDEX_NAME.fullmatch(name):
                continue
            cells = [r[position].strip() for r in sample if len(r) == len(names)]
            if position == 0 and _counts(cells):
                self._dropped[position] = "counter"
                self._notes.append(
                    f"column 1 of {self._source} {'has no name' if not name else f'is named {name!r}'} and counts "
                    "the rows; it is left out."
                )
            elif not name and not any(cells):
                self._dropped[position] = "empty"
                self._notes.append(f"column {position + 1} of {self._source} has no name and is empty; it is left out.")
            elif not name:
                raise SourceError(
                    f"{self._source}, line 1: column {position + 1} has no name.",
                    hint="Name it, or set header to no if the file has no names.",
                    file=self._source,
                    line=1,
                )

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of all rows as text, in this order."""
        import pyarrow as pa

        for file in self._files:
            places = [file.names.index(n) for n in names]
            for batch in file.batches():
                yield pa.RecordBatch.from_arrays([batch.column(p) for p in places], names=list(names))

    def propose(self) -> Proposal:
        """Types of all columns, judged over all rows.

        **Privacy:** reads all rows; only types and formats come out, which are listed as not protected.
        """
        patterns, thousands = self._options.date_formats, self._options.thousands
        evidence = {n: ColumnEvidence(pattern=patterns.get(n), thousands=thousands) for n in self._names}
        left_out = {p: ColumnEvidence() for p in self._dropped}
        for file in self._files:
            places = {n: file.names.index(n) for n in self._names}
            for batch in file.batches():
                for name, found in evidence.items():
                    found.add(batch.column(places[name]))
                for position, found in left_out.items():
                    found.add(batch.column(position))
        self._check_left_out(left_out)
        return propose_text_columns(self._names, evidence, self._options, self._files[0].dialect.separator)

    def _check_left_out(self, evidence: dict[int, ColumnEvidence]) -> None:
        for position, found in evidence.items():
            counts = self._dropped[position] == "counter" and (found.counter is not None or len(self._files) > 1)
            empty = self._dropped[position] == "empty" and not found.seen and not found.markers
            if not counts and not empty:
                raise SourceError(
                    f"{self._source}, line 1: column {position + 1} has no name, and it holds more than a row counter.",
                    hint="Name the column.",
                    file=self._source,
                    line=1,
                )


def _counts(cells: Sequence[str]) -> bool:
    return bool(cells) and any(all(cell == str(number) for number, cell in enumerate(cells, start)) for start in (0, 1))
