"""Where all randomness of private releases comes from.

``SecureSource`` is AES-256 in counter mode under a key from the operating system; ``SeededSource`` repeats itself and
exists for tests: whatever it touched is marked, and the release gate refuses it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from dpfy.noise.gaussian import rounded_normal

_CHUNK = 1 << 18
_RESEED_WORDS = 1 << 30  # a fresh key long before the counter could repeat a block


class NoiseSource(ABC):
    """A stream of independent uniform 64-bit words, and what is made of them."""

    secure: ClassVar[bool]

    @abstractmethod
    def words(self, count: int) -> NDArray[np.uint64]:
        """Draws words.

        Args:
            count: how many, >= 0.

        Returns:
            uint64 array of shape (count,).
        """

    def rounded_gaussian(self, sigma: float, count: int) -> NDArray[np.int64]:
        """Draws round(N(0, sigma^2)): whole numbers, so that no floating-point trace of a count survives.

        **Privacy:** count + round(N) = round(count + N) for a whole count, so the release is post-processing of the
        Gaussian mechanism with the same sigma. The sampler is exact: mechanisms/PROOF.md.

        Args:
            sigma: standard deviation in units of a count, > 0 and < 2**58.
            count: how many, >= 0.

        Returns:
            int64 array of shape (count,).

        Raises:
            ValueError: when sigma is not finite, not positive, or so large that noise would overflow 64 bits.
        """
        if not 0 < sigma < 2.0**58:
            raise ValueError("sigma must be positive and below 2**58")
        drawn = np.empty(count, dtype=np.int64)
        for start in range(0, count, _CHUNK):
            stop = min(start + _CHUNK, count)
            drawn[start:stop] = rounded_normal(sigma, stop - start, self.words)
        return drawn

    def perturb(
        self,
        counts: NDArray[np.int64],
        sigma: float,
        *,
        l2_sensitivity: float,
        label: str,
        keys: NDArray[np.generic] | None = None,
    ) -> NDArray[np.int64]:
        """Adds rounded Gaussian noise to whole counts: the one door through which counts leave the red zone.

        **Privacy:** (l2_sensitivity / sigma)-GDP for neighbours whose counts differ by at most l2_sensitivity in the
        l2 norm. The caller has charged it; a recording source checks the declared sensitivity on neighbours.

        Args:
            counts: int64, any shape; exact private counts.
            sigma: standard deviation, in units of a count.
            l2_sensitivity: declared bound, same units; unused for drawing.
            label: what is released, for records of the run; holds no private value.
            keys: for unknown domains, the keys of the last len(keys) counts; unused for drawing.

        Returns:
            int64, shape of counts.
        """
        if counts.dtype != np.int64:
            raise TypeError("counts must be int64, so that noise meets exact whole numbers")
        return counts + self.rounded_gaussian(sigma, counts.size).reshape(counts.shape)

    def random_key(self) -> bytes:
        """Draws 32 bytes, for keyed choices."""
        return self.words(4).tobytes()


class SecureSource(NoiseSource):
    """AES-256-CTR keyed by the operating system; a child process draws a key of its own."""

    secure = True

    def __init__(self) -> None:
        self._rekey()

    def _rekey(self) -> None:
        cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16)))
        self._encryptor = cipher.encryptor()
        self._process = os.getpid()
        self._drawn = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """See `NoiseSource.words`."""
        if self._process != os.getpid() or self._drawn + count > _RESEED_WORDS:
            self._rekey()
        self._drawn += count
        return np.frombuffer(self._encryptor.update(bytes(8 * count)), dtype=np.uint64)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a noise source can't be stored or sent: its state would void the guarantee")


class SeededSource(NoiseSource):
    """A source that repeats itself. **Privacy:** none; tests only, and the gate refuses what it made."""

    secure = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def words(self, count: int) -> NDArray[np.uint64]:
        """See `NoiseSource.words`."""
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)
