"""What a run that failed has cost, in words; and the way back for one that drew nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfy.errors import DpfyError, LedgerConflictError

if TYPE_CHECKING:
    from dpfy.accounting.meter import PlannedCharge
    from dpfy.ledger.records import Reservation
    from dpfy.ledger.store import LedgerStore

__all__ = ["give_back", "tell_cost"]


def give_back(ledger: LedgerStore, reservation: Reservation) -> None:
    """Frees a reservation whose run charged nothing: no noise was drawn, so nothing was released."""
    try:
        ledger.commit(reservation, (), delta=0.0)
    except LedgerConflictError:
        ledger.release(reservation)


def tell_cost(error: BaseException, planned: PlannedCharge) -> None:
    """Adds what counts as spent to an error: to its hint, and as a note for whoever catches it.

    Args:
        error: raised after the first charge.
        planned: what was reserved.
    """
    error.add_note(f"epsilon {planned.epsilon:.4g} counts as spent")
    if isinstance(error, DpfyError):
        cost = f"This run counts as spent: epsilon {planned.epsilon:.4g}, delta {planned.delta:.2g}."
        error.hint = f"{error.hint} {cost}".lstrip()
