"""Local wall-clock time of zone-aware time stamps, so that opening hours stay opening hours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpfy.schema import ColumnSpec

DAY_TICKS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def _zone(spec: ColumnSpec) -> str | None:
    zone = spec.zone_name
    return None if zone is None or zone.upper() in ("UTC", "Z", "+00:00") else zone


def to_wall(ticks: NDArray[np.int64], spec: ColumnSpec) -> NDArray[np.int64]:
    """Local wall-clock ticks since 1970-01-01 00:00 local, of UTC ticks."""
    zone = _zone(spec)
    if zone is None:
        return ticks
    import pyarrow as pa
    import pyarrow.compute as pc

    stamps = pa.array(ticks, type=pa.int64()).cast(pa.timestamp(spec.unit, tz=zone))
    return np.asarray(pc.local_timestamp(stamps).cast(pa.int64()).to_numpy(zero_copy_only=False))


def from_wall(wall: NDArray[np.int64], spec: ColumnSpec) -> NDArray[np.int64]:
    """UTC ticks of local wall-clock ticks; hours that a clock change skips move to its end."""
    zone = _zone(spec)
    if zone is None:
        return wall
    import pyarrow as pa
    import pyarrow.compute as pc

    naive = pa.array(wall, type=pa.int64()).cast(pa.timestamp(spec.unit))
    stamps = pc.assume_timezone(naive, zone, ambiguous="earliest", nonexistent="latest")
    return np.asarray(stamps.cast(pa.int64()).to_numpy(zero_copy_only=False))
