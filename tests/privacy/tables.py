"""Neighbouring tables: the added user stands last, so that the others' rows keep their positions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def base_table(users: int = 300, seed: int = 0) -> pa.Table:
    """Several rows a person, every kind of column, skew and gaps."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), rng.integers(1, 5, users))
    rows = len(user)
    age = rng.integers(18, 80, users)[user]
    city = np.array(["Ullby", "Estvik", "Werden", "Pallin"])[rng.integers(0, 4, rows)]
    spend = np.round(rng.gamma(2.0, 30.0, rows), 2)
    zero = np.where(rng.random(rows) < 0.5, 0, rng.integers(1, 4000, rows))
    day = np.datetime64("2021-01-01") + rng.integers(0, 300, rows).astype("timedelta64[D]")
    seen = np.datetime64("2021-03-01T08:00:00", "us") + rng.integers(0, 200 * 86_400, rows).astype("timedelta64[s]")
    return pa.table(
        {
            "person": pa.array([f"p{u:04d}" for u in user]),
            "age": pa.array(age, mask=rng.random(rows) < 0.05),
            "city": pa.array(city, mask=rng.random(rows) < 0.03),
            "spend": spend,
            "gain": zero,
            "day": pa.array(day),
            "seen": pa.array(seen, type=pa.timestamp("us")),
            "rate": np.exp(rng.normal(0, 3, rows)),
        }
    )


def _rows_of(person: str | None, rows: int, kind: str) -> dict[str, list[object]]:
    if kind == "extreme":
        return {
            "person": [person] * rows,
            "age": [10**9 + i for i in range(rows)],
            "city": [f"only here {i}" for i in range(rows)],
            "spend": [9e7 + i for i in range(rows)],
            "gain": [-(10**12) - i for i in range(rows)],
            "day": [np.datetime64("9999-12-31").astype(object)] * rows,
            "seen": [np.datetime64("2399-01-01T00:00:00", "us").astype(object)] * rows,
            "rate": [1e200 * (i + 1) for i in range(rows)],
        }
    if kind == "missing":
        return {name: ([person] * rows if name == "person" else [None] * rows) for name in base_table(2).column_names}
    return {
        "person": [person] * rows,
        "age": [33] * rows,
        "city": ["Ullby"] * rows,
        "spend": [20.0] * rows,
        "gain": [0] * rows,
        "day": [np.datetime64("2021-05-05").astype(object)] * rows,
        "seen": [np.datetime64("2021-05-05T09:30:00", "us").astype(object)] * rows,
        "rate": [1.0] * rows,
    }


KINDS = ("plain", "extreme", "missing")


def with_user(table: pa.Table, kind: str, rows: int, person: str = "the added one") -> pa.Table:
    """The table with one user more."""
    return pa.concat_tables([table, pa.table(_rows_of(person, rows, kind), schema=table.schema)])
