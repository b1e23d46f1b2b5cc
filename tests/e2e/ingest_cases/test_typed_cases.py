"""Shared cases of typed files: every column comes back in its own Arrow type."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfy.errors import SourceError
from tests.e2e.ingest_cases.cases import natural, opened, physical, rewritten, shared

TYPED = [
    "008/all_null", "029/tz", "037/snowflake", "038/contracts", "045/types", "045/pandas_ext", "088/zeros",
]  # fmt: skip


@pytest.mark.parametrize("name", TYPED)
def test_types_and_values_come_back(tmp_path, name: str) -> None:
    before = pq.read_table(shared(f"cases/{name}.parquet"))
    after = pq.read_table(rewritten(opened(f"cases/{name}.parquet"), tmp_path / "out.parquet"))
    if name == "037/snowflake":
        # Numbers beyond 64 bits with a sign are handled, and come out, as text.
        before = before.set_column(before.column_names.index("u"), "u", before["u"].cast(pa.string()))
    assert after.schema.equals(before.schema.remove_metadata())
    for column in before.schema.names:
        assert after[column].equals(before[column]), column


def test_008_columns_without_values_are_empty() -> None:
    schema = opened("cases/008/all_null.parquet").propose()
    assert [c.name for c in schema.columns if c.type == "empty"] == ["fax", "discount", "misc"]


def test_029_local_opening_hours() -> None:
    from dpfy.schema.clock_text import to_wall

    with opened("cases/029/tz.parquet").read() as table:
        spec = table.schema.column("opened")
        wall = to_wall(physical(table)[1][0], spec)
    hours = set((wall // 3_600_000_000 % 24).tolist())
    assert hours <= set(range(8, 19))


def test_037_unsigned_numbers_beyond_64_bits_are_exact() -> None:
    source = opened("cases/037/snowflake.parquet")
    with source.read(user_columns=["account", "u"]) as table:
        query = f"SELECT count(DISTINCT u0), max(u1) FROM {table.relation}"
        assert table.connection.execute(query).fetchall() == [(200, "18446744073709551615")]
    assert any("'u'" in note for note in source.notes)


def test_055_nested_columns() -> None:
    with pytest.raises(SourceError) as caught:
        opened("cases/055/nested.parquet")
    assert all(name in str(caught.value) for name in ("tags", "geo", "attrs", "emb"))
    with opened("cases/055/nested.parquet", exclude=["tags", "geo", "attrs", "emb"]).read() as table:
        assert natural(table, "count(*)") == [(150,)]
