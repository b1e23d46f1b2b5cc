"""Record and replay: the inputs of every noise draw on D, held against those on a neighbour D'.

On D each draw's exact counts, declared sensitivity and noisy result are recorded, and each charge. On D' the same
results are handed back, so that every later choice is the same, and each draw's exact counts must differ from the
recorded ones by at most the declared sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpfy.noise.source import NoiseSource, SeededSource


class SensitivityError(AssertionError):
    """A draw whose inputs on neighbours are further apart than it declares."""


class SequenceError(AssertionError):
    """Neighbours that lead to different sequences of draws."""


@dataclass
class Draw:
    """One recorded draw."""

    label: str
    sigma: float
    l2_sensitivity: float
    counts: np.ndarray
    keys: list[Any] | None
    noisy: np.ndarray


@dataclass
class Recorder(NoiseSource):
    """Draws seeded noise and records it."""

    seed: int = 1
    draws: list[Draw] = field(default_factory=list)
    secure = True  # so that the gate lets the test's run through

    def __post_init__(self) -> None:
        self._source = SeededSource(self.seed)

    def words(self, count: int) -> np.ndarray:
        return self._source.words(count)

    def random_key(self) -> bytes:
        return b"\x07" * 32

    def perturb(self, counts, sigma, *, l2_sensitivity, label, keys=None):  # type: ignore[no-untyped-def]
        noisy = counts + self._source.rounded_gaussian(sigma, counts.size).reshape(counts.shape)
        listed = None if keys is None else np.asarray(keys).tolist()
        self.draws.append(Draw(label, sigma, l2_sensitivity, counts.copy(), listed, noisy.copy()))
        return noisy


NEVER_NAMED = -(2**62)


@dataclass
class Replayer(NoiseSource):
    """Hands recorded results back and checks sensitivities."""

    recorded: list[Draw]
    place: int = 0
    largest: dict[str, float] = field(default_factory=dict)
    secure = True

    def words(self, count: int) -> np.ndarray:
        raise SequenceError("randomness outside `perturb` that was not recorded")

    def random_key(self) -> bytes:
        return b"\x07" * 32

    def perturb(self, counts, sigma, *, l2_sensitivity, label, keys=None):  # type: ignore[no-untyped-def]
        if self.place >= len(self.recorded):
            raise SequenceError(f"one draw more on the neighbour: {label}")
        before = self.recorded[self.place]
        self.place += 1
        if (label, sigma, l2_sensitivity) != (before.label, before.sigma, before.l2_sensitivity):
            raise SequenceError(f"{before.label!r} on D, {label!r} or other noise on the neighbour")
        if keys is None:
            if counts.shape != before.counts.shape:
                raise SequenceError(f"{label}: other cells on the neighbour")
            self._check(label, (counts - before.counts).astype(float).ravel(), l2_sensitivity)
            return before.noisy.copy()
        listed = np.asarray(keys).tolist()
        public = len(counts) - len(listed)
        assert before.keys is not None
        old = dict(zip(before.keys, before.counts[public:].tolist(), strict=True))
        new = dict(zip(listed, counts[public:].tolist(), strict=True))
        moved = [new.get(k, 0) - old.get(k, 0) for k in old.keys() | new.keys()]
        moved += (counts[:public] - before.counts[:public]).tolist()
        self._check(label, np.array(moved, dtype=float), l2_sensitivity)
        result = dict(zip(before.keys, before.noisy[public:].tolist(), strict=True))
        back = [result.get(k, NEVER_NAMED) for k in listed]
        return np.concatenate([before.noisy[:public], np.array(back, dtype=np.int64)])

    def _check(self, label: str, moved: np.ndarray, bound: float) -> None:
        distance = float(np.sqrt((moved**2).sum()))
        self.largest[label] = max(self.largest.get(label, 0.0), distance / bound)
        if distance > bound * (1 + 1e-12):
            raise SensitivityError(f"{label}: moved by {distance:g}, declared {bound:g}")

    def finish(self) -> None:
        """Every recorded draw must have been replayed."""
        if self.place != len(self.recorded):
            raise SequenceError("fewer draws on the neighbour")
