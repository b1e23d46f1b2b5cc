"""What the ledger hands out and takes in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from dpfy.accounting.meter import Charge, ChargeKind

__all__ = ["AccountView", "Entry", "Reservation", "RunState", "charges_from_json", "charges_to_json"]


class RunState(StrEnum):
    """How far a run has come.

    RESERVED: its plan counts, the data is not opened. STARTED: the data may be open; its plan counts in
    full, also after a crash. COMMITTED: what it spent counts. RELEASED: it never started and counts nothing.
    """

    RESERVED = "reserved"
    STARTED = "started"
    COMMITTED = "committed"
    RELEASED = "released"


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A place in the budget, held for one run.

    Args:
        run: the run's id.
        dataset: the data set's name in the ledger.
        operation: what runs, e.g. fit.
        epsilon: planned.
        delta: planned.
    """

    run: str
    dataset: str
    operation: str
    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class AccountView:
    """The state of one account: all data sets about the same people.

    Args:
        names: data sets, sorted.
        populations: names that the owner gave to the people, sorted.
        cap_epsilon: None without a cap.
        cap_delta: None without a cap.
        spent_epsilon: of all runs that have started, composed.
        spent_delta: their sum.
        held_epsilon: of runs that are reserved and have not started, composed on their own.
        remaining_epsilon: cap less everything composed, at least 0; None without a cap.
        runs: how many count.
    """

    names: tuple[str, ...]
    populations: tuple[str, ...]
    cap_epsilon: float | None
    cap_delta: float | None
    spent_epsilon: float
    spent_delta: float
    held_epsilon: float
    remaining_epsilon: float | None
    runs: int


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One run in the history.

    Args:
        time: of the reservation, UTC, ISO 8601.
        run: the run's id.
        dataset: the data set's name at that time.
        operation: what ran.
        state: how far it came.
        epsilon: what counts: the plan until the run is committed, then what was spent; 0 when released.
        delta: likewise.
        charges: mechanism runs, once committed.
    """

    time: str
    run: str
    dataset: str
    operation: str
    state: RunState
    epsilon: float
    delta: float
    charges: tuple[Charge, ...]


def charges_to_json(charges: Iterable[Charge]) -> str:
    """Writes charges so that equal charges give equal text."""
    from dpfy.accounting.events import events_to_json

    return json.dumps(
        [
            {
                "label": charge.label,
                "kind": charge.kind.value,
                "events": json.loads(events_to_json([charge.event])),
            }
            for charge in charges
        ],
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )


def charges_from_json(text: str) -> tuple[Charge, ...]:
    """Reads what `charges_to_json` wrote."""
    from dpfy.accounting.events import events_from_json

    return tuple(
        Charge(
            label=made["label"],
            kind=ChargeKind(made["kind"]),
            event=events_from_json(json.dumps(made["events"]))[0],
        )
        for made in json.loads(text)
    )
