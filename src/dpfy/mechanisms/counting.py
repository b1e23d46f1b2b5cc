"""How much one user can move a table of counts."""

from __future__ import annotations

from dataclasses import dataclass

from dpfy.privacy import CountingMode

USER_WEIGHT = 1 << 12
"""A user's whole weight in per-user counting: a power of two, so that weights are whole numbers."""


@dataclass(frozen=True, kw_only=True)
class CountScale:
    """The unit in which records are counted, and what a user adds up to in it.

    **Privacy:** in a histogram over disjoint cells a user adds at most `user_total` in all, hence at most
    `user_total` in the l2 norm, with equality when all of it falls into one cell.

    Args:
        mode: rows or users.
        max_records_per_user: the contribution bound, >= 1.
    """

    mode: CountingMode
    max_records_per_user: int

    @property
    def one(self) -> int:
        """What 1 is counted as: a record (rows) or a user (users)."""
        return 1 if self.mode is CountingMode.ROWS else USER_WEIGHT

    @property
    def user_total(self) -> int:
        """The most that one user adds to all cells together, in counting units."""
        return self.max_records_per_user if self.mode is CountingMode.ROWS else USER_WEIGHT

    def weight(self, rows_of_user: int) -> int:
        """What each record of a user with so many kept records counts; rounded down, so the total never exceeds."""
        return 1 if self.mode is CountingMode.ROWS else USER_WEIGHT // rows_of_user
