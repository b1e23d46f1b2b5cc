"""The journal replayed: balances re-derived from nothing but the transitions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpfy.ledger.admission import Cap, Cost, lower_cap
from dpfy.ledger.records import RunState, charges_from_json

__all__ = ["Book", "BookRun", "chained_digest"]


def chained_digest(previous: str, entry: int, time: str, transition: str, content: str) -> str:
    """The digest of a journal row, which covers all rows before it: hex, 64 characters."""
    row = json.dumps([previous, entry, time, transition, content], separators=(",", ":"))
    return hashlib.sha256(row.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class BookRun:
    """A run as the journal tells it."""

    account: int
    dataset: str
    state: RunState
    planned_events: str
    planned: tuple[float, float]
    charges: str | None
    cost: Cost


@dataclass
class Book:
    """Accounts, names and runs after some transitions.

    Args:
        caps: by account.
        aliases: (kind, name) to account.
        runs: by id.
    """

    caps: dict[int, Cap] = field(default_factory=dict)
    aliases: dict[tuple[str, str], int] = field(default_factory=dict)
    runs: dict[str, BookRun] = field(default_factory=dict)

    def apply(self, transition: str, content: Mapping[str, Any]) -> None:
        """Applies one transition.

        Raises:
            ValueError, KeyError: the journal tells something that can't have happened.
        """
        {
            "reserve": self._reserve,
            "start": self._start,
            "commit": self._commit,
            "release": self._release,
            "cap": self._cap,
        }[transition](content)

    def resolve(self, wanted: Mapping[str, str]) -> int:
        """The account behind some names: a new one, the one, or the first of several, which then become
        one."""
        keys = list(wanted.items())
        known = sorted({self.aliases[key] for key in keys if key in self.aliases})
        account = known[0] if known else max(self.caps, default=0) + 1
        self.caps.setdefault(account, Cap())
        for other in known[1:]:
            # The account stays in the list, empty, so that ids are never given twice.
            self.caps[account] = lower_cap(self.caps[account], self.caps[other])
            self.caps[other] = Cap()
            self.aliases = {key: account if owner == other else owner for key, owner in self.aliases.items()}
            self.runs = {name: _moved(run, account) if run.account == other else run for name, run in self.runs.items()}
        for key in keys:
            self.aliases[key] = account
        return account

    def _reserve(self, content: Mapping[str, Any]) -> None:
        from dpfy.accounting.events import events_from_json

        if content["run"] in self.runs:
            raise ValueError("a run was reserved twice")
        composed = Cost.of_events(events_from_json(content["events"]), content["delta"])
        if composed.epsilon > content["epsilon"]:
            raise ValueError("a plan promised less than its events cost")
        account = self.resolve(content["names"])
        self.runs[content["run"]] = BookRun(
            account=account,
            dataset=content["names"]["dataset"],
            state=RunState.RESERVED,
            planned_events=content["events"],
            planned=(content["epsilon"], content["delta"]),
            charges=None,
            cost=_with_epsilon(composed, content["epsilon"]),
        )

    def _step(self, content: Mapping[str, Any], allowed: RunState, state: RunState) -> BookRun:
        run = self.runs[content["run"]]
        if run.state is not allowed:
            raise ValueError(f"a run that was {run.state} became {state}")
        self.runs[content["run"]] = BookRun(**{**vars(run), "state": state})
        return self.runs[content["run"]]

    def _start(self, content: Mapping[str, Any]) -> None:
        self._step(content, RunState.RESERVED, RunState.STARTED)

    def _release(self, content: Mapping[str, Any]) -> None:
        self._step(content, RunState.RESERVED, RunState.RELEASED)

    def _commit(self, content: Mapping[str, Any]) -> None:
        run = self._step(content, RunState.STARTED, RunState.COMMITTED)
        charges = charges_from_json(content["charges"])
        cost = Cost.of_events([charge.event for charge in charges], content["delta"])
        if not cost.within(run.cost):
            raise ValueError("a run committed more than its plan")
        changed = {**vars(run), "charges": content["charges"], "cost": cost}
        self.runs[content["run"]] = BookRun(**changed)

    def _cap(self, content: Mapping[str, Any]) -> None:
        account = self.resolve({"dataset": content["dataset"]})
        self.caps[account] = Cap(epsilon=content["epsilon"], delta=content["delta"])


def _moved(run: BookRun, account: int) -> BookRun:
    return BookRun(**{**vars(run), "account": account})


def _with_epsilon(cost: Cost, epsilon: float) -> Cost:
    return Cost(**{**vars(cost), "epsilon": epsilon})
