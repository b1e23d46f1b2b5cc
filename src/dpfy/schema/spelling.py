"""Values as the source's text spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfy.schema.kinds import ColumnKind

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfy.schema.column import ColumnSpec


def to_text(spec: ColumnSpec, values: NDArray[Any], missing: NDArray[np.bool_]) -> pa.Array:
    """Spells a column's values.

    Args:
        spec: the column.
        values: int64 ticks, float64, or text, of shape (rows,); anything where missing.
        missing: bool of shape (rows,).

    Returns:
        String array with null where missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    gaps = np.asarray(missing, dtype=bool)
    if spec.type is ColumnKind.EMPTY:
        return pa.nulls(len(gaps), pa.string())
    if spec.physical == "text":
        return pa.array(np.asarray(values, dtype=object), type=pa.string(), mask=gaps, from_pandas=True)
    if spec.physical == "float":
        text = float_text(np.where(gaps, 0.0, values).astype(np.float64), spec.significant)
    else:
        ticks = np.where(gaps, 0, values).astype(np.int64)
        if spec.type in (ColumnKind.INTEGER, ColumnKind.DECIMAL):
            text = decimal_text(ticks, spec.decimals, spec.min_decimals)
        elif spec.type is ColumnKind.DURATION:
            text = pa.array(ticks).cast(pa.string())
        else:
            from dpfy.schema.clock_text import format_clock

            text = format_clock(ticks, spec)
    if spec.type in (ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT):
        text = _local_marks(text, spec)
    return pc.if_else(pa.array(gaps), pa.scalar(None, pa.string()), text) if gaps.any() else text


def decimal_text(ticks: NDArray[np.int64], decimals: int, min_decimals: int) -> pa.Array:
    """Spells whole ticks of 10^-decimals; zero never has a sign."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if decimals == 0:
        text = pa.array(ticks).cast(pa.string())
        return pc.binary_join_element_wise(text, "0" * min_decimals, ".") if min_decimals else text
    # The magnitude as uint64: the lowest int64 has no positive counterpart.
    size = np.where(ticks < 0, -(ticks + 1), ticks).astype(np.uint64) + (ticks < 0)
    scale = np.uint64(10**decimals)
    whole = pa.array(size // scale).cast(pa.string())
    places = pc.utf8_lpad(pa.array(size % scale).cast(pa.string()), decimals, "0")
    if min_decimals < decimals:
        places = pc.utf8_rtrim(places, "0")
        if min_decimals:
            places = pc.utf8_rpad(places, min_decimals, "0")
    sign = pc.if_else(pa.array(ticks < 0), "-", "")
    point = "." if min_decimals else pc.if_else(pc.equal(places, ""), "", ".")
    return pc.binary_join_element_wise(sign, whole, point, places, "")


def float_text(values: NDArray[np.float64], significant: int = 17) -> pa.Array:
    """Spells floats: the shortest text that reads back the same, or at most so many digits."""
    import pyarrow as pa

    plain = (values + 0.0).tolist()
    if significant >= 17:
        return pa.array([repr(v) for v in plain], type=pa.string())
    form = f".{significant}g"
    return pa.array([format(v, form) for v in plain], type=pa.string())


def _local_marks(text: pa.Array, spec: ColumnSpec) -> pa.Array:
    import pyarrow.compute as pc

    if spec.decimal_mark == ",":
        text = pc.replace_substring(text, ".", ",")
    if spec.thousands != "none":
        mark = spec.thousands
        # Groups of three are split off one at a time; int64 has at most six of them.
        for _ in range(6):
            text = pc.replace_substring_regex(text, r"^(-?\d+)(\d{3})($|[^\d].*)", rf"\1{mark}\2\3")
    return text
