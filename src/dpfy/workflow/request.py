"""What a fit is asked to do: public parameters, checked before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpfy.errors import PrivacyParameterError, SpecError
from dpfy.mechanisms.counting import USER_WEIGHT
from dpfy.privacy import CountingMode, PrivacyParameters, PrivacyUnit
from dpfy.schema import ReadingOptions, TableSchema

DEFAULT_DELTA = 1e-5
CAP_QUANTILE = 0.9
LARGEST_CAP = 1 << 20

Progress = Callable[[str, float], None]


def no_progress(stage: str, share: float) -> None:
    """Shows nothing."""


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """Everything that a fit is told.

    Args:
        source: a path, glob, folder, list of paths, or an object with an Arrow stream.
        reading: how files are read.
        schema: what the owner confirmed; None to take types from the source and discover the rest.
        parameters: target epsilon and delta.
        unit: owners of a record; max_records_per_user None to choose it privately.
        counting: per record or per user.
        exclude_users: file of people who opted out.
        where: record-local filters, all of which must hold.
        generator: family name.
        target: column whose pairs count double; public.
        name: data set's name in the ledger; None for the file's stem.
        population: the owner's name for the people in it.
        rules: cross-column rules beside the schema's.
    """

    source: Any
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    schema: TableSchema | None = None
    parameters: PrivacyParameters
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    counting: CountingMode = CountingMode.ROWS
    exclude_users: Path | None = None
    where: Sequence[str] = ()
    generator: str = "marginal"
    target: str | None = None
    name: str | None = None
    population: str | None = None
    rules: Sequence[str] = ()

    def __post_init__(self) -> None:
        cap = self.unit.max_records_per_user
        if cap is not None and not 1 <= cap <= LARGEST_CAP:
            raise PrivacyParameterError(f"max_records_per_user must lie between 1 and {LARGEST_CAP}; {cap} was given.")
        if self.unit.is_record and cap not in (1, None):
            raise SpecError("max_records_per_user needs a user column.", hint="Name it with --user.")
        if self.unit.is_record and self.exclude_users is not None:
            raise SpecError("an opt-out list needs a user column.", hint="Name it with --user.")
        if self.unit.distinct_owners and len(self.unit.owners) < 2:
            raise SpecError(
                "owners of different kinds need at least two owners.", hint="Name them as in --user buyer,seller."
            )
        if self.counting is CountingMode.USERS and (cap or 0) > USER_WEIGHT:
            raise PrivacyParameterError(
                f"counting per user takes at most {USER_WEIGHT} records of a user; {cap} was given."
            )
        if self.counting is CountingMode.USERS and len(self.unit.owners) != 1:
            raise SpecError(
                "counting per user needs exactly one user a record.",
                hint="Leave it out, or name one user column.",
            )
        if self.generator != "marginal":
            raise SpecError(f"there is no generator {self.generator!r}.", hint="Known: marginal.")
