"""The ledger as users meet it: caps that refuse before a row is read, and one account for the same bytes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.command import Result, dpfy, synth


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that is quick to fit."""
    path = tmp_path_factory.mktemp("data") / "small.csv"
    path.write_text("a,b\n" + "".join(f"{i % 7},{'xy'[i % 2]}\n" for i in range(400)))
    return path


def account(home: Path) -> dict[str, object]:
    found: list[dict[str, object]] = dpfy("ledger", "show", "--json", home=home).json
    assert len(found) == 1
    return found[0]


def test_cap_refuses_with_3_and_says_what_would_fit(small: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert dpfy("ledger", "cap", "small", "--epsilon", 2, home=home).code == 0
    assert synth(small, tmp_path, epsilon=1.5, name="a.csv").code == 0
    refused = synth(small, tmp_path, epsilon=1.5, name="b.csv")
    assert refused.code == 3
    told = refused.json
    assert told["requested"] == 1.5
    assert 0 < told["remaining"] <= 0.51
    assert told["remaining"] <= told["largest"] < 1.5
    assert not (tmp_path / "b.csv").exists()
    # What is said to fit does fit, and after it nothing of that size is left.
    assert synth(small, tmp_path, epsilon=told["largest"], name="c.csv").code == 0
    assert synth(small, tmp_path, epsilon=0.5, name="d.csv").code == 3
    held = account(home)
    assert held["spent_epsilon"] <= 2
    assert held["runs"] == 2


def test_refusal_comes_before_any_row_is_read(small: Path, tmp_path: Path) -> None:
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("a,b\n1,2\n1,2,3\n")
    assert dpfy("ledger", "cap", "ragged", "--epsilon", 1, home=tmp_path / "home").code == 0
    refused = synth(ragged, tmp_path, epsilon=2)
    assert refused.code == 3
    assert "reading" not in refused.err
    assert synth(ragged, tmp_path, epsilon=0.5).code == 2


def test_the_same_bytes_under_another_name_share_an_account(small: Path, tmp_path: Path) -> None:
    other = tmp_path / "innocent.csv"
    shutil.copy(small, other)
    home = tmp_path / "home"
    assert synth(small, tmp_path, epsilon=1, name="a.csv").code == 0
    assert dpfy("ledger", "cap", "small", "--epsilon", 1.2, home=home).code == 0
    assert synth(other, tmp_path, epsilon=1, name="b.csv").code == 3
    assert synth(other, tmp_path, "--name", "third", epsilon=1, name="b.csv").code == 3


def test_population_joins_data_sets_about_the_same_people(small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("c\n" + "".join(f"{i % 5}\n" for i in range(300)))
    home = tmp_path / "home"
    assert synth(small, tmp_path, "--population", "members", epsilon=1, name="a.csv").code == 0
    assert synth(other, tmp_path, "--population", "members", epsilon=1, name="b.csv").code == 0
    held = account(home)
    assert set(held["names"]) == {"small", "other"}  # type: ignore[call-overload]
    assert 1 < held["spent_epsilon"] < 2  # type: ignore[operator]


def test_input_that_can_not_be_read_costs_nothing(tmp_path: Path) -> None:
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("a,b\n1,2\n1,2,3\n")
    assert synth(ragged, tmp_path).code == 2
    assert account(tmp_path / "home")["spent_epsilon"] == 0


def test_a_killed_run_stays_spent(small: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    script = (
        "import os, sys, dpfy.workflow.fit as fit\n"
        "fit.discover_table = lambda *a, **k: os.kill(os.getpid(), 9)\n"
        "from dpfy.cli.main import run\n"
        f"sys.argv = ['dpfy', 'synth', {str(small)!r}, '--epsilon', '1', '--out', {str(tmp_path / 'o.csv')!r}, "
        f"'--workspace', {str(home)!r}]\nrun()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, timeout=120)
    assert done.returncode == -9
    assert not (tmp_path / "o.csv").exists()
    assert account(home)["spent_epsilon"] == pytest.approx(1, rel=1e-3)
    history = dpfy("ledger", "history", "--json", home=home).json
    assert [run["state"] for run in history] == ["started"]
    assert dpfy("doctor", home=home).code == 0


def test_processes_that_race_for_a_cap_never_overshoot(small: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert dpfy("ledger", "cap", "small", "--epsilon", 2.5, home=home).code == 0

    def one(number: int) -> Result:
        return synth(small, tmp_path, "--rows", 10, epsilon=1, name=f"{number}.csv")

    with ThreadPoolExecutor(4) as pool:
        codes = [r.code for r in pool.map(one, range(8))]
    assert set(codes) == {0, 3}
    held = account(home)
    assert held["spent_epsilon"] <= 2.5  # type: ignore[operator]
    assert held["runs"] == codes.count(0)
