"""One column: what it holds, what is public about it, and how it is spelled."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from dpfy.errors import SpecError
from dpfy.schema.kinds import (
    CLOCK_KINDS,
    TEXT_KINDS,
    UNIT_DIGITS,
    ColumnKind,
    Physical,
    Unit,
    default_arrow_type,
    zone_of,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

Bound = int | float | str
_INT64 = 2**63
_KINDS = frozenset(str(kind) for kind in ColumnKind)


class ColumnSpec(BaseModel):
    """What the owner states about a column, and how the source stores and spells it.

    **Privacy:** everything in here counts as public. Storage details (type, places, date format, zone spelling) are
    inferred from all rows and are listed as not protected.

    Args:
        name: the column's name.
        type: its kind.
        categories: None for amounts and times; a list of public values; or "discover" (found privately, charged).
            Text without a list is always "discover".
        range: a public lowest and highest value, both included; "discover" (charged); None where it means nothing.
        missing: "discover" the share of empty cells (charged), or the public promise that there are "never" any.
        static: the same value in all records of a user.
        key: an identifier that is made up anew in the output; never modelled.
        key_pattern: how made-up keys look, such as "case-[0-9]{4}".
        drop: left out of the output.
        other: what a generator does with the catch-all of rare values: "resample" one of the named categories,
            print the "label", or leave the cell "missing".
        other_label: what the catch-all is called.
        arrow_type: the Arrow type of the output, as `str(type)` writes it.
        decimals: a decimal's ticks are 10^-decimals; for times in text, places of the second's fraction.
        min_decimals: text shows at least so many places; equal to decimals, the places are fixed. For integers:
            so many zeros, as in 3.0.
        significant: digits that a float's text shows at most.
        unit: what a tick of a datetime, time or duration is.
        format: pattern of dates and times in text, after strptime; %-d and the like have no leading zero.
        zone: how text spells the zone of every value, such as "Z" or "+01:00"; None for local times without one.
        decimal_mark: of numbers in text.
        thousands: mark between groups of three digits in text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=False)

    name: str
    type: ColumnKind
    categories: Literal["discover"] | tuple[str, ...] | None = None
    range: Literal["discover"] | tuple[Bound, Bound] | None = None
    missing: Literal["discover", "never"] = "discover"
    static: bool = False
    key: bool = False
    key_pattern: str | None = None
    drop: bool = False
    other: Literal["resample", "label", "missing"] = "resample"
    other_label: str = "(other)"
    arrow_type: str = ""
    decimals: int = Field(default=0, ge=0, le=18)
    min_decimals: int = Field(default=0, ge=0, le=18)
    significant: int = Field(default=17, ge=1, le=17)
    unit: Unit = "us"
    format: str | None = None
    zone: str | None = None
    decimal_mark: Literal[".", ","] = "."
    thousands: Literal["none", ".", ",", " ", "'"] = "none"

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = dict(data)
        data.setdefault("min_decimals", data.get("decimals", 0))
        kind = str(data.get("type", ""))
        if not data.get("arrow_type") and kind in _KINDS:
            data["arrow_type"] = default_arrow_type(ColumnKind(kind), data.get("unit", "us"))
            if kind == "datetime" and data.get("zone"):
                data["arrow_type"] = data["arrow_type"].replace("]", f", tz={zone_of(str(data['zone']))}]")
        if kind in TEXT_KINDS and data.get("categories") is None and not (data.get("key") or data.get("drop")):
            data["categories"] = "discover"
        return data

    @field_validator("categories", mode="before")
    @classmethod
    def _categories(cls, value: Any) -> Any:
        if value is None or value == "discover":
            return value
        if not isinstance(value, (list, tuple)):
            raise ValueError('expected a list of values, or "discover"')
        words = tuple(_word(v) for v in value)
        if not words:
            raise ValueError("expected at least one value in the list")
        repeated = sorted({w for w in words if words.count(w) > 1}) if len(words) < 10_000 else []
        if repeated:
            raise ValueError(f"the list names {repeated[0]!r} twice")
        return words

    @field_validator("range", mode="before")
    @classmethod
    def _range(cls, value: Any) -> Any:
        if value is None or value == "discover":
            return value
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            raise ValueError('expected [lowest, highest], or "discover"')
        return tuple(_bound(v) for v in value)

    @model_validator(mode="after")
    def _consistent(self) -> ColumnSpec:
        kind = self.type
        if kind is ColumnKind.DECIMAL and self.decimals < 1:
            raise ValueError("type decimal needs `decimals`, the number of places after the point")
        if self.min_decimals > self.decimals and kind is not ColumnKind.INTEGER:
            raise ValueError("min_decimals is larger than decimals")
        if self.range is not None and (kind in TEXT_KINDS or kind is ColumnKind.EMPTY):
            raise ValueError(f"a column of type {kind} has no range")
        if self.categories is not None and kind is ColumnKind.FLOAT:
            raise ValueError("type float has no categories: use type decimal with `decimals`, or text")
        if self.categories is not None and kind is ColumnKind.EMPTY:
            raise ValueError("an empty column has no categories")
        if isinstance(self.range, tuple) and isinstance(self.categories, tuple):
            raise ValueError("give either a range or a list of categories")
        if self.key and self.static:
            raise ValueError("a key can't be static: it is made up anew")
        self._check_public()
        return self

    def _check_public(self) -> None:
        try:
            if isinstance(self.categories, tuple):
                ticks = [self.tick(c) for c in self.categories] if self.physical != "text" else []
                if len(set(ticks)) < len(ticks):
                    raise ValueError("two of the listed categories are the same value")
            bounds = self.bounds
        except SpecError as error:
            raise ValueError(error.message.removeprefix(f"column {self.name!r}: ")) from None
        if bounds is not None and bounds[0] > bounds[1]:
            raise ValueError("the lowest value of the range is above the highest")

    @property
    def physical(self) -> Physical:
        """How values are held: int64 "ticks", "float" (float64) or "text"."""
        if self.type in TEXT_KINDS or self.type is ColumnKind.EMPTY:
            return "text"
        return "float" if self.type is ColumnKind.FLOAT else "ticks"

    @property
    def is_category(self) -> bool:
        """Whether values are named categories, not amounts or times."""
        return self.type in TEXT_KINDS or self.categories is not None

    @property
    def is_number(self) -> bool:
        """Whether values are amounts or times with an order and a distance."""
        return not self.is_category and self.type is not ColumnKind.EMPTY

    @property
    def is_modelled(self) -> bool:
        """Whether a generator learns the column."""
        return not (self.key or self.drop or self.type is ColumnKind.EMPTY)

    @property
    def bounds(self) -> tuple[int, int] | tuple[float, float] | None:
        """Lowest and highest physical value of a public range; never outside it."""
        if not isinstance(self.range, tuple):
            return None
        low = self._physical(self.range[0], ROUND_CEILING)
        return low, self._physical(self.range[1], ROUND_FLOOR)

    @property
    def zone_name(self) -> str | None:
        """The zone of a zone-aware column, None for local times."""
        if "tz=" in self.arrow_type:
            return self.arrow_type.split("tz=")[1].rstrip("]>")
        return None

    def tick(self, value: Any) -> Any:
        """The physical value of a public bound or category.

        Args:
            value: a number, an ISO date or time, or the column's own spelling.

        Returns:
            int ticks; float for a float column; text for a text column.

        Raises:
            SpecError: when the value can't stand in this column.
        """
        if self.physical == "text":
            return self._word(value)
        return self._physical(value, ROUND_HALF_EVEN)

    def _word(self, value: Any) -> str:
        word = _word(value)
        if self.type is ColumnKind.BOOLEAN and word not in ("true", "false"):
            raise SpecError(f"column {self.name!r}: expected true or false as a category, got {word!r}.")
        return word

    def _physical(self, value: Any, rounding: str) -> Any:
        if self.type in (ColumnKind.INTEGER, ColumnKind.DECIMAL):
            number = self._number(value).scaleb(self.decimals).to_integral_value(rounding=rounding)
            return self._in_int64(int(number))
        if self.type is ColumnKind.FLOAT:
            real = float(self._number(value))
            if not math.isfinite(real):
                raise SpecError(f"column {self.name!r}: expected a finite number, got {value!r}.")
            return real + 0.0
        if isinstance(value, int) and self.type is ColumnKind.DURATION:
            return self._in_int64(value)
        from dpfy.schema.clock_text import parse_public

        return self._in_int64(parse_public(_word(value), self))

    def _number(self, value: Any) -> Decimal:
        text = _word(value).strip()
        if self.thousands != "none":
            text = text.replace(self.thousands, "")
        if self.decimal_mark == "," and not isinstance(value, (int, float)):
            text = text.replace(",", ".")
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite():
            raise SpecError(f"column {self.name!r}: expected a number, got {value!r}.")
        return number

    def _in_int64(self, ticks: int) -> int:
        if not -_INT64 <= ticks < _INT64:
            raise SpecError(f"column {self.name!r}: a listed value is too large for 64 bits.")
        return ticks

    def to_arrow(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> pa.Array:
        """Values as an array of exactly `arrow_type`.

        Args:
            values: int64 ticks, float64, or text, of shape (rows,); anything where missing.
            missing: bool of shape (rows,).

        Raises:
            SpecError: when a value does not fit the type.
        """
        from dpfy.schema.arrow_output import to_arrow

        return to_arrow(self, values, missing)

    def to_text(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> pa.Array:
        """Values spelled as in the source's text.

        Args:
            values: int64 ticks, float64, or text, of shape (rows,); anything where missing.
            missing: bool of shape (rows,).

        Returns:
            String array with null where missing.
        """
        from dpfy.schema.spelling import to_text

        return to_text(self, values, missing)


def has_clock(kind: ColumnKind) -> bool:
    """Whether values of the kind have a unit."""
    return kind in CLOCK_KINDS


def unit_ticks(unit: str) -> int:
    """Ticks in a second."""
    return int(10 ** UNIT_DIGITS[unit])


def _word(value: Any) -> str:
    """A public value as written: YAML's booleans and numbers keep their spelling."""
    spelling = getattr(value, "spelling", None)
    if isinstance(spelling, str):
        return spelling
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if isinstance(value, Decimal):
        return str(value)
    raise SpecError(f"expected a text, a number or a date, got {type(value).__name__}.")


def _bound(value: Any) -> Bound:
    if isinstance(value, bool):
        raise ValueError("expected numbers or ISO dates as range")
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else value
    return _word(value)
