"""From Arrow columns to plain arrays: numbers, seconds, or words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfy.quality.figures import Kind

FloatArray = npt.NDArray[np.float64]
KeyArray = npt.NDArray[np.uint64]

# Order matters: the first pattern that reads every value of every table is taken for all of them.
_DATE_PATTERNS = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%Y%m%d",
    "%d.%m.%Y %H:%M",
    "%d %b %Y",
)


@dataclass(frozen=True, kw_only=True)
class ColumnValues:
    """One column of one table.

    Args:
        numbers: float64, shape (rows,), NaN for missing; seconds since 1970-01-01 for dates. None for words.
        words: Arrow string array, null for missing. None for numbers.
        integers: the exact 64-bit pattern where all tables hold integers, else None.
        missing: bool, shape (rows,).
    """

    name: str
    kind: Kind
    numbers: FloatArray | None
    words: Any
    integers: KeyArray | None
    missing: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.missing)

    def finite(self) -> FloatArray:
        """The numbers, NaN for missing and for infinities; cut off at 1e100, so that squares are finite."""
        assert self.numbers is not None
        return np.clip(np.where(np.isfinite(self.numbers), self.numbers, np.nan), -1e100, 1e100)

    def take(self, rows: npt.NDArray[np.int64]) -> ColumnValues:
        """The values at these places."""
        return replace(
            self,
            numbers=None if self.numbers is None else self.numbers[rows],
            words=None if self.words is None else self.words.take(rows),
            integers=None if self.integers is None else self.integers[rows],
            missing=self.missing[rows],
        )


def read_column(name: str, kind: Kind, tables: Sequence[Any]) -> tuple[list[ColumnValues], str]:
    """Reads one column from each table in the same way.

    Args:
        name: the column.
        kind: what the schema says; a column that can't be read so in one table is read as words in all.
        tables: pyarrow tables that hold the column.

    Returns:
        One ColumnValues a table, and a note ("" if the column was read as its kind says).
    """
    arrays = [_plain(table.column(name)) for table in tables]
    if kind != "category":
        for attempt in _attempts(kind):
            numbers = [attempt(array) for array in arrays]
            if all(item is not None for item in numbers):
                return [_numeric(name, kind, n, a, arrays) for n, a in zip(numbers, arrays, strict=True)], ""
    note = "" if kind == "category" else f"Column {name!r} holds text that is no {kind}; compared as categories."
    return [_worded(name, array) for array in arrays], note


def exact_keys(columns: Sequence[ColumnValues]) -> list[KeyArray]:
    """64-bit keys of one column in several tables: equal keys mean equal values, missing equals missing."""
    if columns[0].words is not None:
        import pyarrow as pa

        joined = pa.chunked_array([column.words for column in columns]).combine_chunks()
        codes = _filled(joined.dictionary_encode().indices, -1).astype(np.int64).view(np.uint64)
        ends = np.cumsum([len(column) for column in columns])[:-1]
        return list(np.split(codes, ends))
    return [_number_keys(column) for column in columns]


def _number_keys(column: ColumnValues) -> KeyArray:
    if column.integers is not None:
        keys = column.integers.copy()
    else:
        assert column.numbers is not None
        keys = (column.numbers + 0.0).view(np.uint64).copy()  # + 0.0 makes -0.0 and 0.0 one value
    keys[column.missing] = np.uint64(0x7FF8DEADBEEF0001)
    return keys


def _filled(array: Any, value: int) -> npt.NDArray[Any]:
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return np.asarray(array.fill_null(value).to_numpy(zero_copy_only=False))


def _plain(column: Any) -> Any:
    """One contiguous array without dictionary encoding."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ChunkedArray):  # some versions keep the chunking of an empty column
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column


def _attempts(kind: Kind) -> list[Callable[[Any], FloatArray | None]]:
    if kind == "number":
        return [_as_numbers]
    return [_as_seconds, *(partial(_as_parsed, pattern=pattern) for pattern in _DATE_PATTERNS)]


def _floats(array: Any) -> FloatArray:
    import pyarrow as pa

    out = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    out = np.array(out, dtype=np.float64)
    if array.null_count:
        out[np.asarray(array.is_null())] = np.nan
    return out


def _as_numbers(array: Any) -> FloatArray | None:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_null(kind):
        return np.full(len(array), np.nan)
    if pa.types.is_temporal(kind):
        return _as_seconds(array)
    try:
        if pa.types.is_boolean(kind):
            return _floats(array.cast(pa.uint8()))
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return _floats(array)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return _floats(array.cast(pa.float64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return None


def _as_seconds(array: Any) -> FloatArray | None:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_null(kind):
        return np.full(len(array), np.nan)
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return _text_seconds(array)
        if pa.types.is_date(kind):
            return _floats(array.cast(pa.date32(), safe=False).cast(pa.int32())) * 86400.0
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time64(kind):
            return _floats(array.cast(pa.int64())) / {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        if pa.types.is_time32(kind):
            return _floats(array.cast(pa.int32())) / {"s": 1.0, "ms": 1e3}[kind.unit]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return None


def _text_seconds(array: Any) -> FloatArray | None:
    import pyarrow as pa

    for zone in (None, "UTC"):
        try:
            return _floats(array.cast(pa.timestamp("us", zone)).cast(pa.int64())) / 1e6
        except pa.ArrowInvalid:
            continue
    return None


def _as_parsed(array: Any, pattern: str) -> FloatArray | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return _as_seconds(array)
    try:
        return _floats(pc.strptime(array, format=pattern, unit="s").cast(pa.int64()))
    except pa.ArrowInvalid:
        return None


def _numeric(name: str, kind: Kind, numbers: Any, array: Any, arrays: Sequence[Any]) -> ColumnValues:
    import pyarrow as pa

    integers = None
    if all(pa.types.is_integer(item.type) for item in arrays):
        integers = _filled(array, 0).astype(np.int64, casting="unsafe").view(np.uint64)
    return ColumnValues(name=name, kind=kind, numbers=numbers, words=None, integers=integers, missing=np.isnan(numbers))


def _worded(name: str, array: Any) -> ColumnValues:
    words = _as_words(array)
    missing = np.asarray(words.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
    return ColumnValues(name=name, kind="category", numbers=None, words=words, integers=None, missing=missing)


def _as_words(array: Any) -> Any:
    """Any type as strings; 1 and 1.0 become the same word, so that integer and float codes agree."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.array([number_word(v) for v in _floats(array)], type=pa.string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.array([None if v is None else v.hex() for v in array.to_pylist()], type=pa.string())
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if v is None else str(v) for v in array.to_pylist()], type=pa.string())


def number_word(value: float) -> str | None:
    """A number as a short word; None for NaN."""
    if np.isnan(value):
        return None
    if np.isfinite(value) and value == np.floor(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}"
