"""Use case: look at the ledger and cap it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dpfy.accounting.events import events_to_json
from dpfy.errors import SpecError
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.workspace import Workspace
from dpfy.privacy import parse_delta, parse_epsilon

__all__ = ["accounts", "history", "set_cap"]


def accounts(workspace: Path | None) -> list[dict[str, Any]]:
    """Every account as plain data."""
    with Ledger.open(Workspace.locate(workspace)) as ledger:
        return [
            {
                "names": list(a.names),
                "populations": list(a.populations),
                "spent_epsilon": a.spent_epsilon,
                "spent_delta": a.spent_delta,
                "held_epsilon": a.held_epsilon,
                "cap_epsilon": a.cap_epsilon,
                "cap_delta": a.cap_delta,
                "remaining_epsilon": a.remaining_epsilon,
                "runs": a.runs,
            }
            for a in ledger.show()
        ]


def history(workspace: Path | None, dataset: str | None) -> list[dict[str, Any]]:
    """Every run as plain data, with its mechanism runs."""
    with Ledger.open(Workspace.locate(workspace)) as ledger:
        return [
            {
                "time": e.time,
                "run": e.run,
                "dataset": e.dataset,
                "operation": e.operation,
                "state": str(e.state),
                "epsilon": e.epsilon,
                "delta": e.delta,
                "charges": [
                    {"label": c.label, "kind": str(c.kind), "event": json.loads(events_to_json([c.event]))[0]}
                    for c in e.charges
                ],
            }
            for e in ledger.history(dataset)
        ]


def set_cap(workspace: Path | None, dataset: str, *, epsilon: str | None, delta: str | None, remove: bool) -> None:
    """Sets or removes a cap.

    Raises:
        SpecError: when neither or both are asked for.
        PrivacyParameterError: for a cap that is none.
    """
    if remove == (epsilon is not None):
        raise SpecError("give either --epsilon or --remove.")
    with Ledger.open(Workspace.locate(workspace)) as ledger:
        if epsilon is None:
            ledger.remove_cap(dataset)
        else:
            ledger.set_cap(dataset, parse_epsilon(epsilon), None if delta is None else parse_delta(delta))
