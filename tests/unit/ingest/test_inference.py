"""Types of text columns: proven by all cells, never by some."""

from __future__ import annotations

import pytest

from dpfy.errors import SourceError
from dpfy.schema import dump_schema
from tests.unit.ingest.files import kinds, source_of, values


def column(folder, cells: list[str], **options):
    """The proposed column of these cells, beside a column that keeps rows from being blank."""
    lines = ["x;k", *(f"{cell};k" for cell in cells)]
    source = source_of(folder, "\n".join(lines) + "\n", separator=";", header="yes", **options)
    return source.propose().column("x"), source


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", ""], "integer"),
        (["1", "-0", "9223372036854775807", "-9223372036854775808"], "integer"),
        (["1", "9223372036854775808"], "text"),
        (["1", "12345678901234567890123"], "text"),
        (["1", "07"], "text"),
        (["1", "-07"], "text"),
        (["1", "+5"], "text"),
        (["1", "1_000"], "text"),
        (["1", "1.50"], "decimal"),
        (["1.0", "2.0"], "integer"),
        (["0.123456789"], "decimal"),
        (["0.1234567891"], "float"),
        (["1e5", "2"], "float"),
        (["5.297394621873309e-10"], "float"),
        (["1.5", "abc"], "text"),
        (["1.5", "NaN"], "text"),
        (["inf"], "text"),
        (["true", "false"], "text"),
        (["TRUE", "yes"], "text"),
        (["2021-02-28"], "date"),
        (["2021-02-28", "2021-02-30"], "text"),
        (["2021-02-28", "2021/03/01"], "text"),
        (["20210228"], "integer"),
        (["2021-02"], "text"),
        (["0001-01-01", "9999-12-31"], "date"),
        (["31.12.21"], "date"),
        (["1.2.3"], "text"),
        (["192.168.1.1"], "text"),
        (["5 Jan 2021", "17 Feb 2022"], "date"),
        (["January 5, 2021"], "date"),
        (["2021-02-28T10:00:00"], "datetime"),
        (["2021-02-28 10:00"], "datetime"),
        (["2021-02-28T10:00:00", "2021-02-28"], "text"),
        (["2021-02-28T10:00:00Z", "2021-02-28T10:00:00"], "text"),
        (["02/28/2021 03:15 PM"], "datetime"),
        (["10:30", "23:59"], "time"),
        (["10:30", "24:00"], "text"),
        (["10:30:01.5"], "time"),
        (["", "  "], "empty"),
        (["-", "?"], "text"),
        (['"{""a"": 1}"'], "text"),
    ],
)
def test_kinds(tmp_path, cells: list[str], kind: str) -> None:
    spec, _ = column(tmp_path, cells, decimal_mark=".")
    assert spec.type == kind


@pytest.mark.parametrize(
    ("cells", "fields"),
    [
        (["14.43", "9.5"], {"decimals": 2, "min_decimals": 1}),
        (["14.43", "9.50"], {"decimals": 2, "min_decimals": 2}),
        (["14.43", "9"], {"decimals": 2, "min_decimals": 0}),
        (["5.512e+11", "1e3"], {"significant": 4}),
        (["0.46979317158874034"], {"significant": 17}),
        (["1.0", "2.0"], {"min_decimals": 1, "arrow_type": "double"}),
        (["28.02.2021", "1.3.2021"], {"format": "%-d.%-m.%Y"}),
        (["28.02.2021", "01.03.2021"], {"format": "%d.%m.%Y"}),
        (["02/28/2021", "03/01/2021"], {"format": "%m/%d/%Y"}),
        (["2021-02-28T10:00:00Z"], {"zone": "Z", "arrow_type": "timestamp[us, tz=UTC]", "unit": "s"}),
        (["2021-02-28T10:00:00+0530"], {"zone": "+0530", "arrow_type": "timestamp[us, tz=+05:30]"}),
        (["2021-02-28T10:00:00.25", "2021-02-28T10:00:00"], {"unit": "ms", "decimals": 2, "min_decimals": 0}),
        (["2021-02-28 10:00:00.123456789"], {"unit": "ns", "format": "%Y-%m-%d %H:%M:%S.%f"}),
        (["02/28/2021 3:15 PM"], {"format": "%m/%d/%Y %-I:%M %p"}),
        (["02/28/2021 03:15pm"], {"format": "%m/%d/%Y %I:%M%P"}),
    ],
)
def test_spelling_details(tmp_path, cells: list[str], fields: dict) -> None:
    spec, _ = column(tmp_path, cells, decimal_mark=".")
    assert {k: getattr(spec, k) for k in fields} == fields


@pytest.mark.parametrize(
    ("cells", "fields", "ticks"),
    [
        (["12,50", "1.234,50"], {"decimal_mark": ",", "thousands": ".", "decimals": 2}, [1250, 123450]),
        (["7,25"], {"decimal_mark": ",", "decimals": 2}, [725]),
        (["12.50", '"1,234.50"'], {"decimal_mark": ".", "thousands": ",", "decimals": 2}, [1250, 123450]),
        (["1.234.567", "12"], {"decimal_mark": ",", "thousands": "."}, [1234567, 12]),
    ],
)
def test_decimal_marks_are_proven(tmp_path, cells, fields, ticks) -> None:
    spec, source = column(tmp_path, cells)
    assert {k: getattr(spec, k) for k in fields} == fields
    assert source.notes == ()
    with source.read() as table:
        assert values(table, "x") == ticks


def test_one_column_decides_the_decimal_mark_of_the_file(tmp_path) -> None:
    source = source_of(tmp_path, "a;b\n1.234;7,5\n2.500;8,25\n")
    assert source.propose().column("a").thousands == "."
    with source.read() as table:
        assert values(table, "a") == [1234, 2500]


def test_an_unproven_decimal_mark_is_said(tmp_path) -> None:
    spec, source = column(tmp_path, ["1,234"])
    assert spec.decimal_mark == ","
    assert any("'x'" in note and "decimal_mark" in note for note in source.notes)
    spec, source = column(tmp_path, ["1,234"], decimal_mark=".")
    assert spec.thousands == ","
    assert source.notes == ()


def test_ambiguous_days_are_said_refused_or_decided(tmp_path) -> None:
    cells = ["07/02/2022", "09/11/2022"]
    spec, source = column(tmp_path, cells)
    assert spec.format == "%d/%m/%Y"
    assert any("'x'" in note and "day" in note for note in source.notes)
    spec, source = column(tmp_path, cells, dates="month_first")
    assert spec.format == "%m/%d/%Y"
    assert source.notes == ()
    _, source = column(tmp_path, ["13/02/2022", "09/11/2022"], dates="month_first")
    assert source.propose().column("x").format == "%d/%m/%Y"
    with pytest.raises(SourceError, match="'x'"):
        column(tmp_path, cells, dates="strict")


def test_an_owner_s_pattern_is_used(tmp_path) -> None:
    spec, source = column(tmp_path, ["07/02/22", "09/11/22"], date_formats={"x": "%m/%d/%y"})
    assert (spec.type, spec.format) == ("date", "%m/%d/%y")
    with source.read() as table:
        assert values(table, "x") == [19175, 19246]


def test_mixed_offsets_become_utc_and_are_said(tmp_path) -> None:
    spec, source = column(tmp_path, ["2023-01-01T00:00:00+01:00", "2023-01-01T00:00:00-05:00"])
    assert spec.arrow_type == "timestamp[us, tz=UTC]"
    assert any("UTC" in note for note in source.notes)
    with source.read() as table:
        assert values(table, "x") == [1672527600, 1672549200]


def test_likely_markers_keep_a_column_text_until_they_are_declared(tmp_path) -> None:
    spec, source = column(tmp_path, ["1", "NA", "3"])
    assert spec.type == "text"
    assert any("NA" in note and "missing_markers" in note for note in source.notes)
    spec, source = column(tmp_path, ["1", "NA", "3", " NA "], missing_markers=["NA"])
    assert spec.type in ("integer", "text")
    with source.read() as table:
        assert values(table, "x")[:3] in ([1, None, 3], ["1", None, "3"])


def test_a_type_must_hold_in_the_last_row_too(tmp_path) -> None:
    cells = [str(i) for i in range(300_000)]
    spec, _ = column(tmp_path, [*cells, "07"])
    assert spec.type == "text"


def test_blanks_around_numbers_do_not_count_and_around_words_do(tmp_path) -> None:
    text = "a, b, c\n1, 2, x\n3, 4, y\n"
    source = source_of(tmp_path, text)
    assert kinds(source.propose()) == {"a": "integer", "b": "integer", "c": "text"}
    assert any("'c'" in note and "blanks" in note for note in source.notes)
    with source.read() as table:
        assert values(table, "b") == [2, 4]
        assert values(table, "c") == [" x", " y"]
    stripped = source_of(tmp_path, text, blanks="strip")
    with stripped.read() as table:
        assert values(table, "c") == ["x", "y"]
    assert stripped.notes == ()


def test_the_proposal_holds_no_value(tmp_path) -> None:
    rows = "".join(f"zqx-{i},{31337 + i},2019-03-{i + 10}\n" for i in range(9))
    source = source_of(tmp_path, "word,n,day\n" + rows)
    text = dump_schema(source.propose(), source.suggestions) + " ".join(source.notes) + repr(source)
    assert not any(secret in text for secret in ("zqx", "3133", "3134", "2019"))


def test_codes_and_identifiers_get_a_remark_for_the_owner(tmp_path) -> None:
    rows = "".join(f"p{i},{200 + i % 3},{i * 7}\n" for i in range(60))
    source = source_of(tmp_path, "id,status,n\n" + rows)
    schema = source.propose()
    assert set(source.suggestions) == {"id", "status"}
    assert not schema.column("id").key
    assert "# " + source.suggestions["status"] in dump_schema(schema, source.suggestions)


@pytest.mark.parametrize(
    ("thousands", "cells", "ticks"),
    [
        ("'", ["1'234.50", "12.00"], [123450, 1200]),
        (" ", ["1 234,50", "12,00"], [123450, 1200]),
        ("none", ["1.234", "12.000"], [1234, 12000]),
        (".", ["1.234", "12.000"], [1234, 12000]),
    ],
)
def test_a_thousands_mark_can_be_set(tmp_path, thousands: str, cells: list[str], ticks: list[int]) -> None:
    spec, source = column(tmp_path, cells, thousands=thousands)
    assert spec.thousands == (thousands if thousands != "none" else "none")
    assert spec.type == ("integer" if thousands == "." else "decimal")
    with source.read() as table:
        assert values(table, "x") == ticks


def test_times_with_and_without_a_zone_are_said(tmp_path) -> None:
    spec, source = column(tmp_path, ["2021-02-28T10:00:00Z", "2021-02-28T10:00:00"])
    assert spec.type == "text"
    assert any("'x'" in note and "zone" in note for note in source.notes)


def test_a_comma_separated_file_may_have_decimal_commas_in_quotes(tmp_path) -> None:
    source = source_of(tmp_path, 'a,b\n"1,234","7,5"\n"2,500","8,25"\n')
    schema = source.propose()
    assert [c.decimal_mark for c in schema.columns] == [",", ","]
    with source.read() as table:
        assert values(table, "a") == [1234, 2500]
        assert schema.columns[0].decimals == 3
