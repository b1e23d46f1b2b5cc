"""Numbers as order-preserving whole keys, so that one discovery serves integers, decimals, dates and floats."""

from __future__ import annotations

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


def tick_roots() -> NDArray[np.int64]:
    """Public cell borders for ticks of unknown scale: 0 and the powers of two on both sides."""
    positive = [1 << k for k in range(63)]
    return np.array([-b for b in reversed(positive)] + [0, *positive], dtype=np.int64)


def float_roots() -> NDArray[np.int64]:
    """Public cell borders for floats of unknown scale: 0 and powers of two from 2**-64 to 2**64, as keys."""
    positive = 2.0 ** np.arange(-64, 65)
    borders = np.concatenate([-positive[::-1], [0.0], positive])
    return float_to_key(borders)
