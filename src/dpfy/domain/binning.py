"""From noisy interval counts to bins: post-processing only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.columns import NumberDomain
from dpfy.domain.simplex import projected

Keys = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Leaves:
    """Adjacent intervals with noisy counts.

    Args:
        low: int64 of shape (m,), ascending.
        high: int64 of shape (m,), high[i] == low[i + 1].
        counts: float64, noisy, in records; may be negative.
        variance: float64 of each count.
    """

    low: Keys
    high: Keys
    counts: Floats
    variance: Floats


@dataclass(frozen=True, kw_only=True)
class Atoms:
    """Single values whose noisy count passed the threshold.

    Args:
        keys: int64, ascending.
        counts: float64, noisy, in records.
        variance: of each count.
    """

    keys: Keys
    counts: Floats
    variance: float


def cut_into_bins(leaves: Leaves, most_bins: int) -> NDArray[np.int64]:
    """Chooses leaf borders so that bins hold about equal mass.

    Args:
        leaves: with noisy counts.
        most_bins: >= 1.

    Returns:
        int64: index of the first leaf of each bin, starting with 0.
    """
    total = float(leaves.counts.sum())
    if total <= 0 or most_bins <= 1:
        return np.zeros(1, dtype=np.int64)
    # Not the positive parts: their noise alone would make bins where nothing is.
    mass = projected(leaves.counts, total)
    step = total / most_bins
    starts, held = [0], 0.0
    for index, amount in enumerate(mass):
        # A leaf that would overfill the open bin starts the next one, unless the bin is still less than half full.
        if held > 0.5 * step and held + 0.5 * amount > step:
            starts.append(index)
            held = 0.0
        held += amount
    if held < 0.4 * step and len(starts) > 1:
        starts.pop()
    return np.array(starts, dtype=np.int64)


def atoms_only(own: Keys, *, has_missing: bool, step: int = 1) -> NumberDomain:
    """A domain in which every value has a cell of its own, where nothing else stands out of the noise."""
    none = np.zeros(0, dtype=np.int64)
    return NumberDomain(
        edges=none,
        atoms=own,
        piece_low=none,
        piece_width=none,
        piece_weight=np.zeros(0),
        piece_start=np.zeros(1, dtype=np.int64),
        has_missing=has_missing,
        step=step,
    )


def number_domain(
    leaves: Leaves, own: Keys, inside: Atoms, *, most_bins: int, has_missing: bool, step: int = 1
) -> tuple[NumberDomain, Floats, Floats]:
    """Builds a number domain and its bins' noisy counts.

    Args:
        leaves: intervals that cover the range.
        own: keys that have a cell of their own, ascending.
        inside: other atoms, used to decode bins.
        most_bins: >= 1.
        has_missing: whether a cell for missing exists.
        step: keys are drawn in multiples of it.

    Returns:
        The domain; counts and variances of its bins.
    """
    starts = cut_into_bins(leaves, most_bins)
    ends = np.append(starts[1:], len(leaves.low))
    edges = np.append(leaves.low[starts], leaves.high[-1])
    counts = np.add.reduceat(leaves.counts, starts)
    variance = np.add.reduceat(leaves.variance, starts)
    lows: list[int] = []
    widths: list[int] = []
    weights: list[float] = []
    piece_start = [0]
    for first, last in zip(starts, ends, strict=True):
        low, width, weight = _pieces(leaves, int(first), int(last), inside)
        lows += low
        widths += width
        weights += weight
        piece_start.append(len(lows))
    domain = NumberDomain(
        edges=edges,
        atoms=own,
        piece_low=np.array(lows, dtype=np.int64),
        piece_width=np.array(widths, dtype=np.int64),
        piece_weight=np.array(weights, dtype=np.float64),
        piece_start=np.array(piece_start, dtype=np.int64),
        has_missing=has_missing,
        step=step,
    )
    return domain, counts, variance


def _smoothed(leaves: Leaves, first: int, last: int) -> Floats:
    """Counts of a bin's leaves, drawn towards an even spread as far as noise alone explains how they differ from it.

    **Source:** the linear empirical-Bayes shrinkage of Efron and Morris (1973).
    """
    counts, variance = leaves.counts[first:last], leaves.variance[first:last]
    width = (leaves.high[first:last] - leaves.low[first:last]).astype(np.float64)
    even = counts.sum() * width / width.sum()
    signal = max(0.0, float(((counts - even) ** 2).mean() - variance.mean()))
    share = signal / (signal + variance)
    return projected(even + share * (counts - even), max(float(counts.sum()), 1e-9))


def _pieces(leaves: Leaves, first: int, last: int, atoms: Atoms) -> tuple[list[int], list[int], list[float]]:
    low: list[int] = []
    width: list[int] = []
    weight: list[float] = []
    smooth = _smoothed(leaves, first, last)
    for leaf in range(first, last):
        a, b = int(leaves.low[leaf]), int(leaves.high[leaf])
        inside = (atoms.keys >= a) & (atoms.keys < b)
        # A value that is as frequent as its neighbours is no single value: its noisy count, chosen for being high,
        # would leave a spike there and gaps beside it.
        inside &= atoms.counts > float(smooth[leaf - first]) / (b - a) + 2.0 * atoms.variance**0.5
        held = np.maximum(atoms.counts[inside], 0.0)
        low += [int(k) for k in atoms.keys[inside]]
        width += [1] * int(inside.sum())
        weight += [float(c) for c in held]
        rest = float(smooth[leaf - first]) - float(held.sum())
        doubt = (float(leaves.variance[leaf]) + atoms.variance * int(inside.sum())) ** 0.5
        # What the atoms leave over counts only where it stands out of the noise: else codes that exist nowhere appear.
        if rest > (2.0 * doubt if inside.any() else 0.0) and int(inside.sum()) < b - a:
            low.append(a)
            width.append(b - a)
            weight.append(rest)
    if not weight or sum(weight) <= 0:
        a, b = int(leaves.low[first]), int(leaves.high[last - 1])
        return [a], [b - a], [1.0]
    total = sum(weight)
    kept = [i for i, w in enumerate(weight) if w > 0]
    return [low[i] for i in kept], [width[i] for i in kept], [weight[i] / total for i in kept]
