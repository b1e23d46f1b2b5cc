"""The writer: the source's form, and nothing half-written."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfy.errors import SpecError
from dpfy.schema import ColumnSpec, ReadingOptions, TableSchema
from dpfy.schema.output import TableWriter, arrow_schema, to_table

SCHEMA = TableSchema(
    columns=(
        ColumnSpec(name='n, "x"', type="integer", arrow_type="int32"),
        ColumnSpec(name="price", type="decimal", decimals=2, decimal_mark=","),
        ColumnSpec(name="gone", type="text", drop=True),
        ColumnSpec(name="word", type="text"),
        ColumnSpec(name="flag", type="boolean"),
        ColumnSpec(name="day", type="date", format="%B %-d, %Y"),
        ColumnSpec(name="none", type="empty"),
    )
)
WORDS = ['a,"b"', "line\nbreak", "", "=1+1"]
GAPS = np.array([False, False, False, True])
COLUMNS = [
    (np.array([1, 2, 3, 0]), GAPS),
    (np.array([150, -5, 0, 0]), GAPS),
    (np.array(WORDS, dtype=object), np.zeros(4, dtype=bool)),
    (np.array(["true", "false", "true", ""], dtype=object), GAPS),
    (np.array([0, 1, 2, 0]), GAPS),
    (np.array(["", "", "", ""], dtype=object), np.ones(4, dtype=bool)),
]


def write(path, schema=SCHEMA, columns=COLUMNS, **options) -> None:
    with TableWriter(path, schema, **options) as writer:
        writer.write(columns)


def test_csv_quotes_what_needs_quotes_and_keeps_missing_apart_from_words(tmp_path) -> None:
    write(tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text()
    rows = list(csv.reader(text.splitlines(keepends=True)))
    assert rows[0] == ['n, "x"', "price", "word", "flag", "day", "none"]
    assert rows[1] == ["1", "1,50", 'a,"b"', "true", "January 1, 1970", ""]
    assert rows[2] == ["2", "-0,05", "line\nbreak", "false", "January 2, 1970", ""]
    assert rows[4] == ["", "", "=1+1", "", "", ""]
    # An empty word is written as "", a missing one as nothing.
    assert text.splitlines()[-2].split(",")[3:4] == ['""']


@pytest.mark.parametrize("suffix", [".csv.gz", ".tsv", ".csv.zst"])
def test_packed_and_tab_separated_text(tmp_path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    write(path)
    with pa.input_stream(str(path), compression=None if suffix == ".tsv" else "detect") as stream:
        text = stream.read().decode()
    separator = "\t" if suffix == ".tsv" else ","
    rows = list(csv.reader(text.splitlines(keepends=True), delimiter=separator))
    assert len(rows) == 5
    assert rows[1][:2] == ["1", "1,50"]
    if suffix == ".csv.gz":
        assert gzip.decompress(path.read_bytes()).decode() == text


def test_the_source_s_separator_header_and_line_end_are_kept(tmp_path) -> None:
    reading = ReadingOptions(separator=";", header="no", line_end="crlf")
    schema = SCHEMA.model_copy(update={"reading": reading})
    write(tmp_path / "out.csv", schema)
    text = (tmp_path / "out.csv").read_bytes().decode()
    assert text.startswith("1;1,50;")
    assert text.endswith("\r\n")


def test_json_lines_keep_numbers_as_numbers_and_nulls_as_null(tmp_path) -> None:
    write(tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows[0] == {'n, "x"': 1, "price": 1.5, "word": 'a,"b"', "flag": True, "day": "January 1, 1970", "none": None}
    assert rows[3] == {'n, "x"': None, "price": None, "word": "=1+1", "flag": None, "day": None, "none": None}


def test_parquet_has_exactly_the_schema_s_types(tmp_path) -> None:
    write(tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.equals(arrow_schema(SCHEMA))
    assert table["price"].to_pylist() == [1.5, -0.05, 0.0, None]
    assert table.equals(to_table(SCHEMA, COLUMNS))


def test_formulas_are_neutralised_on_request_in_words_alone(tmp_path) -> None:
    schema = TableSchema(columns=(ColumnSpec(name="w", type="text"), ColumnSpec(name="n", type="integer")))
    words = np.array(["=1+1", "+1", "-1", "@x", "\tx", "\rx", "a=1"], dtype=object)
    columns = [(words, np.zeros(7, dtype=bool)), (np.full(7, -1), np.zeros(7, dtype=bool))]
    write(tmp_path / "plain.csv", schema, columns)
    write(tmp_path / "mild.csv", schema, columns, neutralise_formulas=True)
    plain, mild = (list(csv.reader((tmp_path / n).open(newline=""))) for n in ("plain.csv", "mild.csv"))
    assert [r[0] for r in plain[1:]] == words.tolist()
    assert [r[0] for r in mild[1:]] == ["'=1+1", "'+1", "'-1", "'@x", "'\tx", "'\rx", "a=1"]
    assert {r[1] for r in mild[1:]} == {"-1"}


def test_a_lone_column_keeps_its_missing_cells(tmp_path) -> None:
    schema = TableSchema(columns=(ColumnSpec(name="only", type="integer"),))
    write(tmp_path / "out.csv", schema, [(np.array([1, 0, 3]), np.array([False, True, False]))])
    assert (tmp_path / "out.csv").read_text() == 'only\n1\n""\n3\n'


@pytest.mark.parametrize("suffix", [".csv", ".jsonl.gz", ".parquet"])
def test_nothing_is_left_after_an_error(tmp_path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"

    def fail() -> None:
        with TableWriter(path, SCHEMA) as writer:
            writer.write(COLUMNS)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_output_survives_a_failed_run(tmp_path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before")

    def fail() -> None:
        with TableWriter(path, SCHEMA) as writer:
            writer.write(COLUMNS)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "before"


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.parquet.gz", "missing/out.csv"])
def test_outputs_that_can_t_be_written_are_refused_at_once(tmp_path, name: str) -> None:
    with pytest.raises(SpecError):
        TableWriter(tmp_path / name, SCHEMA)


def test_many_rows_are_written_in_order(tmp_path) -> None:
    schema = TableSchema(columns=(ColumnSpec(name="n", type="integer"), ColumnSpec(name="w", type="text")))
    rows = 150_000
    numbers = np.arange(rows)
    words = np.array([f"w{i}" for i in range(10)], dtype=object)[numbers % 10]
    for suffix in (".csv", ".parquet"):
        write(tmp_path / f"out{suffix}", schema, [(numbers, np.zeros(rows, bool)), (words, np.zeros(rows, bool))])
    assert pq.read_table(tmp_path / "out.parquet")["n"].to_numpy().tolist() == numbers.tolist()
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == rows + 1
    assert lines[131_073] == "131072,w2"
