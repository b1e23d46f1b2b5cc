"""Dates and times in text: patterns, reading and writing, for any year from 0001 to 9999."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfy.errors import SpecError
from dpfy.schema.kinds import DAY_SECONDS, UNIT_DIGITS, ColumnKind

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfy.schema.column import ColumnSpec

Ticks = NDArray[np.int64]
Mask = NDArray[np.bool_]

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LONG_MONTHS: tuple[str, ...] = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
ZONE_PATTERN = r"Z|z|[+-]\d{2}(?::?\d{2})?"
_FIELDS = {
    "%Y": ("year", r"\d{4}"),
    "%y": ("short", r"\d{2}"),
    "%m": ("month", r"\d{2}"),
    "%-m": ("month", r"\d{1,2}"),
    "%d": ("day", r"\d{2}"),
    "%-d": ("day", r"\d{1,2}"),
    "%b": ("name", "(?i:" + "|".join(MONTHS) + ")"),
    "%B": ("long", "(?i:" + "|".join(LONG_MONTHS) + ")"),
    "%H": ("hour", r"\d{2}"),
    "%-H": ("hour", r"\d{1,2}"),
    "%I": ("half", r"\d{2}"),
    "%-I": ("half", r"\d{1,2}"),
    "%M": ("minute", r"\d{2}"),
    "%S": ("second", r"\d{2}"),
    "%f": ("fraction", r"\d{1,9}"),
    "%p": ("noon", r"(?i:[ap]m)"),
    "%P": ("noon", r"(?i:[ap]m)"),
    "%z": ("zone", ZONE_PATTERN),
}
_TOKEN = re.compile(r"%-?[A-Za-z]")
_ISO_CLOCKS = ("%H:%M:%S.%f", "%H:%M:%S", "%H:%M")


@dataclass(frozen=True)
class Pattern:
    """A date or time pattern, taken apart.

    Args:
        pieces: tokens such as "%d" and the text between them, in order.
        regex: what matches a whole cell; one named group per token.
        fields: names of the groups.
    """

    pieces: tuple[str, ...]
    regex: str
    fields: frozenset[str]


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Takes a strptime-like pattern apart.

    Raises:
        SpecError: when it holds a token that is not known, or one field twice.
    """
    pieces: list[str] = []
    regex = ""
    fields: list[str] = []
    place = 0
    for found in _TOKEN.finditer(text):
        between, token = text[place : found.start()], found.group()
        if token not in _FIELDS:
            known = " ".join(_FIELDS)
            raise SpecError(f"the pattern {text!r} holds {token}, which is not known.", hint=f"Known: {known}.")
        name, expression = _FIELDS[token]
        if token == "%f" and between in (".", ","):
            # The fraction goes with its point: a whole second may be written without both.
            pieces.append(between + token)
            regex += rf"(?:[.,](?P<{name}>{expression}))?"
        else:
            pieces += [between, token] if between else [token]
            regex += f"{re.escape(between)}(?P<{name}>{expression})"
        fields.append(name)
        place = found.end()
    pieces.append(text[place:])
    regex += re.escape(text[place:])
    if not fields or len(set(fields)) < len(fields):
        raise SpecError(f"the pattern {text!r} names no date or time, or one of its parts twice.")
    return Pattern(pieces=tuple(p for p in pieces if p), regex=f"^{regex}$", fields=frozenset(fields))


def days_from_civil(year: Ticks, month: Ticks, day: Ticks) -> tuple[Ticks, Mask]:
    """Days since 1970-01-01, and which of them exist in the calendar."""
    good = (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1)
    months = (np.where(good, year, 1970) - 1970) * 12 + np.where(good, month, 1) - 1
    first = months.astype("M8[M]")
    date = first.astype("M8[D]") + np.where(good, day, 1) - 1
    good &= date.astype("M8[M]") == first
    return date.astype(np.int64), good


def civil_from_days(days: Ticks) -> tuple[Ticks, Ticks, Ticks]:
    """Year, month and day of days since 1970-01-01."""
    date = days.astype("M8[D]")
    month = date.astype("M8[M]")
    months = month.astype(np.int64)
    return months // 12 + 1970, months % 12 + 1, (date - month.astype("M8[D]")).astype(np.int64) + 1


def parse_clock(array: pa.Array, spec: ColumnSpec, pattern: str | None = None) -> tuple[Ticks, Mask]:
    """Reads dates and times.

    Args:
        array: text without nulls, of shape (rows,).
        spec: the column; its kind, unit and zone decide what a tick is.
        pattern: instead of the column's own.

    Returns:
        int64 ticks, and where the text was a date or time that exists.
    """
    import pyarrow.compute as pc

    taken = compile_pattern(pattern or default_pattern(spec))
    struct = pc.extract_regex(array, taken.regex)
    good = np.asarray(struct.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    fields = {name: _field(struct, name) for name in taken.fields if name not in ("zone", "fraction")}
    days, exists = _days(fields, len(array))
    good &= exists
    if spec.type is ColumnKind.DATE:
        return days, good
    seconds, exists = _seconds(fields, len(array))
    good &= exists
    digits = UNIT_DIGITS[spec.unit]
    ticks = seconds * 10**digits
    if "fraction" in taken.fields:
        part = pc.struct_field(struct, "fraction").fill_null("").cast("string")
        exact = np.asarray(pc.match_substring_regex(part, rf"^\d{{0,{digits}}}0*$").to_numpy(zero_copy_only=False))
        part = pc.utf8_slice_codeunits(pc.utf8_rpad(part, 9, "0"), 0, max(digits, 1))
        if digits:
            ticks += part.cast("int64").to_numpy(zero_copy_only=False)
        good &= exact.astype(bool)
    if spec.type is ColumnKind.DATETIME:
        per_day = DAY_SECONDS * 10**digits
        good &= np.abs(days) < 2**63 // per_day - 1
        ticks = np.where(good, days, 0) * per_day + ticks
        ticks, exists = _to_utc(ticks, struct if "zone" in taken.fields else None, spec)
        good &= exists
    return np.where(good, ticks, 0), good


def _field(struct: pa.Array, name: str) -> Ticks:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.struct_field(struct, name).fill_null("")
    if name in ("name", "long"):
        months = pa.array(MONTHS if name == "name" else LONG_MONTHS)
        found = pc.index_in(pc.utf8_lower(text), value_set=months).fill_null(-1)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64) + 1
    if name == "noon":
        found = pc.equal(pc.utf8_lower(text), "pm").cast("int64")
    else:
        found = pc.if_else(pc.equal(text, ""), "0", text).cast("int64")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def _days(fields: dict[str, Ticks], rows: int) -> tuple[Ticks, Mask]:
    if "year" in fields:
        year = fields["year"]
    elif "short" in fields:
        # The rule of POSIX: 69-99 are of the last century.
        year = fields["short"] + np.where(fields["short"] < 69, 2000, 1900)
    else:
        return np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=bool)
    month = next((fields[n] for n in ("month", "name", "long") if n in fields), np.ones(rows, dtype=np.int64))
    return days_from_civil(year, month, fields.get("day", np.ones(rows, dtype=np.int64)))


def _seconds(fields: dict[str, Ticks], rows: int) -> tuple[Ticks, Mask]:
    zero = np.zeros(rows, dtype=np.int64)
    minute, second = fields.get("minute", zero), fields.get("second", zero)
    hour = fields.get("hour", zero)
    good = (hour < 24) & (minute < 60) & (second < 60)
    if "half" in fields:
        good &= (fields["half"] >= 1) & (fields["half"] <= 12)
        hour = fields["half"] % 12 + 12 * fields.get("noon", zero)
    return hour * 3600 + minute * 60 + second, good


def _to_utc(ticks: Ticks, struct: pa.Array | None, spec: ColumnSpec) -> tuple[Ticks, Mask]:
    import pyarrow.compute as pc

    good = np.ones(len(ticks), dtype=bool)
    if struct is None:
        return from_wall(ticks, spec), good
    text = pc.struct_field(struct, "zone").fill_null("Z")
    parts = pc.extract_regex(text, r"^(?P<sign>[+-])(?P<h>\d{2}):?(?P<m>\d{2})?$")
    sign = np.asarray(pc.equal(pc.struct_field(parts, "sign"), "-").fill_null(False).to_numpy(zero_copy_only=False))
    minutes = _field(parts, "h") * 60 + _field(parts, "m")
    shift = np.where(sign.astype(bool), -minutes, minutes) * 60 * 10 ** UNIT_DIGITS[spec.unit]
    return ticks - shift, minutes < 24 * 60


def from_wall(wall: Ticks, spec: ColumnSpec) -> Ticks:
    """UTC ticks of local wall-clock ticks; hours that a clock change skips move to its end. No zone: the same."""
    if spec.zone_name is None:
        return wall
    import pyarrow as pa
    import pyarrow.compute as pc

    naive = pa.array(wall, type=pa.int64()).cast(pa.timestamp(spec.unit))
    stamps = pc.assume_timezone(naive, spec.zone_name, ambiguous="earliest", nonexistent="latest")
    return np.asarray(stamps.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


def to_wall(ticks: Ticks, spec: ColumnSpec) -> Ticks:
    """Local wall-clock ticks of UTC ticks, so that opening hours stay opening hours. Without a zone, the same."""
    if spec.zone_name is None:
        return ticks
    import pyarrow as pa
    import pyarrow.compute as pc

    stamps = pa.array(ticks, type=pa.int64()).cast(pa.timestamp(spec.unit, tz=spec.zone_name))
    return np.asarray(pc.local_timestamp(stamps).cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


def default_pattern(spec: ColumnSpec) -> str:
    """The column's own pattern, or ISO 8601."""
    if spec.format is not None:
        return spec.format
    clock = "%H:%M:%S" + (".%f" if UNIT_DIGITS[spec.unit] else "")
    if spec.type is ColumnKind.DATE:
        return "%Y-%m-%d"
    if spec.type is ColumnKind.TIME:
        return clock
    return f"%Y-%m-%dT{clock}" + ("%z" if spec.zone_name else "")


def format_clock(ticks: Ticks, spec: ColumnSpec) -> pa.Array:
    """Writes dates and times by the column's pattern.

    Args:
        ticks: int64 of shape (rows,).
        spec: the column.

    Returns:
        String array.
    """
    import pyarrow.compute as pc

    pieces = compile_pattern(default_pattern(spec)).pieces
    parts = _parts(ticks, spec, needs_zone="%z" in pieces)
    arrays = [_piece(piece, parts, spec) for piece in pieces]
    return pc.binary_join_element_wise(*arrays, "") if len(arrays) > 1 else arrays[0]


def _parts(ticks: Ticks, spec: ColumnSpec, needs_zone: bool) -> dict[str, Ticks]:
    per_second = 10 ** UNIT_DIGITS[spec.unit]
    parts: dict[str, Ticks] = {}
    if spec.type is ColumnKind.DATE:
        days, rest = ticks, np.zeros_like(ticks)
    else:
        wall = to_wall(ticks, spec)
        if needs_zone:
            parts["offset"] = (wall - ticks) // (per_second * 60)
        days, rest = wall // (DAY_SECONDS * per_second), wall % (DAY_SECONDS * per_second)
    parts["year"], parts["month"], parts["day"] = civil_from_days(days)
    second = rest // per_second
    parts["fraction"] = rest % per_second
    parts["hour"], parts["minute"], parts["second"] = second // 3600, second // 60 % 60, second % 60
    return parts


def _piece(piece: str, parts: dict[str, Ticks], spec: ColumnSpec) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    token = piece[-2:] if piece.endswith("%f") else piece
    if not token.startswith("%"):
        return pa.array([piece], type=pa.string()).take(pa.array(np.zeros(len(parts["year"]), dtype=np.int64)))
    if token in ("%b", "%B"):
        names = [m.capitalize() for m in (MONTHS if token == "%b" else LONG_MONTHS)]
        return pa.array(names).take(pa.array(parts["month"] - 1))
    if token in ("%p", "%P"):
        return pa.array(["AM", "PM"] if token == "%p" else ["am", "pm"]).take(
            pa.array((parts["hour"] >= 12).astype(np.int64))
        )
    if token == "%z":
        return _zone_text(parts["offset"], spec)
    if token == "%f":
        return _fraction_text(piece[:-2], parts["fraction"], spec)
    name = _FIELDS[token][0]
    if name == "half":
        number = (parts["hour"] + 11) % 12 + 1
    elif name == "short":
        number = parts["year"] % 100
    else:
        number = parts[name]
    text = pa.array(number).cast(pa.string())
    width = 1 if "-" in token else 4 if token == "%Y" else 2
    return pc.utf8_lpad(text, width, "0") if width > 1 else text


def _zone_text(offset: Ticks, spec: ColumnSpec) -> Any:
    import pyarrow as pa

    distinct, place = np.unique(offset, return_inverse=True)
    if spec.zone is not None:
        words = [spec.zone for _ in distinct]
    else:
        words = [f"{'-' if o < 0 else '+'}{abs(o) // 60:02d}:{abs(o) % 60:02d}" for o in distinct.tolist()]
    return pa.array(words, type=pa.string()).take(pa.array(place))


def _fraction_text(point: str, fraction: Ticks, spec: ColumnSpec) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = UNIT_DIGITS[spec.unit]
    places = spec.decimals if spec.format is not None else digits
    fixed = spec.format is not None and spec.min_decimals > 0
    text = pc.utf8_rpad(pc.utf8_lpad(pa.array(fraction).cast(pa.string()), max(digits, 1), "0"), places, "0")
    text = pc.binary_join_element_wise(pa.scalar(point), pc.utf8_slice_codeunits(text, 0, places), "")
    return text if fixed else pc.if_else(pa.array(fraction == 0), "", text)


def parse_public(text: str, spec: ColumnSpec) -> int:
    """Ticks of a public date or time: the column's own spelling, or ISO 8601.

    Raises:
        SpecError: when it is neither.
    """
    import pyarrow as pa

    cell = pa.array([text.strip()], type=pa.string())
    if spec.type is ColumnKind.DURATION:
        try:
            return int(text)
        except ValueError:
            raise SpecError(
                f"column {spec.name!r}: expected a whole number of {spec.unit} as duration, got {text!r}."
            ) from None
    dates = ["%Y-%m-%d"]
    stamps = [f"%Y-%m-%d{between}{clock}" for between in ("T", " ") for clock in _ISO_CLOCKS]
    patterns = {
        ColumnKind.DATE: dates,
        ColumnKind.TIME: list(_ISO_CLOCKS),
        ColumnKind.DATETIME: [*(s + "%z" for s in stamps if spec.zone_name), *stamps, *dates],
    }[spec.type]
    for pattern in [*([spec.format] if spec.format else []), *patterns]:
        ticks, good = parse_clock(cell, spec, pattern)
        if good[0]:
            return int(ticks[0])
    raise SpecError(
        f"column {spec.name!r}: expected a {spec.type} such as {default_pattern(spec)}, got {text!r}.",
        hint="Write it as in ISO 8601.",
    )
