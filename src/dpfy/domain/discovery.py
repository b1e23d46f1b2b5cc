"""Discovery of a column's domain from a stated share of the budget.

Every read of `ValueCounts` here is an argument of a mechanism's `run`; what follows a run is post-processing of its
noisy result. Events stand in mechanisms/, PROOF.md beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.binning import Atoms, Leaves, atoms_only, number_domain
from dpfy.domain.budget import LEVELS, NumberSplit
from dpfy.domain.columns import CategoryDomain, ColumnDomain
from dpfy.domain.counts import ValueCounts
from dpfy.domain.keys import Roots
from dpfy.mechanisms.counting import CountScale
from dpfy.mechanisms.histogram import GaussianHistogram
from dpfy.mechanisms.threshold import GaussianThreshold

if TYPE_CHECKING:
    from dpfy.accounting.meter import ChargeKind, Meter
    from dpfy.noise.source import NoiseSource

Keys = NDArray[np.int64]
Floats = NDArray[np.float64]

FAN_OUT = 16
OWN_CELL_SHARE = 0.3
PER_BIN = 4.0
"""Standard deviations of an interval's noise that a bin holds at least, on average."""
_PER_CHILD = 2.0
STANDS_OUT = 4.0
"""Standard deviations of noise from which on an interval is taken as not empty."""
_RANGE_VISIBLE = (30.0, 120.0, 1000.0)
_RANGE_COST = (0.7, 1.5, 3.0)
_PER_MAGNITUDE = 0.1


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """A column's domain and what discovery already knows about its counts.

    Args:
        domain: public from here on.
        counts: float64 of shape (cells,), noisy, in records; 0 where nothing was measured.
        variance: float64, of each count; inf where nothing was measured.
    """

    domain: ColumnDomain
    counts: Floats
    variance: Floats


@dataclass(frozen=True, kw_only=True)
class DiscoveryRun:
    """What every discovery needs.

    Args:
        meter: charged before each draw.
        noise: the source.
        scale: the counting unit and a user's total in it.
        records: noisy number of records (or of users, in per-user counting), in records.
    """

    meter: Meter
    noise: NoiseSource
    scale: CountScale
    records: float

    def histogram(self, counts: NDArray[np.int64], mu_squared: float, label: str) -> tuple[Floats, float]:
        """Noisy counts of disjoint public cells, in records, and their variance."""
        mechanism = GaussianHistogram.of_budget(mu_squared, self.scale.user_total)
        noisy = mechanism.run(counts, meter=self.meter, noise=self.noise, label=label, kind=_domain())
        return noisy / self.scale.one, (mechanism.sigma / self.scale.one) ** 2

    def select(
        self, held: ValueCounts, mu_squared: float, delta: float, label: str
    ) -> tuple[NDArray[np.generic], Floats, float, float]:
        """Values that may be named, their noisy counts, the noisy count of missing, and the variance; in records."""
        mechanism = GaussianThreshold.of_budget(mu_squared, delta, self.scale)
        named, noisy, missing = mechanism.run(
            held.keys,
            held.counts,
            always=np.array([held.missing], dtype=np.int64),
            meter=self.meter,
            noise=self.noise,
            label=label,
            kind=_domain(),
        )
        one = self.scale.one
        return held.keys[named], noisy / one, float(missing[0]) / one, (mechanism.sigma / one) ** 2


def _domain() -> ChargeKind:
    from dpfy.accounting.meter import ChargeKind

    return ChargeKind.DOMAIN


def discover_categories(
    held: ValueCounts,
    run: DiscoveryRun,
    *,
    mu_squared: float,
    delta: float,
    label: str,
    may_miss: bool,
) -> Discovered:
    """Finds the categories of a column.

    **Privacy:** one GaussianThreshold run: mu_squared and delta are charged.

    Args:
        held: exact counts.
        run: meter, noise and scale.
        mu_squared: budget, > 0.
        delta: threshold budget, > 0.
        label: column, for the statement.
        may_miss: whether the domain has a cell for missing.

    Returns:
        The domain: values in descending noisy count, a catch-all, missing.
    """
    keys, counts, missing, variance = run.select(held, mu_squared, delta, f"categories of {label}")
    order = np.argsort(-counts, kind="stable")
    values = tuple(keys[order].tolist())
    domain = CategoryDomain(values=values, has_other=True, has_missing=may_miss)
    known = np.concatenate([counts[order], [0.0], [missing] if may_miss else []])
    spread = np.concatenate([np.full(len(values), variance), [np.inf], [variance] if may_miss else []])
    return Discovered(domain=domain, counts=known, variance=spread)


def discover_more_categories(
    first: Discovered, held: ValueCounts, run: DiscoveryRun, *, mu_squared: float, delta: float, label: str
) -> Discovered:
    """A second look at a column whose catch-all is large; the counts of both looks are pooled.

    **Privacy:** one more GaussianThreshold run over all values.
    """
    domain = first.domain
    assert isinstance(domain, CategoryDomain)
    keys, counts, missing, variance = run.select(held, mu_squared, delta, f"more categories of {label}")
    again: dict[Any, float] = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    pooled: dict[Any, tuple[float, float]] = {}
    for value, count, spread in zip(domain.values, first.counts, first.variance, strict=False):
        pooled[value] = _pool(count, spread, again.pop(value, None), variance)
    pooled |= {value: (count, variance) for value, count in again.items()}
    order = sorted(pooled, key=lambda v: (-pooled[v][0], v))
    tail_counts, tail_variance = [0.0], [np.inf]
    if domain.has_missing:
        pooled_missing = _pool(first.counts[-1], first.variance[-1], missing, variance)
        tail_counts.append(pooled_missing[0])
        tail_variance.append(pooled_missing[1])
    return Discovered(
        domain=CategoryDomain(values=tuple(order), has_other=True, has_missing=domain.has_missing),
        counts=np.array([pooled[v][0] for v in order] + tail_counts),
        variance=np.array([pooled[v][1] for v in order] + tail_variance),
    )


def _pool(count: float, variance: float, again: float | None, again_variance: float) -> tuple[float, float]:
    if again is None:
        return float(count), float(variance)
    share = variance / (variance + again_variance)
    return float((1 - share) * count + share * again), float(variance * again_variance / (variance + again_variance))


def discover_numbers(
    held: ValueCounts,
    run: DiscoveryRun,
    *,
    roots: Roots,
    mu_squared: float,
    delta: float,
    label: str,
    may_miss: bool,
    most_bins: int,
    steps: tuple[int, ...] = (),
) -> Discovered:
    """Finds heavy single values, a range and bins for a column of numbers.

    **Privacy:** one GaussianThreshold run for single values and missing (all of delta), and up to 1 + LEVELS Gaussian
    histograms over disjoint intervals; `NumberSplit` says which parts of mu_squared they take.

    Args:
        held: exact counts by key.
        run: meter, noise and scale.
        roots: public borders: the public range, or powers of two.
        mu_squared: budget, > 0.
        delta: threshold budget, > 0.
        label: column, for the statement.
        may_miss: whether the domain has a cell for missing.
        most_bins: >= 1.
        steps: public step sizes, coarsest first (hour, minute, ... for times of day): values are drawn in multiples of
            the coarsest that nearly all values keep.

    Returns:
        The domain with bins, own cells and missing.
    """
    if roots.public:
        held = held.clamped(int(roots.borders[0]), int(roots.borders[-1]))
    split = NumberSplit.of(mu_squared, has_steps=bool(steps))
    step = _step(held, run, steps, split.step, label) if steps else 1
    keys, counts, missing, variance = run.select(held, split.values, delta, f"single values of {label}")
    order = np.argsort(keys)
    atoms = Atoms(keys=keys[order].astype(np.int64), counts=counts[order], variance=variance)
    heavy = atoms.counts >= OWN_CELL_SHARE * max(run.records, 1.0)
    own = atoms.keys[heavy]
    rest = held.without(own)
    inside = Atoms(keys=atoms.keys[~heavy], counts=atoms.counts[~heavy], variance=variance)
    leaves, clear = _leaves(rest, run, roots, split.level, label, most_bins)
    tail = [missing] if may_miss else []
    if len(own) and not clear:
        # All that stands out has cells of its own; what little else there may be counts at the nearest.
        return Discovered(
            domain=atoms_only(own, has_missing=may_miss, step=step),
            counts=np.concatenate([atoms.counts[heavy], tail]),
            variance=np.full(len(own) + len(tail), variance),
        )
    noise_level = float(np.sqrt(leaves.variance.max()))
    bins = bins_worth(float(leaves.counts.sum()), noise_level, most_bins)
    domain, bin_counts, bin_variance = number_domain(
        leaves, own, inside, most_bins=bins, has_missing=may_miss, step=step
    )
    return Discovered(
        domain=domain,
        counts=np.concatenate([bin_counts, atoms.counts[heavy], tail]),
        variance=np.concatenate([bin_variance, np.full(len(own) + len(tail), variance)]),
    )


def bins_worth(records: float, noise_level: float, most_bins: int) -> int:
    """How many bins so many records make, of which each stands out of the noise."""
    return max(1, min(most_bins, int(records / (PER_BIN * noise_level))))


def _step(held: ValueCounts, run: DiscoveryRun, steps: tuple[int, ...], mu_squared: float, label: str) -> int:
    """The coarsest step of which nearly all values are multiples; each value counts at its coarsest step alone."""
    keys = held.keys.astype(np.int64)
    left = np.ones(len(keys), dtype=bool)
    exact = []
    for step in steps:
        here = left & (keys % step == 0)
        exact.append(int(held.counts[here].sum()))
        left &= ~here
    exact.append(int(held.counts[left].sum()))
    noisy, _ = run.histogram(np.array(exact, dtype=np.int64), mu_squared, f"step of {label}")
    running = np.cumsum(noisy)
    enough = running >= 0.97 * running[-1]
    chosen = int(np.argmax(enough))
    return steps[chosen] if chosen < len(steps) else 1


def _leaves(
    rest: ValueCounts,
    run: DiscoveryRun,
    roots: Roots,
    each: float,
    label: str,
    most_bins: int,
) -> tuple[Leaves, bool]:
    """Splits intervals where the mass is, one noisy histogram a level; also says whether any mass stands out."""
    borders = roots.borders
    counts, variance = run.histogram(rest.within(borders), each, f"range of {label}")
    first, last = 0, len(counts) - 1
    if not roots.public:
        first, last = _range(counts, variance, roots.magnitudes, run.records)
    clear = bool((counts >= STANDS_OUT * variance**0.5).any())
    low, high = borders[first : last + 1], borders[first + 1 : last + 2]
    counts = counts[first : last + 1]
    spread = np.full(len(counts), variance)
    # Values beyond the range count in the outer intervals from here on.
    clamped = rest.clamped(int(low[0]), int(high[-1]))
    for level in range(LEVELS):
        target = max(run.records / (2.0 * most_bins), 3.0 * variance**0.5)
        split = (counts > target) & (high - low > 1)
        if not split.any():
            break
        worth = counts[split] / (_PER_CHILD * variance**0.5)
        parts = [_parts(int(a), int(b), float(w)) for a, b, w in zip(low[split], high[split], worth, strict=True)]
        child_low = np.concatenate([b[:-1] for b in parts])
        child_high = np.concatenate([b[1:] for b in parts])
        noisy, variance = run.histogram(
            clamped.within_each(child_low, child_high), each, f"bins of {label}, level {level + 1}"
        )
        low, high, counts, spread = _replace(low, high, counts, spread, split, parts, noisy, variance)
    return Leaves(low=low, high=high, counts=counts, variance=spread), clear


def _range(counts: Floats, variance: float, magnitudes: Floats, records: float) -> tuple[int, int]:
    """First and last interval of the range: the neighbours that stand out most together, and all that do so alone."""
    noise = variance**0.5
    # Where noise is small a stray interval at an end is worth less than a wrong range costs.
    cost = np.interp(np.log(max(records, 1.0) / noise), np.log(_RANGE_VISIBLE), _RANGE_COST)
    running = np.concatenate([[0.0], np.cumsum(counts - cost * noise)])
    score = running[None, 1:] - running[:-1, None]  # [i, j]: from interval i to interval j
    unlikely = _PER_MAGNITUDE * noise * magnitudes
    score -= np.maximum(unlikely[:, None], unlikely[None, :])
    score[np.tril_indices(len(counts), -1)] = -np.inf
    first, last = divmod(int(np.argmax(score)), len(counts))
    alone = np.flatnonzero(counts >= STANDS_OUT * noise + 0.5 * unlikely)
    if len(alone):
        return min(first, int(alone[0])), max(last, int(alone[-1]))
    return first, last


def _parts(low: int, high: int, worth: float) -> Keys:
    """Equal parts of an interval, no more than its count is worth."""
    width = high - low
    parts = min(max(2, min(FAN_OUT, int(worth))), width)
    return np.array([low + width * k // parts for k in range(parts + 1)], dtype=np.int64)


def _replace(
    low: Keys,
    high: Keys,
    counts: Floats,
    spread: Floats,
    split: NDArray[np.bool_],
    borders: list[Keys],
    noisy: Floats,
    variance: float,
) -> tuple[Keys, Keys, Floats, Floats]:
    """Puts children in their parent's place; their sum is reconciled with the parent's own count."""
    new: list[tuple[Keys, Keys, Floats, Floats]] = []
    child, taken = 0, 0
    for index in range(len(low)):
        if not split[index]:
            new.append(
                (low[index : index + 1], high[index : index + 1], counts[index : index + 1], spread[index : index + 1])
            )
            continue
        parts = borders[child]
        child += 1
        own = noisy[taken : taken + len(parts) - 1].copy()
        taken += len(own)
        of_sum = variance * len(own)
        gap = (counts[index] - own.sum()) * of_sum / (of_sum + spread[index])
        own += gap / len(own)
        new.append((parts[:-1], parts[1:], own, np.full(len(own), variance)))
    joined = [np.concatenate([piece[k] for piece in new]) for k in range(4)]
    return joined[0], joined[1], joined[2], joined[3]
