"""The public cells of a column, and the way from values to codes and back.

Nothing here touches noise or mechanisms: a sealed generator decodes with these classes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfy.errors import OutOfDomainError, SealBrokenError

Codes = NDArray[np.int32]
Keys = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class CategoryDomain:
    """Named values, then perhaps a catch-all, then perhaps missing.

    Args:
        values: the categories: text, or ticks as int.
        has_other: a catch-all cell stands behind the values.
        has_missing: the last cell is "missing".
    """

    values: tuple[str, ...] | tuple[int, ...]
    has_other: bool
    has_missing: bool

    @property
    def cells(self) -> int:
        """Number of codes, at least 1."""
        return max(1, len(self.values) + self.has_other + self.has_missing)

    @property
    def other_code(self) -> int | None:
        """Code of the catch-all."""
        return len(self.values) if self.has_other else None

    @property
    def missing_code(self) -> int | None:
        """Code of missing."""
        return self.cells - 1 if self.has_missing else None

    def encode(self, position: NDArray[np.int64], missing: NDArray[np.bool_], *, column: str) -> Codes:
        """Turns positions in `values` into codes.

        Args:
            position: int64; index into values, or -1 where the value is none of them.
            missing: bool; where no value stands.
            column: for the message.

        Returns:
            int32 codes.

        Raises:
            OutOfDomainError: when a row has no cell.
        """
        codes = position.astype(np.int32)
        unnamed = (position < 0) & ~missing
        if self.has_other:
            codes[unnamed] = len(self.values)
        elif unnamed.any():
            raise OutOfDomainError(
                f"column {column!r} holds a value outside its public categories, and it has no catch-all.",
                column=column,
                hint="List every category, or set `other: label` for the column.",
            )
        return _with_missing(codes, missing, self.missing_code, column)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "kind": "category",
            "values": list(self.values),
            "has_other": self.has_other,
            "has_missing": self.has_missing,
        }


@dataclass(frozen=True, kw_only=True)
class NumberDomain:
    """Adjacent bins over keys, then single values with a cell of their own, then perhaps missing.

    A bin is decoded through its pieces: intervals of keys with weights; a single value is an interval of width 1.

    Args:
        edges: int64 of shape (bins + 1,), strictly ascending; bin b holds keys in [edges[b], edges[b + 1]).
        atoms: int64 of shape (own cells,), ascending: values that have a cell of their own.
        piece_low: int64, first key of each piece, grouped by bin.
        piece_width: int64, >= 1.
        piece_weight: float64, > 0, sums to 1 within a bin.
        piece_start: int64 of shape (bins + 1,): where each bin's pieces begin.
        has_missing: the last cell is "missing".
        step: drawn keys are rounded down to a multiple of it.
    """

    edges: Keys
    atoms: Keys
    piece_low: Keys
    piece_width: Keys
    piece_weight: NDArray[np.float64]
    piece_start: Keys
    has_missing: bool
    step: int = 1

    @property
    def bins(self) -> int:
        """Number of bins; 0 when every value has a cell of its own."""
        return max(0, len(self.edges) - 1)

    @property
    def cells(self) -> int:
        """Number of codes, at least 1."""
        return max(1, self.bins + len(self.atoms) + self.has_missing)

    @property
    def other_code(self) -> int | None:
        """Numbers have no catch-all: values beyond the range fall into the outer bins."""
        return None

    @property
    def missing_code(self) -> int | None:
        """Code of missing."""
        return self.cells - 1 if self.has_missing else None

    def encode(self, keys: Keys, missing: NDArray[np.bool_], *, column: str) -> Codes:
        """Turns keys into codes; keys beyond the range are clamped to the outer bins.

        Args:
            keys: int64; anything where missing.
            missing: bool.
            column: for the message.

        Returns:
            int32 codes.
        """
        inside = keys
        if self.bins:
            inside = np.clip(keys, self.edges[0], self.edges[-1] - 1)
            codes = np.searchsorted(self.edges[1:-1], inside, side="right").astype(np.int32)
        elif len(self.atoms):
            codes = nearest(self.atoms, keys).astype(np.int32)
        else:
            codes = np.zeros(len(keys), dtype=np.int32)
        if len(self.atoms):
            # The range need not hold every own cell; a key beyond the range counts where its end does.
            for candidate in (inside, keys):
                place = np.minimum(np.searchsorted(self.atoms, candidate), len(self.atoms) - 1)
                own = self.atoms[place] == candidate
                codes[own] = self.bins + place[own]
        return _with_missing(codes, missing, self.missing_code, column)

    def decode(self, codes: Codes, rng: np.random.Generator) -> tuple[Keys, NDArray[np.bool_]]:
        """Draws a key for each code.

        Args:
            codes: int32.
            rng: sampling randomness.

        Returns:
            int64 keys, and the mask of missing.
        """
        missing = codes == self.missing_code if self.has_missing else np.zeros(len(codes), dtype=bool)
        keys = np.zeros(len(codes), dtype=np.int64)
        in_bin = codes < self.bins
        if in_bin.any():
            keys[in_bin] = self._draw_pieces(codes[in_bin], rng)
        own = ~in_bin & ~missing
        if own.any() and len(self.atoms):
            keys[own] = self.atoms[codes[own] - self.bins]
        return keys, missing

    def _draw_pieces(self, codes: Codes, rng: np.random.Generator) -> Keys:
        # One running sum over all bins: bin b's pieces take up [b, b + 1).
        running = np.cumsum(self.piece_weight)
        before = np.concatenate([[0.0], running])[self.piece_start[:-1]]
        ends = np.concatenate([[0.0], running])[self.piece_start[1:]]
        place = before[codes] + rng.random(len(codes)) * (ends - before)[codes]
        piece = np.searchsorted(running, place, side="right")
        piece = np.clip(piece, self.piece_start[codes], self.piece_start[codes + 1] - 1)
        offset = np.floor(rng.random(len(codes)) * self.piece_width[piece]).astype(np.int64)
        keys = self.piece_low[piece] + np.minimum(offset, self.piece_width[piece] - 1)
        return np.asarray(keys - keys % self.step, dtype=np.int64)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "kind": "number",
            "edges": self.edges.tolist(),
            "atoms": self.atoms.tolist(),
            "piece_low": self.piece_low.tolist(),
            "piece_width": self.piece_width.tolist(),
            "piece_weight": self.piece_weight.tolist(),
            "piece_start": self.piece_start.tolist(),
            "has_missing": self.has_missing,
            "step": self.step,
        }


ColumnDomain = CategoryDomain | NumberDomain


def domain_from_json(data: Mapping[str, Any]) -> ColumnDomain:
    """Reads what `to_json` wrote.

    Raises:
        SealBrokenError: when the data is none.
    """
    try:
        if data["kind"] == "category":
            return CategoryDomain(
                values=tuple(data["values"]), has_other=data["has_other"], has_missing=data["has_missing"]
            )
        whole = {
            name: np.array(data[name], dtype=np.int64)
            for name in ("edges", "atoms", "piece_low", "piece_width", "piece_start")
        }
        return NumberDomain(
            piece_weight=np.array(data["piece_weight"], dtype=np.float64),
            has_missing=data["has_missing"],
            step=int(data["step"]),
            **whole,
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SealBrokenError("the generator's domain can't be read: it is damaged or of another version.") from None


def nearest(sorted_values: Keys, keys: Keys) -> NDArray[np.int64]:
    """Index of the value nearest to each key (ties go up)."""
    above = np.clip(np.searchsorted(sorted_values, keys), 0, len(sorted_values) - 1)
    below = np.maximum(above - 1, 0)
    # In float: differences of far-apart int64 keys would wrap.
    up = sorted_values[above].astype(np.float64) - keys
    down = keys - sorted_values[below].astype(np.float64)
    return np.where(np.abs(down) < np.abs(up), below, above)


def _with_missing(codes: Codes, missing: NDArray[np.bool_], missing_code: int | None, column: str) -> Codes:
    if missing_code is not None:
        codes[missing] = missing_code
    elif missing.any():
        raise OutOfDomainError(
            f"column {column!r} has empty cells, but its schema says `missing: never`.",
            column=column,
            hint="Set `missing: discover` for the column.",
        )
    return codes
