"""The whole pipeline on neighbours: the same draws in the same order, and every declared sensitivity holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpfy.accounting.composition import compose
from dpfy.ledger.workspace import Workspace
from dpfy.workflow.fit import fitting
from dpfy.workflow.load import make_request
from tests.privacy.replay import Draw, Recorder, Replayer
from tests.privacy.tables import KINDS, base_table, with_user

SETTINGS: dict[str, dict[str, Any]] = {
    "rows, cap 4": {"user": "person", "max_records_per_user": 4},
    "rows, cap chosen": {"user": "person"},
    "users, cap 4": {"user": "person", "max_records_per_user": 4, "counting": "users"},
    "users, cap 3": {"user": "person", "max_records_per_user": 3, "counting": "users"},
    "filter": {"user": "person", "max_records_per_user": 4, "where": ("age >= 18 or age is null",)},
    "target and rule": {"user": "person", "max_records_per_user": 4, "target": "city", "rules": ("gain follows city",)},
}


def run(table: pa.Table, noise: Any, folder: Path, epsilon: float = 4.0, **settings: Any) -> dict[str, Any]:
    """Fits, and gives what was released: the statement, domains and the model."""
    request = make_request(table, epsilon=epsilon, delta=1e-6, name="t", **settings)
    with fitting(request, workspace=Workspace.locate(folder), noise=noise) as outcome:
        data, arrays = outcome.sealed.generator.to_parts()
        return {
            "statement": outcome.sealed.statement,
            "contents": outcome.sealed.contents.to_json(),
            "model": data,
            "arrays": {name: array.tolist() for name, array in arrays.items()},
        }


def replayed(first: pa.Table, second: pa.Table, folder: Path, **settings: Any) -> tuple[list[Draw], Replayer]:
    """Records on the first table and replays on the second."""
    recorder = Recorder()
    released = run(first, recorder, folder / "a", **settings)
    replayer = Replayer(recorder.draws)
    again = run(second, replayer, folder / "b", **settings)
    replayer.finish()
    # With the same noisy results everything that leaves must be the same: nothing else was read.
    for part in released:
        assert released[part] == again[part], f"{part} depends on more than noisy results"
    return recorder.draws, replayer


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_adding_a_user_moves_no_draw_further_than_declared(setting: str, kind: str, tmp_path: Path) -> None:
    table = base_table()
    draws, replayer = replayed(table, with_user(table, kind, rows=4), tmp_path, **SETTINGS[setting])
    assert len(draws) > 20
    # The test has power: in some draw the added user uses up nearly all of the declared sensitivity.
    assert max(replayer.largest.values()) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_removing_a_user_moves_no_draw_further_than_declared(kind: str, tmp_path: Path) -> None:
    table = base_table()
    _, replayer = replayed(with_user(table, kind, rows=3), table, tmp_path, user="person", max_records_per_user=4)
    assert replayer.largest


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_with_far_more_rows_than_the_cap_is_bounded(kind: str, tmp_path: Path) -> None:
    table = base_table()
    _, replayer = replayed(table, with_user(table, kind, rows=500), tmp_path, user="person", max_records_per_user=4)
    assert max(replayer.largest.values()) <= 1 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_adding_a_record_when_the_unit_is_a_record(kind: str, tmp_path: Path) -> None:
    table = base_table().drop_columns("person")
    neighbour = with_user(base_table(), kind, rows=1).drop_columns("person")
    _, replayer = replayed(table, neighbour, tmp_path)
    assert max(replayer.largest.values()) > 0.9


def test_a_row_without_user_changes_nothing(tmp_path: Path) -> None:
    table = base_table()
    nobody = pa.concat_tables([table, table.slice(0, 5).set_column(0, "person", pa.nulls(5, pa.string()))])
    _, replayer = replayed(table, nobody, tmp_path, user="person", max_records_per_user=4)
    assert max(replayer.largest.values()) == 0.0


def test_every_draw_was_charged_with_its_own_event(tmp_path: Path) -> None:
    recorder = Recorder()
    charges = run(base_table(), recorder, tmp_path, user="person", max_records_per_user=4)["statement"]["charges"]
    assert len(charges) == len(recorder.draws)
    for charge, draw in zip(charges, recorder.draws, strict=True):
        assert charge["label"] == draw.label
        assert charge["noise_multiplier"] == pytest.approx(draw.sigma / draw.l2_sensitivity, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0, 100.0])
def test_the_target_is_met_from_below_and_used(epsilon: float, tmp_path: Path) -> None:
    request = make_request(base_table(), epsilon=epsilon, delta=1e-6, user="person", max_records_per_user=4, name="t")
    with fitting(request, workspace=Workspace.locate(tmp_path)) as outcome:
        statement = outcome.sealed.statement
    assert 0.99 * epsilon <= statement["epsilon"] <= epsilon
    assert compose([]).epsilon(1e-6) == 0.0


def test_the_same_input_twice_gives_different_noise(tmp_path: Path) -> None:
    request = make_request(base_table(), epsilon=2.0, user="person", max_records_per_user=4, name="t")
    parts = []
    for _ in range(2):
        with fitting(request, workspace=Workspace.locate(tmp_path)) as outcome:
            arrays = outcome.sealed.generator.to_parts()[1]
            domains = outcome.sealed.contents.to_json()["domains"]
            parts.append((domains, {name: array.tolist() for name, array in arrays.items()}))
    assert parts[0][0] != parts[1][0]
    assert parts[0][1] != parts[1][1]


def test_the_order_of_rows_reaches_nothing(tmp_path: Path) -> None:
    """With the same noisy results a permuted table gives the same artifact, ties among noisy counts included."""
    table = base_table()
    names = [f"w{i % 40:02d}" for i in range(table.num_rows)]
    words = table.append_column("word", pa.array(names)).append_column("twin", pa.array(names))
    order = np.random.default_rng(5).permutation(table.num_rows)
    _, replayer = replayed(words, words.take(pa.array(order)), tmp_path, epsilon=200.0, max_records_per_user=None)
    assert max(replayer.largest.values()) == 0.0
