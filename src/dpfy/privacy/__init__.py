"""Privacy unit, adjacency and parameters: the words that every guarantee is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from dpfy.errors import PrivacyParameterError

__all__ = ["Adjacency", "CountingMode", "PrivacyParameters", "PrivacyUnit", "parse_delta", "parse_epsilon"]


class Adjacency(StrEnum):
    """Which pairs of data sets a guarantee can't tell apart."""

    ADD_REMOVE_USER = "add_or_remove_one_user"
    ADD_REMOVE_RECORD = "add_or_remove_one_record"
    FIXED_GRAPH = "fixed_graph_one_users_content_removed"


class CountingMode(StrEnum):
    """How a user's records count in a marginal.

    ROWS: each kept record counts 1, so a user moves one cell by at most max_records_per_user (l2 sensitivity = cap).
    USERS: each of a user's r kept records counts 1/r, so a user's whole weight is 1 (l2 sensitivity 1 plus rounding).
    """

    ROWS = "rows"
    USERS = "users"


@dataclass(frozen=True, kw_only=True)
class PrivacyUnit:
    """Whose whole contribution is protected.

    Args:
        owners: for each owner of a record the columns that name it; several columns in one owner name one user
            together, several owners mean that a record belongs to each of these people. Empty: the unit is one record.
        max_records_per_user: the contribution bound; None means that it is to be chosen privately. 1 for records.
        distinct_owners: owners in different positions are people of different kinds (the same id is not the same
            person).
    """

    owners: tuple[tuple[str, ...], ...] = ()
    max_records_per_user: int | None = 1
    distinct_owners: bool = False

    @property
    def is_record(self) -> bool:
        """True when the guarantee covers rows, not people."""
        return not self.owners

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that name a user."""
        return tuple(column for owner in self.owners for column in owner)

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation that follows from the unit."""
        if self.is_record:
            return Adjacency.ADD_REMOVE_RECORD
        return Adjacency.ADD_REMOVE_USER if len(self.owners) == 1 else Adjacency.FIXED_GRAPH


def _parse_number(name: str, text: object) -> float:
    if isinstance(text, bool) or text is None:
        raise PrivacyParameterError(f"{name} must be a number, but nothing usable was given.")
    if isinstance(text, str) and "," in text:
        raise PrivacyParameterError(
            f"{name} must be a number with a point, as in 1.5; a comma was given.", hint="Write 1.5 for 1,5."
        )
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise PrivacyParameterError(f"{name} must be a number; {str(text)!r} is none.") from None
    if math.isnan(value):
        raise PrivacyParameterError(f"{name} must be a number; NaN is none.")
    return value


def parse_epsilon(text: object) -> float:
    """Reads an epsilon.

    Args:
        text: a number or its spelling; must lie in [1e-3, 1e3].

    Returns:
        The epsilon as a float.

    Raises:
        PrivacyParameterError: for zero, negative, infinite, NaN, empty or out-of-range values.
    """
    value = _parse_number("epsilon", text)
    if value <= 0 or math.isinf(value):
        raise PrivacyParameterError(
            f"epsilon must be positive and finite; {value} was given.",
            hint="There is no default; 1 to 3 is common for tables.",
        )
    if not 1e-3 <= value <= 1e3:
        raise PrivacyParameterError(
            f"epsilon must lie between 0.001 and 1000; {value:g} was given.",
            hint="Below, only noise comes out; above, nothing is protected.",
        )
    return value


def parse_delta(text: object) -> float:
    """Reads a delta.

    Args:
        text: a number or its spelling; must lie in [1e-15, 0.1].

    Returns:
        The delta as a float.

    Raises:
        PrivacyParameterError: for values outside (0, 1), and for those that no accountant can tell from the ends.
    """
    value = _parse_number("delta", text)
    if not 0 < value < 1:
        raise PrivacyParameterError(f"delta must lie between 0 and 1, both excluded; {value:g} was given.")
    if not 1e-15 <= value <= 0.1:
        raise PrivacyParameterError(
            f"delta must lie between 1e-15 and 0.1; {value:g} was given.", hint="1e-5 or less is common."
        )
    return value


@dataclass(frozen=True, kw_only=True)
class PrivacyParameters:
    """A target guarantee.

    Args:
        epsilon: in [1e-3, 1e3].
        delta: in (0, 1), or None for min(1e-5, noisy number of users ** -1.1).
    """

    epsilon: float
    delta: float | None = None

    def __post_init__(self) -> None:
        parse_epsilon(self.epsilon)
        if self.delta is not None:
            parse_delta(self.delta)
