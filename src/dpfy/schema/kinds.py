"""The kinds of columns, how each is held, and Arrow types by name."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from dpfy.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

Unit = Literal["s", "ms", "us", "ns"]
Physical = Literal["ticks", "float", "text"]

UNIT_DIGITS: dict[str, int] = {"s": 0, "ms": 3, "us": 6, "ns": 9}
DAY_SECONDS = 86_400


class ColumnKind(StrEnum):
    """What a column's values are."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    DURATION = "duration"
    BINARY = "binary"
    EMPTY = "empty"


TEXT_KINDS = frozenset({ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.BINARY})
CLOCK_KINDS = frozenset({ColumnKind.DATETIME, ColumnKind.TIME, ColumnKind.DURATION})


def zone_of(spelled: str) -> str:
    """The zone's name in Arrow for an offset as text spells it: Z, +01:00, +0100 or +01."""
    digits = re.sub(r"\D", "", spelled).ljust(4, "0")
    return "UTC" if digits == "0000" else f"{spelled[0]}{digits[:2]}:{digits[2:4]}"


def default_arrow_type(kind: ColumnKind, unit: str = "us") -> str:
    """The Arrow type that a column of this kind gets when its schema names none.

    Args:
        kind: the column's kind.
        unit: unit of ticks; seconds are stored as microseconds, since Parquet has no seconds.
    """
    stored = "us" if unit == "s" else unit
    return {
        ColumnKind.INTEGER: "int64",
        ColumnKind.DECIMAL: "double",
        ColumnKind.FLOAT: "double",
        ColumnKind.BOOLEAN: "bool",
        ColumnKind.TEXT: "string",
        ColumnKind.DATE: "date32[day]",
        ColumnKind.DATETIME: f"timestamp[{stored}]",
        ColumnKind.TIME: f"time64[{stored if stored in ('us', 'ns') else 'us'}]",
        ColumnKind.DURATION: f"duration[{unit}]",
        ColumnKind.BINARY: "binary",
        ColumnKind.EMPTY: "string",
    }[kind]


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type that `str(type)` wrote.

    Args:
        name: such as "int64", "timestamp[us, tz=Europe/Oslo]" or
            "dictionary<values=string, indices=int32, ordered=0>".

    Raises:
        SpecError: when the name is no Arrow type that a column can have.
    """
    import pyarrow as pa

    text = name.strip()
    if found := re.fullmatch(r"timestamp\[(s|ms|us|ns), tz=([^\]]+)\]", text):
        return pa.timestamp(found[1], tz=found[2])
    if found := re.fullmatch(r"decimal(32|64|128|256)\((\d+), ?(-?\d+)\)", text):
        return getattr(pa, f"decimal{found[1]}")(int(found[2]), int(found[3]))
    if found := re.fullmatch(r"fixed_size_binary\[(\d+)\]", text):
        return pa.binary(int(found[1]))
    if found := re.fullmatch(r"dictionary<values=(.+?), indices=(\w+)(?:, ordered=([01]))?>", text):
        return pa.dictionary(arrow_type(found[2]), arrow_type(found[1]), ordered=found[3] == "1")
    try:
        return pa.type_for_alias(text)
    except ValueError:
        raise SpecError(
            f"{name!r} is not an Arrow type that a column can have.",
            hint="Leave `arrow_type` out, or take the name from `dpfy schema SOURCE`.",
        ) from None
