"""The ledger in one SQLite file of the workspace."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dpfy.accounting.meter import Charge, PlannedCharge
from dpfy.errors import (
    LedgerConflictError,
    PrivacyParameterError,
    SourceError,
    SpecError,
    UnchargedReleaseError,
)
from dpfy.ledger.admission import Cap, Cost, admit, lower_cap, total_cost
from dpfy.ledger.database import connect, engine_errors, transaction
from dpfy.ledger.records import AccountView, Entry, Reservation, RunState, charges_from_json, charges_to_json
from dpfy.ledger.replay import Book, chained_digest
from dpfy.ledger.workspace import Workspace

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

__all__ = ["Ledger"]

_COST_COLUMNS = "epsilon, delta, gaussian_mu_squared, threshold_delta, exact"


class Ledger:
    """See `LedgerStore`. One object may be shared by threads; processes open their own.

    Every change is one transaction that takes the write lock first and is on the disk when the call returns.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.ledger_path
        self._lock = threading.RLock()
        self._connection = connect(self._path)

    @classmethod
    def open(cls, workspace: Workspace) -> Ledger:
        """Opens the workspace's ledger, and creates it if need be.

        Raises:
            SourceError: the file is damaged, no ledger, or of a newer version.
            SpecError: it can't be written.
        """
        return cls(workspace)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """See `LedgerStore.close`."""
        with self._lock:
            self._connection.close()

    # The way of a run

    def reserve(
        self,
        *,
        dataset: str,
        fingerprint: str,
        population: str | None = None,
        planned: PlannedCharge,
        operation: str,
        idempotency_key: str | None = None,
    ) -> Reservation:
        """See `LedgerStore.reserve`."""
        from dpfy.accounting.events import events_to_json

        names = {"dataset": _name(dataset, "data set"), "fingerprint": _name(fingerprint, "fingerprint")}
        if population is not None:
            names["population"] = _name(population, "population")
        events = events_to_json(planned.events)
        with self._changing():
            known = self._by_key(idempotency_key, names, operation, events, planned)
            if known is not None:
                return known
            account = self._resolve(names)
            cost = admit(self._costs(account), planned, self._cap_of(account), dataset=dataset)
            run, time = uuid.uuid4().hex, _now()
            self._connection.execute(
                "INSERT INTO run (id, account, time, dataset, operation, idempotency_key, state,"
                f" planned_events, planned_epsilon, planned_delta, {_COST_COLUMNS})"
                " VALUES (?, ?, ?, ?, ?, ?, 'reserved', ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run, account, time, dataset, operation, idempotency_key),
                    *(events, planned.epsilon, planned.delta),
                    *_cost_values(cost),
                ),
            )
            self._journal(
                time,
                "reserve",
                {
                    "run": run,
                    "names": names,
                    "operation": operation,
                    "idempotency_key": idempotency_key,
                    "events": events,
                    "epsilon": planned.epsilon,
                    "delta": planned.delta,
                },
            )
        return Reservation(run=run, dataset=dataset, operation=operation, epsilon=planned.epsilon, delta=planned.delta)

    def start(self, reservation: Reservation) -> None:
        """See `LedgerStore.start`."""
        with self._changing():
            self._expect(reservation, RunState.RESERVED, "start")
            self._connection.execute("UPDATE run SET state = 'started' WHERE id = ?", (reservation.run,))
            self._journal(_now(), "start", {"run": reservation.run})

    def commit(self, reservation: Reservation, charges: Iterable[Charge], *, delta: float | None = None) -> None:
        """See `LedgerStore.commit`."""
        charges = tuple(charges)
        text = charges_to_json(charges)
        with self._changing():
            row = self._row(reservation)
            if row["state"] == RunState.COMMITTED and row["charges"] == text:
                return
            self._expect(reservation, RunState.STARTED, "commit")
            cost = self._final_cost(row, [charge.event for charge in charges], delta)
            self._connection.execute(
                "UPDATE run SET state = 'committed', charges = ?, epsilon = ?, delta = ?,"
                " gaussian_mu_squared = ?, threshold_delta = ?, exact = ? WHERE id = ?",
                (text, *_cost_values(cost), reservation.run),
            )
            self._journal(_now(), "commit", {"run": reservation.run, "charges": text, "delta": cost.delta})

    def _final_cost(self, row: sqlite3.Row, events: list[DpEvent], delta: float | None) -> Cost:
        """What a run counts in the end: never more than its plan, for itself and for its account."""
        planned, plan_delta = _cost(row), row["planned_delta"]
        stated = Cost.of_events(events, plan_delta if delta is None else float(delta))
        if stated.delta > plan_delta or not stated.within(planned):
            raise UnchargedReleaseError(
                "the run charged more than its reservation holds; the whole reservation stays spent."
            )
        others = self._costs(row["account"], without=row["id"])
        # At a lower delta the account's epsilon could rise above what was admitted: then the planned one
        # stays.
        if total_cost([*others, stated])[0] <= total_cost([*others, planned])[0]:
            return stated
        return Cost.of_events(events, plan_delta)

    def release(self, reservation: Reservation) -> None:
        """See `LedgerStore.release`."""
        with self._changing():
            self._expect(reservation, RunState.RESERVED, "release")
            self._connection.execute("UPDATE run SET state = 'released' WHERE id = ?", (reservation.run,))
            self._journal(_now(), "release", {"run": reservation.run})

    # Caps

    def set_cap(self, dataset: str, epsilon: float, delta: float | None = None) -> None:
        """See `LedgerStore.set_cap`."""
        epsilon = float(epsilon)
        if not 0.0 <= epsilon < math.inf:
            raise PrivacyParameterError(f"a cap on epsilon must be finite and not negative; {epsilon:g} was given.")
        if delta is not None and not 0.0 <= float(delta) < 1.0:
            raise PrivacyParameterError(f"a cap on delta must lie in [0, 1), 1 excluded; {delta:g} was given.")
        self._change_cap(dataset, Cap(epsilon=epsilon, delta=None if delta is None else float(delta)))

    def remove_cap(self, dataset: str) -> None:
        """See `LedgerStore.remove_cap`.

        Raises:
            SpecError: the ledger doesn't know the data set.
        """
        with self._reading():
            self._account_of(dataset)
        self._change_cap(dataset, Cap())

    def _change_cap(self, dataset: str, cap: Cap) -> None:
        with self._changing():
            account = self._resolve({"dataset": _name(dataset, "data set")})
            self._write_cap(account, cap)
            self._journal(_now(), "cap", {"dataset": dataset, "epsilon": cap.epsilon, "delta": cap.delta})

    # Views

    def show(self) -> list[AccountView]:
        """See `LedgerStore.show`."""
        with self._reading():
            accounts = [row[0] for row in self._connection.execute("SELECT DISTINCT account FROM alias ORDER BY 1")]
            return [self._view(account) for account in accounts]

    def history(self, dataset: str | None = None) -> list[Entry]:
        """See `LedgerStore.history`.

        Raises:
            SpecError: the ledger doesn't know the data set.
        """
        with self._reading():
            chosen: str = ""
            values: tuple[int, ...] = ()
            if dataset is not None:
                chosen, values = "WHERE account = ?", (self._account_of(dataset),)
            rows = self._connection.execute(f"SELECT * FROM run {chosen} ORDER BY rowid", values).fetchall()
        return [_entry(row) for row in rows]

    def open_reservations(self) -> list[Reservation]:
        """See `LedgerStore.open_reservations`."""
        with self._reading():
            rows = self._connection.execute("SELECT * FROM run WHERE state = 'reserved' ORDER BY rowid").fetchall()
        return [_reservation(row) for row in rows]

    def verify(self) -> int:
        """See `LedgerStore.verify`."""
        with self._reading():
            rows = self._connection.execute("SELECT * FROM journal ORDER BY entry").fetchall()
            stored = self._stored()
        book, previous = Book(), ""
        try:
            for expected, row in enumerate(rows, start=1):
                digest = chained_digest(previous, row["entry"], row["time"], row["transition"], row["content"])
                if row["entry"] != expected or row["digest"] != digest:
                    raise self._broken("its journal was changed, or a part is missing")
                book.apply(row["transition"], json.loads(row["content"]))
                previous = digest
        except (ValueError, KeyError, TypeError, PrivacyParameterError):
            raise self._broken("its journal tells something that can't have happened") from None
        if stored != _derived(book):
            raise self._broken("its balances are not what its journal tells")
        return len(rows)

    # Parts

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock, engine_errors(self._path), transaction(self._connection):
            self._connection.row_factory = sqlite3.Row
            yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock, engine_errors(self._path):
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("BEGIN")  # one snapshot for all reads
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    def _journal(self, time: str, transition: str, content: Mapping[str, object]) -> None:
        last = self._connection.execute("SELECT entry, digest FROM journal ORDER BY entry DESC LIMIT 1").fetchone()
        entry, previous = (last["entry"] + 1, last["digest"]) if last else (1, "")
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        self._connection.execute(
            "INSERT INTO journal VALUES (?, ?, ?, ?, ?)",
            (entry, time, transition, text, chained_digest(previous, entry, time, transition, text)),
        )

    def _resolve(self, names: Mapping[str, str]) -> int:
        """The account behind some names: new, known, or several made one; `Book.resolve` in SQL."""
        execute = self._connection.execute
        known = set()
        for kind, name in names.items():
            row = execute("SELECT account FROM alias WHERE kind = ? AND name = ?", (kind, name)).fetchone()
            known |= {row[0]} if row else set()
        if known:
            account = min(known)
        else:
            account = execute("SELECT coalesce(max(id), 0) + 1 FROM account").fetchone()[0]
            execute("INSERT INTO account (id) VALUES (?)", (account,))
        for other in sorted(known - {account}):
            self._write_cap(account, lower_cap(self._cap_of(account), self._cap_of(other)))
            self._write_cap(other, Cap())
            execute("UPDATE alias SET account = ? WHERE account = ?", (account, other))
            execute("UPDATE run SET account = ? WHERE account = ?", (account, other))
        for kind, name in names.items():
            execute("INSERT OR IGNORE INTO alias VALUES (?, ?, ?)", (kind, name, account))
        return int(account)

    def _account_of(self, dataset: str) -> int:
        row = self._connection.execute(
            "SELECT account FROM alias WHERE kind = 'dataset' AND name = ?", (dataset,)
        ).fetchone()
        if row is None:
            raise SpecError(
                f"a data set that the ledger knows was expected; {dataset!r} has no account.",
                hint="`dpfy ledger show` lists the names.",
            )
        return int(row[0])

    def _cap_of(self, account: int) -> Cap:
        row = self._connection.execute("SELECT * FROM account WHERE id = ?", (account,)).fetchone()
        return Cap(epsilon=row["cap_epsilon"], delta=row["cap_delta"])

    def _write_cap(self, account: int, cap: Cap) -> None:
        self._connection.execute(
            "UPDATE account SET cap_epsilon = ?, cap_delta = ? WHERE id = ?",
            (cap.epsilon, cap.delta, account),
        )

    def _costs(self, account: int, *states: RunState, without: str = "") -> list[Cost]:
        states = states or (RunState.RESERVED, RunState.STARTED, RunState.COMMITTED)
        marks = ", ".join("?" * len(states))
        rows = self._connection.execute(
            f"SELECT {_COST_COLUMNS} FROM run WHERE account = ? AND id <> ? AND state IN ({marks}) ORDER BY id",
            (account, without, *states),
        )
        return [_cost(row) for row in rows]

    def _view(self, account: int) -> AccountView:
        aliases = self._connection.execute(
            "SELECT kind, name FROM alias WHERE account = ? ORDER BY name", (account,)
        ).fetchall()
        cap, counted = self._cap_of(account), self._costs(account)
        spent_epsilon, spent_delta = total_cost(self._costs(account, RunState.STARTED, RunState.COMMITTED))
        left = None if cap.epsilon is None else max(cap.epsilon - total_cost(counted)[0], 0.0)
        return AccountView(
            names=tuple(row["name"] for row in aliases if row["kind"] == "dataset"),
            populations=tuple(row["name"] for row in aliases if row["kind"] == "population"),
            cap_epsilon=cap.epsilon,
            cap_delta=cap.delta,
            spent_epsilon=spent_epsilon,
            spent_delta=spent_delta,
            held_epsilon=total_cost(self._costs(account, RunState.RESERVED))[0],
            remaining_epsilon=left,
            runs=len(counted),
        )

    def _row(self, reservation: Reservation) -> sqlite3.Row:
        row = self._connection.execute("SELECT * FROM run WHERE id = ?", (reservation.run,)).fetchone()
        if row is None:
            raise LedgerConflictError("a reservation of this ledger was expected; it holds no such run.")
        assert isinstance(row, sqlite3.Row)
        return row

    def _expect(self, reservation: Reservation, state: RunState, step: str) -> None:
        found = self._row(reservation)["state"]
        if found != state:
            raise LedgerConflictError(
                f"only a run that is {state} can {step}; this one is {found}.",
                hint="A run that was started stays spent until it is committed." if found == "started" else "",
            )

    def _by_key(
        self, key: str | None, names: Mapping[str, str], operation: str, events: str, planned: PlannedCharge
    ) -> Reservation | None:
        if key is None:
            return None
        row = self._connection.execute("SELECT * FROM run WHERE idempotency_key = ?", (key,)).fetchone()
        if row is None:
            return None
        account = self._connection.execute(
            "SELECT account FROM alias WHERE kind = 'fingerprint' AND name = ?", (names["fingerprint"],)
        ).fetchone()
        asked = (names["dataset"], operation, events, planned.epsilon, planned.delta)
        made = tuple(row[c] for c in ("dataset", "operation", "planned_events", "planned_epsilon", "planned_delta"))
        if asked != made or account is None or account[0] != row["account"]:
            raise LedgerConflictError("the idempotency key was used for another run; take a new one.")
        return _reservation(row)

    def _stored(self) -> tuple[object, ...]:
        execute = self._connection.execute
        caps = {row["id"]: (row["cap_epsilon"], row["cap_delta"]) for row in execute("SELECT * FROM account")}
        aliases = {(row["kind"], row["name"]): row["account"] for row in execute("SELECT * FROM alias")}
        runs = {
            row["id"]: (
                *(row["account"], row["dataset"], row["state"], row["planned_events"]),
                *((row["planned_epsilon"], row["planned_delta"]), row["charges"], _cost(row)),
            )
            for row in execute("SELECT * FROM run")
        }
        return caps, aliases, runs

    def _broken(self, what: str) -> SourceError:
        return SourceError(
            f"an unbroken ledger was expected in {self._path}; {what}.",
            hint="Put back a copy of it, or keep it as evidence and ask the privacy officer.",
            file=str(self._path),
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _name(text: str, what: str) -> str:
    if not text.strip():
        raise SpecError(f"a {what} needs a name that is not empty.")
    return text


def _cost_values(cost: Cost) -> tuple[float, float, float, float, int]:
    return cost.epsilon, cost.delta, cost.gaussian_mu_squared, cost.threshold_delta, int(cost.exact)


def _cost(row: sqlite3.Row) -> Cost:
    return Cost(
        epsilon=row["epsilon"],
        delta=row["delta"],
        gaussian_mu_squared=row["gaussian_mu_squared"],
        threshold_delta=row["threshold_delta"],
        exact=bool(row["exact"]),
    )


def _reservation(row: sqlite3.Row) -> Reservation:
    return Reservation(
        run=row["id"],
        dataset=row["dataset"],
        operation=row["operation"],
        epsilon=row["planned_epsilon"],
        delta=row["planned_delta"],
    )


def _entry(row: sqlite3.Row) -> Entry:
    counts = row["state"] != RunState.RELEASED
    return Entry(
        time=row["time"],
        run=row["id"],
        dataset=row["dataset"],
        operation=row["operation"],
        state=RunState(row["state"]),
        epsilon=row["epsilon"] if counts else 0.0,
        delta=row["delta"] if counts else 0.0,
        charges=charges_from_json(row["charges"]) if row["charges"] else (),
    )


def _derived(book: Book) -> tuple[object, ...]:
    runs = {
        name: (
            *(run.account, run.dataset, run.state.value, run.planned_events),
            *(run.planned, run.charges, run.cost),
        )
        for name, run in book.runs.items()
    }
    return {account: (cap.epsilon, cap.delta) for account, cap in book.caps.items()}, book.aliases, runs
