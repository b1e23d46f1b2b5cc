"""What the pictures of a column show: shares of single values and a histogram of the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpfy.quality.binning import CodeArray, ColumnBins
from dpfy.quality.figures import Bar, Distribution
from dpfy.quality.values import ColumnValues, FloatArray, number_word

MOST_BARS = 12
_HISTOGRAM_BINS = 28
_TRIMMED = 0.005


def distribution(bins: ColumnBins, columns: Sequence[ColumnValues], codes: Sequence[CodeArray]) -> Distribution:
    """One column's distribution.

    Args:
        bins: the bins of the column.
        columns: its values in (real, synthetic).
        codes: its codes in (real, synthetic).
    """
    if bins.words is not None or bins.points is not None:
        bars = _value_bars(bins, codes)
        kind = columns[0].kind
        if bins.words is None and kind == "date":
            bars = tuple(_dated(bar) for bar in bars)
        return Distribution(name=columns[0].name, kind=kind, bars=_with_missing(bars, columns))
    return _histogram(bins, columns)


def _share(mask: np.ndarray) -> float | None:
    return float(mask.mean()) if len(mask) else None


def _value_bars(bins: ColumnBins, codes: Sequence[CodeArray]) -> tuple[Bar, ...]:
    counts = [np.bincount(c, minlength=bins.size).astype(float) for c in codes]
    shares = [n / n.sum() if n.sum() else None for n in counts]

    def bar(label: str, chosen: list[int]) -> Bar:
        both = [None if s is None else float(s[chosen].sum()) for s in shares]
        return Bar(label=label, real=both[0], synthetic=both[1])

    shown = list(range(min(MOST_BARS, bins.missing)))
    rest = list(range(len(shown), bins.missing))
    bars = [bar(bins.label(code) or "(empty text)", [code]) for code in shown]
    if rest:
        bars.append(bar(f"{len(rest):,} other values", rest))
    unseen = bar("not in the real table", [bins.missing + 1])
    if unseen.synthetic:
        bars.append(unseen)
    return tuple(bars)


def _with_missing(bars: tuple[Bar, ...], columns: Sequence[ColumnValues]) -> tuple[Bar, ...]:
    missing = [_share(column.missing) for column in columns]
    if any(missing):
        bars = (*bars, Bar(label="missing", real=missing[0], synthetic=missing[1]))
    return bars


def _dated(bar: Bar) -> Bar:
    try:
        seconds = float(bar.label)
        label = date_word(seconds)
    except ValueError:
        return bar
    return Bar(label=label, real=bar.real, synthetic=bar.synthetic)


def date_word(seconds: float) -> str:
    """A moment as YYYY-MM-DD, with the time of day (UTC) where it is not midnight."""
    if not np.isfinite(seconds) or abs(seconds) > 3e11:
        return "out of range"
    moment = np.datetime64(int(seconds), "s")
    return str(moment).replace("T", " ") if seconds % 86400 else str(moment.astype("datetime64[D]"))


def _edges(values: FloatArray, kind: str) -> tuple[FloatArray, bool]:
    low, high = np.quantile(values, [_TRIMMED, 1 - _TRIMMED], method="nearest")
    clipped = bool(values.min() < low or values.max() > high)
    if kind == "number" and np.all(values == np.floor(values)) and high - low < 1e15:
        step = max(1.0, np.ceil((high - low + 1) / _HISTOGRAM_BINS))
        return np.arange(low, high + step + 0.5, step) - 0.5, clipped
    if high <= low or not np.isfinite(high - low):
        high = low + max(1.0, abs(low) * 1e-6)
    if kind == "date" and high - low >= 40 * 86400:
        step = max(1.0, np.ceil((high - low) / 86400 / _HISTOGRAM_BINS)) * 86400.0
        return np.arange(np.floor(low / 86400) * 86400, high + step, step), clipped
    return np.linspace(low, high, _HISTOGRAM_BINS + 1), clipped


def _histogram(bins: ColumnBins, columns: Sequence[ColumnValues]) -> Distribution:
    kind = columns[0].kind
    bars = []
    rest = []
    for column in columns:
        finite = column.finite()
        rest.append(finite[np.isfinite(finite) & ~np.isin(finite, bins.heavy)])
    for value in bins.heavy:
        label = number_word(float(value)) or ""
        if kind == "date":
            label = date_word(float(value))
        shares = [_share(column.numbers == value) for column in columns]
        bars.append(Bar(label=label, real=shares[0], synthetic=shares[1]))
    shown = _with_missing(tuple(bars), columns)
    if not len(rest[0]):
        return Distribution(name=columns[0].name, kind=kind, bars=shown)
    edges, clipped = _edges(rest[0], kind)
    heights = []
    for column, values in zip(columns, rest, strict=True):
        inside = np.clip(values, edges[0], edges[-1])
        heights.append(np.histogram(inside, edges)[0] / max(1, len(column)))
    clipped = clipped or bool(len(rest[1]) and (rest[1].min() < edges[0] or rest[1].max() > edges[-1]))
    return Distribution(
        name=columns[0].name,
        kind=kind,
        bars=shown,
        edges=tuple(map(float, edges)),
        real=tuple(map(float, heights[0])),
        synthetic=tuple(map(float, heights[1])),
        clipped=clipped,
    )
