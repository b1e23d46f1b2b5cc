"""Numbers as order-preserving whole keys, so that one discovery serves integers, decimals, dates and floats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SIGN = np.int64(-(2**63))
LARGEST_KEY = 2**62
"""Tick columns are clamped to +-2**62, so that interval arithmetic can't overflow."""


def float_to_key(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Maps floats to int64 so that order is kept and -0.0 equals 0.0.

    Args:
        values: float64, finite.

    Returns:
        int64, same shape.
    """
    bits = (values + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, _SIGN - bits)


def key_to_float(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """Inverse of `float_to_key`."""
    bits = np.where(keys >= 0, keys, _SIGN - keys)
    return bits.astype(np.int64).view(np.float64)


@dataclass(frozen=True, kw_only=True)
class Roots:
    """Public cells from which the discovery of a range starts.

    Args:
        borders: int64 of shape (m + 1,), ascending keys.
        magnitudes: float64 of shape (m,): how far each interval lies from everyday numbers, in powers of two.
        public: the borders are the column's range; nothing is left out at its ends.
    """

    borders: NDArray[np.int64]
    magnitudes: NDArray[np.float64]
    public: bool

    @classmethod
    def of_ticks(cls, borders: NDArray[np.int64], *, public: bool = False) -> Roots:
        """Cells between ticks: the nearer to 0, the likelier."""
        power = np.log2(1.0 + np.abs(borders.astype(np.float64)))
        return cls(borders=borders, magnitudes=np.minimum(power[:-1], power[1:]), public=public)

    @classmethod
    def of_floats(cls) -> Roots:
        """Cells of floats of unknown scale: 0 and powers of two from 2**-64 to 2**64; near 1 is likeliest."""
        power = np.arange(-64.0, 65.0)
        borders = np.concatenate([-(2.0 ** power[::-1]), [0.0], 2.0**power])
        far = np.minimum(np.abs(power[:-1]), np.abs(power[1:]))
        magnitudes = np.concatenate([far[::-1], [64.0, 64.0], far])
        return cls(borders=float_to_key(borders), magnitudes=magnitudes, public=False)


def tick_roots() -> NDArray[np.int64]:
    """Public cell borders for ticks of unknown scale: 0 and the powers of two on both sides."""
    positive = [1 << k for k in range(63)]
    return np.array([-b for b in reversed(positive)] + [0, *positive], dtype=np.int64)
