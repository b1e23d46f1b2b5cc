"""Arrow types: which kind a typed column is, and its physical values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpfy.errors import SourceError
from dpfy.schema import ColumnKind, ColumnSpec
from dpfy.schema.kinds import UNIT_DIGITS

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_PLACES = 9
# Whole numbers are exact up to the first bound. With places, every value would fit at the last digits of a float, so
# only numbers with clearly fewer digits than it holds count as decimals.
_LARGEST_EXACT = {"halffloat": 2.0**11, "float": 2.0**24, "double": 2.0**53}
_LARGEST_DECIMAL = {"halffloat": 1e2, "float": 1e6, "double": 1e14}


class FloatEvidence:
    """How many decimal places the values of a float column have, judged over all of them."""

    def __init__(self) -> None:
        self.places = 0
        self.seen = False
        self.nan = False
        self.infinite = False

    def __repr__(self) -> str:
        return "FloatEvidence(private)"

    def add(self, column: pa.Array) -> None:
        """Takes in the next values."""
        values = _as_doubles(column)
        finite = values[np.isfinite(values)]
        if len(finite) < len(values):
            self.nan = self.nan or bool(np.isnan(values).any())
            self.infinite = self.infinite or bool(np.isinf(values).any())
        self.seen = self.seen or len(finite) > 0
        while self.places <= _MOST_PLACES and not _has_places(finite, self.places, str(column.type)):
            self.places += 1


def _has_places(values: Any, places: int, stored: str) -> bool:
    scaled = np.rint(values * 10.0**places)
    largest = (_LARGEST_DECIMAL if places else _LARGEST_EXACT)[stored]
    if len(scaled) and np.abs(scaled).max() > largest:
        return False
    back = scaled / 10.0**places
    if stored == "float":
        return bool((back.astype(np.float32) == values.astype(np.float32)).all())
    if stored == "halffloat":
        return bool((back.astype(np.float16) == values.astype(np.float16)).all())
    return bool((back == values).all())


def _as_doubles(column: pa.Array) -> Any:
    present = column.drop_null()
    return present.to_numpy(zero_copy_only=False).astype(np.float64)


def inner_type(column_type: pa.DataType) -> pa.DataType:
    """The type of the values behind a dictionary or an extension."""
    import pyarrow as pa

    if isinstance(column_type, pa.BaseExtensionType):
        return inner_type(column_type.storage_type)
    return inner_type(column_type.value_type) if pa.types.is_dictionary(column_type) else column_type


def is_words(column_type: pa.DataType) -> bool:
    """Whether values of the type are text."""
    import pyarrow as pa

    inner, t = inner_type(column_type), pa.types
    return any(bool(test(inner)) for test in (t.is_string, t.is_large_string, t.is_string_view))


def is_readable(column_type: pa.DataType) -> bool:
    """Whether columns of the type can be read and given back."""
    import pyarrow as pa

    t = pa.types
    if isinstance(column_type, pa.BaseExtensionType):
        return False
    if t.is_dictionary(column_type):
        inner = column_type.value_type
        return any(bool(test(inner)) for test in (t.is_string, t.is_large_string, t.is_string_view, t.is_integer))
    if t.is_decimal(column_type):
        return bool(column_type.precision <= 38 and 0 <= column_type.scale <= 18)
    tests = (
        t.is_integer, t.is_floating, t.is_boolean, t.is_string, t.is_large_string, t.is_string_view, t.is_binary,
        t.is_large_binary, t.is_binary_view, t.is_fixed_size_binary, t.is_date, t.is_timestamp, t.is_time,
        t.is_duration, t.is_null,
    )  # fmt: skip
    return any(bool(test(column_type)) for test in tests)


def refuse_unreadable(schema: pa.Schema, names: list[str], source: str) -> None:
    """Names all columns that can't be read.

    Raises:
        SourceError: when there are any.
    """
    wrong = [n for n in names if not is_readable(schema.field(n).type)]
    if wrong:
        listed = ", ".join(f"{n!r} ({_plain_type(schema.field(n).type)})" for n in wrong)
        raise SourceError(
            f"{source}: expected columns of plain values, got {listed}.",
            hint=f"Leave them out (exclude: {', '.join(wrong)}), or flatten them or store them as text first.",
            file=source,
        )


def _plain_type(column_type: pa.DataType) -> str:
    import pyarrow as pa

    t = pa.types
    if t.is_struct(column_type):
        return "struct"
    if t.is_map(column_type):
        return "map"
    return "list" if t.is_nested(column_type) else str(column_type)


def typed_fields(column_type: pa.DataType, evidence: FloatEvidence | None) -> dict[str, Any]:
    """Fields of the schema of a typed column.

    Args:
        column_type: a readable Arrow type.
        evidence: for floats.
    """
    import pyarrow as pa

    t = pa.types
    inner = inner_type(column_type)
    fields: dict[str, Any] = {"arrow_type": str(column_type)}
    if t.is_null(inner):
        return fields | {"type": ColumnKind.EMPTY}
    if t.is_boolean(inner):
        return fields | {"type": ColumnKind.BOOLEAN}
    if t.is_integer(inner):
        return fields | {"type": ColumnKind.INTEGER}
    if t.is_decimal(inner):
        places = {"decimals": inner.scale, "min_decimals": inner.scale}
        return fields | (places | {"type": ColumnKind.DECIMAL} if inner.scale else {"type": ColumnKind.INTEGER})
    if t.is_floating(inner):
        return fields | _float_fields(evidence)
    if t.is_date(inner):
        return fields | {"type": ColumnKind.DATE}
    if t.is_timestamp(inner) or t.is_time(inner) or t.is_duration(inner):
        kind = ColumnKind.DATETIME if t.is_timestamp(inner) else ColumnKind.DURATION
        return fields | {"type": ColumnKind.TIME if t.is_time(inner) else kind, "unit": inner.unit}
    if is_words(inner):
        return fields | {"type": ColumnKind.TEXT}
    return fields | {"type": ColumnKind.BINARY}


def _float_fields(evidence: FloatEvidence | None) -> dict[str, Any]:
    if evidence is None or evidence.places > _MOST_PLACES or not evidence.seen:
        return {"type": ColumnKind.FLOAT}
    if evidence.places == 0:
        return {"type": ColumnKind.INTEGER}
    return {"type": ColumnKind.DECIMAL, "decimals": evidence.places, "min_decimals": 0}


def from_arrow(spec: ColumnSpec, column: pa.Array) -> pa.Array:
    """Physical values of a typed column.

    **Privacy:** private values in, private values out.

    Args:
        spec: the column.
        column: of a readable type.

    Raises:
        UnreadableCellError: with the position of a value that does not fit.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpfy.ingest.values import UnreadableCellError, _empty

    t = pa.types
    if t.is_dictionary(column.type):
        values = from_arrow(spec, column.dictionary)
        return values.take(column.indices)
    if spec.type is ColumnKind.EMPTY:
        return _empty(column)
    stored = column.type
    if not _agrees(spec, stored):
        raise pa.ArrowTypeError("another kind")
    if spec.physical == "text":
        return _text(spec, column)
    if t.is_floating(stored):
        return _from_floats(spec, column)
    if t.is_decimal(stored):
        column = _rescaled(column, spec.decimals)
        halves = np.frombuffer(column.buffers()[1], dtype=np.int64)[2 * column.offset :][: 2 * len(column)]
        gaps = np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        over = (halves[1::2] != np.where(halves[::2] < 0, -1, 0)) & ~gaps
        if over.any():
            raise UnreadableCellError(int(np.flatnonzero(over)[0]))
        ticks = pa.array(halves[::2], mask=gaps)
        return ticks if spec.physical == "ticks" else pc.divide(ticks.cast(pa.float64()), 10.0**spec.decimals)
    if t.is_integer(stored):
        return _from_integers(spec, column)
    if t.is_date(stored):
        return column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    if t.is_timestamp(stored):
        return _ticks(spec, column.cast(pa.int64()), stored)
    width = pa.int32() if getattr(stored, "bit_width", 64) == 32 else pa.int64()
    return _ticks(spec, column.cast(width).cast(pa.int64()), stored)


def _ticks(spec: ColumnSpec, column: pa.Array, stored: pa.DataType) -> pa.Array:
    """Ticks in the schema's unit, where it differs from the stored one."""
    import pyarrow.compute as pc

    step = UNIT_DIGITS[spec.unit] - UNIT_DIGITS[stored.unit]
    if step >= 0:
        return pc.multiply_checked(column, 10**step) if step else column
    return pc.divide(column, 10**-step)


def _agrees(spec: ColumnSpec, stored: pa.DataType) -> bool:
    """Whether a stored type can be read as the column's kind at all."""
    import pyarrow as pa

    t = pa.types
    number = any(bool(test(stored)) for test in (t.is_integer, t.is_floating, t.is_decimal))
    kinds: dict[ColumnKind, bool] = {
        ColumnKind.INTEGER: number,
        ColumnKind.DECIMAL: number,
        ColumnKind.FLOAT: number,
        ColumnKind.DATE: bool(t.is_date(stored)),
        ColumnKind.DATETIME: bool(t.is_timestamp(stored)),
        ColumnKind.TIME: bool(t.is_time(stored)),
        ColumnKind.DURATION: bool(t.is_duration(stored)),
        ColumnKind.BOOLEAN: bool(t.is_boolean(stored)),
    }
    return kinds.get(spec.type, True)


def _rescaled(column: pa.Array, decimals: int) -> pa.Array:
    import pyarrow as pa

    from dpfy.ingest.values import UnreadableCellError

    try:
        return column.cast(pa.decimal128(38, decimals))
    except pa.ArrowInvalid:
        raise UnreadableCellError(0) from None


def _from_integers(spec: ColumnSpec, column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpfy.ingest.values import UnreadableCellError

    if spec.physical == "float":
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_uint64(column.type):
        over = pc.greater(column, pa.scalar(2**63 - 1, pa.uint64())).fill_null(False)
        if pc.any(over).as_py():
            raise UnreadableCellError(int(pc.index(over, True).as_py()))
    whole = column.cast(pa.int64())
    return pc.multiply_checked(whole, 10**spec.decimals) if spec.decimals else whole


def _from_floats(spec: ColumnSpec, column: pa.Array) -> pa.Array:
    import pyarrow as pa

    from dpfy.ingest.values import UnreadableCellError

    gaps = np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    filled = pa.compute.fill_null(column, pa.scalar(0, column.type)) if gaps.any() else column
    values = filled.to_numpy(zero_copy_only=False).astype(np.float64)
    # NaN is a missing value; infinity is none that a range or a mean can hold.
    gaps = gaps | np.isnan(values)
    if np.isinf(values).any():
        raise UnreadableCellError(int(np.flatnonzero(np.isinf(values))[0]))
    if spec.physical == "float":
        return pa.array(values + 0.0, mask=gaps)
    scaled = np.rint(np.where(gaps, 0.0, values) * 10.0**spec.decimals)
    if len(scaled) and np.abs(scaled).max() >= 2.0**63:
        raise UnreadableCellError(int(np.argmax(np.abs(scaled))))
    return pa.array(scaled.astype(np.int64), mask=gaps)


def _text(spec: ColumnSpec, column: pa.Array) -> pa.Array:
    import pyarrow as pa

    t = pa.types
    if t.is_boolean(column.type):
        return column.cast(pa.string())
    if spec.type is ColumnKind.BINARY:
        coded = column.cast(pa.binary()).dictionary_encode()
        words = pa.array([v.hex() for v in coded.dictionary.to_pylist()], type=pa.string())
        return words.take(coded.indices)
    return exact_text(column)


def exact_text(column: pa.Array) -> pa.Array:
    """A typed column as text, for ids and words."""
    import pyarrow as pa

    t = pa.types
    if t.is_dictionary(column.type):
        return exact_text(column.dictionary).take(column.indices)
    if t.is_binary(column.type) or t.is_large_binary(column.type) or t.is_fixed_size_binary(column.type):
        return pa.array([None if v is None else v.hex() for v in column.to_pylist()], type=pa.string())
    if t.is_float16(column.type):
        column = column.cast(pa.float32())
    if t.is_floating(column.type):
        import pyarrow.compute as pc

        column = pc.if_else(pc.is_nan(column), None, column)
    return column.cast(pa.string())
