"""Tables that went wrong for users elsewhere, through the whole command: what comes out is right."""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.e2e.command import Result, synth
from tests.shared import shared


def made(case: str, folder: Path, *options: object, epsilon: object = 3, name: str = "out.csv") -> list[dict[str, str]]:
    """Runs synth on a case and reads the output's rows."""
    done = ran(case, folder, *options, epsilon=epsilon, name=name)
    assert done.code == 0, done.err
    with (folder / name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter=_separator(folder / name)))


def ran(case: str, folder: Path, *options: object, epsilon: object = 3, name: str = "out.csv") -> Result:
    return synth(shared(f"cases/{case}"), folder, *options, epsilon=epsilon, name=name)


def _separator(path: Path) -> str:
    head = path.read_text(encoding="utf-8").splitlines()[0]
    return ";" if head.count(";") > head.count(",") else ","


def column(rows: list[dict[str, str]], name: str) -> list[str]:
    return [row[name] for row in rows]


def test_002_decimal_commas(tmp_path: Path) -> None:
    rows = made("002/export_de.csv", tmp_path, epsilon=20)
    assert list(rows[0]) == ["user_id", "alter", "stadt", "betrag"]
    amounts = [float(v.replace(".", "").replace(",", ".")) for v in column(rows, "betrag") if v]
    assert all(re.fullmatch(r"-?[\d.]+,\d{2}", v) for v in column(rows, "betrag") if v)
    assert 400 < sum(amounts) / len(amounts) < 850


def test_004_leading_zeros(tmp_path: Path) -> None:
    rows = made("004/patients_zip.csv", tmp_path, "--rows", 300, name="out.csv")
    assert all(re.fullmatch(r"\d{5}|\(other\)", v) for v in column(rows, "zip"))
    assert set(column(rows, "zip")) <= {"01067", "02134", "04109", "09599", "10115", "20095", "(other)"}
    assert all(re.fullmatch(r"0\d|\(other\)", v) for v in column(rows, "ward"))
    parquet = ran("004/patients_zip.csv", tmp_path, name="out.parquet")
    assert parquet.code == 0
    assert str(pq.read_schema(tmp_path / "out.parquet").field("zip").type) == "string"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_008_empty_columns(tmp_path: Path, suffix: str) -> None:
    source = shared(f"cases/008/all_null.{suffix}")
    done = synth(source, tmp_path, epsilon=8, name="out.parquet")
    assert done.code == 0, done.err
    assert "empty" in done.err
    table = pq.read_table(tmp_path / "out.parquet")
    for name in [n for n in ("fax", "discount", "misc") if n in table.column_names]:
        assert table[name].null_count == table.num_rows
    for name in ("age", "city"):
        assert table[name].null_count == 0
    if suffix == "parquet":
        assert table.schema.types == pq.read_schema(source).types
    assert not any("fax" in c["label"] for c in done.json["statement"]["charges"])


def test_009_dates_keep_one_pattern(tmp_path: Path) -> None:
    rows = made("009/dayfirst.csv", tmp_path, epsilon=8)
    days = [datetime.datetime.strptime(v, "%d.%m.%Y") for v in column(rows, "joined") if v]
    inside = [d for d in days if datetime.datetime(2020, 12, 1) < d < datetime.datetime(2021, 8, 1)]
    assert len(inside) > 0.9 * len(days)
    ambiguous = ran("009/ambiguous.csv", tmp_path)
    assert "day" in ambiguous.err
    strict = ran("009/ambiguous.csv", tmp_path, "--dates", "strict")
    assert strict.code == 2


def test_011_thousands_of_values(tmp_path: Path) -> None:
    rows = made("011/shops.csv", tmp_path, epsilon=1)
    seen = Counter(column(rows, "shop"))
    assert seen.most_common(1)[0][0] == "shop-0001"
    assert len({f"shop-000{i}" for i in range(1, 6)} & set(seen)) >= 4
    assert "" not in seen
    labelled = tmp_path / "schema.yaml"
    labelled.write_text(
        "columns:\n  - {name: user_id, type: text, drop: true}\n"
        "  - {name: shop, type: text, other: label, other_label: rest}\n"
        "  - {name: items, type: integer}\n"
    )
    rows = made("011/shops.csv", tmp_path, "--schema", labelled, epsilon=1)
    assert "rest" in column(rows, "shop")
    assert "user_id" not in rows[0]


def test_012_extremes_do_not_leak(tmp_path: Path) -> None:
    done = ran("012/incomes.csv", tmp_path, "--report", tmp_path / "report")
    assert done.code == 0
    for path in tmp_path.rglob("*"):
        if path.is_file() and "report" not in path.parts:
            data = path.read_bytes()
            assert b"98765432" not in data, path
            assert b"-31337" not in data, path
    assert "98765432" not in done.out + done.err
    with (tmp_path / "out.csv").open() as stream:
        incomes = [float(r["income"]) for r in csv.DictReader(stream) if r["income"]]
    assert max(incomes) < 5_000_000


def test_014_encodings(tmp_path: Path) -> None:
    for options in ([], ["--encoding", "cp1252"]):
        rows = made("014/latin.csv", tmp_path, *options, epsilon=8)
        assert {"Malmö", "Škofja", "Cáceres"} & set(column(rows, "city"))
        assert all("�" not in v and "Ã" not in v for v in column(rows, "city"))
    mixed = ran("014/mixed.csv", tmp_path)
    assert mixed.code == 2
    assert "102" in mixed.err
    assert "encoding" in mixed.err


def test_015_declared_codes_stay_codes(tmp_path: Path) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text(
        "columns:\n  - {name: user_id, type: text, key: true}\n"
        "  - {name: status, type: integer, categories: [200, 301, 404, 500]}\n"
        "  - {name: likert, type: integer, categories: discover}\n  - {name: ms, type: integer}\n"
    )
    rows = made("015/http.csv", tmp_path, "--schema", schema, "--rows", 2000)
    assert set(column(rows, "status")) <= {"200", "301", "404", "500"}
    assert set(column(rows, "likert")) <= {"1", "2", "3", "4", "5"}
    assert len(set(column(rows, "user_id"))) == 2000


def test_018_nameless_index(tmp_path: Path) -> None:
    done = ran("018/with_index.csv", tmp_path)
    assert done.code == 0
    assert "column 1" in done.err
    with (tmp_path / "out.csv").open() as stream:
        assert next(csv.reader(stream)) == ["user_id", "age", "city", "plan", "spend"]


def test_021_very_wide(tmp_path: Path) -> None:
    rows = made("021/wide.csv", tmp_path, epsilon=2)
    assert len(rows[0]) == 300


def test_022_missing_user_ids(tmp_path: Path) -> None:
    done = ran("022/null_users.csv", tmp_path, "--user", "user_id", "--max-records-per-user", 5, epsilon=5)
    assert "no user id" in done.err
    assert "89" not in done.err
    rows = made("022/null_users.csv", tmp_path, "--user", "user_id", "--max-records-per-user", 5, epsilon=5)
    ids = set(column(rows, "user_id"))
    assert not ids & {"", "nan", "None", "null"}


def test_027_money_keeps_its_places(tmp_path: Path) -> None:
    rows = made("027/prices.csv", tmp_path, epsilon=30)
    assert all(re.fullmatch(r"-?\d+(\.\d{1,2})?", v) for v in column(rows, "price") if v)
    assert all(re.fullmatch(r"-?\d+", v) for v in column(rows, "qty") if v)
    tiny = [abs(float(v)) for v in column(rows, "tiny") if v]
    assert sorted(tiny)[len(tiny) // 2] < 1e-6
    assert any("." in v and len(v.split(".")[1]) > 4 for v in column(rows, "rate") if v)


def test_028_lengths_stay_under_the_cap(tmp_path: Path) -> None:
    name = shared("cases/028/lengths.csv").read_text().splitlines()[0].split(",")[0]
    rows = made("028/lengths.csv", tmp_path, "--user", name, "--max-records-per-user", 5, "--rows", 400, epsilon=10)
    sizes = Counter(Counter(column(rows, name)).values())
    assert max(sizes) <= 5
    assert sizes[1] > 0


def test_029_time_zones(tmp_path: Path) -> None:
    source = shared("cases/029/tz.parquet")
    done = synth(source, tmp_path, epsilon=8, name="out.parquet")
    assert done.code == 0
    assert pq.read_schema(tmp_path / "out.parquet").types == pq.read_schema(source).types
    hours = [t.hour for t in pq.read_table(tmp_path / "out.parquet")["opened"].to_pylist() if t]
    assert sum(7 <= h <= 19 for h in hours) > 0.9 * len(hours)
    rows = made("029/offsets.csv", tmp_path)
    assert all(re.search(r"(Z|[+-]\d\d:\d\d)$", v) for v in column(rows, "at") if v)


def test_034_blanks_are_named_or_stripped(tmp_path: Path) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text(
        "columns:\n" + "".join(
            f"  - {{name: {n}, type: {t}}}\n" for n, t in (("user_id", "text"), ("age", "integer"), ("city", "text"))
        ) + "  - {name: plan, type: text, categories: [basic, plus, pro]}\n"
        + "  - {name: spend, type: decimal, decimals: 2}\n"
    )  # fmt: skip
    done = ran("034/spaced.csv", tmp_path, "--schema", schema)
    assert done.code == 2
    assert "blanks" in done.err
    assert "'plan'" in done.err
    rows = made("034/spaced.csv", tmp_path, "--schema", schema, "--blanks", "strip")
    assert set(column(rows, "plan")) <= {"basic", "plus", "pro"}


def test_037_large_ids_are_exact(tmp_path: Path) -> None:
    for suffix in ("csv", "parquet"):
        source = shared(f"cases/037/snowflake.{suffix}")
        done = synth(source, tmp_path, "--user", "account", "--max-records-per-user", 4, epsilon=50)
        assert done.code == 0, done.err
        assert abs(done.json["statement"]["users"] - 200) < 12


def test_038_placeholder_dates(tmp_path: Path) -> None:
    rows = made("038/contracts.csv", tmp_path, epsilon=8)
    years = [int(v[:4]) for v in column(rows, "end") if v]
    assert all(y <= 2100 or y == 9999 for y in years)
    assert sum(y == 9999 for y in years) > 0.2 * len(years)
    declared = made("038/contracts.csv", tmp_path, "--missing", "9999-12-31", epsilon=8)
    assert all(int(v[:4]) < 2100 for v in column(declared, "end") if v)
    assert sum(v == "" for v in column(declared, "end")) > 0.2 * len(declared)


@pytest.mark.parametrize("file", ["types.parquet", "pandas_ext.parquet"])
def test_045_parquet_types(tmp_path: Path, file: str) -> None:
    source = shared(f"cases/045/{file}")
    done = synth(source, tmp_path, name="out.parquet")
    assert done.code == 0, done.err
    assert pq.read_schema(tmp_path / "out.parquet").types == pq.read_schema(source).types


@pytest.mark.parametrize(
    "file", ["zero_bytes.csv", "header_only.csv", "blank_lines.csv", "empty.parquet", "empty.jsonl"]
)
def test_046_nothing_there(tmp_path: Path, file: str) -> None:
    done = ran(f"046/{file}", tmp_path)
    assert done.code == 2
    assert f"no data rows in {file}" in done.err
    assert not (tmp_path / "out.csv").exists()


def test_047_marked_cells(tmp_path: Path) -> None:
    done = ran("047/secrets.csv", tmp_path)
    assert done.code == 0
    assert "zqx-" not in done.out + done.err
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"zqx-" not in path.read_bytes()


def test_055_nested(tmp_path: Path) -> None:
    refused = ran("055/nested.parquet", tmp_path)
    assert refused.code == 2
    for name in ("tags", "geo", "attrs"):
        assert name in refused.err
    options = [part for name in ("tags", "geo", "attrs", "emb") for part in ("--exclude", name)]
    assert ran("055/nested.parquet", tmp_path, *options).code == 0
    assert ran("055/json_cells.csv", tmp_path).code == 0


def test_056_public_ranges(tmp_path: Path) -> None:
    head = shared("cases/056/bounded.csv").read_text().splitlines()[0].split(",")
    ranges = {"month": (1, 12), "day": (1, 31), "pct": (0, 100), "age": (0, 110)}
    lines = []
    for name in head:
        extra = f", range: [{ranges[name][0]}, {ranges[name][1]}]" if name in ranges else ""
        kind = {"pct": "decimal, decimals: 1", "user_id": "text"}.get(name, "integer")
        lines.append(f"  - {{name: {name}, type: {kind}{extra}}}\n")
    schema = tmp_path / "schema.yaml"
    schema.write_text("columns:\n" + "".join(lines))
    rows = made("056/bounded.csv", tmp_path, "--schema", schema, "--rows", 5000)
    for name, (low, high) in ranges.items():
        values = [float(v) for v in column(rows, name) if v]
        assert low <= min(values), name
        assert max(values) <= high, name
    assert {min(int(v) for v in column(rows, "month")), max(int(v) for v in column(rows, "month"))} == {1, 12}


def test_058_no_header(tmp_path: Path) -> None:
    refused = ran("058/noheader.csv", tmp_path, "--user", "user_id")
    assert refused.code == 2
    assert "header" in refused.err
    done = ran("058/noheader.csv", tmp_path, "--header", "no", epsilon=20)
    assert done.code == 0
    assert abs(done.json["statement"]["records"] - 121) < 15
    assert "u0000" not in (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("epsilon", [0.01, 1, 1000])
def test_063_extreme_epsilon(tmp_path: Path, epsilon: float) -> None:
    done = ran("063/grid.csv", tmp_path, "--rows", 300, epsilon=epsilon)
    assert done.code == 0, done.err
    assert 0.99 * epsilon <= done.json["statement"]["epsilon"] <= epsilon


def test_068_twin_columns_get_independent_noise(tmp_path: Path) -> None:
    rows = made("068/twins.csv", tmp_path, "--rows", 400)
    assert column(rows, "a") != column(rows, "b")


def test_072_few_possible_rows(tmp_path: Path) -> None:
    source = shared("cases/072/repeats.csv")
    report = tmp_path / "report"
    done = ran("072/repeats.csv", tmp_path, "--report", report, epsilon=5)
    assert done.code == 0
    assert json.loads((report / "report.json").read_text())["figures"]["copies"]["verdict"] == "not_flagged"
    with source.open() as stream:
        real = {tuple(r.values())[1:] for r in csv.DictReader(stream)}
    with (tmp_path / "out.csv").open() as stream:
        drawn = [tuple(r.values())[1:] for r in csv.DictReader(stream)]
    assert sum(row in real for row in drawn) > 0.8 * len(drawn)


def test_073_users_named_by_two_columns(tmp_path: Path) -> None:
    done = ran("073/clinic.csv", tmp_path, "--user", "clinic+number", "--max-records-per-user", 4, epsilon=50)
    assert done.code == 0, done.err
    assert abs(done.json["statement"]["users"] - 60) < 6
    two = ran("073/two_types.csv", tmp_path, "--user", "id", "--max-records-per-user", 50, epsilon=100)
    assert two.code == 0, two.err


@pytest.mark.parametrize("file", ["cats", "nums", "single"])
def test_076_one_kind_of_column(tmp_path: Path, file: str) -> None:
    rows = made(f"076/{file}.csv", tmp_path)
    assert len(rows) > 50


def test_082_ragged(tmp_path: Path) -> None:
    done = ran("082/broken.csv", tmp_path)
    assert done.code == 2
    assert "line 3" in done.err


def test_083_key_patterns(tmp_path: Path) -> None:
    head = shared("cases/083/keys.csv").read_text().splitlines()[0].split(",")
    schema = tmp_path / "schema.yaml"

    def write(pattern: str) -> None:
        schema.write_text(
            f"columns:\n  - {{name: {head[0]}, type: text, key_pattern: '{pattern}'}}\n"
            f"  - {{name: {head[1]}, type: date}}\n  - {{name: {head[2]}, type: decimal, decimals: 1}}\n"
        )

    options: list[Any] = ["--user", head[0], "--max-records-per-user", 3, "--schema", schema, "--rows", 150]
    write("case-[0-9]")
    refused = ran("083/keys.csv", tmp_path, *options)
    assert refused.code == 2
    assert "pattern" in refused.err
    write("case-[0-9]{4}")
    rows = made("083/keys.csv", tmp_path, *options)
    assert max(Counter(column(rows, head[0])).values()) <= 3
    assert all(re.fullmatch(r"case-\d{4}", v) for v in column(rows, head[0]))


def test_085_long_cells_and_open_quotes(tmp_path: Path) -> None:
    assert ran("085/big_cell.csv", tmp_path).code == 0
    refused = ran("085/open_quote.csv", tmp_path)
    assert refused.code == 2
    assert "quote" in refused.err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_088_negative_zero(tmp_path: Path, suffix: str) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text(
        "columns:\n  - {name: user_id, type: text, drop: true}\n"
        "  - {name: shift, type: decimal, decimals: 1, categories: discover}\n"
    )
    done = synth(shared(f"cases/088/zeros.{suffix}"), tmp_path, *(["--schema", schema] if suffix == "csv" else []))
    assert done.code == 0, done.err
    text = (tmp_path / "out.csv").read_text()
    assert "-0.0" not in text
    assert "-0\n" not in text
    if suffix == "csv":
        assert len(set(text.split()[1:])) <= 3


def test_names_that_nothing_tells_from_rows_are_pointed_out(tmp_path: Path) -> None:
    source = tmp_path / "nohead.csv"
    source.write_text("Alice,Oslo\nBob,Bergen\nCarol,Moss\nDora,Voss\n" * 1)
    done = synth(source, tmp_path)
    assert "header" in done.err
    told = synth(source, tmp_path, "--header", "yes")
    assert "header" not in told.err
