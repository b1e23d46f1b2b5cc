"""Use case: tell what a run would be able to see at several epsilons, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpfy.accounting.meter import Meter, plan_charge
from dpfy.domain.budget import count_share
from dpfy.domain.model_column import model_columns
from dpfy.errors import PrivacyParameterError, SpecError
from dpfy.generators.tabular.marginal.forecast import Forecast, forecast
from dpfy.generators.tabular.marginal.params import MarginalParams
from dpfy.mechanisms.counting import CountScale
from dpfy.privacy import CountingMode
from dpfy.workflow.before import check_schema
from dpfy.workflow.load import make_request
from dpfy.workflow.outputs import check_output
from dpfy.workflow.request import DEFAULT_DELTA, FitRequest

__all__ = ["Plan", "plan", "plan_to_json", "write_picture"]

_DATA_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".gz", ".zst")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A forecast at one epsilon.

    Args:
        epsilon: of the run.
        delta: of the run.
        mu: of all Gaussian mechanisms together.
        forecast: what can be seen.
    """

    epsilon: float
    delta: float
    mu: float
    forecast: Forecast


def plan(
    schema: Any,
    epsilons: str | Sequence[object],
    *,
    records: float | None = None,
    users: float | None = None,
    delta: object = None,
    **options: Any,
) -> tuple[Plan, ...]:
    """Predicts, from public information alone, what runs at several epsilons will be able to see.

    **Privacy:** opens no data and no ledger; charges nothing. The numbers of records and users are the owner's guesses:
    give no exact figure that is not public.

    Args:
        schema: a `TableSchema`, a mapping or a YAML file.
        epsilons: numbers, or text with commas between them.
        records: about how many records, after bounding; needed unless counting is per user.
        users: about how many users; needed where there is a user column.
        delta: as for a run.
        **options: user, max_records_per_user, counting, distinct_owners, target, as for a run.

    Returns:
        A plan for each epsilon, ascending.

    Raises:
        SpecError: for a missing guess, a data file in place of a schema, or a user column without a bound.
    """
    if isinstance(schema, (str, Path)) and str(schema).lower().endswith(_DATA_SUFFIXES):
        raise SpecError(
            "dpfy plan reads a schema, never data.",
            hint="Write one with `dpfy schema SOURCE > schema.yaml`, and read it through.",
        )
    wanted = epsilons.split(",") if isinstance(epsilons, str) else epsilons
    requests = [make_request(None, epsilon=e, delta=delta, schema=schema, **options) for e in wanted]
    if not requests:
        raise SpecError("--epsilon needs a number at least.")
    guesses = _guesses(requests[0], records, users)
    made = [_plan(request, *guesses) for request in requests]
    return tuple(sorted(made, key=lambda p: p.epsilon))


def _guesses(request: FitRequest, records: float | None, users: float | None) -> tuple[float, float]:
    """Counted records and users."""
    per_user = request.counting is CountingMode.USERS
    for name, guess in (("records", records), ("users", users)):
        if guess is not None and not 1 <= guess < 2**62:
            raise SpecError(f"--{name} must be a number from 1 on.")
    if request.unit.is_record:
        users = records
    elif request.unit.max_records_per_user is None:
        raise SpecError("a plan for users needs --max-records-per-user.", hint="Without it a run finds one privately.")
    if users is None:
        wanted = "records" if request.unit.is_record else "users"
        raise SpecError(f"a plan needs about how many {wanted} there are.", hint=f"Give --{wanted}.")
    if per_user:
        return users, users
    if records is None:
        raise SpecError("a plan needs about how many records there are.", hint="Give --records.")
    return records, users


def _plan(request: FitRequest, counted: float, users: float) -> Plan:
    schema = request.schema
    assert schema is not None
    check_schema(schema, request.unit.columns)
    cap = request.unit.max_records_per_user or 1
    meter = Meter(plan_charge(request.parameters.epsilon, request.parameters.delta or DEFAULT_DELTA))
    if request.parameters.delta is None:
        meter.lower_delta(min(DEFAULT_DELTA, max(2.0, users) ** -1.1))
    elif request.parameters.delta >= 1.0 / users:
        raise PrivacyParameterError("delta must be smaller than 1 / (number of users).", hint="Leave --delta out.")
    columns = model_columns(schema.columns, frozenset(request.unit.columns))
    if not columns:
        raise SpecError("the schema has no column to model.")
    target = None if request.target is None else schema.index(request.target)
    params = MarginalParams.for_epsilon(
        request.parameters.epsilon,
        target=next((i for i, c in enumerate(columns) if c.source == target), None),
        count_share=count_share(is_record=request.unit.is_record, has_cap=True),
    )
    found = forecast(
        schema.columns,
        columns,
        mu_squared=meter.planned.gaussian_mu_squared,
        threshold_delta=meter.planned.threshold_delta,
        records=counted,
        scale=CountScale(mode=request.counting, max_records_per_user=cap),
        params=params,
    )
    return Plan(
        epsilon=request.parameters.epsilon,
        delta=meter.planned.delta,
        mu=meter.planned.gaussian_mu_squared**0.5,
        forecast=found,
    )


def plan_to_json(plans: Sequence[Plan]) -> list[Mapping[str, Any]]:
    """Plans as plain data."""
    return [{"epsilon": p.epsilon, "delta": p.delta, "mu": p.mu, **asdict(p.forecast)} for p in plans]


def write_picture(plans: Sequence[Plan], path: Path) -> None:
    """Writes a picture of the pairs at each epsilon.

    Raises:
        SpecError: for another suffix than .svg, or a folder that is not there.
    """
    from dpfy.quality.trust_picture import trust_picture

    if path.suffix.lower() != ".svg":
        raise SpecError(f"the picture is an .svg file; {path.name!r} was given.")
    check_output(path)
    drawn = trust_picture(
        [c.label for c in plans[0].forecast.columns],
        [(f"epsilon {p.epsilon:g}", {q.labels: str(q.trust) for q in p.forecast.pairs}) for p in plans],
        "What noise leaves of pairs of columns",
    )
    path.write_text(drawn, encoding="utf-8")
