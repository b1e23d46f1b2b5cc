"""The report: strict JSON, escaping, self-containment, and tables that break lesser reports."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import re
import stat
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from dpfy.errors import SpecError
from dpfy.quality import ReportColumn, comparison, write_report
from dpfy.quality.page import BANNER, budget_shares
from dpfy.quality.report import ReportDocument
from dpfy.quality.svg import date_ticks, number_ticks
from dpfy.quality.values import read_column

STATEMENT = {
    "epsilon": 2.0,
    "delta": 1e-6,
    "privacy_unit": "one user",
    "adjacency": "add_or_remove_one_user",
    "max_records_per_user": 4,
    "charges": [
        {"label": "users", "kind": "count", "epsilon_alone": 0.5},
        {"label": "marginals", "kind": "measure", "epsilon_alone": 1.5},
    ],
    "not_protected": ["column names"],
    "plain_words": "One person more or less changes little.",
}


def _refuse(token):
    raise AssertionError(f"{token} is no JSON")


def _written(figures, folder, statement=STATEMENT, title="Report"):
    files = write_report(figures, statement, folder, title=title)
    return files.html.read_text("utf-8"), json.loads(files.json.read_text("utf-8"), parse_constant=_refuse)


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "action", "data") and v]

    def handle_data(self, data):
        self.text.append(data)


def _parsed(html):
    page = _Page()
    page.feed(html)
    return page


def test_json_is_strict_where_figures_are_undefined(shared, read_csv, figures_of, columns_of, tmp_path):
    table = read_csv(shared("cases/051/nan_report.csv"))
    figures = figures_of(table, table, columns=columns_of(table), user="user_id")
    html, document = _written(figures, tmp_path, {**STATEMENT, "epsilon": float("nan")})
    ReportDocument.model_validate(document)
    assert document["version"] == 1
    assert document["statement"]["epsilon"] is None
    assert not re.search(r"\b(nan|inf)\b", html.replace("<h3>inf</h3>", "").split("</style>")[1].split("id=")[0])
    empty = figures_of(table, table.slice(0, 0), columns=columns_of(table), user="user_id")
    _, document = _written(empty, tmp_path)
    way = document["figures"]["distances"]["ways"][0]["mean"]
    assert way["value"] is None
    assert way["reason"]


def test_the_schema_refuses_unknown_keys(figures_of, tmp_path):
    table = pa.table({"a": ["x", "y"]})
    _, document = _written(figures_of(table, table), tmp_path)
    assert ReportDocument.model_json_schema()["properties"]["version"]["const"] == 1
    with pytest.raises(ValueError):
        ReportDocument.model_validate({**document, "more": 1})


def test_names_and_values_are_escaped(figures_of, tmp_path):
    evil = "<script>alert('x')</script>\"&"
    table = pa.table({evil: [evil, "b"] * 30, "u": [evil, "2", "3"] * 20, "n": list(range(60))})
    columns = [ReportColumn(name=evil, kind="category"), ReportColumn(name="n", kind="number")]
    figures = figures_of(table, table, columns=columns, user="u", leave_out=(evil + "2",), target=evil)
    statement = {
        "epsilon": 1, "privacy_unit": evil, "adjacency": evil, "plain_words": evil, "not_protected": [evil],
        "max_records_per_user": evil, "charges": [{"label": evil, "kind": evil, "share": 1.0}],
    }  # fmt: skip
    html, _ = _written(figures, tmp_path, statement, title=evil)
    page = _parsed(html)
    assert "<script" not in html.lower()
    assert "script" not in page.tags
    assert evil in "".join(page.text)


def test_the_page_is_self_contained_and_says_whom_it_is_for(figures_of, people_table, tmp_path):
    html, _ = _written(figures_of(people_table(300, 1), people_table(300, 2)), tmp_path)
    page = _parsed(html)
    assert all(link.startswith("#") for link in page.links)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", html)
    assert "default-src 'none'" in html
    body = "".join(_parsed(html.split("<body>")[1]).text).strip()
    assert body.startswith(BANNER)
    for target in [link[1:] for link in page.links]:
        assert f'id="{target}"' in html
    assert html.count("<svg") == html.count("aria-label=", html.index("<svg")) - html.count(
        'role="region" aria-label=', html.index("<svg")
    )


def test_privacy_summary_and_missing_keys(figures_of, tmp_path):
    table = pa.table({"a": ["x", "y"] * 10})
    figures = figures_of(table, table)
    text = "".join(_parsed(_written(figures, tmp_path)[0]).text)
    for part in ("1e-06", "one user", "add or remove one user", "column names", "changes little", "75%"):
        assert part in text
    assert "No statement was given" in _written(figures, tmp_path, {})[0]
    assert "carries no guarantee" in _written(figures, tmp_path, {"epsilon": None, "charges": None})[0]


def test_budget_shares():
    rows, given = budget_shares([{"label": "a", "kind": "count", "share": 1}, {"label": "b", "share": 3}])
    assert rows == [("a", "count", 0.25), ("b", "other", 0.75)]
    assert given
    assert budget_shares(STATEMENT["charges"])[1] is False
    assert budget_shares("nonsense") == ([], True)
    assert budget_shares([{"label": "x", "epsilon_alone": float("inf")}])[0] == []


def test_files_are_for_their_owner_alone_and_never_half_written(figures_of, tmp_path, monkeypatch):
    table = pa.table({"a": ["x", "y"]})
    figures = figures_of(table, table)
    files = write_report(figures, STATEMENT, tmp_path / "deep" / "er", title="First")
    assert stat.S_IMODE(files.html.stat().st_mode) == 0o600
    before = files.html.read_bytes(), files.json.read_bytes()

    def fail(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SpecError, match="No space left"):
        write_report(figures, STATEMENT, tmp_path / "deep" / "er", title="Second")
    assert (files.html.read_bytes(), files.json.read_bytes()) == before
    assert len(list(files.html.parent.iterdir())) == 2


def test_different_columns_are_named(figures_of):
    real = pa.table({"a": [1], "b": [2], "u": [3]})
    with pytest.raises(SpecError, match=r"synthetic table .* 'b', 'u'"):
        figures_of(real, pa.table({"a": [1]}))
    with pytest.raises(SpecError, match=r"holdout table .*'b'"):
        figures_of(real, real, holdout=pa.table({"a": [1], "u": [2]}))
    with pytest.raises(SpecError, match="target"):
        figures_of(real, real, target="u", leave_out=("u",))
    with pytest.raises(SpecError, match="none is left"):
        figures_of(real, real, leave_out=("a", "b", "u"))
    with pytest.raises(SpecError, match="must have rows"):
        figures_of(real.slice(0, 0), real)


def _odd_tables():
    days = [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=7 * i) for i in range(40)]
    numbers = np.linspace(-3, 3, 40)
    return {
        "one column": pa.table({"a": numbers}),
        "one row": pa.table({"a": [1.0], "b": ["x"]}),
        "only text": pa.table({"a": [f"word {i}" for i in range(40)], "b": ["x", ""] * 20}),
        "nothing in it": pa.table({"a": pa.nulls(40), "b": pa.nulls(40, pa.float64())}),
        "no words": pa.table({"a": pa.nulls(40, pa.string()), "b": numbers}),
        "constant": pa.table({"a": [1.0] * 40, "b": ["x"] * 40}),
        "not a number": pa.table({"a": [float("nan")] * 40, "b": numbers}),
        "infinite": pa.table({"a": [float("inf"), -float("inf")] * 20, "b": [*numbers[:39], float("inf")]}),
        "huge": pa.table({"a": [2**63 - 1 - i for i in range(40)], "b": 1e308 * (numbers / 3)}),
        "unsigned": pa.table({"a": pa.array([2**64 - 1 - i for i in range(40)], pa.uint64())}),
        "decimal": pa.table({"a": pa.array([decimal.Decimal(i) / 100 for i in range(40)])}),
        "boolean": pa.table({"a": [True, False, None, True] * 10, "b": numbers}),
        "zoned": pa.table({"a": pa.array(days, pa.timestamp("us", "Europe/Oslo")), "b": pa.array(days)}),
        "far dates": pa.table({"a": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)] * 20}),
        "durations": pa.table({"a": pa.array(list(range(40)), pa.duration("s"))}),
        "bytes": pa.table({"a": pa.array([b"\xff"] * 40), "b": numbers}),
        "dictionary": pa.table({"a": pa.array(["x", "y"] * 20).dictionary_encode()}),
        "nested": pa.table({"a": [[1, 2]] * 40, "b": [{"k": 1}] * 40}),
        "chunked": pa.concat_tables([pa.table({"a": numbers[:9]}), pa.table({"a": numbers[9:]})]),
        "view": pa.table({"a": pa.array(["x", "y"] * 20, pa.string_view())}),
        "large text": pa.table({"a": pa.array(["x", "y"] * 20, pa.large_string())}),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(_odd_tables()))
@pytest.mark.parametrize("kind", ["category", "number", "date"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_odd_tables_give_a_report(figures_of, tmp_path, name, kind):
    table = _odd_tables()[name]
    columns = [ReportColumn(name=column, kind=kind) for column in table.column_names]
    for made in (table, table.slice(0, 0), table.slice(0, 7)):
        figures = figures_of(table, made, columns=columns)
        _written(figures, tmp_path)
    same = figures_of(table, table, columns=columns)
    assert same.distances.of(1).mean.value == 0.0


def test_a_wide_table_is_bounded_and_says_so(figures_of, tmp_path):
    rng = np.random.default_rng(0)
    wide = pa.table({f"q{i:03}": rng.integers(0, 3, 120).astype(str) for i in range(300)})
    figures = figures_of(wide, wide)
    assert figures.distances.of(1).compared == 300
    assert (figures.distances.of(2).compared, figures.distances.of(2).possible) == (2000, 44850)
    html, document = _written(figures, tmp_path)
    assert "shown are the 60 that differ most" in "".join(_parsed(html).text)
    assert len(document["figures"]["distributions"]) == 300


def test_large_tables_are_sampled_by_user_and_told(figures_of, monkeypatch):
    monkeypatch.setattr(comparison, "MOST_ROWS", 500)
    users = np.repeat(np.arange(400), 5)
    table = pa.table({"u": users, "a": np.arange(2000) % 7})
    columns = [ReportColumn(name="a", kind="number")]
    found = figures_of(table, table, columns=columns, user="u")
    assert found.real.used == 500
    assert [b.label for b in found.users.rows_per_user if b.real] == ["5"]
    assert any("fixed seed" in note for note in found.notes)


def test_dates_written_as_text_are_read_in_one_way_for_all_tables():
    tables = [
        pa.table({"d": ["04.07.2021", "25.12.2020", None]}),
        pa.table({"d": ["01.02.2021", None, None]}),
    ]
    values, note = read_column("d", "date", tables)
    assert note == ""
    days = [str(np.datetime64(int(s), "s"))[:10] for s in values[0].numbers[:2]]
    assert days == ["2021-07-04", "2020-12-25"]
    values, note = read_column("d", "date", [tables[0], pa.table({"d": ["soon"]})])
    assert values[0].kind == "category"
    assert "'d'" in note
    assert "soon" not in note


def test_the_room_is_light_until_it_is_used():
    code = (
        "import sys, dpfy.quality; "
        "heavy = {'numpy', 'pyarrow', 'sklearn', 'scipy', 'pydantic'} & set(sys.modules); assert not heavy, heavy; "
        "import dpfy.quality.report, dpfy.quality.comparison; "
        "heavy = {'sklearn', 'scipy', 'pandas'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_ticks_are_round():
    assert [label for _, label in number_ticks(0, 100)] == ["0", "20", "40", "60", "80", "100"]
    year = 365.25 * 86400
    assert [label for _, label in date_ticks(0, 4.5 * year)] == ["1970", "1971", "1972", "1973", "1974"]
    assert date_ticks(0, 0.5 * year)[0][1] == "1970-01"
    assert number_ticks(5, 5)


def test_progress_reaches_the_end(people_table, columns_of):
    seen = []
    table = people_table(100, 1)
    comparison.compare(
        table,
        table,
        columns=columns_of(table),
        target=None,
        user=None,
        progress=lambda step, share: seen.append(share),
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
