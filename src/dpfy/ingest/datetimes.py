"""Dates and times in text: one pattern for a whole column, proven by all its cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dpfy.schema import ColumnKind, ColumnSpec
from dpfy.schema.kinds import zone_of

if TYPE_CHECKING:
    import pyarrow as pa

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_LONG = "(?:january|february|march|april|june|july|august|september|october|november|december)"
_DATE = re.compile(
    rf"(?P<ymd>\d{{4}}(?P<s1>[-/.])\d{{1,2}}(?P=s1)\d{{1,2}})"
    rf"|(?P<two>\d{{1,2}}(?P<s2>[-/.])\d{{1,2}}(?P=s2)(?P<year>\d{{4}}|\d{{2}})(?!\d))"
    rf"|(?P<dmy>\d{{1,2}}(?P<s3>[-/ .]| )(?i:(?P<long>{_LONG})|{_MONTH})(?P=s3)(?P<year2>\d{{4}}|\d{{2}})(?!\d))"
    rf"|(?P<mdy>(?i:(?P<long2>{_LONG})|{_MONTH}) \d{{1,2}},? \d{{4}})"
)
_CLOCK = re.compile(
    r"\d{1,2}:\d{2}(?P<second>:\d{2}(?P<point>[.,])?(?(point)\d{1,9}))?(?P<noon> ?[AaPp][Mm])?"
    r"(?P<zone> ?(?:Z|z|[+-]\d{2}(?::?\d{2})?))?"
)


@dataclass
class ClockEvidence:
    """One pattern that may fit the column, and what the cells show about its details.

    Args:
        kind: date, datetime or time.
        pattern: with all leading zeros optional.
    """

    kind: ColumnKind
    pattern: str
    unit: Literal["us", "ns"] = "us"
    padded: dict[str, bool] = field(default_factory=dict)
    fraction: int = 0
    always_fraction: bool = True
    zones: set[str] = field(default_factory=set)

    def __repr__(self) -> str:
        return f"ClockEvidence({self.pattern})"

    def add(self, cells: pa.Array) -> bool:
        """Takes in distinct cells.

        Returns:
            Whether the pattern still fits all of them.
        """
        import pyarrow.compute as pc

        from dpfy.schema.clock_text import compile_pattern

        found = pc.extract_regex(cells, compile_pattern(self.pattern).regex)
        if found.null_count:
            return False
        for name in compile_pattern(self.pattern).fields:
            text = pc.struct_field(found, name)
            if name in ("day", "month", "hour", "half"):
                shortest = pc.min(pc.utf8_length(text)).as_py()
                self.padded[name] = self.padded.get(name, True) and shortest == 2
            elif name == "fraction":
                count = pc.utf8_length(text)
                self.fraction = max(self.fraction, pc.max(count).as_py())
                self.always_fraction = self.always_fraction and pc.min(count).as_py() > 0
            elif name == "zone":
                self.zones |= set(pc.unique(text).to_pylist())
        if self.fraction > 6:
            self.unit = "ns"
        return self._exists(cells)

    def fits_without_zone(self, cells: pa.Array) -> bool:
        """Whether the pattern would fit if a zone stood in some cells and not in others."""
        import pyarrow.compute as pc

        from dpfy.schema.clock_text import compile_pattern

        zoned = self.pattern.removesuffix("%z").rstrip() + "%z"
        regex = compile_pattern(zoned).regex.removesuffix("$") + "?$"
        return self.kind is ColumnKind.DATETIME and bool(pc.all(pc.match_substring_regex(cells, regex)).as_py())

    def _exists(self, cells: pa.Array) -> bool:
        """Whether all cells are days of the calendar and times of the day."""
        from dpfy.schema.clock_text import parse_clock

        arrow_type = f"timestamp[{self.unit}, tz=UTC]" if "%z" in self.pattern else ""
        spec = ColumnSpec(name="probe", type=self.kind, unit=self.unit, arrow_type=arrow_type)
        _, good = parse_clock(cells, spec, self.pattern)
        return bool(good.all())

    def details(self) -> dict[str, Any]:
        """Fields of the column's schema."""
        pattern = self.pattern
        for token, name in (("%-d", "day"), ("%-m", "month"), ("%-H", "hour"), ("%-I", "half")):
            if self.padded.get(name, True):
                pattern = pattern.replace(token, token.replace("-", ""))
        if not self.fraction:
            pattern = pattern.replace(".%f", "").replace(",%f", "")
        fields: dict[str, Any] = {"type": self.kind, "format": pattern}
        if self.kind is not ColumnKind.DATE:
            fields["unit"] = next(u for u, n in (("s", 0), ("ms", 3), ("us", 6), ("ns", 9)) if self.fraction <= n)
            fields["decimals"] = self.fraction
            fields["min_decimals"] = self.fraction if self.always_fraction else 0
        if self.zones:
            fields |= self._zone_details()
        return fields

    def _zone_details(self) -> dict[str, Any]:
        only = next(iter(self.zones)) if len(self.zones) == 1 else None
        spelled = only if only is not None else ("Z" if "Z" in self.zones else "+00:00")
        stored = "us" if self.fraction <= 6 else "ns"
        return {"zone": spelled, "arrow_type": f"timestamp[{stored}, tz={zone_of(spelled)}]"}


def clock_families(cell: str, pattern: str | None) -> list[ClockEvidence]:
    """Patterns that fit a first cell.

    Args:
        cell: a cell without blanks around it.
        pattern: the owner's pattern, which is then the only one.

    Returns:
        None, one, or two where day and month can't be told apart yet.
    """
    if pattern is not None:
        return [ClockEvidence(kind=pattern_kind(pattern), pattern=_lenient(pattern))]
    if clock := _CLOCK.fullmatch(cell):
        return [] if clock["zone"] else [ClockEvidence(kind=ColumnKind.TIME, pattern=_clock_pattern(clock, cell))]
    found = _DATE.match(cell)
    if found is None:
        return []
    rest = cell[found.end() :]
    kind, tail = ColumnKind.DATE, ""
    if rest:
        between = re.match(r"T|t|, | +", rest)
        clock = _CLOCK.fullmatch(rest[between.end() :]) if between else None
        if between is None or clock is None:
            return []
        kind, tail = ColumnKind.DATETIME, between.group() + _clock_pattern(clock, rest)
    return [ClockEvidence(kind=kind, pattern=date + tail) for date in _date_patterns(found)]


def _date_patterns(found: re.Match[str]) -> list[str]:
    if found["ymd"]:
        s = found["s1"]
        return [f"%Y{s}%-m{s}%-d"]
    if found["two"]:
        s = found["s2"]
        year = "%Y" if len(found["year"]) == 4 else "%y"
        return [f"%-d{s}%-m{s}{year}", f"%-m{s}%-d{s}{year}"]
    if found["dmy"]:
        s = found["s3"]
        year = "%Y" if len(found["year2"]) == 4 else "%y"
        return [f"%-d{s}{month}{s}{year}" for month in ("%b", "%B")]
    comma = "," if "," in found.group() else ""
    return [f"{month} %-d{comma} %Y" for month in ("%b", "%B")]


def _clock_pattern(clock: re.Match[str], text: str) -> str:
    pattern = "%-I:%M" if clock["noon"] else "%-H:%M"
    if clock["second"]:
        # The first cell may be a whole second without a fraction; others may have one.
        pattern += f":%S{clock['point'] or '.'}%f"
    if clock["noon"]:
        token = "%P" if clock["noon"].islower() else "%p"
        pattern += f" {token}" if clock["noon"].startswith(" ") else token
    if clock["zone"]:
        pattern += " %z" if clock["zone"].startswith(" ") else "%z"
    return pattern


def pattern_kind(pattern: str) -> ColumnKind:
    """Date, datetime or time, by what a pattern names."""
    dated = any(t in pattern for t in ("%Y", "%y"))
    timed = any(t in pattern for t in ("%H", "%-H", "%I", "%-I"))
    if dated and timed:
        return ColumnKind.DATETIME
    return ColumnKind.DATE if dated else ColumnKind.TIME


def _lenient(pattern: str) -> str:
    return re.sub(r"%([dmHI])", r"%-\1", pattern)
