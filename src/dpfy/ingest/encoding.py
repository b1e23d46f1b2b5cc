"""Which encoding a text file is in, proven over the whole file."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpfy.errors import SourceError

if TYPE_CHECKING:
    from dpfy.ingest.files import SourceFile

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNUSED_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"


@dataclass(frozen=True, kw_only=True)
class TextForm:
    """What one pass over the bytes shows.

    Args:
        encoding: a codec's name.
        mark: bytes of the byte-order mark to skip.
        quotes: how often the quote character occurs.
        longest_line: bytes of the longest line.
        size: bytes in all.
        assumed: the encoding was guessed, not declared by a mark or proven as UTF-8.
    """

    encoding: str
    mark: int
    quotes: int
    longest_line: int
    size: int
    assumed: bool


def examine(file: SourceFile, wanted: str, quote: str) -> TextForm:
    """Finds a file's encoding.

    Args:
        file: the file.
        wanted: an encoding, or "auto".
        quote: the quote character.

    Raises:
        SourceError: names file, line and the encoding option when a line does not decode.
    """
    chunks = file.chunks()
    first = next(chunks, b"")
    mark, encoding = next(((len(m), e) for m, e in _MARKS if first.startswith(m)), (0, ""))
    assumed = False
    if wanted != "auto":
        if not encoding or not _same_family(wanted, encoding):
            encoding = {"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(wanted, wanted)
            mark = 0
    elif not encoding:
        encoding = _without_mark(first)
    scan = _Scan(encoding=encoding, quote=quote)
    scan.add(first[mark:])
    for piece in chunks:
        scan.add(piece)
    scan.finish()
    if scan.bad_line is not None:
        if wanted != "auto" or encoding != "utf-8" or not scan.could_be_cp1252:
            raise _undecodable(file, scan, encoding, wanted)
        encoding, assumed = "cp1252", True
    return TextForm(
        encoding=encoding,
        mark=mark,
        quotes=scan.quotes,
        longest_line=scan.longest_line,
        size=scan.size,
        assumed=assumed,
    )


def _same_family(wanted: str, found: str) -> bool:
    return wanted.replace("-sig", "").replace("-", "")[:5] == found.replace("-", "")[:5]


def _without_mark(first: bytes) -> str:
    """UTF-16 without a mark shows as a zero in every second byte."""
    head = first[:4096]
    if len(head) >= 4 and len(head) // 2 * 0.4 < head.count(0):
        return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    return "utf-8"


def _undecodable(file: SourceFile, scan: _Scan, encoding: str, wanted: str) -> SourceError:
    if wanted == "auto" and encoding == "utf-8":
        message = (
            f"{file.name}, line {scan.bad_line}: expected UTF-8 text as in the rest of the file, "
            "got bytes that are not UTF-8."
        )
        hint = "Mend that line, or set encoding (such as cp1252) if the whole file is in another encoding."
    else:
        message = f"{file.name}, line {scan.bad_line}: the bytes are not {encoding} text."
        hint = "Set encoding to the file's own, such as utf-8 or cp1252."
    return SourceError(message, hint=hint, file=file.name, line=scan.bad_line)


class _Scan:
    """One pass over bytes: decodes strictly, counts quotes and lines."""

    def __init__(self, *, encoding: str, quote: str) -> None:
        self._utf8 = encoding == "utf-8"
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._quote = quote.encode(encoding)
        self._line = 1
        self._since_line = 0
        self._tail = b""
        self.size = 0
        self.quotes = 0
        self.longest_line = 0
        self.bad_line: int | None = None
        self.could_be_cp1252 = True

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self.quotes += piece.count(self._quote)
        self._measure(piece)
        if self.bad_line is None:
            waiting = self._tail + piece
            try:
                self._decoder.decode(piece)
                self._tail = self._decoder.getstate()[0]
                self._line += piece.count(b"\n")
            except UnicodeDecodeError as error:
                self.bad_line = self._line + waiting[: error.start].count(b"\n")
                self._check_cp1252(waiting)
        else:
            self._check_cp1252(piece)
        if self._utf8 and self.bad_line is None and not piece.isascii():
            # Proper UTF-8 sequences came before: a bad line later means a mixed file.
            self.could_be_cp1252 = False

    def finish(self) -> None:
        if self.bad_line is None:
            try:
                self._decoder.decode(b"", True)
            except UnicodeDecodeError:
                self.bad_line = self._line
        self.longest_line = max(self.longest_line, self._since_line)

    def _check_cp1252(self, piece: bytes) -> None:
        if any(byte in piece for byte in _UNUSED_IN_CP1252) or 0 in piece:
            self.could_be_cp1252 = False
        elif self.could_be_cp1252:
            # Sequences that only UTF-8 makes hardly ever occur in cp1252 text.
            cleaned = piece.decode("utf-8", "ignore")
            self.could_be_cp1252 = cleaned.isascii() or not self._has_utf8(piece)

    @staticmethod
    def _has_utf8(piece: bytes) -> bool:
        import re

        return re.search(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}", piece) is not None

    def _measure(self, piece: bytes) -> None:
        import numpy as np

        ends = np.flatnonzero(np.frombuffer(piece, dtype=np.uint8) == 10)
        if not len(ends):
            self._since_line += len(piece)
            return
        longest = int(np.diff(ends).max()) if len(ends) > 1 else 0
        self.longest_line = max(self.longest_line, self._since_line + int(ends[0]) + 1, longest)
        self._since_line = len(piece) - int(ends[-1]) - 1
