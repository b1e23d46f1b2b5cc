"""A plan uses a run's own arithmetic: what it predicts is what a run charges; and it opens no data."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpfy
from dpfy.errors import PrivacyParameterError, SpecError
from dpfy.generators.tabular.marginal.forecast import ColumnForecast
from dpfy.mechanisms.counting import USER_WEIGHT
from dpfy.workflow.budget import history
from dpfy.workflow.plan import Plan, plan, plan_to_json, write_picture

COLOURS, SIZES = ["red", "green", "blue"], ["s", "m"]
PUBLIC = {
    "columns": [
        {"name": "colour", "type": "text", "categories": COLOURS, "missing": "never"},
        {"name": "size", "type": "text", "categories": SIZES, "missing": "never"},
    ]
}
WITH_NUMBER = {
    "columns": [*PUBLIC["columns"], {"name": "age", "type": "integer", "range": [0, 99], "missing": "never"}]
}
WITH_USER = {"columns": [{"name": "who", "type": "text"}, *PUBLIC["columns"]]}
ROWS = 3000


def rows_of(users: int | None = None) -> pa.Table:
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 3, ROWS)
    table = {
        "colour": [COLOURS[c] for c in colour],
        "size": [SIZES[c % 2] for c in colour],
        "age": rng.integers(0, 100, ROWS),
    }
    if users is not None:
        table = {"who": [f"u{i % users}" for i in range(ROWS)], **table}
    return pa.table(table)


def multipliers(workspace: Path, kind: str, part: str = "") -> list[float]:
    """Noise multipliers of a run's charges, as its ledger holds them."""
    charges = history(workspace, None)[-1]["charges"]
    return [_multiplier(c["event"]) for c in charges if c["kind"] == kind and part in c["label"]]


def _multiplier(event: dict[str, Any]) -> float:
    text = json.dumps(event)
    key = "noise_multiplier"
    assert text.count(key) == 1, text
    return float(text.split(f'"{key}": ')[1].split(",")[0].rstrip("}] "))


@pytest.mark.parametrize(
    ("options", "user_total"),
    [
        ({}, 1),
        ({"user": "who", "max_records_per_user": 4}, 4),
        ({"user": "who", "max_records_per_user": 4, "counting": "users"}, USER_WEIGHT),
    ],
)
def test_what_is_planned_is_what_a_run_charges(tmp_path: Path, options: dict[str, Any], user_total: int) -> None:
    schema = WITH_USER if options else PUBLIC
    names = [c["name"] for c in schema["columns"]]
    table = rows_of(users=1000 if options else None).select(names)
    guesses = {"records": ROWS, **({"users": 1000} if options else {})}
    planned = plan(schema, [2.0], delta=1e-6, **guesses, **options)[0]
    dpfy.fit(table, epsilon=2.0, delta=1e-6, schema=schema, workspace=tmp_path, **options)
    one = USER_WEIGHT if options.get("counting") == "users" else 1
    scaled = one / user_total
    assert multipliers(tmp_path, "count") == [pytest.approx(planned.forecast.spending.count**-0.5, rel=1e-9)]
    of_columns = [c.noise * scaled for c in planned.forecast.columns]
    found = multipliers(tmp_path, "measure", "values of")
    assert found == [pytest.approx(noise, rel=1e-6) for noise in of_columns]
    assert multipliers(tmp_path, "select") == [pytest.approx(planned.forecast.spending.select**-0.5, rel=1e-6)]
    pair = planned.forecast.pairs[0]
    assert planned.forecast.pairs_measured == 1
    assert multipliers(tmp_path, "measure", "together") == [pytest.approx(pair.noise * scaled, rel=1e-6)]
    assert pair.cells == 4 * 3
    assert pair.records_per_cell == pytest.approx((1000 if one > 1 else ROWS) / 12)


def test_discovered_numbers_are_planned_as_they_are_charged(tmp_path: Path) -> None:
    planned = plan(WITH_NUMBER, [4.0], delta=1e-6, records=ROWS)[0]
    age: ColumnForecast = planned.forecast.columns[2]
    dpfy.fit(rows_of(), epsilon=4.0, delta=1e-6, schema=WITH_NUMBER, workspace=tmp_path)
    level = multipliers(tmp_path, "domain", "range of age")
    assert age.visible_from is not None
    # The run takes the noisy number of records for the guess.
    assert level == [pytest.approx(age.visible_from / 4.0, rel=0.02)]


def test_more_epsilon_means_less_noise_and_ascending_order() -> None:
    made = plan(WITH_NUMBER, "10,0.3,3", records=ROWS)
    assert [p.epsilon for p in made] == [0.3, 3.0, 10.0]
    assert sorted((p.forecast.pairs[0].error for p in made), reverse=True) == [p.forecast.pairs[0].error for p in made]
    assert [p.forecast.columns[0].noise for p in made] == sorted(
        (p.forecast.columns[0].noise for p in made), reverse=True
    )


def test_parts_sum_to_the_whole() -> None:
    made = plan(WITH_NUMBER, [1.0], records=ROWS)[0]
    spending = made.forecast.spending
    whole = spending.count + spending.domains + spending.one_ways + spending.select + spending.pairs
    assert whole == pytest.approx(made.mu**2, rel=1e-9)


def test_delta_follows_the_guess_as_it_follows_the_noisy_count_in_a_run() -> None:
    assert plan(PUBLIC, [1.0], records=10**9)[0].delta == pytest.approx(1e9**-1.1)
    with pytest.raises(PrivacyParameterError, match="smaller than"):
        plan(PUBLIC, [1.0], records=10**9, delta=1e-5)


def test_no_file_but_the_schema_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text(json.dumps(PUBLIC))
    opened: list[str] = []
    honest = builtins.open

    def watched(file: Any, *rest: Any, **more: Any) -> Any:
        opened.append(str(file))
        return honest(file, *rest, **more)

    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setenv("DPFY_HOME", str(tmp_path / "home"))
    plan(schema, "1", records=100)
    assert not (tmp_path / "home").exists()
    assert not [f for f in opened if str(tmp_path) in f and not f.endswith("schema.yaml")]


@pytest.mark.parametrize("name", ["people.csv", "people.parquet", "people.csv.gz"])
def test_data_in_place_of_a_schema_is_refused_unread(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match="never data") as caught:
        plan(tmp_path / name, "1", records=10)
    assert "dpfy schema" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("schema", "options", "said"),
    [
        (PUBLIC, {}, "about how many records"),
        (WITH_USER, {"user": "who", "records": 10}, "max-records-per-user"),
        (WITH_USER, {"user": "who", "records": 10, "max_records_per_user": 2}, "about how many users"),
        (PUBLIC, {"records": 0}, "from 1 on"),
        (PUBLIC, {"records": float("nan")}, "from 1 on"),
    ],
)
def test_what_lacks_is_named(schema: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        plan(schema, [1.0], **options)


def test_json_and_picture(tmp_path: Path) -> None:
    made: tuple[Plan, ...] = plan(WITH_NUMBER, "0.5,2", records=ROWS)
    data = json.loads(json.dumps(plan_to_json(made), allow_nan=False))
    assert list(data[0]) == ["epsilon", "delta", "mu", "spending", "columns", "pairs", "pairs_measured"]
    assert data[1]["pairs"][0]["labels"] == ["colour", "size"]
    write_picture(made, tmp_path / "plan.svg")
    drawn = (tmp_path / "plan.svg").read_text()
    assert drawn.count("epsilon ") == 2
    assert drawn.startswith("<svg ")
    with pytest.raises(SpecError, match=r"\.svg"):
        write_picture(made, tmp_path / "plan.png")
