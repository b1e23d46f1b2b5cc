"""Shared cases of delimited files: the reading side, and the way back to text."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfy.errors import SourceError
from dpfy.ingest import open_source
from dpfy.schema import ColumnSpec, ReadingOptions, blank_mismatch, dump_schema
from tests.e2e.ingest_cases.cases import cells, facts, natural, opened, physical, rewritten, shared

SAME_BYTES = [
    "002/export_de", "004/patients_zip", "008/all_null", "009/ambiguous", "009/dayfirst", "011/shops", "012/incomes",
    "012/incomes_without", "015/http", "021/wide", "022/null_users", "028/lengths", "037/snowflake", "038/contracts",
    "055/json_cells", "056/bounded", "063/grid", "068/twins", "069/gaps", "069/no_time", "073/clinic", "073/two_types",
    "076/cats", "076/nums", "076/single", "082/good", "083/keys",
]  # fmt: skip
DATA = ["adult_train", "adult_test", "cdnow_purchases", "hotel_rates", "insteval", "nycflights", "pbcseq", "randhie"]


@pytest.mark.parametrize("name", [f"cases/{n}.csv" for n in SAME_BYTES] + [f"data/{n}.csv" for n in DATA])
def test_what_is_read_and_written_again_is_the_same_file(tmp_path, name: str) -> None:
    assert rewritten(opened(name), tmp_path / "out.csv").read_bytes() == shared(name).read_bytes()


@pytest.mark.parametrize("name", ["cases/085/big_cell.csv", "data/mailing_list_emails.csv", "cases/014/latin.csv"])
def test_other_quotes_and_encodings_keep_every_cell(tmp_path, name: str) -> None:
    import csv

    csv.field_size_limit(10_000_000)
    encoding = "cp1252" if "latin" in name else "utf-8"
    back = cells(rewritten(opened(name), tmp_path / "out.csv"))
    assert back == cells(shared(name), encoding=encoding)


def test_002_semicolons_and_decimal_commas() -> None:
    for options in ({}, {"separator": ";", "decimal_mark": ",", "thousands": "."}):
        source = opened("cases/002/export_de.csv", **options)
        assert source.column_names == ("user_id", "alter", "stadt", "betrag")
        with source.read() as table:
            held = [Decimal(t) / 100 for t in physical(table)[3][0].tolist()]
        written = [r[3] for r in cells(shared("cases/002/export_de.csv"), delimiter=";")[1:]]
        assert held == [Decimal(w.replace(".", "").replace(",", ".")) for w in written]


def test_004_leading_zeros(tmp_path) -> None:
    source = opened("cases/004/patients_zip.csv")
    schema = source.propose()
    assert [str(schema.column(n).type) for n in ("zip", "ward")] == ["text", "text"]
    assert pq.read_table(rewritten(source, tmp_path / "out.parquet")).schema.field("zip").type == pa.string()


def test_008_empty_columns() -> None:
    source = opened("cases/008/all_null.csv")
    schema = source.propose()
    assert [c.name for c in schema.columns if c.type == "empty"] == ["fax", "discount"]
    assert sum("empty" in note for note in source.notes) == 2


def test_009_days_and_months() -> None:
    source = opened("cases/009/dayfirst.csv")
    assert source.propose().column("joined").format == "%d.%m.%Y"
    with source.read() as table:
        assert natural(table, "min(joined) >= DATE '2021-01-01' AND max(joined) <= DATE '2021-06-30'") == [(True,)]
    unclear = opened("cases/009/ambiguous.csv")
    assert unclear.propose().column("seen").format == "%d/%m/%Y"
    assert any("'seen'" in note for note in unclear.notes)
    with pytest.raises(SourceError, match="'seen'"):
        opened("cases/009/ambiguous.csv", dates="strict").propose()
    assert opened("cases/009/ambiguous.csv", dates="month_first").propose().column("seen").format == "%m/%d/%Y"


def test_011_a_category_with_thousands_of_values() -> None:
    source = opened("cases/011/shops.csv")
    assert source.propose().column("shop").categories == "discover"
    with source.read() as table:
        assert natural(table, "count(*)", "shop IS NULL") == [(0,)]


@pytest.mark.parametrize("name", ["incomes", "incomes_without"])
def test_012_no_extreme_value_in_what_is_shown(name: str) -> None:
    source = opened(f"cases/012/{name}.csv")
    shown = dump_schema(source.propose(), source.suggestions) + " ".join(source.notes)
    assert "98765432" not in shown
    assert "31337" not in shown
    assert source.propose().column("income").range == "discover"


def test_014_encodings() -> None:
    source = opened("cases/014/latin.csv")
    for chosen in (source, opened("cases/014/latin.csv", encoding="cp1252")):
        with chosen.read() as table:
            cities = {c for (c,) in natural(table, "DISTINCT city")}
            assert {"Malmö", "Škofja", "Cáceres"} <= cities
            assert natural(table, "count(*)", "price LIKE '%€'") == [(200,)]
    assert any("cp1252" in note for note in source.notes)
    with pytest.raises(SourceError) as caught:
        opened("cases/014/mixed.csv")
    assert caught.value.line == facts("014")["facts"]["bad_line"]
    assert "encoding" in str(caught.value)


def test_015_codes_are_shown_as_a_decision() -> None:
    source = opened("cases/015/http.csv")
    schema = source.propose()
    assert {"status", "likert"} <= set(source.suggestions)
    declared = ColumnSpec(name="status", type="integer", categories=[200, 301, 404, 500])
    columns = [declared if c.name == "status" else c for c in schema.columns]
    with source.read(schema.with_columns(columns)) as table:
        assert natural(table, "count(DISTINCT status)") == [(4,)]
        assert declared.is_category


def test_018_a_nameless_counter_is_left_out() -> None:
    source = opened("cases/018/with_index.csv")
    assert source.propose().names == ("user_id", "age", "city", "plan", "spend")
    assert any("column 1" in note for note in source.notes)


def test_021_a_very_wide_table() -> None:
    with opened("cases/021/wide.csv").read() as table:
        assert len(table.schema.columns) == 300
        assert natural(table, "count(*)") == [(200,)]


def test_022_missing_users_are_missing() -> None:
    with opened("cases/022/null_users.csv").read(user_columns=["user_id"]) as table:
        found = table.connection.execute(
            f"SELECT count(*) FILTER (u0 IS NULL), count(*) FILTER (u0 IN ('', 'nan', 'None')) FROM {table.relation}"
        )
        empty = sum(not r[0] for r in cells(shared("cases/022/null_users.csv")))
        assert found.fetchall() == [(empty, 0)]
        assert empty > 0


def test_027_places_follow_the_source() -> None:
    schema = opened("cases/027/prices.csv").propose()
    assert {n: str(schema.column(n).type) for n in ("price", "qty", "tiny", "rate", "big")} == {
        "price": "decimal", "qty": "integer", "tiny": "float", "rate": "float", "big": "float",
    }  # fmt: skip
    assert schema.column("price").decimals == 2
    with opened("cases/027/prices.csv").read() as table:
        held = dict(zip(schema.names, physical(table), strict=True))
    rows = cells(shared("cases/027/prices.csv"))[1:]
    for name, position in (("tiny", 7), ("rate", 8), ("big", 9)):
        assert held[name][0].tolist() == [float(r[position]) for r in rows]


def test_029_offsets(tmp_path) -> None:
    source = opened("cases/029/offsets.csv")
    schema = source.propose()
    assert schema.column("at").zone_name == "UTC"
    assert schema.column("z").zone == "Z"
    assert any("'at'" in note for note in source.notes)
    from datetime import datetime

    before = cells(shared("cases/029/offsets.csv"))[1:]
    after = cells(rewritten(source, tmp_path / "out.csv"))[1:]
    assert [datetime.fromisoformat(r[1]) for r in after] == [datetime.fromisoformat(r[1]) for r in before]
    assert all(r[1].endswith(("Z", "+00:00")) for r in after)
    assert [r[2] for r in after] == [r[2] for r in before]


def test_034_blanks_around_values() -> None:
    listed = json.loads(shared("cases/034/schema_hint.json").read_text())["plan"]["values"]
    source = opened("cases/034/spaced.csv")
    assert source.column_names == ("user_id", "age", "city", "plan", "spend")
    assert str(source.propose().column("age").type) == "integer"
    with source.read() as table:
        found = [v for (v,) in natural(table, "DISTINCT plan")]
    assert blank_mismatch(listed, found) == dict.fromkeys(listed, "blanks")
    with opened("cases/034/spaced.csv", blanks="strip").read() as table:
        assert {v for (v,) in natural(table, "DISTINCT plan")} == set(listed)


def test_037_long_ids_stay_exact() -> None:
    with opened("cases/037/snowflake.csv").read(user_columns=["account"]) as table:
        query = f"SELECT count(DISTINCT u0), count(DISTINCT c0) FROM {table.relation}"
        assert table.connection.execute(query).fetchall() == [(200, 200)]
        held, missing = physical(table)[1]
    ids = [r[1] for r in cells(shared("cases/037/snowflake.csv"))[1:]]
    assert [str(v) if not m else "" for v, m in zip(held.tolist(), missing, strict=True)] == ids


def test_038_dates_out_of_range_and_placeholders() -> None:
    source = opened("cases/038/contracts.csv")
    with source.read() as table:
        assert natural(table, 'max(year("end")), min(year(checked))') == [(9999, 1)]
    with opened("cases/038/contracts.csv", missing_markers=["9999-12-31", "0001-01-01"]).read() as table:
        assert natural(table, 'max(year("end")) < 2030, min(year(checked))') == [(True, 1900)]
        assert natural(table, "count(*)", '"end" IS NULL')[0][0] > 0


@pytest.mark.parametrize(
    "name", ["zero_bytes.csv", "header_only.csv", "blank_lines.csv", "empty.parquet", "empty.jsonl"]
)
def test_046_nothing_to_read(name: str) -> None:
    with pytest.raises(SourceError, match=f"no data rows in {name}"):
        opened(f"cases/046/{name}").read()


def test_055_json_in_cells_is_text() -> None:
    assert str(opened("cases/055/json_cells.csv").propose().column("payload").type) == "text"


def test_056_public_ranges() -> None:
    ranges = json.loads(shared("cases/056/schema.json").read_text())
    source = opened("cases/056/bounded.csv")
    schema = source.propose()
    columns = [
        c.model_validate({**c.model_dump(), "range": ranges[c.name]}) if c.name in ranges else c for c in schema.columns
    ]
    assert schema.with_columns(columns).column("month").bounds == (1, 12)
    with source.read(schema.with_columns(columns)) as table:
        assert natural(table, "min(month) >= 1 AND max(month) <= 12") == [(True,)]


def test_058_no_header() -> None:
    with pytest.raises(SourceError, match="header") as caught:
        opened("cases/058/noheader.csv")
    assert "Ullby" not in str(caught.value)
    with opened("cases/058/noheader.csv", header="no").read() as table:
        assert table.schema.names == ("column_1", "column_2", "column_3", "column_4", "column_5")
        assert natural(table, "count(*)") == [(121,)]


def test_068_twin_columns_are_read_alike() -> None:
    with opened("cases/068/twins.csv").read() as table:
        assert natural(table, "count(*)", "a IS NULL")[0][0] > 0
        assert natural(table, "count(*)", "row < 50 AND a <> b") == [(0,)]


def test_069_missing_times_are_missing() -> None:
    with opened("cases/069/gaps.csv").read() as table:
        assert str(table.schema.column("time").type) == "date"
        empty = sum(not r[1] for r in cells(shared("cases/069/gaps.csv"))[1:])
        assert natural(table, "count(*)", '"time" IS NULL') == [(empty,)]


def test_073_ids_are_exact_text(tmp_path) -> None:
    with opened("cases/073/clinic.csv").read(user_columns=["clinic", "number"]) as table:
        query = f"SELECT count(*) FROM (SELECT DISTINCT u0, u1 FROM {table.relation})"
        assert table.connection.execute(query).fetchall() == [(60,)]
    with opened("cases/073/two_types.csv").read(user_columns=["id"]) as table:
        found = {v for (v,) in table.connection.execute(f"SELECT DISTINCT u0 FROM {table.relation}").fetchall()}
        assert {"007", "7", "7.0", " 7"} <= found
    pq.write_table(pa.table({"id": [7, 8], "x": [1, 2]}), tmp_path / "two_types.parquet")
    with pytest.raises(SourceError, match="one format"):
        open_source([shared("cases/073/two_types.csv"), tmp_path / "two_types.parquet"])


@pytest.mark.parametrize("name", ["cats", "nums", "single"])
def test_076_one_kind_of_column(name: str) -> None:
    with opened(f"cases/076/{name}.csv").read() as table:
        assert natural(table, "count(*)") == [(200,)]


def test_082_a_ragged_file_names_its_line() -> None:
    with pytest.raises(SourceError) as caught:
        opened("cases/082/broken.csv").read()
    assert caught.value.line == 3


def test_085_long_cells_and_open_quotes() -> None:
    with opened("cases/085/big_cell.csv").read() as table:
        assert natural(table, "max(length(doc)) >= 200000") == [(True,)]
    with pytest.raises(SourceError) as caught:
        opened("cases/085/open_quote.csv").read()
    assert caught.value.line == 22
    assert "quote" in str(caught.value)


def test_088_negative_zero() -> None:
    with opened("cases/088/zeros.csv").read() as table:
        held = physical(table)[1][0]
    assert len(set(held.tolist())) <= 3
    text = table.schema.columns[1].to_text(held, held != held).to_pylist()
    assert not any(t.startswith("-0") for t in text)


def test_every_shared_table_opens_or_is_refused_with_a_reason() -> None:
    folder = shared("cases")
    refused = {}
    for path in sorted(p for p in folder.glob("*/*") if p.suffix in (".csv", ".jsonl", ".parquet")):
        try:
            open_source(path, ReadingOptions()).read().close()
        except SourceError as error:
            refused[path.name] = str(error)
    assert set(refused) == {
        "mixed.csv", "blank_lines.csv", "header_only.csv", "zero_bytes.csv", "empty.parquet", "empty.jsonl",
        "noheader.csv", "broken.csv", "open_quote.csv", "nested.parquet", "threads.jsonl",
    }  # fmt: skip
    assert all(name in message and "\n" not in message for name, message in refused.items())
