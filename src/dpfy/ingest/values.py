"""From cells to physical values: int64 ticks, float64 or text, null where missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpfy.errors import SourceError
from dpfy.schema import ColumnKind, ColumnSpec, ReadingOptions

if TYPE_CHECKING:
    import pyarrow as pa


class UnreadableCellError(Exception):
    """A cell does not fit its column's schema.

    Args:
        position: of the cell in its batch.
    """

    def __init__(self, position: int) -> None:
        super().__init__("a cell does not fit its column's schema")
        self.position = position


def physical_type(spec: ColumnSpec) -> pa.DataType:
    """The Arrow type of a column's physical values."""
    import pyarrow as pa

    return {"ticks": pa.int64(), "float": pa.float64(), "text": pa.string()}[spec.physical]


def from_text(spec: ColumnSpec, cells: pa.Array, options: ReadingOptions) -> pa.Array:
    """Reads text cells.

    **Privacy:** private cells in, private values out.

    Args:
        spec: the column.
        cells: strings, null where missing.
        options: how the source is read.

    Raises:
        UnreadableCellError: with the position of a cell that does not fit.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if spec.type is ColumnKind.EMPTY:
        return _empty(cells)
    if spec.type in (ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.BINARY):
        return _words(spec, cells, options)
    # Distinct cells are read once: dates and codes repeat.
    coded = cells.dictionary_encode()
    distinct = coded.dictionary
    trimmed = pc.utf8_trim_whitespace(distinct)
    blank = pc.equal(trimmed, "")
    if options.missing_markers:
        blank = pc.or_(blank, pc.is_in(trimmed, value_set=pa.array(options.missing_markers, type=pa.string())))
    gaps = np.asarray(blank.to_numpy(zero_copy_only=False), dtype=bool)
    values, good = _read(spec, pc.if_else(blank, _harmless(spec), trimmed) if gaps.any() else trimmed)
    bad = ~good & ~gaps
    if bad.any():
        found = pc.is_in(coded.indices, value_set=pa.array(np.flatnonzero(bad), type=coded.indices.type))
        raise UnreadableCellError(int(pc.index(found, True).as_py()))
    read = pa.array(values, mask=gaps if gaps.any() else None, type=physical_type(spec))
    return read.take(coded.indices)


def _harmless(spec: ColumnSpec) -> str:
    return "0" if spec.type in (ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT) else ""


def _empty(cells: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if cells.null_count < len(cells) and pa.types.is_string(cells.type):
        cells = pc.if_else(pc.equal(pc.utf8_trim_whitespace(cells), ""), None, cells)
    if cells.null_count < len(cells):
        raise UnreadableCellError(int(pc.index(cells.is_valid(), True).as_py()))
    return pa.nulls(len(cells), pa.string())


def _words(spec: ColumnSpec, cells: pa.Array, options: ReadingOptions) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if options.blanks == "strip":
        cells = pc.utf8_trim_whitespace(cells)
        gone = pc.is_in(cells, value_set=pa.array(["", *options.missing_markers]))
        cells = pc.if_else(gone, pa.scalar(None, pa.string()), cells)
    if spec.type is ColumnKind.BOOLEAN:
        cells = pc.utf8_lower(cells)
        fits = pc.is_in(cells, value_set=pa.array(["true", "false"]))
    elif spec.type is ColumnKind.BINARY:
        cells = pc.utf8_lower(cells)
        fits = pc.match_substring_regex(cells, r"^([0-9a-f]{2})*$")
    else:
        return cells
    wrong = pc.and_(cells.is_valid(), pc.invert(fits.fill_null(True)))
    if pc.any(wrong).as_py():
        raise UnreadableCellError(int(pc.index(wrong, True).as_py()))
    return cells


def _read(spec: ColumnSpec, cells: Any) -> tuple[Any, Any]:
    """Values of distinct cells, and which of them could be read."""
    if spec.type in (ColumnKind.INTEGER, ColumnKind.DECIMAL):
        return _read_ticks(spec, cells)
    if spec.type is ColumnKind.FLOAT:
        return _read_floats(spec, cells)
    if spec.type is ColumnKind.DURATION:
        return _read_ticks(spec.model_copy(update={"decimals": 0}), cells)
    from dpfy.schema.clock_text import default_pattern, parse_clock

    return parse_clock(cells, spec, default_pattern(spec))


def _fits(spec: ColumnSpec, cells: Any) -> Any:
    import pyarrow.compute as pc

    from dpfy.ingest.evidence import number_regex

    fits = pc.and_(
        pc.match_substring_regex(cells, number_regex(spec.decimal_mark, spec.thousands)),
        pc.match_substring_regex(cells, "[0-9]"),
    )
    return np.asarray(fits.to_numpy(zero_copy_only=False), dtype=bool)


def _plain_numbers(spec: ColumnSpec, cells: Any, good: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not good.all():
        cells = pc.if_else(pa.array(good), cells, "0")
    if spec.thousands != "none":
        cells = pc.replace_substring(cells, spec.thousands, "")
    return pc.replace_substring(cells, ",", ".") if spec.decimal_mark == "," else cells


def _read_ticks(spec: ColumnSpec, cells: Any) -> tuple[Any, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    good = _fits(spec, cells)
    plain = _plain_numbers(spec, cells, good)
    if spec.decimals == 0:
        try:
            return pc.cast(plain, pa.int64()).to_numpy(zero_copy_only=False), good
        except pa.ArrowInvalid:
            pass
    try:
        exact = pc.cast(plain, pa.decimal128(38, spec.decimals))
    except pa.ArrowInvalid:
        return _read_ticks_singly(spec, plain, good)
    # Arrow lays a decimal out as its unscaled value in two halves: the ticks are the lower one.
    halves = np.frombuffer(exact.buffers()[1], dtype=np.int64)[2 * exact.offset :][: 2 * len(exact)]
    low, high = halves[::2], halves[1::2]
    return low, good & (high == np.where(low < 0, -1, 0))


def _read_ticks_singly(spec: ColumnSpec, plain: Any, good: Any) -> tuple[Any, Any]:
    """The slow way, when some cell has too many places or digits."""
    from decimal import Decimal

    ticks = np.zeros(len(plain), dtype=np.int64)
    good = good.copy()
    for position, cell in enumerate(plain.to_pylist()):
        number = Decimal(cell).scaleb(spec.decimals) if good[position] else Decimal(0)
        if number == number.to_integral_value() and -(2**63) <= number < 2**63:
            ticks[position] = int(number)
        else:
            good[position] = False
    return ticks, good


def _read_floats(spec: ColumnSpec, cells: Any) -> tuple[Any, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    good = _fits(spec, cells)
    values = pc.cast(_plain_numbers(spec, cells, good), pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    return values, good & np.isfinite(values)


def unreadable(spec: ColumnSpec, row: int, source: str) -> SourceError:
    """The message for a cell that does not fit; the cell itself is not quoted."""
    from dpfy.schema.clock_text import default_pattern

    detail = ""
    if spec.type in (ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.TIME):
        detail = f" written as {default_pattern(spec)}"
    elif spec.type is ColumnKind.DECIMAL:
        detail = f" with at most {spec.decimals} places and {spec.decimal_mark!r} as decimal mark"
    return SourceError(
        f"{source}, data row {row + 1}: column {spec.name!r} is {spec.type}{detail} by its schema, the cell is not.",
        hint="Correct the column's entry in the schema, or the cell; words that mean missing go into missing_markers.",
        file=source,
    )
