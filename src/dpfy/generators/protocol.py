"""What every generator family offers to the sealed generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, kw_only=True)
class DrawnRows:
    """Synthetic rows in codes.

    Args:
        codes: int32 of shape (rows,), one for each model column.
        user: int64 of shape (rows,), 0-based and ascending: which synthetic user a row belongs to.
    """

    codes: list[NDArray[np.int32]]
    user: NDArray[np.int64]


class FittedGenerator(Protocol):
    """A fitted model that can be drawn from and stored.

    Drawing is post-processing: an implementation imports nothing that sees private data or draws noise.
    """

    family: ClassVar[str]

    def draw(self, rows: int, rng: np.random.Generator) -> DrawnRows:
        """Draws rows; the last user may be cut short so that the number is exact."""
        ...

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Plain data and arrays that `from_parts` of the same family reads."""
        ...


class GeneratorFamily(Protocol):
    """How a family reads its fitted generators back."""

    def from_parts(
        self, data: Mapping[str, Any], arrays: Arrays, unresolved: Sequence[tuple[int, ...] | None]
    ) -> FittedGenerator:
        """Rebuilds a fitted generator.

        Args:
            data: plain data.
            arrays: arrays.
            unresolved: for each model column the code that is to be redrawn (a catch-all), followed by the other codes
                that it must not become; or None.
        """
        ...
