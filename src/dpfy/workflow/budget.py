"""Use case: look at the ledger and cap it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from dpfy.accounting.events import events_to_json
from dpfy.errors import DpfyError, SpecError
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.workspace import Workspace
from dpfy.privacy import parse_delta, parse_epsilon

__all__ = ["account_line", "accounts", "history", "set_cap"]


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


def account_line(workspace: Workspace, dataset: str) -> str:
    """What is spent on a data set and what may be, in a sentence."""
    try:
        with Ledger.open(workspace) as ledger:
            account = next(a for a in ledger.show() if dataset in a.names)
    except DpfyError as error:
        return f"ledger: what {dataset} has spent can't be told now. {error}"
    spent = f"ledger: {dataset} has spent epsilon {account.spent_epsilon:.4g}"
    if account.cap_epsilon is None:
        return f"{spent}; no cap is set (dpfy ledger cap {shlex.quote(dataset)} --epsilon ...)"
    return f"{spent} of cap {account.cap_epsilon:.4g}"


def set_cap(
    workspace: Path | None, dataset: str, *, epsilon: str | None, delta: str | None, remove: bool
) -> tuple[str, ...]:
    """Sets or removes a cap; returns notes for the owner.

    Raises:
        SpecError: when neither or both are asked for, or when a file is named in place of a data set.
        PrivacyParameterError: for a cap that is none.
    """
    if remove == (epsilon is not None):
        raise SpecError("give either --epsilon or --remove.")
    limits = None if epsilon is None else (parse_epsilon(epsilon), None if delta is None else parse_delta(delta))
    place = Workspace.locate(workspace)
    with Ledger.open(place) as ledger:
        known = any(dataset in account.names for account in ledger.show())
        if not known:
            _refuse_file_name(dataset)
        if limits is None:
            ledger.remove_cap(dataset)
        else:
            ledger.set_cap(dataset, *limits)
    return place.notes if known else ("no data set of this name has run yet.", *place.notes)


def _refuse_file_name(name: str) -> None:
    from dpfy.ingest.files import SourceFile

    stem = SourceFile(path=Path(name), name=name, format="csv", packing="none").stem
    if stem != name and stem != Path(name).name:
        raise SpecError(
            f"{name!r} is the name of a file; the ledger calls data sets by their name without suffix.",
            hint=f"Write {stem!r}.",
        )
