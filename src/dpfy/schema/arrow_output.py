"""Values as Arrow arrays of the source's own types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfy.errors import SpecError
from dpfy.schema.kinds import UNIT_DIGITS, ColumnKind, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfy.schema.column import ColumnSpec


def to_arrow(spec: ColumnSpec, values: NDArray[Any], missing: NDArray[np.bool_]) -> pa.Array:
    """An array of exactly the column's Arrow type.

    Args:
        spec: the column.
        values: int64 ticks, float64, or text, of shape (rows,); anything where missing.
        missing: bool of shape (rows,).

    Raises:
        SpecError: when a value does not fit the type.
    """
    import pyarrow as pa

    gaps = np.asarray(missing, dtype=bool)
    wanted = arrow_type(spec.arrow_type)
    if spec.type is ColumnKind.EMPTY:
        return pa.nulls(len(gaps), wanted)
    inner = wanted.value_type if pa.types.is_dictionary(wanted) else wanted
    try:
        array = _plain(spec, values, gaps, inner)
        if pa.types.is_dictionary(wanted):
            coded = array.dictionary_encode()
            indices = coded.indices.cast(wanted.index_type)
            return pa.DictionaryArray.from_arrays(indices, coded.dictionary, ordered=wanted.ordered)
        return array
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise SpecError(
            f"column {spec.name!r}: values of type {spec.type} do not fit arrow_type {spec.arrow_type!r}.",
            hint="Give another arrow_type, or a public range that fits it.",
        ) from None


def _plain(spec: ColumnSpec, values: NDArray[Any], gaps: NDArray[np.bool_], wanted: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if spec.physical == "text":
        return _words(spec, values, gaps, wanted)
    if pa.types.is_string(wanted) or pa.types.is_large_string(wanted) or pa.types.is_string_view(wanted):
        return spec.to_text(values, gaps).cast(wanted)
    if spec.physical == "float":
        numbers = np.where(gaps, 0.0, values).astype(np.float64) + 0.0
        return _floats(numbers, gaps, wanted)
    ticks = np.where(gaps, 0, values).astype(np.int64)
    if pa.types.is_floating(wanted):
        return _floats(ticks / 10.0**spec.decimals, gaps, wanted)
    if spec.type is ColumnKind.DECIMAL or pa.types.is_decimal(wanted):
        return _decimals(ticks, gaps, spec.decimals).cast(wanted)
    whole = pa.array(ticks, type=pa.int64(), mask=gaps)
    if spec.type is ColumnKind.INTEGER:
        return whole.cast(wanted)
    if spec.type is ColumnKind.DATE:
        return whole.cast(pa.int32()).cast(pa.date32()).cast(wanted)
    if pa.types.is_time(wanted) or pa.types.is_duration(wanted) or pa.types.is_timestamp(wanted):
        return _clock(ticks, gaps, spec, wanted)
    return whole.cast(wanted)


def _clock(ticks: NDArray[np.int64], gaps: NDArray[np.bool_], spec: ColumnSpec, wanted: pa.DataType) -> pa.Array:
    """Storage may count in another unit than the ticks."""
    import pyarrow as pa

    step = UNIT_DIGITS[wanted.unit] - UNIT_DIGITS[spec.unit]
    if step >= 0:
        factor = 10**step
        if len(ticks) and np.abs(ticks).max() > (2**63 - 1) // factor:
            raise pa.ArrowInvalid("out of range")
        stored = ticks * factor
    else:
        stored = ticks // 10**-step
    width = wanted.bit_width
    return pa.array(stored, type=pa.int64(), mask=gaps).cast(pa.int32() if width == 32 else pa.int64()).cast(wanted)


def _floats(numbers: NDArray[np.float64], gaps: NDArray[np.bool_], wanted: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_float16(wanted):
        return pa.array(numbers.astype(np.float16), type=wanted, mask=gaps)
    return pa.array(numbers, type=pa.float64(), mask=gaps).cast(wanted, safe=False)


def _decimals(ticks: NDArray[np.int64], gaps: NDArray[np.bool_], decimals: int) -> pa.Array:
    """Ticks are a decimal's unscaled value: the buffer is laid out as Arrow does, two 64-bit halves."""
    import pyarrow as pa

    halves = np.empty((len(ticks), 2), dtype=np.int64)
    halves[:, 0] = ticks
    halves[:, 1] = np.where(ticks < 0, -1, 0)
    bitmap = pa.array(~gaps).buffers()[1] if gaps.any() else None
    return pa.Array.from_buffers(
        pa.decimal128(38, decimals), len(ticks), [bitmap, pa.py_buffer(halves.tobytes())], int(gaps.sum())
    )


def _words(spec: ColumnSpec, values: NDArray[Any], gaps: NDArray[np.bool_], wanted: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.array(np.asarray(values, dtype=object), type=pa.string(), mask=gaps, from_pandas=True)
    if spec.type is ColumnKind.BOOLEAN:
        if pa.types.is_boolean(wanted):
            return pc.equal(text, "true")
        return text.cast(wanted)
    if spec.type is ColumnKind.BINARY:
        coded = text.dictionary_encode()
        label = spec.other_label
        raw = [label.encode() if w == label else bytes.fromhex(w) for w in coded.dictionary.to_pylist()]
        return pa.array(raw, type=pa.binary()).take(coded.indices).cast(wanted)
    return text.cast(wanted)
