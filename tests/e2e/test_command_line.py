"""The command's contract: files, exit codes, JSON, messages."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.e2e.command import dpfy, synth

HEADER = ["person", "age", "city", "spend"]


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 people with 1 to 4 visits each."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "visits.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(HEADER)
        for person in range(400):
            age = int(rng.integers(18, 80))
            for _ in range(int(rng.integers(1, 5))):
                city = ["Ullby", "Estvik", "Werden"][int(rng.choice(3, p=[0.6, 0.3, 0.1]))]
                writer.writerow([f"p{person:04d}", age, city, f"{rng.gamma(2, 20):.2f}"])
    return path


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_synth_writes_table_statement_and_generator(visits: Path, tmp_path: Path) -> None:
    done = synth(visits, tmp_path, "--user", "person", "--max-records-per-user", 4)
    assert done.code == 0, done.err
    table = rows_of(tmp_path / "out.csv")
    assert table[0] == HEADER
    assert len(table) - 1 == done.json["rows"]
    assert 700 < done.json["rows"] < 1300
    statement = done.json["statement"]
    assert 2.97 <= statement["epsilon"] <= 3
    assert statement["max_records_per_user"] == 4
    assert statement["adjacency"] == "add_or_remove_one_user"
    for key in ("delta", "privacy_unit", "charges", "not_protected"):
        assert statement[key]
    model = dpfy("inspect", done.json["model"], "--json", home=tmp_path / "home")
    assert model.json == statement
    ages = {row[0]: row[1] for row in table[1:]}
    assert len(ages) > 250
    assert all(row[2] in {"Ullby", "Estvik", "Werden"} for row in table[1:])
    assert all("." in row[3] and len(row[3].split(".")[1]) == 2 for row in table[1:])


@pytest.mark.parametrize("name", ["out.tsv", "out.jsonl", "out.parquet", "out.csv.gz"])
def test_output_format_follows_the_suffix(visits: Path, tmp_path: Path, name: str) -> None:
    done = synth(visits, tmp_path, "--rows", 50, name=name)
    assert done.code == 0, done.err
    path = tmp_path / name
    if name.endswith("parquet"):
        table = pq.read_table(path)
        assert table.num_rows == 50
        assert table.column_names == HEADER
    elif name.endswith("gz"):
        assert len(gzip.decompress(path.read_bytes()).splitlines()) == 51
    else:
        assert len(path.read_text().splitlines()) == (50 if name.endswith("jsonl") else 51)


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e400", "", "1,5", "1e-9", "abc"])
def test_bad_epsilon_is_refused_before_anything_is_read(tmp_path: Path, epsilon: str) -> None:
    done = dpfy("synth", "not there.csv", f"--epsilon={epsilon}", "--out", tmp_path / "o.csv", home=tmp_path / "home")
    assert done.code == 2
    assert "epsilon" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("delta", ["0", "1", "-1e-6", "nan", "2", ""])
def test_bad_delta_is_refused(visits: Path, tmp_path: Path, delta: str) -> None:
    done = synth(visits, tmp_path, f"--delta={delta}")
    assert done.code == 2
    assert "delta" in done.err


def test_delta_as_large_as_one_user_is_refused(visits: Path, tmp_path: Path) -> None:
    done = synth(visits, tmp_path, "--user", "person", "--max-records-per-user", 4, "--delta", "0.05")
    assert done.code == 2
    assert "delta" in done.err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--user", "nobody"], "nobody"),
        (["--rows", "-1"], "rows"),
        (["--max-records-per-user", "3"], "user"),
        (["--user", "person", "--max-records-per-user", "0"], "max_records_per_user"),
        (["--generator", "magic"], "magic"),
        (["--where", "age >= (select max(age) from x)"], "filter"),
        (["--rule", "age is nice"], "rule"),
        (["--rule", "height follows age"], "height"),
        (["--target", "height"], "height"),
        (["--counting", "sheep"], "counting"),
        (["--separator", "long"], "separator"),
        (["--schema", "nowhere.yaml"], "nowhere.yaml"),
        (["--exclude-users", "nowhere.txt", "--user", "person"], "nowhere.txt"),
    ],
)
def test_wrong_options_end_with_2_and_one_message(visits: Path, tmp_path: Path, options: list[str], words: str) -> None:
    done = synth(visits, tmp_path, *options)
    assert done.code == 2, done.err
    assert words in done.err
    assert done.json["message"]
    assert "Traceback" not in done.err
    assert not (tmp_path / "out.csv").exists()


def test_output_that_can_not_be_written_is_refused_before_spending(visits: Path, tmp_path: Path) -> None:
    for name in ("no/such/folder.csv", "table.docx"):
        assert synth(visits, tmp_path, name=name).code == 2
    assert dpfy("ledger", "show", "--json", home=tmp_path / "home").json == []


def test_zero_rows_and_many_rows_can_be_sampled(visits: Path, tmp_path: Path) -> None:
    fitted = dpfy(
        "fit", visits, "--epsilon", 3, "--user", "person", "--max-records-per-user", 4, "--out", tmp_path / "m.dpfy",
        home=tmp_path / "home",
    )  # fmt: skip
    assert fitted.code == 0, fitted.err
    none = dpfy("sample", tmp_path / "m.dpfy", "--rows", 0, "--out", tmp_path / "none.csv", home=tmp_path / "home")
    assert none.code == 0, none.err
    assert rows_of(tmp_path / "none.csv") == [HEADER]
    many = dpfy(
        "sample", tmp_path / "m.dpfy", "--rows", 600_000, "--out", tmp_path / "x.parquet", home=tmp_path / "home"
    )
    assert many.code == 0, many.err
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.num_rows == 600_000
    sizes = table.group_by("person").aggregate([("age", "count")])["age_count"].to_numpy()
    assert sizes.max() <= 4


def test_sampling_seed_repeats_and_differs(visits: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert dpfy("fit", visits, "--epsilon", 3, "--out", tmp_path / "m.dpfy", home=home).code == 0
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        drawn = dpfy(
            "sample", tmp_path / "m.dpfy", "--rows", 200, "--seed", seed, "--out", tmp_path / f"{name}.csv", home=home
        )
        assert drawn.code == 0
    first, second, third = ((tmp_path / f"{n}.csv").read_bytes() for n in "abc")
    assert first == second != third


def test_fitting_twice_gives_different_tables_and_no_seed_option(visits: Path, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        assert synth(visits, tmp_path, "--rows", 300, name=name).code == 0
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()
    assert synth(visits, tmp_path, "--seed", 1).code == 2


def test_rules_static_columns_and_public_ranges_hold_in_every_row(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["who", "born", "level", "points", "married", "spouse_age", "start", "end"])
        for person in range(500):
            born = int(rng.integers(1940, 2005))
            for _ in range(int(rng.integers(1, 4))):
                level = ["low", "mid", "high"][int(rng.integers(3))]
                married = ["yes", "no"][int(rng.integers(2))]
                start = int(rng.integers(0, 50))
                writer.writerow(
                    [person, born, level, {"low": 1, "mid": 5, "high": 9}[level], married,
                     int(rng.integers(20, 80)) if married == "yes" else "", start, start + int(rng.integers(0, 30))]
                )  # fmt: skip
    schema = tmp_path / "schema.yaml"
    schema.write_text(
        """
columns:
  - {name: who, type: integer}
  - {name: born, type: integer, range: [1930, 2010], static: true}
  - {name: level, type: text, categories: [low, mid, high]}
  - {name: points, type: integer, range: [0, 10]}
  - {name: married, type: text, categories: ["yes", "no"]}
  - {name: spouse_age, type: integer, range: [18, 100]}
  - {name: start, type: integer, range: [0, 60]}
  - {name: end, type: integer, range: [0, 100]}
rules:
  - points follows level
  - if married = no then spouse_age is missing
  - start <= end
"""
    )
    done = synth(
        path, tmp_path, "--user", "who", "--max-records-per-user", 3, "--schema", schema, "--rows", 3000, epsilon=8
    )
    assert done.code == 0, done.err
    table = rows_of(tmp_path / "out.csv")[1:]
    born: dict[str, str] = {}
    points: dict[str, str] = {}
    for who, year, level, score, married, spouse, start, end in table:
        assert born.setdefault(who, year) == year
        assert 1930 <= int(year) <= 2010
        assert points.setdefault(level, score) == score
        assert not (married == "no" and spouse)
        assert spouse == "" or 18 <= int(spouse) <= 100
        assert int(start) <= int(end)
    assert points == {"low": "1", "mid": "5", "high": "9"}
    assert {row[4] for row in table} == {"yes", "no"}
    assert sum(row[5] != "" for row in table) > 300


def test_schema_round_trip_and_run_file(visits: Path, tmp_path: Path) -> None:
    proposed = dpfy("schema", visits, home=tmp_path / "home")
    assert proposed.code == 0
    for cell in ("p0001", "Ullby", "Estvik"):
        assert cell not in proposed.out + proposed.err
    (tmp_path / "s.yaml").write_text(proposed.out)
    (tmp_path / "run.yaml").write_text(
        f"source: {visits}\nepsilon: 2\nuser: person\nmax_records_per_user: 4\nschema: {tmp_path / 's.yaml'}\n"
        f"out: {tmp_path / 'made.csv'}\nreport: {tmp_path / 'report'}\nwhere:\n  - age >= 20\n"
    )
    done = dpfy("run", tmp_path / "run.yaml", "--json", home=tmp_path / "home")
    assert done.code == 0, done.err
    assert done.json["statement"]["preprocessing"][0] == "record-local filter: age >= 20"
    html = (tmp_path / "report" / "report.html").read_text()
    assert "do not share" in html
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert "https://" not in html
    assert rows_of(tmp_path / "made.csv")[0] == HEADER


def test_formula_cells_are_neutralised_on_request(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("word,n\n" + "=1+1,1\n+x,2\n" * 300)
    assert synth(path, tmp_path, "--neutralise-formulas", name="a.csv").code == 0
    assert {row[0][:1] for row in rows_of(tmp_path / "a.csv")[1:]} == {"'"}
    assert synth(path, tmp_path, name="b.csv").code == 0
    assert {row[0][:1] for row in rows_of(tmp_path / "b.csv")[1:]} == {"=", "+"}


def test_doctor_and_version(tmp_path: Path) -> None:
    assert dpfy("--version", home=tmp_path / "home").out.startswith("dpfy ")
    found = dpfy("doctor", "--json", home=tmp_path / "home")
    assert found.code == 0, found.err
    assert {f["check"] for f in found.json} == {"python", "packages", "noise", "workspace", "ledger"}


def test_several_owners_and_composite_ids(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "a": pa.array(rng.integers(0, 300, 2000)),
            "b": pa.array(rng.integers(0, 300, 2000)),
            "mark": pa.array(rng.integers(1, 6, 2000)),
        }
    )
    pq.write_table(table, tmp_path / "pairs.parquet")
    both = synth(tmp_path / "pairs.parquet", tmp_path, "--user", "a,b", "--max-records-per-user", 5, name="o.parquet")
    assert both.code == 0, both.err
    assert both.json["statement"]["adjacency"].startswith("fixed_graph")
    assert any("who shares a record" in line for line in both.json["statement"]["not_protected"])
    one = synth(tmp_path / "pairs.parquet", tmp_path, "--user", "a+b", "--max-records-per-user", 1, name="p.parquet")
    assert one.code == 0, one.err
    assert one.json["statement"]["adjacency"] == "add_or_remove_one_user"


def test_plan_tells_before_anything_is_spent(tmp_path: Path) -> None:
    schema = tmp_path / "colours.yaml"
    schema.write_text(
        "columns:\n- {name: colour, type: text, categories: [red, blue]}\n- {name: town, type: text}\n"
        "- {name: age, type: integer, range: [0, 99]}\n"
    )
    home = tmp_path / "home"
    wanted = ["plan", schema, "--epsilon", "0.3,3", "--records", "20000"]
    told = dpfy(*wanted, "--picture", tmp_path / "plan.svg", home=home)
    assert told.code == 0, told.err
    for words in ("epsilon 0.3", "epsilon 3", "noise of a pair's cell", "colour x age", "a value from"):
        assert words in told.out
    assert (tmp_path / "plan.svg").read_text().startswith("<svg")
    assert [p["epsilon"] for p in dpfy(*wanted, "--json", home=home).json] == [0.3, 3.0]
    assert not home.exists()
    refused = dpfy("plan", tmp_path / "colours.csv", "--epsilon", "1", "--records", "10", home=home)
    assert refused.code == 2
    assert "never data" in refused.err
    assert refused.out == ""
