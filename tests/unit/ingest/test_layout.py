"""The layout of delimited files: encodings, separators, headers, broken lines."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

from dpfy.errors import SourceError, SpecError
from dpfy.ingest import open_source
from dpfy.schema import ReadingOptions
from tests.unit.ingest.files import kinds, source_of, users, values, written

TEXT = "id,city,n\n1,Malmö,3\n2,Škofja €,4\n"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found(tmp_path, separator: str) -> None:
    source = source_of(tmp_path, TEXT.replace(",", separator))
    assert source.column_names == ("id", "city", "n")
    assert source.propose().reading.separator == separator


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", False),
        ("utf-8-sig", False),
        ("utf-16", False),
        ("utf-16-le", False),
        ("utf-16-be", False),
        ("cp1252", True),
    ],
)
def test_encodings_are_found(tmp_path, encoding: str, said: bool) -> None:
    source = source_of(tmp_path, TEXT.encode(encoding))
    assert any("cp1252" in note for note in source.notes) is said
    with source.read() as table:
        assert values(table, "city") == ["Malmö", "Škofja €"]
        assert values(table, "id") == [1, 2]


def test_an_encoding_can_be_set(tmp_path) -> None:
    content = "id,city\n1,Łódź\n".encode("cp1250")
    with source_of(tmp_path, content, encoding="cp1250").read() as table:
        assert values(table, "city") == ["Łódź"]
    with pytest.raises(SourceError, match="line 2") as caught:
        source_of(tmp_path, content, encoding="utf-8")
    assert "encoding" in str(caught.value)


@pytest.mark.parametrize("early", [True, False])
def test_one_line_in_another_encoding_is_named(tmp_path, early: bool) -> None:
    lines = [b"id,city"] + ["1,Malmö".encode()] * 50
    lines.insert(3 if early else 40, "2,Zürich".encode("cp1252"))
    if early:
        lines[1:3] = [b"1,plain", b"1,plain"]
    with pytest.raises(SourceError) as caught:
        source_of(tmp_path, b"\n".join(lines))
    assert caught.value.line == (4 if early else 41)
    assert "Z" not in caught.value.message.replace("t.csv", "").replace("UTF-8", "")


@pytest.mark.parametrize(
    ("name", "packed"), [("t.csv.gz", "gzip"), ("t.csv.zst", "zstd"), ("t.tsv.gz", "gzip"), ("t.txt", None)]
)
def test_packed_files(tmp_path, name: str, packed: str | None) -> None:
    content = TEXT.replace(",", "\t" if "tsv" in name else ",").encode()
    data = content if packed is None else pa.compress(content, codec=packed, asbytes=True)
    if packed == "gzip":
        data = gzip.compress(content)
    elif packed == "zstd":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(content)
        data = sink.getvalue().to_pybytes()
    source = source_of(tmp_path, data, name)
    assert source.name == "t"
    with source.read() as table:
        assert values(table, "n") == [3, 4]


def test_a_damaged_archive_is_named(tmp_path) -> None:
    with pytest.raises(SourceError, match=r"t\.csv\.gz"):
        source_of(tmp_path, gzip.compress(TEXT.encode())[:20], "t.csv.gz")
    with pytest.raises(SourceError, match=r"t\.csv\.gz"):
        source_of(tmp_path, b"not packed at all", "t.csv.gz")


@pytest.mark.parametrize(
    "content",
    ["", "\n\n", "a,b\n", "a,b", "\n\n\na,b\n\n,\n", "a,b\n,,\n \n", "\ufeff", "a,b\r\n\r\n"],
)
def test_no_data_rows(tmp_path, content: str) -> None:
    with pytest.raises(SourceError, match=r"no data rows in t\.csv"):
        source_of(tmp_path, content).read()


def test_blank_lines_and_rows_of_separators_are_no_records(tmp_path) -> None:
    with source_of(tmp_path, "\n\na,b\n\n1,2\n,\n\n3,\n,,,\n").read() as table:
        assert values(table, "a") == [1, 3]
        assert values(table, "b") == [2, None]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a,b\n1,2\n3,4,5\n", 3),
        ("a,b\n1,2\n3\n", 3),
        ('a,b\n1,"x\ny\nz"\n3,4,5\n', 5),
        ('a,b\n1,x\n2,"y\n3,z\n', 3),
        ('a,b,c\n1,x,1\n2,"y,2\n3,z,3\n', 3),
        ('a,b\n1,"x" y\n2,"z\n', 2),
        ("a,b\r\n1,2\r\n3,4,5\r\n", 3),
    ],
)
def test_broken_lines_are_named(tmp_path, content: str, line: int) -> None:
    with pytest.raises(SourceError) as caught:
        source_of(tmp_path, content).read()
    assert caught.value.line == line
    assert f"line {line}" in str(caught.value)
    assert "quote" in str(caught.value) or "cells" in str(caught.value)


def test_an_inch_mark_is_no_open_quote(tmp_path) -> None:
    with source_of(tmp_path, 'a,b\n5" pipe,1\nx,2\n').read() as table:
        assert values(table, "a") == ['5" pipe', "x"]


def test_line_breaks_and_quotes_in_cells(tmp_path) -> None:
    with source_of(tmp_path, 'a,b\n"x\ny",1\n"say ""hi"", you",2\n').read() as table:
        assert values(table, "a") == ["x\ny", 'say "hi", you']


def test_a_very_long_cell_is_read_or_refused_by_the_option(tmp_path) -> None:
    content = "a,b\n1," + "x" * 6_000_000 + "\n2,y\n"
    with source_of(tmp_path, content).read() as table:
        assert [len(v) for v in values(table, "b")] == [6_000_000, 1]
    with pytest.raises(SourceError, match="largest_cell"):
        source_of(tmp_path, content, largest_cell=1000).read()


def test_names_are_stripped_and_awkward_ones_work(tmp_path) -> None:
    content = 'id, "a ""b""",row,SELECT,größe;\'x\',A,a\n1,2,3,4,5,6,7\n'
    source = source_of(tmp_path, content)
    assert source.column_names == ("id", '"a ""b"""', "row", "SELECT", "größe;'x'", "A", "a")
    with source.read() as table:
        view = table.connection.execute(f'SELECT "SELECT", "größe;\'x\'" FROM {table.natural_view}')
        assert view.fetchall() == [(4, 5)]
        assert table.natural_row == "natural_row"


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
@pytest.mark.parametrize("start", [0, 1])
def test_a_row_counter_in_front_is_left_out(tmp_path, name: str, start: int) -> None:
    rows = "".join(f"{i + start},u{i}\n" for i in range(500))
    source = source_of(tmp_path, f"{name},id\n{rows}")
    assert source.propose().names == ("id",)
    assert any("column 1" in note for note in source.notes)
    with source.read() as table:
        assert values(table, "id")[:2] == ["u0", "u1"]


def test_a_nameless_column_with_content_is_refused(tmp_path) -> None:
    with pytest.raises(SourceError, match="column 1"):
        source_of(tmp_path, ",id\n7,u0\n9,u1\n")
    with pytest.raises(SourceError, match="column 2"):
        source_of(tmp_path, "id,\nu0,7\n")
    rows = "".join(f"{i},u{i}\n" for i in range(400))
    with pytest.raises(SourceError, match="column 1"):
        source_of(tmp_path, f",id\n{rows}77,x\n").propose()


def test_a_trailing_separator_makes_no_column(tmp_path) -> None:
    source = source_of(tmp_path, "a,b,\n1,2,\n3,4,\n")
    assert source.propose().names == ("a", "b")


def test_a_first_line_that_looks_like_data_is_refused(tmp_path) -> None:
    content = "u0,20,Ullby,1.79\nu1,43,Pallin,28.77\n"
    with pytest.raises(SourceError, match="header") as caught:
        source_of(tmp_path, content)
    assert "Ullby" not in str(caught.value)
    source = source_of(tmp_path, content, header="no")
    assert source.column_names == ("column_1", "column_2", "column_3", "column_4")
    assert source.propose().reading.header == "no"
    with source.read() as table:
        assert len(values(table, "column_1")) == 2
    assert source_of(tmp_path, "id,2019,2020\na,1,2\n", header="yes").column_names == ("id", "2019", "2020")


def test_a_name_over_two_columns_is_refused(tmp_path) -> None:
    with pytest.raises(SourceError, match="1 and 3"):
        source_of(tmp_path, "a,b, a\n1,2,3\n")


def test_exclude(tmp_path) -> None:
    source = source_of(tmp_path, TEXT, exclude=["city"])
    assert source.propose().names == ("id", "n")
    with pytest.raises(SourceError, match="'nope'"):
        source_of(tmp_path, TEXT, exclude=["nope"])
    with pytest.raises(SourceError, match="no column is left"):
        source_of(tmp_path, TEXT, exclude=["id", "city", "n"])


def test_a_folder_is_one_table(tmp_path) -> None:
    written(tmp_path, "a.csv", "id,n\n007,1\n")
    written(tmp_path, "b.csv", "n;id\n2;7\n")
    written(tmp_path, "notes.md", "not a table")
    for given in (tmp_path, str(tmp_path / "*.csv"), [tmp_path / "a.csv", tmp_path / "b.csv"]):
        with open_source(given).read(user_columns=["id"]) as table:
            assert users(table) == ["007", "7"]
            assert values(table, "n") == [1, 2]


def test_files_that_differ_are_named(tmp_path) -> None:
    written(tmp_path, "a.csv", "id,n\n1,1\n")
    written(tmp_path, "b.csv", "id,m\n1,1\n")
    with pytest.raises(SourceError, match=r"b\.csv.*'n'"):
        open_source(tmp_path)
    written(tmp_path, "b.csv", "")
    with pytest.raises(SourceError, match=r"no data rows in b\.csv"):
        open_source(tmp_path)


def test_files_of_two_formats_are_refused(tmp_path) -> None:
    written(tmp_path, "a.csv", "id\n007\n")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [7]}), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet is parquet.*id"):
        open_source([tmp_path / "a.csv", tmp_path / "b.parquet"])


@pytest.mark.parametrize("given", ["none.csv", "no*.csv", "t.xlsx", "."])
def test_what_is_no_source_is_refused(tmp_path, given: str) -> None:
    written(tmp_path, "t.xlsx", "x")
    with pytest.raises(SourceError):
        open_source(tmp_path / given)
    with pytest.raises(SourceError):
        open_source(42)


def test_user_columns_are_exact_text(tmp_path) -> None:
    with source_of(tmp_path, "id,x\n007,1\n7,2\n7.0,3\n 7,4\n,5\n").read(user_columns=["id", "x"]) as table:
        assert users(table) == ["007", "7", "7.0", " 7", None]
        assert users(table, 1) == ["1", "2", "3", "4", "5"]
    with pytest.raises(SpecError, match="'who'"):
        source_of(tmp_path, "id,x\n1,1\n").read(user_columns=["who"])


def test_user_ids_that_are_numbers_stay_as_written(tmp_path) -> None:
    with source_of(tmp_path, "id,x\n1.0,1\n1,2\n1.00,3\n").read(user_columns=["id"]) as table:
        assert users(table) == ["1.0", "1", "1.00"]
        assert values(table, "id") == [1, 1, 1]


def test_a_confirmed_schema_decides(tmp_path) -> None:
    source = source_of(tmp_path, "code,n\n1,5\n2,x\n")
    schema = source.propose()
    as_text = schema.with_columns(
        [schema.columns[0].model_validate({"name": "code", "type": "text"}), schema.columns[1]]
    )
    with source.read(as_text) as table:
        assert values(table, "code") == ["1", "2"]
    wrong = schema.with_columns([schema.columns[0], schema.columns[0].model_validate({"name": "n", "type": "integer"})])
    with pytest.raises(SourceError, match=r"data row 2.*'n' is integer") as caught:
        source.read(wrong)
    assert "x" not in caught.value.message.split("'n'")[1].split("by its")[0]


def test_a_schema_of_other_columns_is_refused(tmp_path) -> None:
    source = source_of(tmp_path, TEXT)
    schema = source.propose()
    with pytest.raises(SpecError, match="'n'"):
        source.read(schema.with_columns(schema.columns[:2]))
    more = schema.with_columns([*schema.columns, schema.columns[0].model_copy(update={"name": "extra"})])
    with pytest.raises(SpecError, match="'extra'"):
        source.read(more)


def test_options_that_were_set_win_over_the_schema_s(tmp_path) -> None:
    source = source_of(tmp_path, "a;b\n1;NA\n2;3\n")
    schema = source.propose()
    text = schema.columns[1].model_validate({"name": "b", "type": "integer"})
    edited = schema.with_columns([schema.columns[0], text]).model_copy(
        update={"reading": schema.reading.model_copy(update={"missing_markers": ("NA",)})}
    )
    with source.read(edited) as table:
        assert values(table, "b") == [None, 3]
        assert table.schema.reading.separator == ";"


def test_fingerprints_follow_the_content_and_the_key(tmp_path) -> None:
    one = source_of(tmp_path, TEXT, "a.csv")
    same = source_of(tmp_path, TEXT, "b.csv")
    other = source_of(tmp_path, TEXT.replace("3", "5"), "c.csv")
    key = b"k" * 32
    assert len(one.fingerprint(key)) == 64
    assert one.fingerprint(key) == same.fingerprint(key)
    assert len({one.fingerprint(key), other.fingerprint(key), one.fingerprint(b"other")}) == 3


def test_many_columns(tmp_path) -> None:
    names = [f"q{i}" for i in range(600)]
    content = ",".join(names) + "\n" + "\n".join(",".join(str(i + j) for i in range(600)) for j in range(5))
    source = source_of(tmp_path, content)
    assert set(kinds(source.propose()).values()) == {"integer"}
    with source.read() as table:
        assert values(table, "q599") == [599, 600, 601, 602, 603]


def test_reading_options_refuse_what_they_do_not_know() -> None:
    from pydantic import ValidationError

    for wrong in ({"separator": ";;"}, {"encoding": "klingon"}, {"dates": "maybe"}, {"quote": ""}, {"sep": ";"}):
        with pytest.raises(ValidationError):
            ReadingOptions(**wrong)
    assert ReadingOptions(separator="tab").separator == "\t"


def test_a_line_that_names_the_separator_is_no_record(tmp_path) -> None:
    source = source_of(tmp_path, "sep=|\r\na;b|c\r\n1;2|3\r\n")
    assert source.column_names == ("a;b", "c")
    with source.read() as table:
        assert values(table, "c") == [3]


def test_date_formats_must_name_columns_and_fit(tmp_path) -> None:
    with pytest.raises(SourceError, match="'nope'"):
        source_of(tmp_path, TEXT, date_formats={"nope": "%Y"})
    with pytest.raises(SourceError, match="'city'"):
        source_of(tmp_path, TEXT, date_formats={"city": "%Y-%m-%d"}).propose()
    with pytest.raises(SpecError, match="%Q"):
        source_of(tmp_path, TEXT, date_formats={"city": "%Q"}).propose()


def test_a_bad_line_far_down_is_named_by_its_number(tmp_path) -> None:
    plain = b"1,x\n" * 1_500_000
    lines = 1 + 1_500_000 + 1
    with pytest.raises(SourceError) as caught:
        source_of(tmp_path, b"id,city\n" + "1,é\n".encode() + plain + "2,Zürich\n".encode("cp1252"))
    assert caught.value.line == lines + 1
    # Two bytes of one letter lie on both sides of the border between pieces.
    border = 4 * 1024 * 1024
    head = b"id,city\n" + b"1,x\n" * ((border - 8) // 4 - 1)
    head += b"1," + b"x" * (border - len(head) - 3)
    content = head + "éé\n2,ü\n".encode()
    with source_of(tmp_path, content).read() as table:
        assert values(table, "city")[-1] == "ü"


def test_a_bad_json_line_far_down_is_named_by_its_number(tmp_path) -> None:
    content = b'{"n": 1}\n' * 700_000 + b"{broken\n"
    with pytest.raises(SourceError) as caught:
        source_of(tmp_path, content, "t.jsonl")
    assert caught.value.line == 700_001


def test_numbers_too_large_for_the_schema_are_refused(tmp_path) -> None:
    source = source_of(tmp_path, "n,k\n99999999999999999999.5,1\n1.5,2\n")
    schema = source.propose()
    decimal = schema.columns[0].model_validate({"name": "n", "type": "decimal", "decimals": 1})
    with pytest.raises(SourceError, match="data row 1"):
        source.read(schema.with_columns([decimal, schema.columns[1]]))


def test_a_small_memory_limit_spills_and_still_reads_all(tmp_path) -> None:
    rows = 600_000
    content = "n,w\n" + "".join(f"{i},word-{i * 7919 % 1_000_003}-of-some-length\n" for i in range(rows))
    with source_of(tmp_path, content).read(memory_limit="64MB") as table:
        assert table.connection.execute(f"SELECT count(*), sum(c0) FROM {table.relation}").fetchall() == [
            (rows, rows * (rows - 1) // 2)
        ]


def test_a_name_may_hold_a_line_break(tmp_path) -> None:
    source = source_of(tmp_path, '"a\nb",c\r\n1,2\r\n3,4,5\r\n')
    assert source.column_names == ("a\nb", "c")
    with pytest.raises(SourceError) as caught:
        source.read()
    assert caught.value.line == 4
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "a,b\nzqx,2\nzqx,zqx,5\n",
        'a,b\nzqx,"zqx\n',
        b"a,b\n1,2\n" + "zqx,é\n".encode() + "zqx,ü\n".encode("cp1252"),
        "zqx,zqx,1\nx,y,2\n",
        "zqx,20\nzqx,30\n",
    ],
)
def test_no_cell_in_a_whole_traceback(tmp_path, content: str | bytes) -> None:
    import traceback

    with pytest.raises(SourceError) as caught:
        source_of(tmp_path, content).read()
    assert "zqx" not in "".join(traceback.format_exception(caught.value)).replace(repr(content), "")
    error: BaseException | None = caught.value
    while error is not None:
        assert "zqx" not in str(error)
        error = error.__cause__ or error.__context__
