"""Projection of noisy counts: post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def projected(counts: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """The nearest counts (least squares) that are not negative and sum to total.

    Args:
        counts: float64 of shape (m,), m >= 1; noisy.
        total: > 0.

    Returns:
        float64 of shape (m,).
    """
    ordered = np.sort(counts)[::-1]
    running = np.cumsum(ordered) - total
    above = np.flatnonzero(ordered * np.arange(1, len(ordered) + 1) > running)
    if not len(above):
        # total is lost in the rounding of huge counts: all of it goes to the largest.
        alone = np.zeros(len(counts))
        alone[int(np.argmax(counts))] = total
        return alone
    shift = running[above[-1]] / (above[-1] + 1)
    return np.asarray(np.maximum(counts - shift, 0.0), dtype=np.float64)
