"""Typed sources: Parquet, Arrow, pandas, polars."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfy.errors import SourceError
from dpfy.ingest import open_source
from dpfy.schema import ReadingOptions, dump_schema, parse_schema
from dpfy.schema.output import to_table
from tests.unit.ingest.files import kinds, users, values


def returned(source) -> pa.Table:
    """The source's rows after a way through the private table."""
    table = source.read()
    columns = []
    for spec in table.schema.columns:
        held = values(table, spec.name)
        missing = np.array([v is None for v in held])
        filler = "" if spec.physical == "text" else 0
        kind = {"text": object, "float": np.float64, "ticks": np.int64}[spec.physical]
        columns.append((np.array([filler if v is None else v for v in held], dtype=kind), missing))
    table.close()
    return to_table(table.schema, columns)


ROUND_TRIPS = [
    (pa.array([1, None, 127], pa.int8()), "integer"),
    (pa.array([2**32 - 1, None, 0], pa.uint32()), "integer"),
    (pa.array([2**63 - 1, None, -(2**63)], pa.int64()), "integer"),
    (pa.array([2**63 - 1, None, 1], pa.uint64()), "integer"),
    (pa.array([1.0, None, 3.0], pa.float64()), "integer"),
    (pa.array([1.25, None, -3.5], pa.float64()), "decimal"),
    (pa.array([0.1, None, 0.3], pa.float32()), "decimal"),
    (pa.array([1 / 3, None, 2 / 3], pa.float64()), "float"),
    (pa.array([1 / 3, None, 2 / 3], pa.float32()), "float"),
    (pa.array([np.float16(0.335205078125), None], pa.float16()), "float"),
    (pa.array([np.float16(0.5), None], pa.float16()), "decimal"),
    (pa.array([-12345678.123456789, None], pa.float64()), "float"),
    (pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-99.99")], pa.decimal128(10, 2)), "decimal"),
    (pa.array([decimal.Decimal("7"), None], pa.decimal128(5, 0)), "integer"),
    (pa.array([True, None, False]), "boolean"),
    (pa.array(["a", None, ""]), "text"),
    (pa.array(["2021-01-01", None, "007"], pa.large_string()), "text"),
    (pa.array(["a", None, "b"], pa.string_view()), "text"),
    (pa.array(["a", None, "b"]).dictionary_encode(), "text"),
    (pa.array([5, None, 7]).dictionary_encode(), "integer"),
    (pa.array([b"\0", None, b"\xff"], pa.binary()), "binary"),
    (pa.array([b"ab", None, b"cd"], pa.binary(2)), "binary"),
    (pa.array([b"ab", None, b"cd"], pa.large_binary()), "binary"),
    (pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)], pa.date32()), "date"),
    (pa.array([dt.date(1900, 1, 1), None], pa.date64()), "date"),
    (pa.array([dt.datetime(1, 1, 1), None, dt.datetime(9999, 12, 31)], pa.timestamp("us")), "datetime"),
    (pa.array([1, None, 2**62], pa.int64()).cast(pa.timestamp("ns")), "datetime"),
    (pa.array([1, None, 5], pa.int64()).cast(pa.timestamp("s", tz="Europe/Oslo")), "datetime"),
    (pa.array([dt.time(10, 30), None, dt.time(23, 59, 59, 999_999)], pa.time64("us")), "time"),
    (pa.array([1, None, 86_399], pa.int32()).cast(pa.time32("s")), "time"),
    (pa.array([1, None, -5], pa.int64()).cast(pa.duration("ms")), "duration"),
    (pa.nulls(3, pa.null()), "empty"),
    (pa.nulls(3, pa.float64()), "empty"),
    (pa.nulls(3, pa.string()), "empty"),
]


@pytest.mark.parametrize(("column", "kind"), ROUND_TRIPS, ids=lambda v: str(v.type) if isinstance(v, pa.Array) else v)
def test_every_type_comes_back_as_it_was(column: pa.Array, kind: str) -> None:
    source = open_source(pa.table({"x": column, "k": list(range(len(column)))}))
    schema = source.propose()
    assert kinds(schema)["x"] == kind
    assert parse_schema(dump_schema(schema)) == schema
    back = returned(source)["x"]
    assert back.type == column.type
    assert back.to_pylist() == column.to_pylist()


def test_parquet_keeps_its_types_too(tmp_path) -> None:
    table = pa.table({f"x.{i}": c.slice(0, 2) for i, (c, _) in enumerate(ROUND_TRIPS) if str(c.type) != "string_view"})
    pq.write_table(table, tmp_path / "t.parquet")
    stored = pq.read_table(tmp_path / "t.parquet")
    back = returned(open_source(tmp_path / "t.parquet"))
    assert back.schema.equals(stored.schema)
    assert {n: back[n].to_pylist() for n in back.schema.names} == {
        n: stored[n].to_pylist() for n in stored.schema.names
    }


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64()), pa.list_(pa.float64(), 2)],
)
def test_nested_columns_are_refused_by_name_and_can_be_left_out(kind: pa.DataType) -> None:
    table = pa.table({"tags": pa.nulls(2, kind), "geo": pa.nulls(2, kind), "n": [1, 2]})
    with pytest.raises(SourceError, match=r"'tags'.*'geo'.*exclude: tags, geo"):
        open_source(table)
    source = open_source(table, ReadingOptions(exclude=("tags", "geo")))
    assert kinds(source.propose()) == {"n": "integer"}


def test_nan_is_missing_and_infinity_is_refused_by_column() -> None:
    source = open_source(pa.table({"x": [1.5, float("nan")], "y": [1, 2]}))
    source.propose()
    assert any("'x'" in note and "NaN" in note for note in source.notes)
    with source.read() as table:
        assert values(table, "x") == [15, None]
    with pytest.raises(SourceError, match="'x'"):
        open_source(pa.table({"x": [1.5, float("inf")]})).propose()


def test_negative_zero_is_zero() -> None:
    for column in (pa.array([-0.0, 0.0, 1.5]), pa.array([-0.0, 0.0, 1 / 3])):
        with open_source(pa.table({"x": column})).read() as table:
            found = table.connection.execute(
                f"SELECT count(DISTINCT c0), min(CAST(c0 AS VARCHAR)) FROM {table.relation}"
            )
            distinct, smallest = found.fetchall()[0]
        assert distinct == 2
        assert not smallest.startswith("-")


def test_ids_beyond_two_to_the_53_stay_exact() -> None:
    ids = [2**53, 2**53 + 1, None, 2**63 - 1]
    with open_source(pa.table({"id": ids})).read(user_columns=["id"]) as table:
        assert values(table, "id") == ids
        assert users(table) == [None if i is None else str(i) for i in ids]


def test_types_that_differ_between_files_are_refused(tmp_path) -> None:
    pq.write_table(pa.table({"id": [7], "n": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": ["007"], "n": [1]}), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet.*'id'.*string.*int64"):
        open_source(tmp_path)
    assert open_source(tmp_path, ReadingOptions(exclude=("id",))).column_names == ("n",)


def test_files_with_columns_in_another_order_are_one_table(tmp_path) -> None:
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"b": ["y"], "a": [2]}), tmp_path / "b.parquet")
    with open_source(tmp_path).read() as table:
        assert values(table, "a") == [1, 2]
        assert values(table, "b") == ["x", "y"]


def test_a_damaged_parquet_file_is_named(tmp_path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(SourceError, match=r"t\.parquet"):
        open_source(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    "table",
    [pa.table({"a": pa.array([], pa.int64())}), pd.DataFrame({"a": []}), pl.DataFrame({"a": []})],
    ids=["arrow", "pandas", "polars"],
)
def test_tables_without_rows_are_refused(table: object) -> None:
    with pytest.raises(SourceError, match="no data rows"):
        open_source(table)


def test_pandas_loses_its_index_and_keeps_its_types() -> None:
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None], dtype="Int32"),
            "s": pd.array(["a", None], dtype="string"),
            "c": pd.Categorical(["x", "y"]),
            "f": [1.5, np.nan],
            "t": pd.to_datetime(["2021-01-01", None]),
        },
        index=["secret-1", "secret-2"],
    )
    source = open_source(frame)
    assert source.name == "table"
    back = returned(source)
    assert back.schema.names == ["n", "s", "c", "f", "t"]
    assert back["n"].type == pa.int32()
    assert pa.types.is_dictionary(back["c"].type)
    assert back["f"].to_pylist() == [1.5, None]


def test_an_index_that_parquet_carries_is_left_out(tmp_path) -> None:
    pd.DataFrame({"a": [1, 2]}, index=["u1", "u2"]).to_parquet(tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    assert source.column_names == ("a",)
    assert any("index" in note for note in source.notes)


def test_polars_comes_back_in_its_own_types() -> None:
    frame = pl.DataFrame(
        {"s": ["a", None], "c": pl.Series(["x", "y"], dtype=pl.Categorical), "d": [dt.date(2021, 1, 1)] * 2}
    )
    original = pa.RecordBatchReader.from_stream(frame).read_all()
    back = returned(open_source(frame))
    assert back.schema.types == original.schema.types
    assert back["c"].to_pylist() == ["x", "y"]


def test_a_reader_can_be_read_more_than_once() -> None:
    reader = pa.table({"a": [1, 2]}).to_reader()
    source = open_source(reader)
    source.propose()
    for _ in range(2):
        with source.read() as table:
            assert values(table, "a") == [1, 2]


def test_a_mixed_column_is_named_without_its_values() -> None:
    with pytest.raises(SourceError, match="'mix'") as caught:
        open_source(pd.DataFrame({"ok": [1, 2], "mix": [31337, "zqx"]}))
    assert "31337" not in str(caught.value)
    assert "zqx" not in str(caught.value)


def test_fingerprints_of_tables_follow_their_content_alone() -> None:
    key = b"k" * 32
    whole = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    chunked = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    other = whole.set_column(0, "a", pa.array([1, 2, 4]))
    prints = [open_source(t).fingerprint(key) for t in (whole, chunked, other)]
    assert prints[0] == prints[1] != prints[2]


def test_a_schema_may_read_typed_columns_another_way() -> None:
    source = open_source(pa.table({"n": [200, 404], "f": [1.5, 2.5]}))
    schema = source.propose()
    codes = schema.columns[0].model_validate({"name": "n", "type": "text", "arrow_type": "int64"})
    places = schema.columns[1].model_validate({"name": "f", "type": "float"})
    with source.read(schema.with_columns([codes, places])) as table:
        assert values(table, "n") == ["200", "404"]
        assert values(table, "f") == [1.5, 2.5]
    dates = schema.columns[0].model_validate({"name": "n", "type": "date"})
    with pytest.raises(SourceError, match="'n'"):
        source.read(schema.with_columns([dates, schema.columns[1]]))


def test_text_in_a_typed_source_may_be_declared_as_dates_or_numbers() -> None:
    source = open_source(pa.table({"d": pa.array(["28.02.2021", None], pa.large_string()), "n": ["7", "8"]}))
    schema = source.propose()
    fields = {"name": "d", "type": "date", "format": "%d.%m.%Y", "arrow_type": "large_string"}
    dates = schema.columns[0].model_validate(fields)
    number = schema.columns[0].model_validate({"name": "n", "type": "integer", "arrow_type": "string"})
    stated = schema.with_columns([dates, number])
    with source.read(stated) as table:
        assert values(table, "d") == [18686, None]
        assert values(table, "n") == [7, 8]
    back = to_table(
        stated, [(np.array([18686, 0]), np.array([False, True])), (np.array([7, 8]), np.array([False] * 2))]
    )
    assert back["d"].to_pylist() == ["28.02.2021", None]
    assert back.schema.types == [pa.large_string(), pa.string()]


def test_a_column_that_occurs_twice_is_named() -> None:
    for table in (pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])):
        with pytest.raises(SourceError, match="'a' occurs twice"):
            open_source(table)
