"""What any ledger can do, whatever it is stored in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dpfy.accounting.meter import Charge, PlannedCharge
from dpfy.ledger.records import AccountView, Entry, Reservation

__all__ = ["LedgerStore"]


class LedgerStore(Protocol):
    """Accounts of people, what was spent on them, and what they are capped at.

    An account is a population: the data sets that name the same people. A data set's name, the keyed
    fingerprint of its content, and an optional name for the population each point to an account; a run
    whose three point to different ones makes them one, with the charges of all and the lower cap.

    The order of a run is reserve, start, commit. From start on its plan counts in full until commit gives
    the rest
    back: a crash in between leaves it spent.
    """

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
        """Holds a plan's whole cost, durably, before anything is read.

        **Privacy:** admitted only if the composition of all runs of the account, held ones as planned,
        stays within the cap at the sum of their deltas. The decision reads no private data.

        Args:
            dataset: the data set's name.
            fingerprint: keyed fingerprint of its content.
            population: the owner's name for the people in it, shared by data sets about the same people.
            planned: the most that the run may spend.
            operation: what runs.
            idempotency_key: a second call with the same key gives the same reservation.

        Raises:
            BudgetExceededError: it doesn't fit; the ledger is as before.
            LedgerConflictError: the key was used for something else, or the ledger was busy too long.
        """
        ...

    def start(self, reservation: Reservation) -> None:
        """Says that the data is opened from here on.

        Raises:
            LedgerConflictError: the run is not reserved, or was started already.
        """
        ...

    def commit(self, reservation: Reservation, charges: Iterable[Charge], *, delta: float | None = None) -> None:
        """Puts what was really spent in the plan's place; the difference is free again.

        Args:
            reservation: started.
            charges: all mechanism runs.
            delta: the run's delta if it was lowered on the way; left out, the planned one. The account
                counts the lower one unless its own epsilon, at the lower sum of deltas, would rise above
                what was admitted.

        Raises:
            UnchargedReleaseError: the charges cost more than the plan; the run stays spent as planned.
            LedgerConflictError: the run is not started. A second commit of the same charges is no error.
        """
        ...

    def release(self, reservation: Reservation) -> None:
        """Gives a reservation back that was never started.

        Raises:
            LedgerConflictError: the run was started.
        """
        ...

    def set_cap(self, dataset: str, epsilon: float, delta: float | None = None) -> None:
        """Caps the account of a data set; a cap below what is spent means that nothing more fits."""
        ...

    def remove_cap(self, dataset: str) -> None:
        """Takes the cap away."""
        ...

    def show(self) -> list[AccountView]:
        """All accounts."""
        ...

    def history(self, dataset: str | None = None) -> list[Entry]:
        """All runs in order, or those of the account of one data set."""
        ...

    def open_reservations(self) -> list[Reservation]:
        """Reservations that never started, oldest first: what a crash before the start leaves held."""
        ...

    def verify(self) -> int:
        """Replays the journal and compares; returns how many entries it has.

        Raises:
            SourceError: the journal is broken, or does not tell what the balances are.
        """
        ...

    def close(self) -> None:
        """Lets go of the store."""
        ...
