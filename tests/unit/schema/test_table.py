"""The schema file: round trips, and errors that name column and key."""

from __future__ import annotations

import pytest

from dpfy.errors import SpecError
from dpfy.schema import (
    ColumnSpec,
    ReadingOptions,
    TableSchema,
    blank_mismatch,
    dump_schema,
    load_schema,
    parse_schema,
    schema_from_data,
)

FULL = TableSchema(
    columns=(
        ColumnSpec(name="age", type="integer", range=[0, 120], missing="never"),
        ColumnSpec(
            name="zip: 'x' # \"y\"", type="text", categories=["007", "7", "7.0", "no", " a ", "1e3", "null", ""]
        ),
        ColumnSpec(name="preis", type="decimal", decimals=2, min_decimals=0, decimal_mark=",", thousands="."),
        ColumnSpec(name="d", type="date", format="%d.%m.%Y", range=["2021-01-01", "31.12.2021"]),
        ColumnSpec(name="t", type="datetime", arrow_type="timestamp[us, tz=Europe/Oslo]", range="discover"),
        ColumnSpec(name="z", type="datetime", unit="s", format="%Y-%m-%dT%H:%M:%S%z", zone="Z"),
        ColumnSpec(name="b", type="boolean", other="missing"),
        ColumnSpec(name="e", type="empty", arrow_type="null"),
        ColumnSpec(name="f", type="float", significant=4, arrow_type="float"),
        ColumnSpec(name="status", type="integer", categories=[200, 404]),
        ColumnSpec(name="n", type="integer", min_decimals=1, arrow_type="double"),
        ColumnSpec(name="id", type="text", key=True, key_pattern="case-[0-9]{4}"),
        ColumnSpec(name="1970-01-01", type="text", static=True),
        ColumnSpec(name="año\tβ", type="text", drop=True),
        ColumnSpec(name="", type="integer"),
    ),
    reading=ReadingOptions(separator=";", missing_markers=("NA", ""), date_formats={"d": "%d.%m.%Y"}, exclude=("q",)),
    rules=("start <= end", "a != 'x: y'"),
    user="clinic,number",
)


def test_a_schema_reads_back_as_it_was_written(tmp_path) -> None:
    file = tmp_path / "schema.yaml"
    file.write_text(dump_schema(FULL, {"age": "a remark\nin two lines"}), encoding="utf-8")
    assert load_schema(file) == FULL


def test_defaults_are_not_written() -> None:
    text = dump_schema(TableSchema(columns=(ColumnSpec(name="age", type="integer", range="discover"),)))
    body = [line.strip() for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert body == ["columns:", "- name: age", "type: integer", "range: discover", "rules: []"]


def test_yaml_words_stay_words() -> None:
    schema = parse_schema("columns: [{name: on, type: text, categories: [no, yes, 007, 1.50, 2021-01-01, 12:30, off]}]")
    assert schema.columns[0].name == "on"
    assert schema.columns[0].categories == ("no", "yes", "007", "1.50", "2021-01-01", "12:30", "off")


def test_columns_may_be_a_mapping_by_name() -> None:
    schema = schema_from_data({"columns": {"a": {"type": "integer"}, "b": {"type": "text"}}})
    assert schema.names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("columns: [{name: a1, type: integr}]", ["'a1'", "'type'", "integer", "integr"]),
        ("columns: [{name: a1, type: integer, rnge: [1, 2]}]", ["'a1'", "'rnge'", "no such key"]),
        ("columns: [{type: integer}]", ["column number 1", "'name'", "missing"]),
        ("columns: [{name: a1, type: integer, range: [3, 2]}]", ["'a1'", "above"]),
        ("columns: [{name: a1, type: integer, range: 3}]", ["'a1'", "'range'"]),
        ("columns: [{name: a1, type: date, range: [2021-13-01, 2022-01-01]}]", ["'a1'", "2021-13-01"]),
        ("columns: [{name: a1, type: text, categories: [x, x]}]", ["'a1'", "'categories'", "twice"]),
        ("columns: [{name: a1, type: integer, categories: [1, '1.0']}]", ["'a1'", "same value"]),
        ("columns: [{name: a1, type: float, categories: [1]}]", ["'a1'", "decimal"]),
        ("columns: [{name: a1, type: decimal}]", ["'a1'", "decimals"]),
        ("columns: [{name: a1, type: integer, key: maybe}]", ["'a1'", "'key'"]),
        ("columns: [{name: a1, type: text}, {name: a1, type: text}]", ["'a1'", "twice"]),
        ("columns: {a1: integer}", ["'a1'", "type"]),
        ("columns: [{name: a1, type: text, type: text}]", ["line 1", "'type'", "twice"]),
        ("colums: []", ["colums"]),
        ("columns:\n  - name: [", ["line"]),
        ("just a word", ["columns"]),
        ("columns: [{name: a1, type: text}]\nreading: {separator: ab}", ["separator", "character"]),
        ("columns: [{name: a1, type: text}]\nreading: {encoding: klingon}", ["encoding", "utf-8"]),
    ],
)
def test_errors_name_column_and_key(text: str, words: list[str]) -> None:
    with pytest.raises(SpecError) as caught:
        parse_schema(text)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "pydantic" not in message
    assert "\n" not in message


def test_a_missing_schema_file_is_named(tmp_path) -> None:
    with pytest.raises(SpecError, match=r"none\.yaml"):
        load_schema(tmp_path / "none.yaml")


def test_a_listed_category_that_differs_only_in_blanks_or_case_is_named() -> None:
    assert blank_mismatch(["basic", "plus", "PRO", "gone"], [" basic", "plus", "pro "]) == {
        "basic": "blanks",
        "PRO": "case",
    }
    assert blank_mismatch(["basic"], ["basic", " basic"]) == {}


def test_looking_up_columns() -> None:
    assert FULL.index("d") == 3
    assert FULL.column("b").other == "missing"
    assert "año\tβ" not in [c.name for c in FULL.output_columns]
    with pytest.raises(SpecError, match="'nope'"):
        FULL.index("nope")


def test_the_schema_room_loads_no_engine() -> None:
    import subprocess
    import sys

    code = "import sys, dpfy.schema; print([m for m in ('pyarrow', 'duckdb', 'pandas', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
