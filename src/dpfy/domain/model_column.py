"""What the generator sees of a column: itself, or a time stamp's day and time of day as two columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.keys import LARGEST_KEY, Roots, float_to_key, key_to_float, tick_roots
from dpfy.schema import ColumnKind, ColumnSpec
from dpfy.schema.clock_text import from_wall, to_wall
from dpfy.schema.column import unit_ticks
from dpfy.schema.kinds import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

Keys = NDArray[np.int64]


class Part(StrEnum):
    """Which part of a column's value a model column holds."""

    VALUE = "value"
    DAY = "day"
    TIME = "time of day"


def _day_ticks(spec: ColumnSpec) -> int:
    return DAY_SECONDS * unit_ticks(spec.unit)


_FIRST_DAY = -719_162  # 0001-01-01
_LAST_DAY = 2_932_896  # 9999-12-31


@dataclass(frozen=True, kw_only=True)
class ModelColumn:
    """One modelled column.

    Args:
        source: index of the column in the schema.
        part: which part of its values.
    """

    source: int
    part: Part

    def label(self, spec: ColumnSpec) -> str:
        """Its name in charges and messages."""
        return spec.name if self.part is Part.VALUE else f"{spec.name} ({self.part})"

    def keys(self, values: NDArray[np.generic], spec: ColumnSpec) -> Keys:
        """Keys of physical values (int64 ticks or float64)."""
        if self.part is Part.VALUE:
            if values.dtype.kind == "f":
                return float_to_key(values.astype(np.float64))
            return np.clip(values.astype(np.int64), -LARGEST_KEY, LARGEST_KEY)
        per_day = _day_ticks(spec)
        wall = to_wall(values.astype(np.int64), spec)
        return wall // per_day if self.part is Part.DAY else wall % per_day

    def roots(self, spec: ColumnSpec) -> Roots:
        """Public cells from which discovery starts."""
        if self.part is Part.TIME or (spec.type is ColumnKind.TIME and spec.bounds is None):
            per_day = _day_ticks(spec)
            return Roots.of_ticks(np.array([per_day * k // 24 for k in range(25)], dtype=np.int64), public=True)
        if spec.bounds is not None:
            low, high = (int(self.keys(np.array([bound]), spec)[0]) for bound in spec.bounds)
            return Roots.of_ticks(np.array([low, high + 1], dtype=np.int64), public=True)
        if spec.type is ColumnKind.FLOAT:
            return Roots.of_floats()
        borders = tick_roots()
        if spec.type is ColumnKind.DATE or self.part is Part.DAY:
            inside = borders[(borders > _FIRST_DAY) & (borders < _LAST_DAY)]
            borders = np.concatenate([[_FIRST_DAY], inside, [_LAST_DAY + 1]])
        return Roots.of_ticks(_within_type(borders, spec.arrow_type))

    def steps(self, spec: ColumnSpec) -> tuple[int, ...]:
        """Public steps of a time of day, coarsest first: hour, quarter, minute, second, thousandth, millionth."""
        if self.part is not Part.TIME and spec.type is not ColumnKind.TIME:
            return ()
        second = unit_ticks(spec.unit)
        coarse = [3600 * second, 900 * second, 60 * second, second, second // 1000, second // 1_000_000]
        return tuple(step for step in coarse if step > 1)


def _within_type(borders: Keys, arrow_type: str) -> Keys:
    """Cuts borders to what the storage type holds, so that no drawn value overflows it."""
    widths = {"int8": (-(2**7), 2**7), "int16": (-(2**15), 2**15), "int32": (-(2**31), 2**31)}
    widths |= {"uint8": (0, 2**8), "uint16": (0, 2**16), "uint32": (0, 2**32)}
    low, high = widths.get(arrow_type, (int(borders[0]), int(borders[-1])))
    inside = borders[(borders > low) & (borders < high)]
    return np.concatenate([[low], inside, [high]]).astype(np.int64)


def model_columns(columns: Sequence[ColumnSpec], leave_out: frozenset[str] = frozenset()) -> tuple[ModelColumn, ...]:
    """The model columns of a schema, in order.

    Args:
        columns: the schema's columns.
        leave_out: names that are not modelled (user columns).
    """
    result: list[ModelColumn] = []
    for index, spec in enumerate(columns):
        if spec.name in leave_out or not spec.is_modelled:
            continue
        if spec.type is ColumnKind.DATETIME and spec.is_number:
            result += [ModelColumn(source=index, part=Part.DAY), ModelColumn(source=index, part=Part.TIME)]
        else:
            result.append(ModelColumn(source=index, part=Part.VALUE))
    return tuple(result)


def values_from_keys(parts: Sequence[Keys], spec: ColumnSpec) -> NDArray[np.generic]:
    """Physical values of a column from the keys of its parts, in order.

    Args:
        parts: one array for a plain column; day and time for a time stamp.
        spec: the column.

    Returns:
        int64 ticks, or float64.
    """
    if len(parts) == 2:
        return from_wall(parts[0] * _day_ticks(spec) + parts[1], spec)
    if spec.type is ColumnKind.FLOAT:
        return key_to_float(parts[0])
    return parts[0]
