"""Whole numbers distributed exactly like a rounded normal number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Words = Callable[[int], NDArray[np.uint64]]

_MANTISSA_BITS = 52
_RELATIVE_ERROR = 1e-13
"""Far above the error of ndtri (below 1e-15, held against 60-digit arithmetic in a test) and of the products."""


def rounded_normal(sigma: float, count: int, words: Words) -> NDArray[np.int64]:
    """Draws round(sigma * Z) for standard normal Z.

    A first word's leading zeros choose the binary exponent of a uniform number U in (0, 1), a second word its first 52
    bits and a sign; |Z| is the normal quantile at U/2. Where double precision can't tell to which side of a half the
    product falls, more bits of U are drawn and the product is computed to 60 digits: rounding is that of real numbers.

    Args:
        sigma: > 0.
        count: >= 0.
        words: draws uniform independent uint64 words.

    Returns:
        int64 of shape (count,).

    **Source:** inverse transform sampling with lazily drawn bits; mechanisms/PROOF.md.
    """
    high, low = words(count), words(count)
    # 53 bits convert to float exactly, so the exponent is the exact number of leading zeros.
    _, exponent = np.frexp((high >> np.uint64(11)).astype(np.float64))
    mantissa = 1.0 + (low >> np.uint64(12)).astype(np.float64) * 2.0**-_MANTISSA_BITS
    uniform = np.ldexp(mantissa, exponent - 54)
    magnitude = -ndtri(0.5 * uniform) * sigma
    whole = np.rint(magnitude).astype(np.int64)
    from_half = np.abs(magnitude - np.floor(magnitude) - 0.5)
    unsure = np.flatnonzero((from_half <= _RELATIVE_ERROR * (magnitude + sigma)) | (exponent == 0))
    for index in unsure:
        whole[index] = _in_full(sigma, int(high[index]), int(low[index]), int(exponent[index]), words)
    sign = np.where(low & np.uint64(1), 1, -1)
    return np.asarray(whole * sign, dtype=np.int64)


def _in_full(sigma: float, high: int, low: int, exponent: int, words: Words) -> int:
    import mpmath

    more = sum(int(word) << (64 * place) for place, word in enumerate(words(3)))
    with mpmath.workdps(60):
        fraction = mpmath.mpf(more) / mpmath.mpf(2) ** 192
        if exponent == 0:
            # All 53 leading bits are zero: U lies below 2**-53, and the word's other bits are its next ones.
            uniform = (mpmath.mpf(high & 0x7FF) + fraction) / mpmath.mpf(2) ** 64
        else:
            mantissa = 1 + (mpmath.mpf(low >> 12) + fraction) / mpmath.mpf(2) ** _MANTISSA_BITS
            uniform = mantissa * mpmath.mpf(2) ** (exponent - 54)
        magnitude = mpmath.sqrt(2) * mpmath.erfinv(1 - uniform)
        return int(mpmath.nint(magnitude * mpmath.mpf(sigma)))
