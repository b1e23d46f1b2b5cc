"""The one tree of errors.

A message says what was expected, what came and what to do. It names files, columns, lines and settings, and never
holds a value from a private cell. Exit codes and HTTP statuses are mapped in the shells alone.
"""

from __future__ import annotations

from collections.abc import Sequence


class DpfyError(Exception):
    """Base of every error that a user can cause or mend.

    Args:
        message: what was expected and what came, in one sentence.
        hint: what to do about it; empty when the message already says it.
    """

    code = "dpfy"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class SpecError(DpfyError):
    """A schema, a rule, an option or a combination of options that can't be used."""

    code = "spec"


class SourceError(DpfyError):
    """A source that can't be read as it is: names file, line and setting.

    Args:
        file: the file's name as the user gave it.
        line: the 1-based line, when one is to blame.
    """

    code = "source"

    def __init__(self, message: str, *, hint: str = "", file: str = "", line: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.file = file
        self.line = line


class PrivacyParameterError(DpfyError):
    """epsilon, delta or a bound that no guarantee can be built on."""

    code = "privacy_parameter"


class BudgetExceededError(DpfyError):
    """The ledger refuses a charge: nothing was read.

    Args:
        requested: epsilon that was asked for.
        remaining: epsilon that is left under the cap.
        largest: the largest epsilon that would be admitted now at the same delta; 0 if none.
    """

    code = "budget_exceeded"

    def __init__(self, message: str, *, requested: float, remaining: float, largest: float, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.requested = requested
        self.remaining = remaining
        self.largest = largest


class ContributionError(DpfyError):
    """User columns, filters or opt-outs that can't bound what a user contributes."""

    code = "contribution"


class OutOfDomainError(DpfyError):
    """A column whose values can't be brought into its domain.

    Args:
        column: the column's name.
    """

    code = "out_of_domain"

    def __init__(self, message: str, *, column: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.column = column


class SealBrokenError(DpfyError):
    """A sealed generator that was changed, cut short or is none."""

    code = "seal_broken"


class LedgerConflictError(DpfyError):
    """A ledger transition that the account's state does not allow."""

    code = "ledger_conflict"


class UnchargedReleaseError(DpfyError):
    """A mechanism run that the reservation does not cover: a fault of the program, stopped before noise is drawn."""

    code = "uncharged_release"


class ReleaseRefusedError(DpfyError):
    """The release gate refuses.

    Args:
        failed_checks: the names of the checks that failed.
    """

    code = "release_refused"

    def __init__(self, message: str, *, failed_checks: Sequence[str], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.failed_checks = tuple(failed_checks)
