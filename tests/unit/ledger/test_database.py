"""The ledger's file: damage, tampering, versions, permissions, and other processes."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dpfy.ledger.database as database
from dpfy.accounting.composition import compose
from dpfy.accounting.meter import plan_charge
from dpfy.errors import BudgetExceededError, LedgerConflictError, SourceError, SpecError
from dpfy.ledger.records import RunState
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.workspace import Workspace

SOURCE = Path(__file__).parents[3] / "src"


def reserve(ledger: Ledger, epsilon: float = 0.1):  # type: ignore[no-untyped-def]
    return ledger.reserve(dataset="visits", fingerprint="f", planned=plan_charge(epsilon, 1e-6), operation="fit")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.locate(tmp_path / "home")


def test_the_file_is_for_its_owner_only_and_written_through(workspace: Workspace) -> None:
    with Ledger.open(workspace) as ledger:
        reserve(ledger)
        for path in workspace.folder.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        connection = ledger._connection
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2


def test_what_one_object_wrote_the_next_reads(workspace: Workspace) -> None:
    with Ledger.open(workspace) as ledger:
        made = reserve(ledger)
    with Ledger.open(workspace) as ledger:
        ledger.start(made)
        assert ledger.history()[0].state is RunState.STARTED
        assert ledger.verify() == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE run SET epsilon = epsilon / 2",
        "UPDATE run SET state = 'released'",
        "DELETE FROM run",
        "UPDATE run SET gaussian_mu_squared = 0",
        "UPDATE account SET cap_epsilon = 99",
        "UPDATE alias SET name = 'other' WHERE kind = 'dataset'",
        "DROP TRIGGER journal_is_not_changed; UPDATE journal SET content = replace(content, '0.1', '0.2')",
        "DROP TRIGGER journal_is_not_changed; UPDATE journal SET time = '2000' WHERE entry = 1",
        "DROP TRIGGER journal_is_not_cut; DELETE FROM journal WHERE entry = 2",
        "DROP TRIGGER journal_is_not_cut; DELETE FROM journal WHERE entry = 3",
        "INSERT INTO journal VALUES (4, 't', 'start', '{}', 'x')",
    ],
)
def test_a_ledger_changed_by_hand_does_not_verify(workspace: Workspace, statement: str) -> None:
    with Ledger.open(workspace) as ledger:
        ledger.set_cap("visits", 3.0)
        ledger.start(reserve(ledger))
        assert ledger.verify() == 3
    raw = sqlite3.connect(workspace.ledger_path)
    raw.executescript(statement)
    raw.close()
    with Ledger.open(workspace) as ledger, pytest.raises(SourceError):
        ledger.verify()


@pytest.mark.parametrize("statement", ["UPDATE journal SET time = ''", "DELETE FROM journal"])
def test_the_journal_is_append_only(workspace: Workspace, statement: str) -> None:
    with Ledger.open(workspace) as ledger:
        reserve(ledger)
        with pytest.raises(sqlite3.IntegrityError):
            ledger._connection.execute(statement)
        with pytest.raises(sqlite3.IntegrityError):
            ledger._connection.execute("UPDATE run SET state = 'gone'")


def test_a_newer_version_is_refused(workspace: Workspace) -> None:
    Ledger.open(workspace).close()
    raw = sqlite3.connect(workspace.ledger_path)
    raw.execute("PRAGMA user_version = 2")
    raw.close()
    with pytest.raises(SourceError, match="version 2"):
        Ledger.open(workspace)


def test_another_database_is_refused_and_left_alone(workspace: Workspace) -> None:
    raw = sqlite3.connect(workspace.ledger_path)
    raw.execute("CREATE TABLE theirs (x)")
    raw.close()
    with pytest.raises(SourceError):
        Ledger.open(workspace)
    raw = sqlite3.connect(workspace.ledger_path)
    assert raw.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    raw.close()


@pytest.mark.parametrize("damage", ["text", "middle"])
def test_a_damaged_file_is_named(workspace: Workspace, damage: str) -> None:
    with Ledger.open(workspace) as ledger:
        for _ in range(30):
            reserve(ledger)
    path = workspace.ledger_path
    content = bytearray(path.read_bytes())
    if damage == "text":
        path.write_bytes(b"no ledger at all " * 400)
    else:
        content[4096:] = b"\xff" * (len(content) - 4096)
        path.write_bytes(content)
    with pytest.raises(SourceError, match="ledger"), Ledger.open(workspace) as ledger:
        ledger.verify()


def test_a_folder_that_takes_no_file_is_named(workspace: Workspace) -> None:
    workspace.ledger_path.mkdir()
    with pytest.raises(SpecError, match=r"ledger\.sqlite"):
        Ledger.open(workspace)


def test_a_read_only_folder_is_named(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    # The superuser may write read-only folders, so what the system answers is put in its mouth.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SpecError, match="read-only"):
        Workspace.locate(workspace.folder)


def test_a_ledger_that_stays_busy_is_a_conflict(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    with Ledger.open(workspace) as ledger:
        other = sqlite3.connect(workspace.ledger_path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerConflictError, match="busy"):
            reserve(ledger)
        other.execute("ROLLBACK")
        other.close()
        reserve(ledger)


def _spend_until_refused(folder: Path, admitted: multiprocessing.Queue[int]) -> None:
    count = 0
    with Ledger.open(Workspace.locate(folder)) as ledger:
        try:
            while True:
                ledger.start(reserve(ledger))
                count += 1
        except BudgetExceededError:
            admitted.put(count)


def test_eight_processes_share_the_last_budget_exactly(workspace: Workspace) -> None:
    runs, planned = 24, plan_charge(0.1, 1e-6)
    cap = compose([*planned.events] * runs).epsilon(runs * 1e-6) * (1 + 1e-9)
    with Ledger.open(workspace) as ledger:
        ledger.set_cap("visits", cap)
    context = multiprocessing.get_context("fork")
    admitted = context.Queue()
    workers = [context.Process(target=_spend_until_refused, args=(workspace.folder, admitted)) for _ in range(8)]
    for worker in workers:
        worker.start()
    counts = [admitted.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert sum(counts) == runs
    with Ledger.open(workspace) as ledger:
        (view,) = ledger.show()
        assert view.runs == runs
        assert view.spent_epsilon <= cap
        ledger.verify()


_VICTIM = """
import sys
from dp_accounting.dp_event import GaussianDpEvent
from dpfy.accounting.meter import Charge, ChargeKind, plan_charge
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.workspace import Workspace
import itertools

ledger = Ledger.open(Workspace.locate(sys.argv[1]))
plan = plan_charge(0.1, 1e-9)
charge = Charge(label="m", kind=ChargeKind.MEASURE, event=GaussianDpEvent(plan.gaussian_mu_squared ** -0.5))
for turn in itertools.count():
    made = ledger.reserve(dataset="d", fingerprint="f", planned=plan, operation="fit")
    print("reserved", made.run, flush=True)
    if turn % 3 == 2:
        ledger.release(made)
        print("released", made.run, flush=True)
        continue
    ledger.start(made)
    print("started", made.run, flush=True)
    ledger.commit(made, [charge])
    print("committed", made.run, flush=True)
"""


def test_killed_at_any_moment_nothing_started_is_lost(workspace: Workspace) -> None:
    told: dict[str, str] = {}
    dice = random.Random(7)
    for _ in range(3):
        victim = subprocess.Popen(
            [sys.executable, "-c", _VICTIM, str(workspace.folder)],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert victim.stdout is not None
        first = victim.stdout.readline()
        time.sleep(dice.uniform(0.0, 0.3))
        victim.send_signal(signal.SIGKILL)
        for line in [first, *victim.stdout.read().splitlines()]:
            state, run = line.split()
            told[run] = state
        victim.wait()
        victim.stdout.close()
        _check_after_kill(workspace, told)
    assert len(told) > 3


def _check_after_kill(workspace: Workspace, told: dict[str, str]) -> None:
    order = ["reserved", "released", "started", "committed"]
    with Ledger.open(workspace) as ledger:
        ledger.verify()
        states = {entry.run: entry.state.value for entry in ledger.history()}
    for run, state in told.items():
        # The ledger may be one step ahead of what was told, and never behind.
        assert order.index(states[run]) >= order.index(state)


@pytest.mark.parametrize("step", ["reserve", "start", "commit", "release"])
@pytest.mark.parametrize("moment", ["inside", "after"])
def test_killed_inside_or_after_each_transition(workspace: Workspace, step: str, moment: str) -> None:
    planned = plan_charge(0.5, 1e-6)

    def live() -> None:
        ledger = Ledger.open(workspace)
        plain = ledger._journal

        def journal(now: str, transition: str, content: object) -> None:
            plain(now, transition, content)  # type: ignore[arg-type]
            if transition == step and moment == "inside":
                os.kill(os.getpid(), signal.SIGKILL)

        ledger._journal = journal  # type: ignore[method-assign]
        made = ledger.reserve(dataset="d", fingerprint="f", planned=planned, operation="fit")
        if step == "release":
            ledger.release(made)
        elif step != "reserve":
            ledger.start(made)
            if step == "commit":
                ledger.commit(made, [])
        os.kill(os.getpid(), signal.SIGKILL)

    worker = multiprocessing.get_context("fork").Process(target=live)
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    expected = {
        "reserve": ([], ["reserved"]),
        "start": (["reserved"], ["started"]),
        "commit": (["started"], ["committed"]),
        "release": (["reserved"], ["released"]),
    }[step][moment == "after"]
    with Ledger.open(workspace) as ledger:
        assert [entry.state.value for entry in ledger.history()] == expected
        ledger.verify()
