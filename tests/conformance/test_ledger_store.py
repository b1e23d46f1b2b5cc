"""What every ledger store does, whatever it is stored in: one suite, one subclass per store."""

from __future__ import annotations

import abc
import math
from pathlib import Path

import pytest
from dp_accounting.dp_event import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent

from dpfy.accounting.composition import compose
from dpfy.accounting.meter import Charge, ChargeKind, PlannedCharge, plan_charge
from dpfy.errors import (
    BudgetExceededError,
    LedgerConflictError,
    PrivacyParameterError,
    SpecError,
    UnchargedReleaseError,
)
from dpfy.ledger.records import AccountView, Reservation, RunState
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.store import LedgerStore
from dpfy.ledger.workspace import Workspace

DELTA = 1e-6


def plan(epsilon: float = 1.0, delta: float = DELTA) -> PlannedCharge:
    return plan_charge(epsilon, delta)


def charges_of(planned: PlannedCharge, share: float = 1.0) -> list[Charge]:
    half = GaussianDpEvent((share * planned.gaussian_mu_squared / 2) ** -0.5)
    return [
        Charge(label="users", kind=ChargeKind.COUNT, event=half),
        Charge(label="pairs", kind=ChargeKind.MEASURE, event=half),
    ]


def training(epsilon: float, delta: float = DELTA) -> PlannedCharge:
    event = SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.5)), 20)
    assert compose([event]).epsilon(delta) <= epsilon
    return PlannedCharge(
        epsilon=epsilon, delta=delta, gaussian_mu_squared=0.0, threshold_delta=0.0, other_events=(event,)
    )


class LedgerStoreSuite(abc.ABC):
    @abc.abstractmethod
    @pytest.fixture
    def store(self, tmp_path: Path) -> LedgerStore:
        """An empty store."""

    @staticmethod
    def reserve(
        store: LedgerStore,
        planned: PlannedCharge,
        dataset: str = "visits",
        fingerprint: str = "f1",
        **more: str,
    ) -> Reservation:
        return store.reserve(dataset=dataset, fingerprint=fingerprint, planned=planned, operation="fit", **more)

    def spend(self, store: LedgerStore, planned: PlannedCharge, **names: str) -> Reservation:
        reservation = self.reserve(store, planned, **names)
        store.start(reservation)
        store.commit(reservation, charges_of(planned))
        return reservation

    @staticmethod
    def account(store: LedgerStore, name: str = "visits") -> AccountView:
        return next(view for view in store.show() if name in view.names)

    def test_without_a_cap_a_run_is_admitted_and_remembered(self, store: LedgerStore) -> None:
        self.spend(store, plan(3.0))
        view = self.account(store)
        assert view.cap_epsilon is None
        assert view.remaining_epsilon is None
        assert 0.98 * 3.0 < view.spent_epsilon <= 3.0
        assert view.spent_delta == DELTA
        assert view.runs == 1
        assert store.verify() == 3

    def test_one_run_counts_exactly_what_it_says(self, store: LedgerStore) -> None:
        self.reserve(store, plan(1.25))
        view = self.account(store)
        assert view.held_epsilon == 1.25
        assert view.spent_epsilon == 0.0

    def test_a_cap_of_the_same_size_admits_one_run_and_no_second(self, store: LedgerStore) -> None:
        store.set_cap("visits", 1.0)
        self.spend(store, plan(1.0))
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(1.0))

    def test_runs_compose_to_less_than_their_sum(self, store: LedgerStore) -> None:
        for _ in range(4):
            self.spend(store, plan(0.5))
        view = self.account(store)
        assert view.spent_epsilon < 0.75 * 4 * 0.5
        assert view.spent_delta == 4e-6

    def test_a_refusal_names_what_was_asked_what_is_left_and_what_fits(self, store: LedgerStore) -> None:
        store.set_cap("visits", 2.0)
        self.spend(store, plan(1.5))
        with pytest.raises(BudgetExceededError) as refused:
            self.reserve(store, plan(1.8))
        error = refused.value
        assert error.requested == 1.8
        assert error.remaining == pytest.approx(2.0 - self.account(store).spent_epsilon)
        assert error.remaining < error.largest < 1.8  # two runs cost less than their sum
        for number in ("1.8", f"{error.largest:g}", "0.5", "visits"):
            assert number in str(error)
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(error.largest * 1.002))
        admitted = self.reserve(store, plan(float(f"{error.largest:g}")))
        assert admitted.epsilon == error.largest

    def test_a_refused_run_leaves_the_ledger_as_it_was(self, store: LedgerStore) -> None:
        store.set_cap("visits", 1.0)
        self.reserve(store, plan(1.0), dataset="visits", fingerprint="f1")
        before = store.show(), store.history(), store.verify()
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(1.0), dataset="visits", fingerprint="f2")
        assert (store.show(), store.history(), store.verify()) == before

    def test_a_cap_below_what_is_spent_admits_nothing(self, store: LedgerStore) -> None:
        self.spend(store, plan(2.0))
        store.set_cap("visits", 1.0)
        with pytest.raises(BudgetExceededError) as refused:
            self.reserve(store, plan(0.01))
        assert refused.value.remaining == 0.0
        assert refused.value.largest == 0.0
        assert "no further run fits" in str(refused.value)
        assert self.account(store).remaining_epsilon == 0.0

    def test_a_cap_can_be_raised_and_removed(self, store: LedgerStore) -> None:
        store.set_cap("visits", 0.5)
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(1.0))
        store.set_cap("visits", 1.0)
        self.spend(store, plan(1.0))
        store.remove_cap("visits")
        self.spend(store, plan(5.0))
        assert self.account(store).cap_epsilon is None
        with pytest.raises(SpecError):
            store.remove_cap("unknown")

    def test_a_cap_on_delta_counts_deltas_as_they_are_written(self, store: LedgerStore) -> None:
        store.set_cap("visits", 100.0, 3e-6)
        for _ in range(3):
            self.spend(store, plan(1.0, 1e-6))
        with pytest.raises(BudgetExceededError) as refused:
            self.reserve(store, plan(0.1, 1e-9))
        assert refused.value.largest == 0.0

    def test_many_loose_deltas_never_make_epsilon_small(self, store: LedgerStore) -> None:
        store.set_cap("visits", 2.0)
        self.spend(store, plan(2.0, 1e-6))
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(1.5, 0.1))
        for _ in range(11):
            self.spend(store, plan(1.0, 0.1), dataset="other", fingerprint="f2")
        assert self.account(store, "other").spent_epsilon == math.inf

    @pytest.mark.parametrize("cap", [(-1.0, None), (math.nan, None), (math.inf, None), (1.0, 1.0), (1.0, -0.1)])
    def test_caps_that_mean_nothing_are_refused(self, store: LedgerStore, cap: tuple[float, float | None]) -> None:
        with pytest.raises(PrivacyParameterError):
            store.set_cap("visits", *cap)
        assert store.show() == []

    def test_a_started_run_that_never_commits_stays_spent(self, store: LedgerStore) -> None:
        store.set_cap("visits", 1.0)
        reservation = self.reserve(store, plan(1.0))
        store.start(reservation)
        assert self.account(store).spent_epsilon == 1.0
        with pytest.raises(LedgerConflictError):
            store.release(reservation)
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(0.5))

    def test_a_released_reservation_gives_everything_back(self, store: LedgerStore) -> None:
        store.set_cap("visits", 1.0)
        reservation = self.reserve(store, plan(1.0))
        assert store.open_reservations() == [reservation]
        store.release(reservation)
        assert store.open_reservations() == []
        view = self.account(store)
        assert (view.held_epsilon, view.spent_epsilon, view.runs) == (0.0, 0.0, 0)
        self.spend(store, plan(1.0))

    def test_committing_less_gives_the_difference_back(self, store: LedgerStore) -> None:
        store.set_cap("visits", 1.0)
        first = self.reserve(store, plan(1.0))
        store.start(first)
        store.commit(first, charges_of(plan(1.0), share=0.25))
        assert self.account(store).spent_epsilon < 0.55
        self.spend(store, plan(0.5))

    def test_committing_more_than_planned_is_refused_and_the_plan_stays_spent(self, store: LedgerStore) -> None:
        reservation = self.reserve(store, plan(1.0))
        store.start(reservation)
        with pytest.raises(UnchargedReleaseError):
            store.commit(reservation, charges_of(plan(1.0), share=1.01))
        with pytest.raises(UnchargedReleaseError):
            store.commit(reservation, charges_of(plan(1.0)), delta=2e-6)
        assert self.account(store).spent_epsilon == 1.0

    def test_a_lower_delta_can_be_committed(self, store: LedgerStore) -> None:
        planned, lowered = plan(1.0, 1e-5), plan(1.0, 1e-8)
        reservation = self.reserve(store, planned)
        store.start(reservation)
        with pytest.raises(UnchargedReleaseError):
            store.commit(reservation, charges_of(planned), delta=1e-8)
        store.commit(reservation, charges_of(lowered), delta=1e-8)
        assert self.account(store).spent_delta == 1e-8
        assert self.account(store).spent_epsilon <= 1.0

    def test_a_lower_delta_never_lifts_the_account_over_what_was_admitted(self, store: LedgerStore) -> None:
        for _ in range(6):
            self.spend(store, plan(0.3, 1e-9))
        reservation = self.reserve(store, plan(0.3, 1e-4))
        store.start(reservation)
        admitted = self.account(store)
        store.set_cap("visits", admitted.spent_epsilon)
        store.commit(reservation, charges_of(plan(0.3, 1e-9)), delta=1e-9)
        assert self.account(store).spent_epsilon <= admitted.spent_epsilon
        store.verify()

    def test_thresholds_can_not_be_turned_into_gaussian_noise(self, store: LedgerStore) -> None:
        planned = plan(1.0)
        more = charges_of(planned, share=1.001)
        assert compose([charge.event for charge in more]).epsilon(DELTA) < 1.0
        reservation = self.reserve(store, planned)
        store.start(reservation)
        with pytest.raises(UnchargedReleaseError):
            store.commit(reservation, more)

    def test_steps_in_any_other_order_are_refused(self, store: LedgerStore) -> None:
        reservation = self.reserve(store, plan(1.0))
        with pytest.raises(LedgerConflictError):
            store.commit(reservation, charges_of(plan(1.0)))
        store.start(reservation)
        with pytest.raises(LedgerConflictError):
            store.start(reservation)
        store.commit(reservation, charges_of(plan(1.0)))
        store.commit(reservation, charges_of(plan(1.0)))  # the same again is no error
        with pytest.raises(LedgerConflictError):
            store.commit(reservation, charges_of(plan(1.0), share=0.5))
        with pytest.raises(LedgerConflictError):
            store.release(reservation)
        stranger = Reservation(run="none", dataset="visits", operation="fit", epsilon=1.0, delta=DELTA)
        with pytest.raises(LedgerConflictError):
            store.start(stranger)

    def test_the_same_key_gives_the_same_reservation(self, store: LedgerStore) -> None:
        first = self.reserve(store, plan(1.0), idempotency_key="k")
        assert self.reserve(store, plan(1.0), idempotency_key="k") == first
        assert self.account(store).runs == 1
        with pytest.raises(LedgerConflictError):
            self.reserve(store, plan(2.0), idempotency_key="k")
        with pytest.raises(LedgerConflictError):
            self.reserve(store, plan(1.0), fingerprint="f2", idempotency_key="k")

    def test_changed_content_under_the_same_name_is_the_same_account(self, store: LedgerStore) -> None:
        store.set_cap("visits", 1.0)
        self.spend(store, plan(1.0), fingerprint="f1")
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(1.0), fingerprint="f2")

    def test_the_same_content_under_another_name_is_the_same_account(self, store: LedgerStore) -> None:
        store.set_cap("visits", 1.0)
        self.spend(store, plan(1.0))
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(1.0), dataset="renamed")

    def test_data_sets_of_one_population_share_an_account(self, store: LedgerStore) -> None:
        store.set_cap("visits", 1.0)
        self.spend(store, plan(1.0), population="patients")
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(1.0), dataset="labs", fingerprint="f2", population="patients")
        self.reserve(store, plan(1.0), dataset="shops", fingerprint="f3")

    def test_accounts_that_turn_out_to_be_one_count_everything_under_the_lower_cap(self, store: LedgerStore) -> None:
        store.set_cap("a", 10.0)
        store.set_cap("b", 4.0, 1e-3)
        self.spend(store, plan(1.0), dataset="a", fingerprint="fa")
        self.spend(store, plan(2.0), dataset="b", fingerprint="fb")
        self.spend(store, plan(0.5), dataset="a", fingerprint="fb")
        view = self.account(store, "a")
        assert view.names == ("a", "b")
        assert (view.cap_epsilon, view.cap_delta, view.runs) == (4.0, 1e-3, 3)
        assert 2.0 < view.spent_epsilon < 3.5
        assert view.spent_delta == 3e-6
        assert len(store.show()) == 1
        assert len(store.history("b")) == 3
        store.verify()

    def test_a_merge_that_does_not_fit_is_refused_and_undone(self, store: LedgerStore) -> None:
        store.set_cap("a", 1.0)
        self.spend(store, plan(1.0), dataset="a", fingerprint="fa")
        self.spend(store, plan(2.0), dataset="b", fingerprint="fb")
        with pytest.raises(BudgetExceededError):
            self.reserve(store, plan(0.1), dataset="b", fingerprint="fa")
        assert len(store.show()) == 2

    def test_an_account_with_sampled_training_counts_the_plain_sum(self, store: LedgerStore) -> None:
        store.set_cap("visits", 3.0)
        self.spend(store, plan(1.0))
        self.spend(store, plan(1.0))
        reservation = self.reserve(store, training(0.9))
        spent = store.history()
        assert self.account(store).remaining_epsilon == pytest.approx(3.0 - sum(entry.epsilon for entry in spent))
        with pytest.raises(BudgetExceededError) as refused:
            self.reserve(store, training(0.8))
        assert 0.1 < refused.value.largest < 0.2
        store.start(reservation)
        made = Charge(label="training", kind=ChargeKind.TRAIN, event=training(0.9).other_events[0])
        store.commit(reservation, [made])
        assert store.history()[-1].charges == (made,)
        store.verify()

    def test_a_plan_that_promises_less_than_its_events_cost_is_refused(self, store: LedgerStore) -> None:
        honest = plan(2.0)
        false = PlannedCharge(
            epsilon=1.0,
            delta=honest.delta,
            gaussian_mu_squared=honest.gaussian_mu_squared,
            threshold_delta=honest.threshold_delta,
        )
        with pytest.raises(PrivacyParameterError):
            self.reserve(store, false)
        assert store.show() == []

    def test_history_tells_runs_in_order(self, store: LedgerStore) -> None:
        self.spend(store, plan(1.0))
        second = self.reserve(store, plan(0.5), dataset="labs", fingerprint="f2")
        store.release(second)
        third = self.reserve(store, plan(0.25), dataset="labs", fingerprint="f2")
        states = [(entry.dataset, entry.state) for entry in store.history()]
        assert states == [
            ("visits", RunState.COMMITTED),
            ("labs", RunState.RELEASED),
            ("labs", RunState.RESERVED),
        ]
        assert [charge.label for charge in store.history("visits")[0].charges] == ["users", "pairs"]
        assert [entry.epsilon for entry in store.history("labs")] == [0.0, 0.25]
        assert store.history()[-1].run == third.run
        with pytest.raises(SpecError):
            store.history("unknown")

    @pytest.mark.parametrize("names", [{"dataset": ""}, {"fingerprint": " "}, {"population": ""}])
    def test_empty_names_are_refused(self, store: LedgerStore, names: dict[str, str]) -> None:
        with pytest.raises(SpecError):
            self.reserve(store, plan(), **names)


class TestSqliteLedger(LedgerStoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> LedgerStore:
        return Ledger.open(Workspace.locate(tmp_path / "home"))
