"""Typed sources: Parquet files and tables in memory."""

from __future__ import annotations

import hashlib
import hmac
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpfy.errors import SourceError
from dpfy.ingest.arrow_types import FloatEvidence, inner_type, refuse_unreadable, typed_fields
from dpfy.ingest.dialect import no_rows
from dpfy.ingest.inputs import check_same_columns, kept_names
from dpfy.ingest.text_types import Proposal
from dpfy.schema import ColumnKind, ColumnSpec, ReadingOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfy.ingest.files import SourceFile

_BATCH_ROWS = 1 << 17
_INDEX_PREFIX = "__index_level_"


class _TypedInput(ABC):
    """What Parquet files and tables in memory have in common."""

    text = False

    def __init__(self, schema: pa.Schema, options: ReadingOptions, source: str) -> None:
        self._schema = schema
        self._options = options
        self._source = source
        self._notes: list[str] = []
        _refuse_repeated(schema.names, source)
        index = [n for n in schema.names if n.startswith(_INDEX_PREFIX)]
        if index:
            self._notes.append(f"{source}: the index of the data frame ({index[0]}) is left out.")
        named = [n for n in schema.names if n not in index]
        self._names = kept_names(named, options.exclude, source)
        if "" in self._names:
            raise SourceError(
                f"{source}: column {schema.names.index('') + 1} has no name.", hint="Name it.", file=source
            )
        refuse_unreadable(schema, list(self._names), source)

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
        """The options as they are."""
        return self._options

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of all rows, in this order."""

    def propose(self) -> Proposal:
        """Types as they are stored; floats with few decimal places keep their places.

        **Privacy:** reads columns of floats and unsigned integers; only types and places come out, which are listed
        as not protected.

        Raises:
            SourceError: names columns that hold infinite values.
        """
        import pyarrow as pa

        floats = {n: FloatEvidence() for n in self._names if pa.types.is_floating(self._inner(n))}
        wide = [n for n in self._names if pa.types.is_uint64(self._inner(n))]
        beyond: set[str] = set()
        unseen = self._without_values_at_first()
        looked_at = list(dict.fromkeys([*floats, *wide, *unseen]))
        for batch in self.batches(looked_at) if looked_at else ():
            for name, evidence in floats.items():
                evidence.add(batch.column(looked_at.index(name)))
            beyond |= {n for n in wide if _is_beyond_int64(batch.column(looked_at.index(n)))}
            unseen = [n for n in unseen if not _has_values(batch.column(looked_at.index(n)))]
        self._refuse_infinite(floats)
        proposal = Proposal()
        for name in self._names:
            fields = typed_fields(self._schema.field(name).type, floats.get(name))
            if name in unseen:
                fields = {"type": ColumnKind.EMPTY, "arrow_type": fields["arrow_type"]}
            if name in beyond:
                fields |= {"type": ColumnKind.TEXT, "arrow_type": "string"}
                proposal.notes.append(f"column {name!r} has numbers beyond 64 bits; it is handled as text.")
            if name in floats and floats[name].nan:
                proposal.notes.append(f"column {name!r}: NaN counts as missing.")
            proposal.columns.append(_spec(name, fields, proposal))
        return proposal

    def _without_values_at_first(self) -> list[str]:
        """Columns that may be empty in every row."""
        first = next(self.batches(self._names), None)
        columns = [] if first is None else first.columns
        return [n for n, c in zip(self._names, columns, strict=False) if not _has_values(c)]

    def _inner(self, name: str) -> pa.DataType:
        return inner_type(self._schema.field(name).type)

    def _refuse_infinite(self, floats: dict[str, FloatEvidence]) -> None:
        wrong = [n for n, e in floats.items() if e.infinite]
        if wrong:
            raise SourceError(
                f"{self._source}: expected finite numbers, got infinity in {', '.join(map(repr, wrong))}.",
                hint="Replace infinity by a missing value, or exclude the column.",
                file=self._source,
            )


def _spec(name: str, fields: dict[str, Any], proposal: Proposal) -> ColumnSpec:
    kind = fields["type"]
    if kind is ColumnKind.EMPTY:
        proposal.notes.append(f"column {name!r} is empty in every row; it comes back empty.")
    elif kind in (ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.BINARY):
        fields["categories"] = "discover"
    else:
        fields["range"] = "discover"
    return ColumnSpec(name=name, **fields)


def _has_values(column: pa.Array) -> bool:
    """Whether some cell is neither null nor NaN."""
    import pyarrow.compute as pc

    return not pc.all(column.is_null(nan_is_null=True)).as_py()


def _is_beyond_int64(column: pa.Array) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    return bool(pc.any(pc.greater(column, pa.scalar(2**63 - 1, pa.uint64()))).as_py())


class ParquetInput(_TypedInput):
    """Parquet files as one table.

    Args:
        files: at least one.
        options: how they are read.
    """

    def __init__(self, files: Sequence[SourceFile], options: ReadingOptions) -> None:
        self._files = tuple(files)
        schemas = [self._open(f).schema_arrow for f in files]
        for file, schema in zip(files[1:], schemas[1:], strict=True):
            check_same_columns(schemas[0].names, schema.names, files[0].name, file.name)
            for name in schemas[0].names:
                if name not in options.exclude and schema.field(name).type != schemas[0].field(name).type:
                    raise SourceError(
                        f"{file.name}: column {name!r} is {schema.field(name).type}, but "
                        f"{schemas[0].field(name).type} in {files[0].name}; the same id may differ between them.",
                        hint="Store the column with one type.",
                        file=file.name,
                    )
        super().__init__(schemas[0], options, files[0].name)
        if not sum(self._open(f).metadata.num_rows for f in files):
            raise no_rows(files[0].name)

    @staticmethod
    def _open(file: SourceFile) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(str(file.path))
        except (pa.ArrowInvalid, OSError):
            raise SourceError(
                f"{file.name}: the file can't be read as Parquet.",
                hint="Check that it is complete and not another format.",
                file=file.name,
            ) from None

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of all rows, in this order."""
        import pyarrow as pa

        for file in self._files:
            try:
                for batch in self._open(file).iter_batches(batch_size=_BATCH_ROWS, columns=list(names)):
                    yield batch.select(list(names))
            except (pa.ArrowInvalid, OSError):
                raise SourceError(
                    f"{file.name}: the file is damaged.", hint="Write it again.", file=file.name
                ) from None


class TableObject(_TypedInput):
    """A data frame or Arrow table in memory.

    Args:
        data: pandas, polars, Arrow, or anything with `__arrow_c_stream__`.
        options: how it is read.
    """

    def __init__(self, data: Any, options: ReadingOptions) -> None:
        self._table = as_arrow_table(data)
        super().__init__(self._table.schema, options, "table")
        if not self._table.num_rows:
            raise no_rows("the table")

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of all rows, in this order."""
        yield from self._table.select(list(names)).to_batches(max_chunksize=_BATCH_ROWS)

    def fingerprint(self, key: bytes) -> str:
        """HMAC-SHA256 over the table in Arrow's stream format, cut into batches of one size."""
        import pyarrow as pa

        digest = hmac.new(key, digestmod=hashlib.sha256)

        class _Sink:
            closed = False

            def write(self, piece: Any) -> int:
                digest.update(piece)
                return len(piece)

            def flush(self) -> None:
                pass

            def close(self) -> None:
                pass

        table = self._table.replace_schema_metadata(None).unify_dictionaries().combine_chunks()
        with pa.ipc.new_stream(pa.PythonFile(_Sink(), mode="w"), table.schema) as writer:
            for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
                writer.write_batch(batch)
        return digest.hexdigest()


def as_arrow_table(data: Any) -> pa.Table:
    """An Arrow table of a data frame's columns, without its index.

    Raises:
        SourceError: when the object is no table, or a column mixes types.
    """
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    try:
        if isinstance(data, pa.RecordBatchReader):
            return data.read_all()
        if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
            _refuse_repeated([str(n) for n in data.columns], "the table")
            return pa.Table.from_pandas(data, preserve_index=False)
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError):
        raise SourceError(
            f"the {type(data).__name__} can't be read as a table: {_mixed_column(data)}.",
            hint="Give each column one type, such as text.",
        ) from None
    raise SourceError(
        f"expected a path, a list of paths, or a table from pandas, polars or Arrow, got {type(data).__name__}."
    )


def _refuse_repeated(names: Sequence[str], source: str) -> None:
    repeated = [n for n, times in Counter(names).items() if times > 1]
    if repeated:
        raise SourceError(f"{source}: the column {repeated[0]!r} occurs twice.", hint="Rename one.", file=source)


def _mixed_column(data: Any) -> str:
    """Which column of a pandas data frame has no single type."""
    import pyarrow as pa

    for name in list(getattr(data, "columns", ())):
        try:
            pa.Array.from_pandas(data[name])
        except Exception:  # any failure of this column is the answer
            return f"column {str(name)!r} mixes types"
    return "its columns have no plain types"
