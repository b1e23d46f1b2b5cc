"""The gate's numbered checks, each with a candidate that fails it alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpfy.accounting.events import gaussian_event
from dpfy.accounting.meter import Charge, ChargeKind, plan_charge
from dpfy.errors import ReleaseRefusedError
from dpfy.privacy import PrivacyUnit
from dpfy.release.gate import Candidate, check_release, failed_checks
from dpfy.release.statement import adjacency_words, not_protected, plain_words, unit_words

CHARGE = Charge(label="x", kind=ChargeKind.MEASURE, event=gaussian_event(10.0, 1.0))
GOOD = Candidate(planned=plan_charge(1.0, 1e-5), charges=(CHARGE,), delta=1e-5, committed=True, noise_is_secure=True)


def test_a_good_candidate_passes() -> None:
    check_release(GOOD)


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"noise_is_secure": False}, "1"),
        ({"committed": False}, "2"),
        ({"charges": (CHARGE,) * 30}, "3"),
        ({"delta": 1e-4}, "3"),
        ({"charges": ()}, "4"),
    ],
)
def test_each_check_refuses(change: dict[str, object], number: str) -> None:
    candidate = replace(GOOD, **change)  # type: ignore[arg-type]
    assert [name.split()[0] for name in failed_checks(candidate)] == [number]
    with pytest.raises(ReleaseRefusedError):
        check_release(candidate)


def test_words_say_what_is_protected() -> None:
    record = PrivacyUnit()
    user = PrivacyUnit(owners=(("a", "b"),), max_records_per_user=3)
    several = PrivacyUnit(owners=(("s",), ("d",)), max_records_per_user=3)
    assert "rows, not people" in plain_words(1.0, 1e-5, record)
    assert "a + b" in unit_words(user)
    assert "at most 3 records" in unit_words(user)
    assert "public" in adjacency_words(several)
    assert any("graph" in line for line in not_protected(several))
    assert not any("graph" in line for line in not_protected(user))
