"""The release gate: numbered checks that a generator passes before anything leaves the red zone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpfy.accounting.composition import compose
from dpfy.accounting.meter import Charge, PlannedCharge
from dpfy.errors import ReleaseRefusedError


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What wants to leave.

    Args:
        planned: what the ledger reserved.
        charges: all mechanism runs.
        delta: of the guarantee.
        committed: the ledger has the charges.
        noise_is_secure: the noise came from the operating system's randomness.
    """

    planned: PlannedCharge
    charges: Sequence[Charge]
    delta: float
    committed: bool
    noise_is_secure: bool


def failed_checks(candidate: Candidate) -> tuple[str, ...]:
    """The names of the checks that fail, in order."""
    failed = []
    # 1. Noise that can be drawn again protects nobody.
    if not candidate.noise_is_secure:
        failed.append("1 noise is cryptographic")
    # 2. The ledger must know the cost before the result is out.
    if not candidate.committed:
        failed.append("2 charges are committed")
    # 3. The charges compose to no more than what was reserved, at a delta no larger.
    composed = compose([charge.event for charge in candidate.charges])
    if composed.epsilon(candidate.delta) > candidate.planned.epsilon or candidate.delta > candidate.planned.delta:
        failed.append("3 charges stay within the reservation")
    # 4. A generator that cost nothing learned nothing, or a charge is missing.
    if not candidate.charges:
        failed.append("4 something was charged")
    return tuple(failed)


def check_release(candidate: Candidate) -> None:
    """Lets a generator out, or not.

    Raises:
        ReleaseRefusedError: with the names of the failed checks.
    """
    failed = failed_checks(candidate)
    if failed:
        raise ReleaseRefusedError(
            f"the release is refused: {'; '.join(failed)}.",
            failed_checks=failed,
            hint="Nothing was written. The ledger keeps what was spent.",
        )
