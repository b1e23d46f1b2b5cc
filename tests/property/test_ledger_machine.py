"""The ledger against a plain model in memory, over random sequences of steps."""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path

import pytest
from dp_accounting.dp_event import GaussianDpEvent
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dpfy.accounting.gaussian import epsilon_of
from dpfy.accounting.meter import Charge, ChargeKind, plan_charge
from dpfy.errors import BudgetExceededError, LedgerConflictError
from dpfy.ledger.records import Reservation
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.workspace import Workspace

NAMES = st.sampled_from(["a", "b", "c"])
EPSILONS = st.sampled_from([0.1, 0.5, 1.0, 2.0])
DELTA = 1e-6


class ModelRun:
    def __init__(self, group: set[str], epsilon: float) -> None:
        self.group = group
        self.state = "reserved"
        self.mu_squared = plan_charge(epsilon, DELTA).gaussian_mu_squared
        self.planned = self.mu_squared


def _together(runs: list[ModelRun]) -> float:
    mu = math.sqrt(math.fsum(run.mu_squared for run in runs))
    # A plan keeps a fifth of delta for thresholds; committed runs here had none.
    return epsilon_of(mu, math.fsum(DELTA * (1.0 if run.state == "committed" else 0.8) for run in runs))


class LedgerMachine(RuleBasedStateMachine):
    """Names and contents that belong together form a group; a group's runs compose under its lowest cap."""

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = Ledger.open(Workspace.locate(self.folder))
        self.groups: list[set[str]] = []
        self.caps: dict[int, float | None] = {}
        self.runs: dict[str, tuple[Reservation, ModelRun]] = {}

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
            shutil.rmtree(self.folder)

    def _joined(self, names: set[str]) -> tuple[list[set[str]], float | None]:
        touching = [group for group in self.groups if group & names]
        caps = [cap for group in touching if (cap := self.caps.get(id(group))) is not None]
        return touching, min(caps, default=None)

    def _merge(self, names: set[str], cap: float | None, touching: list[set[str]]) -> set[str]:
        merged = set().union(names, *touching)
        self.groups = [group for group in self.groups if not any(group is t for t in touching)]
        self.groups.append(merged)
        self.caps[id(merged)] = cap
        for _, run in self.runs.values():
            if any(run.group is t for t in touching):
                run.group = merged
        return merged

    def _epsilon(self, runs: list[ModelRun]) -> float:
        counted = [run for run in runs if run.state != "released"]
        # All together at the sum of their deltas, and never less than the dearest alone.
        return max((_together(group) for group in (counted, *([run] for run in counted)) if group), default=0.0)

    @rule(name=NAMES, content=NAMES, epsilon=EPSILONS)
    def reserve(self, name: str, content: str, epsilon: float) -> None:
        names = {f"name {name}", f"content {content}"}
        touching, cap = self._joined(names)
        others = [run for _, run in self.runs.values() if any(run.group is group for group in touching)]
        wanted = ModelRun(set(), epsilon)
        fits = cap is None or self._epsilon([*others, wanted]) <= cap + 1e-9
        try:
            made = self.ledger.reserve(
                dataset=name, fingerprint=content, planned=plan_charge(epsilon, DELTA), operation="fit"
            )
        except BudgetExceededError as error:
            refusal = error
        else:
            refusal = None
        assert (refusal is None) == fits
        if refusal is not None:
            assert cap is not None
            assert refusal.remaining == pytest.approx(max(cap - self._epsilon(others), 0.0), abs=1e-6)
            assert refusal.largest < epsilon
            if refusal.largest > 0:
                smaller = ModelRun(set(), refusal.largest)
                assert self._epsilon([*others, smaller]) <= cap + 1e-9
            return
        wanted.group = self._merge(names, cap, touching)
        self.runs[made.run] = (made, wanted)

    @rule(
        data=st.data(),
        step=st.sampled_from(["start", "commit", "release"]),
        share=st.sampled_from([0.3, 1.0]),
    )
    def step(self, data: st.DataObject, step: str, share: float) -> None:
        if not self.runs:
            return
        made, run = list(self.runs.values())[data.draw(st.integers(0, len(self.runs) - 1))]
        allowed = {"start": "reserved", "commit": "started", "release": "reserved"}[step]
        event = GaussianDpEvent((share * run.planned) ** -0.5)
        charges = [Charge(label="m", kind=ChargeKind.MEASURE, event=event)]
        try:
            if step == "commit":
                self.ledger.commit(made, charges)
            else:
                getattr(self.ledger, step)(made)
        except LedgerConflictError:
            assert run.state != allowed
            return
        if run.state == "committed":  # the same commit again
            assert step == "commit"
            assert run.mu_squared == share * run.planned
            return
        assert run.state == allowed
        run.state = {"start": "started", "commit": "committed", "release": "released"}[step]
        if step == "commit":
            run.mu_squared = share * run.planned

    @rule(name=NAMES, cap=st.sampled_from([0.5, 1.5, 3.0]))
    def set_cap(self, name: str, cap: float) -> None:
        self.ledger.set_cap(name, cap)
        names = {f"name {name}"}
        self._merge(names, cap, self._joined(names)[0])

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(Workspace.locate(self.folder))

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "ledger"):
            return
        self.ledger.verify()
        seen = {view.names: view for view in self.ledger.show()}
        assert len(seen) == len(self.groups)
        for group in self.groups:
            names = tuple(sorted(name.removeprefix("name ") for name in group if name.startswith("name ")))
            view = seen[names]
            runs = [run for _, run in self.runs.values() if run.group is group]
            active = [run for run in runs if run.state in ("started", "committed")]
            assert view.cap_epsilon == self.caps[id(group)]
            assert view.spent_epsilon == pytest.approx(self._epsilon(active), rel=1e-6)
            assert view.runs == len([run for run in runs if run.state != "released"])
            if view.remaining_epsilon is not None:
                left = max(view.cap_epsilon - self._epsilon(runs), 0.0)
                assert view.remaining_epsilon == pytest.approx(left, abs=1e-6)


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
