"""What type a text column has, judged over all its cells, batch by batch.

Only types and formats are learnt here. They are listed as not protected; no value, range or category is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpfy.ingest.datetimes import ClockEvidence, clock_families

if TYPE_CHECKING:
    import pyarrow as pa

Mark = Literal[".", ","]

# Words that often stand for "missing". They are public: notes may name them.
LIKELY_MARKERS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "Null", "null", "None", "none", "-", "?", "#N/A", ".")
_WHOLE = r"^-?(?:0|[1-9]\d*)$"
_LOW_DISTINCT = 20


def number_regex(mark: Mark, thousands: str = "auto") -> str:
    """Numbers with this decimal mark.

    Args:
        mark: the decimal mark.
        thousands: what may stand between groups of three digits: "none", a mark, or "auto" for the other of the two
            decimal marks.
    """
    point = r"\." if mark == "." else ","
    group = group_mark(mark) if thousands == "auto" else thousands
    if group == "none":
        return rf"^-?(?P<whole>0|[1-9]\d*|)(?:{point}(?P<places>\d+))?(?P<power>[eE][+-]?\d+)?$"
    group = "\\" + group if group == "." else group
    return (
        rf"^-?(?P<whole>0|[1-9]\d*|[1-9]\d{{0,2}}(?:{group}\d{{3}})+|)"
        rf"(?:{point}(?P<places>\d+))?(?P<power>[eE][+-]?\d+)?$"
    )


def group_mark(mark: Mark) -> str:
    """The usual mark between groups of three digits, beside a decimal mark."""
    return "," if mark == "." else "."


@dataclass
class NumberForm:
    """How the numbers of a column are written, under one decimal mark.

    Args:
        mark: the decimal mark.
        group: the mark between groups of three digits, or "none".
        alive: every cell so far is such a number.
        whole: most digits before the mark.
        most: most places.
        least: fewest places.
        digits: most significant digits.
        power: some have an exponent.
        grouped: some have groups of three digits.
        zeros: all places are zeros.
        marked: some have a decimal mark.
    """

    mark: Mark
    group: str
    alive: bool = True
    whole: int = 0
    most: int = 0
    least: int = 99
    digits: int = 0
    power: bool = False
    grouped: bool = False
    zeros: bool = True
    marked: bool = False

    def add_whole(self, cells: pa.Array) -> None:
        """Takes in cells that are plain whole numbers."""
        import pyarrow.compute as pc

        longest = pc.max(pc.utf8_length(cells)).as_py() or 0
        if longest > 17:
            longest = pc.max(pc.utf8_length(pc.utf8_ltrim(cells, "-"))).as_py()
        self.whole = max(self.whole, longest)
        self.digits = max(self.digits, longest)
        self.least = 0

    def add(self, cells: pa.Array) -> None:
        """Takes in distinct cells."""
        import pyarrow.compute as pc

        found = pc.extract_regex(cells, number_regex(self.mark, self.group))
        whole, places, power = (pc.struct_field(found, n) for n in ("whole", "places", "power"))
        bare = pc.and_(pc.equal(whole, ""), pc.equal(places, ""))
        if found.null_count or pc.any(bare).as_py():
            self.alive = False
            return
        if self.group != "none" and pc.any(pc.match_substring(whole, self.group)).as_py():
            self.grouped = True
            whole = pc.replace_substring(whole, self.group, "")
        count = pc.utf8_length(places)
        before = pc.utf8_length(whole)
        self.whole = max(self.whole, pc.max(before).as_py() or 0)
        self.most = max(self.most, pc.max(count).as_py() or 0)
        self.least = min(self.least, pc.min(count).as_py() or 0)
        self.marked = self.marked or self.most > 0
        self.power = self.power or bool(pc.any(pc.not_equal(power, "")).as_py())
        if self.power and self.grouped:
            self.alive = False
            return
        shown = pc.utf8_ltrim(pc.binary_join_element_wise(whole, places, ""), "0")
        self.digits = max(self.digits, pc.max(pc.utf8_length(shown)).as_py() or 0)
        if self.zeros:
            self.zeros = not pc.any(pc.not_equal(pc.utf8_trim(places, "0"), "")).as_py()


@dataclass
class ColumnEvidence:
    """What the cells of one text column show.

    Args:
        numbers: whether numbers are looked for (not in JSON strings).
        pattern: the owner's date pattern for the column.
        thousands: the mark between groups of three digits, "none" or "auto".
    """

    numbers: bool = True
    pattern: str | None = None
    thousands: str = "auto"
    seen: bool = False
    rows: int = 0
    markers: set[str] = field(default_factory=set)
    forms: list[NumberForm] = field(default_factory=list)
    clocks: list[ClockEvidence] | None = None
    blanks: bool = False
    padded: bool = True
    counter: int | None = 0
    low: set[str] | None = field(default_factory=set)
    beyond: bool = False
    all_distinct: bool = True
    partly_zoned: bool = False

    def __post_init__(self) -> None:
        if self.numbers and self.pattern is None:
            marks: tuple[Mark, ...] = (".", ",")
            self.forms = [
                NumberForm(mark=m, group=group_mark(m) if self.thousands == "auto" else self.thousands)
                for m in marks
                if m != self.thousands
            ]

    def __repr__(self) -> str:
        return "ColumnEvidence(private)"

    @property
    def is_text(self) -> bool:
        """Whether nothing but text is left."""
        return self.seen and not any(f.alive for f in self.forms) and not self.clocks

    def add(self, cells: pa.Array) -> None:
        """Takes in the next cells of the column.

        Args:
            cells: text, null where missing.
        """
        import pyarrow.compute as pc

        self._count_rows(cells)
        if self.is_text and not self.all_distinct and not self.padded:
            return
        present = cells.drop_null() if cells.null_count else cells
        distinct = present.unique()
        self.all_distinct = self.all_distinct and len(distinct) == len(present)
        if not len(distinct):
            return
        if self.padded or not self.blanks:
            around = pc.match_substring_regex(distinct, r"^\s|\s$")
            self.blanks = self.blanks or bool(pc.any(around).as_py())
            self.padded = self.padded and bool(pc.all(around).as_py())
        if self.is_text:
            return
        if self.blanks:
            distinct = pc.utf8_trim_whitespace(distinct).unique()
            distinct = distinct.filter(pc.not_equal(distinct, ""))
        distinct = self._without_markers(distinct)
        if len(distinct):
            self._judge(distinct)

    def _count_rows(self, cells: pa.Array) -> None:
        """Whether the column counts rows from 0 or 1, as an index saved by a data-frame library does."""
        rows, first = self.rows, self.counter
        self.rows += len(cells)
        if first is None:
            return
        if cells.null_count or not len(cells):
            self.counter = None if cells.null_count else first
            return
        start = cells[0].as_py()
        if rows == 0:
            first = 1 if start == "1" else 0
        # A cheap look at the ends before the whole batch is compared.
        expected = (rows + first, rows + first + len(cells) - 1)
        if (start, cells[-1].as_py()) != (str(expected[0]), str(expected[1])):
            self.counter = None
            return
        import pyarrow as pa

        counted = pa.array(np.arange(expected[0], expected[1] + 1)).cast(pa.string())
        self.counter = first if cells.equals(counted) else None

    def _without_markers(self, distinct: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        hits = pc.is_in(distinct, value_set=pa.array(LIKELY_MARKERS))
        if not pc.any(hits).as_py():
            return distinct
        self.markers |= set(distinct.filter(hits).to_pylist())
        return distinct.filter(pc.invert(hits))

    def _judge(self, distinct: Any) -> None:
        import pyarrow.compute as pc

        first = not self.seen
        self.seen = True
        living = [f for f in self.forms if f.alive]
        if living:
            if pc.all(pc.match_substring_regex(distinct, _WHOLE)).as_py():
                for form in living:
                    form.add_whole(distinct)
                self._note_integers(distinct)
            else:
                self.low = None
                for form in living:
                    form.add(distinct)
        if any(f.alive for f in self.forms):
            return
        if first:
            self.clocks = clock_families(distinct[0].as_py(), self.pattern)
        if self.clocks:
            left = [c for c in self.clocks if c.add(distinct)]
            if not left:
                self.partly_zoned = any(c.fits_without_zone(distinct) for c in self.clocks)
            self.clocks = left

    def _note_integers(self, distinct: Any) -> None:
        import pyarrow.compute as pc

        if self.low is not None:
            self.low = self.low | set(distinct.to_pylist()) if len(distinct) <= _LOW_DISTINCT else None
            if self.low is not None and len(self.low) > _LOW_DISTINCT:
                self.low = None
        long = distinct.filter(pc.greater_equal(pc.utf8_length(distinct), 19))
        self.beyond = self.beyond or any(not -(2**63) <= int(c) < 2**63 for c in long.to_pylist())

    @property
    def looks_like_codes(self) -> bool:
        """Few whole numbers in many rows: perhaps categories."""
        return self.low is not None and bool(self.low) and self.rows >= 10 * len(self.low)
