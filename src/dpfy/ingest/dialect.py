"""The form of a delimited text file: separator, header, where the rows begin."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

from dpfy.errors import SourceError
from dpfy.schema import ReadingOptions

_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_RECORDS = 200
_TYPED = re.compile(
    r"-?(?:\d+|\d{1,3}(?:[.,]\d{3})+)?(?:[.,]\d+)?(?:[eE][+-]?\d+)?"
    r"|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(?:[T ].*)?|\d{1,2}:\d{2}(?::\d{2})?"
)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a delimited file is laid out.

    Args:
        separator: between cells.
        names: of the columns, stripped of blanks; made up where there is no header.
        header: whether the file has a header line.
        body: characters in front of the first row.
        crlf: whether lines end with a carriage return and a line feed.
        sample: first rows, for checks of the layout alone.
        names_are_assumed: nothing tells the first line from the rows below it.
    """

    separator: str
    names: tuple[str, ...]
    header: bool
    body: int
    crlf: bool
    sample: tuple[tuple[str, ...], ...]
    names_are_assumed: bool = False


def sniff(text: str, options: ReadingOptions, *, file: str, complete: bool) -> Dialect:
    """Finds the layout from the beginning of a file.

    Args:
        text: its first characters, without a byte-order mark.
        options: what is set.
        file: name for messages.
        complete: whether the text is the whole file.

    Raises:
        SourceError: when there is no header where one is needed, or its names can't be used.
    """
    lead = len(text) - len(text.lstrip("\r\n \t"))
    lead = max(text.rfind("\n", 0, lead), text.rfind("\r", 0, lead)) + 1
    body = text[lead:]
    if not body.strip():
        raise no_rows(file)
    separator = options.separator
    if stated := re.match(r"sep=([^\r\n])\r?\n", body):
        # A line that spreadsheets put in front to name the separator.
        lead += stated.end()
        body = text[lead:]
        separator = stated[1] if separator == "auto" else separator
        if not body.strip():
            raise no_rows(file)
    if separator == "auto":
        separator = _separator(body, options.quote, prefer_tab=file.lower().split(".")[-1] in ("tsv", "tab"))
    records = _records(body, separator, options.quote, complete=complete)
    crlf = body.split("\n", 1)[0].endswith("\r")
    if not records:
        raise SourceError(
            f"{file}, line {1 + text[:lead].count(chr(10))}: the first record does not end.",
            hint="A quote that is opened there may never be closed.",
            file=file,
            line=1,
        )
    first, length = records[0]
    rows = tuple(tuple(r) for r, _ in records[1:] if not is_blank(r))
    if options.header == "no":
        names = tuple(f"column_{i + 1}" for i in range(len(first)))
        return Dialect(
            separator=separator, names=names, header=False, body=lead, crlf=crlf, sample=(tuple(first), *rows)
        )
    names = tuple(n.strip() for n in first)
    if options.header == "auto":
        _refuse_data_as_names(names, rows, file)
    _check_names(names, file)
    return Dialect(
        separator=separator,
        names=names,
        header=True,
        body=lead + length,
        crlf=crlf,
        sample=rows,
        names_are_assumed=options.header == "auto" and not _is_told_from_rows(names, rows),
    )


def no_rows(file: str) -> SourceError:
    """The refusal of an empty source."""
    return SourceError(f"no data rows in {file}.", hint="Check that it is the right file.", file=file)


def is_blank(record: list[str] | tuple[str, ...]) -> bool:
    """Whether a record holds nothing but separators and blanks."""
    return all(not cell.strip() for cell in record)


def _separator(text: str, quote: str, *, prefer_tab: bool) -> str:
    best, best_score = ",", (0.0, 0)
    order = ("\t", *_SEPARATORS) if prefer_tab else _SEPARATORS
    for separator in dict.fromkeys(order):
        widths = [len(r) for r, _ in _records(text, separator, quote, complete=False) if not is_blank(r)]
        if not widths or widths[0] < 2:
            continue
        common = Counter(widths)[widths[0]] / len(widths)
        score = (round(common, 2), widths[0])
        if common >= 0.5 and score > best_score:
            best, best_score = separator, score
            if prefer_tab and separator == "\t" and common == 1:
                break
    if best_score[0] == 0.0:
        # One column, or a ragged file: the header alone decides.
        head = text.split("\n", 1)[0]
        found = [s for s in order if s in head]
        best = max(found, key=head.count) if found else best
    return best


def _records(text: str, separator: str, quote: str, *, complete: bool) -> list[tuple[list[str], int]]:
    """First records, each with the characters up to its end; the last may be cut off and is then left out."""
    used = 0
    lines: list[str] = []

    def feed() -> io.StringIO:
        return io.StringIO(text, newline="")

    stream = feed()

    def counted() -> object:
        nonlocal used
        for line in stream:
            used += len(line)
            lines.append(line)
            yield line

    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(counted(), delimiter=separator, quotechar=quote)  # type: ignore[arg-type]
    found: list[tuple[list[str], int]] = []
    for record in reader:
        if record:
            found.append((record, used))
        if len(found) > _SAMPLE_RECORDS:
            return found
    if not complete and found and used >= len(text):
        found.pop()
    return found


def _refuse_data_as_names(names: tuple[str, ...], rows: tuple[tuple[str, ...], ...], file: str) -> None:
    """Names that are typed like the rows below them are a record: a person's data must not become public names."""
    if not rows:
        return
    typed = repeated = 0
    for position, name in enumerate(names):
        below = [r[position].strip() for r in rows if len(r) == len(names) and r[position].strip()]
        if not below or not name:
            continue
        if _TYPED.fullmatch(name) and sum(bool(_TYPED.fullmatch(c)) for c in below) > len(below) * 0.9:
            typed += 1
        elif name in below:
            repeated += 1
    if typed or repeated * 2 > len(names):
        raise SourceError(
            f"{file}, line 1: expected the columns' names, but the first line looks like data.",
            hint="Set header to no if the file has no names, or to yes if these are the names.",
            file=file,
            line=1,
        )


def _is_told_from_rows(names: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> bool:
    """Whether some column is typed below a name that is not."""
    for position, name in enumerate(names):
        below = [r[position].strip() for r in rows if len(r) == len(names) and r[position].strip()]
        if below and not _TYPED.fullmatch(name) and all(_TYPED.fullmatch(c) for c in below):
            return True
    return False


def _check_names(names: tuple[str, ...], file: str) -> None:
    # The name is not quoted: without a header line it would be a cell of the first record.
    for name, times in Counter(n for n in names if n).items():
        if times > 1:
            places = [str(i + 1) for i, n in enumerate(names) if n == name]
            raise SourceError(
                f"{file}, line 1: the columns {' and '.join(places)} have the same name.",
                hint="Give each column its own name.",
                file=file,
                line=1,
            )
