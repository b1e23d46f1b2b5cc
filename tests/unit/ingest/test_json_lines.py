"""JSON lines."""

from __future__ import annotations

import json

import pytest

from dpfy.errors import SourceError
from dpfy.ingest import open_source
from dpfy.schema import ReadingOptions
from tests.unit.ingest.files import kinds, source_of, users, values, written

ROWS = [
    {"id": "007", "n": 1, "price": 12.5, "flag": True, "day": "2021-02-28", "tiny": 5.29e-10, "gone": None},
    {"n": 9007199254740993, "id": "7", "price": 3, "flag": None, "day": None, "more": "line\nbreak é"},
    {"id": "", "n": None, "flag": False, "price": 0.25, "day": "9999-12-31", "tiny": 1e-12},
]
TEXT = "\n".join(json.dumps(r) for r in ROWS) + "\n"


def test_types_and_values(tmp_path) -> None:
    source = source_of(tmp_path, "\ufeff" + TEXT.replace("\n", "\r\n\r\n"), "t.jsonl")
    assert source.name == "t"
    assert source.column_names == ("id", "n", "price", "flag", "day", "tiny", "gone", "more")
    assert kinds(source.propose()) == {
        "id": "text", "n": "integer", "price": "decimal", "flag": "boolean", "day": "date", "tiny": "float",
        "gone": "empty", "more": "text",
    }  # fmt: skip
    with source.read(user_columns=["id", "n"]) as table:
        assert values(table, "n") == [1, 9007199254740993, None]
        assert values(table, "price") == [1250, 300, 25]
        assert values(table, "flag") == ["true", None, "false"]
        assert values(table, "more") == [None, "line\nbreak é", None]
        assert values(table, "tiny") == [5.29e-10, None, 1e-12]
        assert users(table) == ["007", "7", None]
        assert users(table, 1) == ["1", "9007199254740993", None]


def test_numbers_in_strings_stay_text(tmp_path) -> None:
    source = source_of(tmp_path, '{"a": "1"}\n{"a": "2"}\n', "t.ndjson")
    assert kinds(source.propose()) == {"a": "text"}


def test_awkward_keys(tmp_path) -> None:
    source = source_of(tmp_path, json.dumps({"a/b": 1, "c~d": 2, "e.f": 3, '"': 4, "": 5, "$": 6}) + "\n", "t.jsonl")
    with source.read() as table:
        assert [values(table, n)[0] for n in source.column_names] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("bad", ['{"a": 1,,}', "[1, 2]", "7", "{", '{"a": 1} {"a": 2}'])
def test_a_broken_line_is_named(tmp_path, bad: str) -> None:
    with pytest.raises(SourceError, match=r"t\.jsonl, line 3") as caught:
        source_of(tmp_path, f'{{"a": 1}}\n\n{bad}\n{{"a": 3}}\n', "t.jsonl")
    assert caught.value.line == 3


def test_bytes_that_are_not_utf8_are_named(tmp_path) -> None:
    content = '{"a": "x"}\n{"a": "Zürich"}\n'.encode("cp1252")
    with pytest.raises(SourceError, match="line 2"):
        source_of(tmp_path, content, "t.jsonl")
    with source_of(tmp_path, content, "t.jsonl", encoding="cp1252").read() as table:
        assert values(table, "a") == ["x", "Zürich"]


def test_lists_and_objects_are_refused_by_name(tmp_path) -> None:
    text = '{"a": 1, "tags": []}\n{"a": 2, "geo": {"lat": 1}}\n'
    with pytest.raises(SourceError, match="'tags', 'geo'"):
        source_of(tmp_path, text, "t.jsonl")
    assert source_of(tmp_path, text, "t.jsonl", exclude=["tags", "geo"]).column_names == ("a",)


@pytest.mark.parametrize("content", ["\n\n", "{}\n{}\n", ""])
def test_no_data_rows(tmp_path, content: str) -> None:
    with pytest.raises(SourceError, match="no data rows"):
        source_of(tmp_path, content, "t.jsonl")


def test_several_files_have_the_keys_of_all(tmp_path) -> None:
    written(tmp_path, "a.jsonl", '{"a": 1}')
    written(tmp_path, "b.jsonl", '{"b": 2}')
    source = open_source(tmp_path, ReadingOptions())
    assert source.column_names == ("a", "b")
    with source.read() as table:
        assert values(table, "a") == [1, None]
        assert values(table, "b") == [None, 2]


def test_many_lines_across_pieces(tmp_path) -> None:
    text = "".join(f'{{"n": {i}, "w": "{"x" * 100}"}}\n' for i in range(60_000))
    with source_of(tmp_path, text, "t.jsonl").read() as table:
        assert values(table, "n") == list(range(60_000))
