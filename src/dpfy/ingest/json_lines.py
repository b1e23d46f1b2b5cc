"""JSON lines as a table: one object per line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpfy.errors import SourceError
from dpfy.ingest.dialect import no_rows
from dpfy.ingest.evidence import ColumnEvidence
from dpfy.ingest.inputs import kept_names
from dpfy.ingest.text_types import Proposal, propose_text_columns
from dpfy.schema import ColumnKind, ColumnSpec, ReadingOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfy.ingest.files import SourceFile

_NUMBERS = frozenset({"UBIGINT", "BIGINT", "HUGEINT", "UHUGEINT", "DOUBLE"})
_NESTED = frozenset({"ARRAY", "OBJECT"})


class JsonLinesInput:
    """Files of JSON objects, one a line, as one table of text.

    Args:
        files: at least one.
        options: how they are read.
    """

    text = True

    def __init__(self, files: Sequence[SourceFile], options: ReadingOptions) -> None:
        self._files = tuple(files)
        self._options = options
        self._source = files[0].name
        self._engine: Any = None
        self._kinds: dict[str, set[str]] = {}
        self._all = self._find_names()
        self._names = kept_names(self._all, options.exclude, self._source)
        self._refuse_nested()

    @property
    def names(self) -> tuple[str, ...]:
        """Keys of all objects, in order of their first appearance."""
        return self._names

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing is decided about the layout."""
        return ()

    @property
    def reading(self) -> ReadingOptions:
        """The options as they are."""
        return self._options

    def _connection(self) -> Any:
        if self._engine is None:
            import duckdb

            self._engine = duckdb.connect(":memory:")
            self._engine.execute("SET threads = 2")
        return self._engine

    def _lines(self) -> Iterator[tuple[SourceFile, pa.Table]]:
        """Lines with their numbers; blank ones are left out."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        for file in self._files:
            begin, number = b"", 1
            for piece in self._pieces(file):
                lines = (begin + piece).split(b"\n")
                begin = lines.pop()
                text = pa.array(lines, type=pa.binary())
                numbers = pa.array(np.arange(number, number + len(lines)))
                number += len(lines)
                full = pc.match_substring_regex(text, r"[^\s]")
                yield file, self._decoded(pa.table({"line": text, "number": numbers}).filter(full), file)

    def _pieces(self, file: SourceFile) -> Iterator[bytes]:
        wanted = self._options.encoding
        first = True
        decoder = None if wanted in ("auto", "utf-8") else codecs.getincrementaldecoder(wanted)("strict")
        for piece in file.chunks():
            if first:
                piece = piece.removeprefix(codecs.BOM_UTF8)
                first = False
            yield piece if decoder is None else decoder.decode(piece).encode()
        yield b"\n"

    def _decoded(self, table: pa.Table, file: SourceFile) -> pa.Table:
        import pyarrow as pa

        try:
            return table.set_column(0, "line", table["line"].cast(pa.string()))
        except pa.ArrowInvalid:
            for line, number in zip(table["line"].to_pylist(), table["number"].to_pylist(), strict=True):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    raise SourceError(
                        f"{file.name}, line {number}: the bytes are not UTF-8 text.",
                        hint="Set encoding to the file's own, such as cp1252.",
                        file=file.name,
                        line=number,
                    ) from None
            raise

    def _find_names(self) -> tuple[str, ...]:
        names: dict[str, None] = {}
        engine = self._connection()
        for file, lines in self._lines():
            engine.register("lines", lines)
            bad = engine.execute(
                "SELECT min(number) FROM lines WHERE CASE WHEN json_valid(line) THEN json_type(line) <> 'OBJECT' "
                "ELSE true END"
            ).fetchall()[0][0]
            if bad is not None:
                raise SourceError(
                    f"{file.name}, line {bad}: expected one JSON object per line.",
                    hint="Mend that line; a JSON list must be written as one object per line.",
                    file=file.name,
                    line=bad,
                )
            keys = engine.execute("SELECT json_keys(line) AS k FROM lines GROUP BY k ORDER BY min(number)").fetchall()
            names |= dict.fromkeys(name for (found,) in keys for name in found)
            for name in names:
                self._kinds.setdefault(name, set())
            self._note_kinds(list(names))
        if not names:
            raise no_rows(self._source)
        return tuple(names)

    def _note_kinds(self, names: list[str]) -> None:
        if not names:
            return
        kinds = ", ".join(f"list(DISTINCT t[{i + 1}])" for i in range(len(names)))
        types = "SELECT json_type(line, $1) AS t FROM lines"
        found = self._connection().execute(f"SELECT {kinds} FROM ({types})", [_pointers(names)]).fetchall()[0]
        for name, some in zip(names, found, strict=True):
            self._kinds[name] |= {k for k in some or () if k is not None and k != "NULL"}

    def _refuse_nested(self) -> None:
        wrong = [n for n in self._names if self._kinds[n] & _NESTED]
        if wrong:
            listed = ", ".join(map(repr, wrong))
            raise SourceError(
                f"{self._source}: expected plain values, got lists or objects in {listed}.",
                hint=f"Leave them out (exclude: {', '.join(wrong)}), or flatten them or store them as text first.",
                file=self._source,
            )

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named keys of all lines as text, in this order."""
        import pyarrow as pa

        engine = self._connection()
        texts = ", ".join(f"x[{i + 1}] AS t{i}" for i in range(len(names)))
        cells = "SELECT json_extract_string(line, $1) AS x FROM lines"
        schema = pa.schema([(name, pa.string()) for name in names])
        for _, lines in self._lines():
            engine.register("lines", lines)
            table = engine.sql(f"SELECT {texts} FROM ({cells})", params=[_pointers(names)]).to_arrow_table()
            for batch in table.to_batches():
                columns = [self._without_empty(c.cast(pa.string())) for c in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _without_empty(self, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        gone = pc.is_in(column, value_set=pa.array(["", *self._options.missing_markers]))
        return pc.if_else(gone, pa.scalar(None, pa.string()), column)

    def propose(self) -> Proposal:
        """Types of all columns: JSON's own, and dates in its strings.

        **Privacy:** reads all rows; only types and formats come out, which are listed as not protected.
        """
        patterns = self._options.date_formats
        evidence = {n: ColumnEvidence(numbers=self._kinds[n] <= _NUMBERS, pattern=patterns.get(n)) for n in self._names}
        for batch in self.batches(self._names):
            for name, column in zip(self._names, batch.columns, strict=True):
                evidence[name].add(column)
        options = self._options.model_copy(update={"decimal_mark": ".", "thousands": "none"})
        proposal = propose_text_columns(self._names, evidence, options, ",")
        for name in self._names:
            if len({"NUMBER" if k in _NUMBERS else k for k in self._kinds[name]}) > 1:
                proposal.notes.append(f"column {name!r} mixes JSON types; it is handled as text.")
        for position, spec in enumerate(proposal.columns):
            proposal.columns[position] = self._as_json(spec)
        return proposal

    def _as_json(self, spec: ColumnSpec) -> ColumnSpec:
        kinds = self._kinds[spec.name]
        if kinds == {"BOOLEAN"}:
            return ColumnSpec(name=spec.name, type=ColumnKind.BOOLEAN, categories="discover")
        if spec.type in (ColumnKind.DECIMAL, ColumnKind.INTEGER):
            # JSON numbers have no trailing zeros to keep.
            return spec.model_copy(update={"min_decimals": 0})
        return spec


def _pointers(names: Sequence[str]) -> list[str]:
    return ["/" + n.replace("~", "~0").replace("/", "~1") for n in names]
