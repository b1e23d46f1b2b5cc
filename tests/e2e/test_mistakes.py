"""What goes wrong in daily use costs no data, and no budget without saying so."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.command import dpfy, synth


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A table that is quick to fit, in a folder of its own."""
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "small.csv"
    path.write_text("a,b\n" + "".join(f"{i % 7},{'xy'[i % 2]}\n" for i in range(400)))
    return path


def spent(home: Path) -> float:
    return sum(a["spent_epsilon"] + a["held_epsilon"] for a in dpfy("ledger", "show", "--json", home=home).json)


SCHEMA = "columns:\n  - {name: a, type: integer}\n  - {name: b, type: text}\n"


def test_an_output_never_replaces_an_input(small: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.csv"
    schema.write_text(SCHEMA)
    optouts = tmp_path / "out.csv.statement.json"
    optouts.write_text("3\n")
    os.link(small, tmp_path / "twin.csv")
    (tmp_path / "link.csv").symlink_to(small)
    held = {p: p.read_bytes() for p in (small, schema, optouts)}
    for out, options in (
        (small, []),
        (tmp_path / "in" / ".." / "in" / "small.csv", []),
        (tmp_path / "twin.csv", []),
        (tmp_path / "link.csv", []),
        (schema, ["--schema", schema]),
        (tmp_path / "out.csv", ["--user", "a", "--exclude-users", optouts]),
    ):
        done = dpfy("synth", small, "--epsilon", 1, "--out", out, *options, home=tmp_path / "home", cwd=tmp_path)
        assert done.code == 2, done.err
        assert "replace" in done.err
    assert {p: p.read_bytes() for p in held} == held
    assert spent(tmp_path / "home") == 0


def test_an_output_never_becomes_a_part_of_the_source(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for source in (folder, f"{folder}/*.csv", f"{tmp_path}/**/*.csv"):
        for out in (folder / "made.csv", tmp_path / "in" / ".." / "in" / "made.csv"):
            done = dpfy("synth", source, "--epsilon", 1, "--out", out, home=tmp_path / "home")
            assert done.code == 2, done.err
            assert "part of the source" in done.err
    assert (
        dpfy("synth", f"{folder}/*.csv", "--epsilon", 1, "--out", tmp_path / "o.csv", home=tmp_path / "home").code == 0
    )


def test_reports_and_samples_replace_no_input_either(small: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.json").write_text(SCHEMA)
    done = synth(small, tmp_path, "--schema", tmp_path / "report/report.json", "--report", tmp_path / "report")
    assert done.code == 2
    assert "replace" in done.err
    assert dpfy("fit", small, "--epsilon", 1, "--out", tmp_path / "m.dpfy", home=home).code == 0
    (tmp_path / "same.csv").symlink_to(tmp_path / "m.dpfy")
    done = dpfy("sample", tmp_path / "m.dpfy", "--out", tmp_path / "same.csv", home=home)
    assert done.code == 2
    assert "replace" in done.err


def test_what_can_not_be_written_is_refused_before_spending(small: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked.csv"
    locked.write_text("mine\n")
    locked.chmod(0o444)
    done = synth(small, tmp_path, name="locked.csv")
    assert done.code == 2
    assert "write-protected" in done.err
    assert locked.read_text() == "mine\n"
    (tmp_path / "file").write_text("")
    assert synth(small, tmp_path, "--report", tmp_path / "file" / "report").code == 2
    assert spent(tmp_path / "home") == 0


@pytest.mark.parametrize(
    ("pattern", "words"), [("case-[0-9", "not closed"), ("case-[]", "not closed"), ("k[0-9]", "allows 10")]
)
def test_key_patterns_are_checked_before_spending(small: Path, tmp_path: Path, pattern: str, words: str) -> None:
    schema = tmp_path / "s.yaml"
    schema.write_text(
        f"columns:\n  - {{name: a, type: text, key: true, key_pattern: '{pattern}'}}\n  - {{name: b, type: text}}\n"
    )
    done = synth(small, tmp_path, "--schema", schema, "--rows", 11)
    assert done.code == 2
    assert "'a'" in done.err
    assert words in done.err
    assert spent(tmp_path / "home") == 0


@pytest.mark.parametrize("name", ["fingerprint.key", "signing.pem"])
def test_a_lost_key_is_not_replaced(small: Path, tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    assert synth(small, tmp_path, "--rows", 5, epsilon=1).code == 0
    held = (home / name).read_bytes()
    (home / name).unlink()
    done = synth(small, tmp_path, epsilon=1)
    assert done.code == 2
    assert name in done.err
    assert "Put back a copy" in done.err
    assert not (home / name).exists()
    assert dpfy("doctor", home=home).code == 2
    assert spent(home) == pytest.approx(1, rel=0.01)
    (home / name).write_bytes(held)
    assert dpfy("doctor", home=home).code == 0


def test_the_ledger_is_told_after_each_run_and_the_new_workspace_once(small: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = synth(small, tmp_path, "--rows", 5, epsilon=1)
    assert f"the workspace {home} is new" in first.err
    assert re.search(r"ledger: small has spent epsilon (1|0\.9\d*); no cap is set \(dpfy ledger cap small ", first.err)
    assert dpfy("ledger", "cap", "small", "--epsilon", 5, home=home).err == ""
    second = synth(small, tmp_path, "--rows", 5, epsilon=1)
    assert "is new" not in second.err
    assert "of cap 5" in second.err


def test_a_cap_on_a_file_name_is_refused_and_one_on_a_new_name_is_pointed_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in ("small.csv", "in/small.csv.gz"):
        done = dpfy("ledger", "cap", name, "--epsilon", 2, home=home)
        assert done.code == 2
        assert "'small'" in done.err
    assert dpfy("ledger", "show", "--json", home=home).json == []
    done = dpfy("ledger", "cap", "small", "--epsilon", 2, "--json", home=home)
    assert done.code == 0
    assert "no data set of this name has run yet" in done.err
    assert done.json[0]["cap_epsilon"] == 2


def test_the_demo_keeps_what_it_did_not_make(tmp_path: Path) -> None:
    kept = tmp_path / "demo" / "workspace" / "ledger.sqlite"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    done = dpfy("demo", "--out", tmp_path / "demo", home=tmp_path / "home")
    assert done.code == 2
    assert "was not made by the demo" in done.err
    assert kept.read_text() == "mine"
    assert sorted(p.name for p in (tmp_path / "demo").iterdir()) == ["workspace"]
    assert dpfy("demo", "--out", tmp_path / "new", "--epsilon", "0", home=tmp_path / "home").code == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_reading_costs_nothing(small: Path, tmp_path: Path, number: int) -> None:
    done = _interrupted(
        small, tmp_path, number,
        "import dpfy.ingest.source as source\n"
        "def slow(*a, **k):\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "source.Source.read = slow\n",
    )  # fmt: skip
    assert "dpfy: stopped; nothing was spent\n" in done
    assert spent(tmp_path / "home") == 0


def test_an_interrupt_inside_the_engine_costs_nothing_and_leaves_no_spill(small: Path, tmp_path: Path) -> None:
    done = _interrupted(
        small, tmp_path, signal.SIGINT,
        "from dpfy.ingest.load import _Typed\n"
        "def slow(*a, **k):\n    print('ready', flush=True)\n    time.sleep(3)\n    raise KeyboardInterrupt\n"
        "_Typed._convert = slow\n",
    )  # fmt: skip
    assert "dpfy: stopped; nothing was spent\n" in done
    assert spent(tmp_path / "home") == 0


def test_an_interrupt_after_the_first_charge_says_what_it_cost(small: Path, tmp_path: Path) -> None:
    done = _interrupted(
        small, tmp_path, signal.SIGINT,
        "import dpfy.workflow.fit as fit\n"
        "def slow(*a, **k):\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "fit.discover_table = slow\n",
    )  # fmt: skip
    assert "dpfy: stopped; epsilon 1 counts as spent\n" in done
    assert spent(tmp_path / "home") == pytest.approx(1, rel=1e-3)


def _interrupted(source: Path, folder: Path, number: int, slow: str) -> str:
    """Runs synth with something slow in it, interrupts it there, and gives what it said."""
    script = (
        f"import sys, time\n{slow}from dpfy.cli.main import run\n"
        f"sys.argv = ['dpfy', 'synth', {str(source)!r}, '--epsilon', '1', '--out', {str(folder / 'o.csv')!r}, "
        f"'--workspace', {str(folder / 'home')!r}]\nrun()\n"
    )
    temporary = folder / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert not (folder / "o.csv").exists()
    assert list(temporary.iterdir()) == []
    return told


def test_an_error_after_the_first_charge_says_what_it_cost(small: Path, tmp_path: Path) -> None:
    done = synth(small, tmp_path, "--delta", "0.05", epsilon=1)
    assert done.code == 2
    assert done.json["message"].endswith("This run counts as spent: epsilon 1, delta 0.05.")
    assert spent(tmp_path / "home") == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("epsilom: 2", "Did you mean 'epsilon'?"),
        ("epsilon: [1, 2]", "'epsilon'"),
        ("neutralise_formulas: 1", "true or false"),
        ("rows: true", "'rows'"),
        ("name: {a: b}", "'name'"),
    ],
)
def test_run_files_are_refused_by_key(tmp_path: Path, lines: str, words: str) -> None:
    (tmp_path / "run.yaml").write_text(f"source: x.csv\n{lines}\n")
    done = dpfy("run", tmp_path / "run.yaml", "--json", home=tmp_path / "home")
    assert done.code == 2
    assert words in done.json["message"]


def test_words_in_run_files_stay_words(small: Path, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        f"source: {small}\nepsilon: 1.0\nout: {tmp_path / 'o.csv'}\nrows: 5\nname: 007\nheader: yes\n"
        "population: on\nmissing: [no, -9]\nneutralise_formulas: true\nreport:\n"
    )
    done = dpfy("run", tmp_path / "run.yaml", "--json", home=tmp_path / "home")
    assert done.code == 0, done.err
    assert done.json["statement"]["dataset"] == "007"
    assert dpfy("ledger", "show", "--json", home=tmp_path / "home").json[0]["populations"] == ["on"]


def test_usage_errors_are_one_json_document(tmp_path: Path) -> None:
    for arguments in (["synth", "x.csv", "--json"], ["synth", "x.csv", "--sheep", "--json"], ["nothing", "--json"]):
        done = dpfy(*arguments, home=tmp_path / "home")
        assert done.code == 2
        assert done.json["error"] == "usage"
        assert "Error:" in done.err


def test_user_columns_that_can_not_be_meant_are_refused(small: Path, tmp_path: Path) -> None:
    assert "two owners" in synth(small, tmp_path, "--user", "a", "--distinct-owners").err
    assert "two owners" in synth(small, tmp_path, "--distinct-owners").err
    (tmp_path / "s.yaml").write_text(SCHEMA.replace("type: integer", "type: integer, drop: true"))
    done = synth(small, tmp_path, "--user", "a", "--schema", tmp_path / "s.yaml")
    assert done.code == 2
    assert "can't be dropped" in done.err
    assert spent(tmp_path / "home") == 0
