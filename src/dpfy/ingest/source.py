"""A source: where the private rows come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpfy.errors import SourceError, SpecError
from dpfy.ingest.files import SourceFile, find_files, fingerprint_files
from dpfy.ingest.inputs import DelimitedInput, TableInput
from dpfy.ingest.private_table import DEFAULT_MEMORY, PrivateTable
from dpfy.schema import ReadingOptions, TableSchema


class Source:
    """Files or a table in memory, opened for reading.

    **Privacy:** opening looks at layout and names alone. Rows are parsed by `propose` and `read` only.

    Args:
        data: paths, or a table object.
        options: how it is read.
    """

    def __init__(self, data: Any, options: ReadingOptions | None = None) -> None:
        self.options = options or ReadingOptions()
        self._data = data
        self._files: tuple[SourceFile, ...] = ()
        if _is_path(data):
            self._files = find_files(data, self.options)
            for file in self._files:
                _refuse_empty(file)
        self._opened: dict[str, TableInput] = {}
        self._proposed: TableSchema | None = None
        self._notes: tuple[str, ...] = ()
        self.suggestions: dict[str, str] = {}
        names = self._input(self.options).names
        stray = [n for n in self.options.date_formats if n not in names]
        if stray:
            raise SourceError(
                f"{self.name}: date_formats names the column {stray[0]!r}, which is not read.",
                hint=f"The columns are {', '.join(map(repr, names))}.",
            )

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    @property
    def name(self) -> str:
        """The file's name without suffixes, the folder's name, or "table"."""
        if not self._files:
            return "table"
        if isinstance(self._data, (str, Path)) and Path(self._data).expanduser().is_dir():
            return Path(self._data).expanduser().resolve().name
        return self._files[0].stem

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that are read, in order."""
        return self._input(self.options).names

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided about the source, in plain sentences without private values."""
        return tuple(dict.fromkeys((*self._input(self.options).notes, *self._notes)))

    def fingerprint(self, key: bytes) -> str:
        """HMAC-SHA256 over the content, 64 hex digits.

        **Privacy:** without the key nobody can test a guess of the content against it.

        Args:
            key: secret key.
        """
        if self._files:
            return fingerprint_files(self._files, key)
        return self._input(self.options).fingerprint(key)  # type: ignore[attr-defined, no-any-return]

    def propose(self) -> TableSchema:
        """A schema for the owner to confirm: types and spelling, and "discover" for all that would be private.

        **Privacy:** types and formats are inferred from all rows and are listed as not protected. No range,
        category or count is taken over. Remarks that depend on values are in `suggestions`, for the owner alone.

        Raises:
            SourceError: names file, line and setting.
        """
        if self._proposed is None:
            table = self._input(self.options)
            proposal = table.propose()
            self._notes = tuple(proposal.notes)
            self.suggestions = proposal.comments
            # Reading by the proposal need not look at the layout again.
            self._opened[table.reading.model_dump_json()] = table
            self._proposed = TableSchema(columns=tuple(proposal.columns), reading=table.reading)
        return self._proposed

    def read(
        self,
        schema: TableSchema | None = None,
        user_columns: Sequence[str] = (),
        *,
        memory_limit: str = DEFAULT_MEMORY,
    ) -> PrivateTable:
        """Reads all rows.

        **Privacy:** private values go into the private table and nowhere else.

        Args:
            schema: of the columns; the proposal if left out.
            user_columns: names of the columns that name the user.
            memory_limit: of the engine, such as "2GB".

        Raises:
            SpecError: when the schema's or the user's columns are not the source's.
            SourceError: names the row and column that can't be read.
        """
        from dpfy.ingest.load import load

        schema = schema or self.propose()
        options = merged(self.options, schema.reading)
        table = self._input(options)
        _check_columns(schema, table.names, self.name)
        for user in user_columns:
            if user not in schema.names:
                raise SpecError(
                    f"{self.name}: there is no user column {user!r}.",
                    hint=f"The columns are {', '.join(map(repr, schema.names))}.",
                )
        schema = schema.model_copy(update={"reading": options})
        source = self._files[0].name if self._files else "the table"
        return load(table.batches, schema, user_columns, text=table.text, name=source, memory_limit=memory_limit)

    def _input(self, options: ReadingOptions) -> TableInput:
        key = options.model_dump_json()
        if key not in self._opened:
            self._opened[key] = self._make_input(options)
        return self._opened[key]

    def _make_input(self, options: ReadingOptions) -> TableInput:
        if not self._files:
            from dpfy.ingest.typed_inputs import TableObject

            return TableObject(self._data, options)
        kind = self._files[0].format
        if kind == "csv":
            return DelimitedInput(self._files, options)
        if kind == "jsonl":
            from dpfy.ingest.json_lines import JsonLinesInput

            return JsonLinesInput(self._files, options)
        from dpfy.ingest.typed_inputs import ParquetInput

        return ParquetInput(self._files, options)


def open_source(source: Any, options: ReadingOptions | None = None) -> Source:
    """Opens a source.

    Args:
        source: a path, folder, glob or list of paths (.csv .tsv .txt .jsonl .ndjson .parquet, also .gz .zst), or a
            table from pandas, polars or Arrow.
        options: how it is read.

    Raises:
        SourceError: when there is nothing to read, or its layout is not clear; names file, line and setting.
    """
    return Source(source, options)


def merged(options: ReadingOptions, confirmed: ReadingOptions) -> ReadingOptions:
    """Options that were set win over those of the schema file, which win over the defaults."""
    stated = {k: getattr(options, k) for k in options.model_fields_set}
    kept = {
        k: v for k, v in stated.items() if v != ReadingOptions.model_fields[k].get_default(call_default_factory=True)
    }
    return confirmed.model_copy(update=kept)


def _is_path(data: Any) -> bool:
    if isinstance(data, (str, Path)):
        return True
    return isinstance(data, (list, tuple)) and all(isinstance(d, (str, Path)) for d in data)


def _refuse_empty(file: SourceFile) -> None:
    from dpfy.ingest.dialect import no_rows

    try:
        empty = file.path.stat().st_size == 0
    except OSError:
        raise SourceError(
            f"{file.name}: the file can't be read.", hint="Check its permissions.", file=file.name
        ) from None
    if empty:
        raise no_rows(file.name)


def _check_columns(schema: TableSchema, names: Sequence[str], source: str) -> None:
    absent = [n for n in schema.names if n not in names]
    if absent:
        raise SpecError(
            f"the schema names the column {absent[0]!r}, which {source} does not have.",
            hint=f"Its columns are {', '.join(map(repr, names))}.",
        )
    unlisted = [n for n in names if n not in schema.names]
    if unlisted:
        raise SpecError(
            f"{source} has the column {unlisted[0]!r}, which the schema does not name.",
            hint="Describe it in the schema, or leave it out with exclude.",
        )
