"""Small pictures as SVG text. They scale with the page, carry a spoken description and need no script."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from dpfy.quality.distributions import date_word
from dpfy.quality.figures import Bar, Distribution

WIDTH = 320
_LABEL = 114
_VALUES = 76
_ROW = 21
_PLOT = 118
_DAY = 86400.0
_LETTER = 6.0  # width of a label's letter
_YEAR = 365.2425 * _DAY


def shortened(text: str, most: int) -> str:
    """The text cut to so many characters, with an ellipsis."""
    flat = " ".join(text.split()) or "(blank)"
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def percent(share: float | None) -> str:
    """A share as a short percentage."""
    if share is None:
        return "–"
    if share == 0:
        return "0%"
    return "<0.1%" if share < 0.001 else f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def compact(value: float) -> str:
    """A number as a short axis label."""
    size = abs(value)
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if limit <= size < 1e15:
            return f"{value / (1e3 if unit == 'k' else limit):.6g}{unit}"
    return f"{value:.6g}"


def frame(height: float, description: str, body: str, width: int = WIDTH) -> str:
    """An SVG element that fills the width of its box."""
    spoken = escape(description, quote=True)
    return (
        f'<svg viewBox="0 0 {width} {height:g}" role="img" aria-label="{spoken}" '
        f'xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height:.1f}" class="{kind}"/>'


def _bar_rows(bars: Sequence[Bar], top: float) -> str:
    """One line a bar: the synthetic bar lies, thinner, over the real one."""
    most = max([bar.real or 0.0 for bar in bars] + [bar.synthetic or 0.0 for bar in bars] + [1e-9])
    room = WIDTH - _LABEL - _VALUES
    parts = []
    for place, bar in enumerate(bars):
        y = top + place * _ROW
        said = f"{bar.label}: real {percent(bar.real)}, synthetic {percent(bar.synthetic)}"
        quiet = "quiet" if bar.label == "missing" or bar.label.endswith(" other values") else ""
        parts.append(
            f"<g><title>{escape(said)}</title>"
            + _text(_LABEL - 6, y + 13.5, shortened(bar.label, 16), anchor="end", kind=quiet)
            + _rect(_LABEL, y + 2, room * (bar.real or 0.0) / most, 15, "real")
            + _rect(_LABEL, y + 6, room * (bar.synthetic or 0.0) / most, 7, "made")
            + _text(WIDTH, y + 13.5, f"{percent(bar.real)} · {percent(bar.synthetic)}", anchor="end", kind="value")
            + "</g>"
        )
    return "".join(parts)


def distribution_picture(item: Distribution) -> str:
    """One column's distribution: an outline over an axis for the histogram, bars for single values."""
    said = f"Distribution of {item.name}, real against synthetic. "
    said += "; ".join(f"{bar.label}: {percent(bar.real)} against {percent(bar.synthetic)}" for bar in item.bars)
    body, top = "", 0.0
    if item.edges:
        body, top = _outlines(item), _PLOT + 36.0
    if item.bars:
        body += _bar_rows(item.bars, top)
        top += _ROW * len(item.bars)
    if not body:
        body, top = _text(0, 16, "no values in the real table", kind="quiet"), 24.0
    return frame(top + 2, said.strip(), body)


def _outlines(item: Distribution) -> str:
    left, right, base, top = 34.0, WIDTH - 8.0, _PLOT + 12.0, 12.0
    low, high = item.edges[0], item.edges[-1]
    most = max([*item.real, *item.synthetic, 1e-12])
    across: Callable[[float], float] = lambda v: left + (right - left) * (v - low) / ((high - low) or 1.0)  # noqa: E731
    up: Callable[[float], float] = lambda share: base - (base - top) * share / most  # noqa: E731

    def steps(shares: Sequence[float]) -> str:
        points = [f"M{left:.1f} {base:.1f}"]
        for place, share in enumerate(shares):
            points.append(f"V{up(share):.1f}H{across(item.edges[place + 1]):.1f}")
        return "".join(points) + f"V{base:.1f}"

    parts = [
        f'<path d="M{left} {up(most):.1f}H{right}M{left} {up(most / 2):.1f}H{right}" class="grid"/>',
        f'<path d="{steps(item.real)}Z" class="real-area"/>',
        f'<path d="{steps(item.synthetic)}" class="made-line"/>' if any(item.synthetic) else "",
        f'<path d="M{left} {base}H{right}" class="axis"/>',
        _text(left - 5, up(most) + 4, percent(most), anchor="end", kind="value"),
        _text(left - 5, base + 1, "0", anchor="end", kind="value"),
    ]
    ticks = date_ticks(low, high) if item.kind == "date" else number_ticks(low, high)
    taken = -math.inf
    for value, label in ticks:
        x = across(value)
        anchor = "start" if x < left + 12 else "end" if x > right - 12 else "middle"
        parts.append(f'<path d="M{x:.1f} {base}v4" class="axis"/>')
        wide = _LETTER * len(label)
        begin = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        # A label that would run into the one before it is left out; its tick stays.
        if begin > taken + _LETTER:
            parts.append(_text(x, base + 16, label, anchor=anchor, kind="value"))
            taken = begin + wide
    return "".join(parts)


def number_ticks(low: float, high: float, wanted: int = 5) -> list[tuple[float, str]]:
    """Round values in [low, high], at steps of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [(low, compact(low))]
    power = 10.0 ** math.floor(math.log10(span / wanted))
    step = next(power * f for f in (1, 2, 5, 10) if span / (power * f) <= wanted)
    first, last = math.ceil(low / step), math.floor(high / step)
    ticks = [(k * step, compact(float(f"{k * step:.12g}"))) for k in range(int(first), int(last) + 1)]
    # Labels that need more digits than the step shows would all read alike.
    return ticks if len({label for _, label in ticks}) == len(ticks) else [(low, f"{low:.15g}")]


def date_ticks(low: float, high: float, wanted: int = 4) -> list[tuple[float, str]]:
    """Starts of years, months or days in [low, high], seconds since 1970-01-01."""
    if not (math.isfinite(low) and math.isfinite(high)) or max(abs(low), abs(high)) > 3e11:
        return []
    span = high - low
    begin, end = np.datetime64(int(low), "s"), np.datetime64(int(high), "s")
    if span > 2.5 * _YEAR:
        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000) if span / (s * _YEAR) <= wanted + 1)
        years = np.arange(begin.astype("datetime64[Y]"), end.astype("datetime64[Y]") + 1)
        return _starts([y for y in years if (y.astype(int) + 1970) % step == 0], low, high, 4)
    if span > 75 * _DAY:
        step = next(s for s in (1, 2, 3, 6, 12) if span / (s * _YEAR / 12) <= wanted + 1)
        months = np.arange(begin.astype("datetime64[M]"), end.astype("datetime64[M]") + 1)
        return _starts([m for m in months if m.astype(int) % step == 0], low, high, 7)
    if span > 3 * _DAY:
        step = next(s for s in (1, 2, 5, 7, 14, 30) if span / (s * _DAY) <= wanted)
        days = np.arange(begin.astype("datetime64[D]"), end.astype("datetime64[D]") + 1)
        return _starts(list(days[::step]), low, high, 10)
    return [(low, date_word(float(int(low)))), (high, date_word(float(int(high))))]


def _starts(moments: Sequence[np.datetime64], low: float, high: float, letters: int) -> list[tuple[float, str]]:
    ticks = [(float(m.astype("datetime64[s]").astype(np.int64)), str(m)[:letters]) for m in moments]
    return [(place, label) for place, label in ticks if low <= place <= high]


def upright_bars(bars: Sequence[Bar], description: str, unit: str) -> str:
    """Upright overlaid bars, for counts in order."""
    left, right, base, top = 34.0, 636.0, 132.0, 12.0
    most = max([bar.real or 0.0 for bar in bars] + [bar.synthetic or 0.0 for bar in bars] + [1e-12])
    slot = (right - left) / max(1, len(bars))
    wide = min(40.0, slot * 0.72)
    parts = [
        f'<path d="M{left} {top}H{right}" class="grid"/>',
        _text(left - 5, top + 4, percent(most), anchor="end", kind="value"),
        _text(left - 5, base, "0", anchor="end", kind="value"),
    ]
    for place, bar in enumerate(bars):
        middle = left + slot * (place + 0.5)
        for share, width, kind in ((bar.real, wide, "real"), (bar.synthetic, wide * 0.45, "made")):
            height = (base - top) * (share or 0.0) / most
            parts.append(_rect(middle - width / 2, base - height, width, height, kind))
        parts.append(_text(middle, base + 15, bar.label, anchor="middle", kind="value"))
    parts.append(f'<path d="M{left} {base}H{right}" class="axis"/>')
    parts.append(_text(right, base + 32, unit, anchor="end", kind="quiet"))
    said = (
        description
        + " "
        + "; ".join(f"{bar.label}: real {percent(bar.real)}, synthetic {percent(bar.synthetic)}" for bar in bars)
    )
    return frame(base + 36, said, "".join(parts), width=640)


def _blend(low: tuple[int, int, int], high: tuple[int, int, int], weight: float) -> str:
    mixed = (round(a + (b - a) * weight) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def association_colour(value: float) -> str:
    """White at 0, dark teal towards 1, dark purple towards -1."""
    end = (0, 84, 92) if value >= 0 else (94, 35, 122)
    return _blend((255, 255, 255), end, min(1.0, abs(value)) ** 0.8)


def difference_colour(value: float) -> str:
    """White at 0, dark red from a difference of one half on."""
    return _blend((255, 255, 255), (140, 20, 30), min(1.0, abs(value) * 2) ** 0.8)


def heat_map(
    names: Sequence[str],
    matrix: Sequence[Sequence[float | None]],
    colour: Callable[[float], str],
    description: str,
) -> str:
    """A square matrix as coloured cells; grey where it is not defined. Labels while there is room."""
    n = len(names)
    labelled = n <= 30
    font = min(11.0, max(5.5, (WIDTH - 94.0) / max(1, n) * 0.85))
    longest = max((len(name) for name in names), default=0)
    margin = min(92.0, longest * font * 0.62 + 8) if labelled else 4.0
    cell = (WIDTH - margin - 2) / max(1, n)
    parts = [_rect(margin, 0, cell * n, cell * n, "sheet")]
    for r, row in enumerate(matrix):
        for c, value in enumerate(row):
            if value is not None and abs(value) < 0.02 and n > 30:
                continue
            title = ""
            if labelled:
                shown = "not defined" if value is None else f"{value:.2f}"
                title = f"<title>{escape(names[r])} × {escape(names[c])}: {shown}</title>"
            place = f'x="{margin + c * cell:.1f}" y="{r * cell:.1f}" width="{cell:.2f}" height="{cell:.2f}"'
            fill = "#d9dbe0" if value is None else colour(value)
            parts.append(f'<rect {place} fill="{fill}">{title}</rect>' if title else f'<rect {place} fill="{fill}"/>')
    if labelled:
        for order, name in enumerate(names):
            middle = (order + 0.5) * cell
            short = escape(shortened(name, int((margin - 7) / (font * 0.62))))
            size = f'style="font-size:{font:.1f}px"'
            parts.append(
                f'<text x="{margin - 4:.1f}" y="{middle + font * 0.35:.1f}" text-anchor="end" {size}>{short}</text>'
            )
            x, y = margin + middle + font * 0.35, cell * n + 5
            parts.append(
                f'<text transform="translate({x:.1f} {y:.1f}) rotate(-90)" text-anchor="end" {size}>{short}</text>'
            )
    return frame(cell * n + (margin if labelled else 4), description, "".join(parts))
