"""Fills in the privacy statement of a fit."""

from __future__ import annotations

from collections.abc import Sequence

from dpfy.accounting.composition import compose
from dpfy.accounting.meter import Charge
from dpfy.domain.population import Population
from dpfy.noise.source import NoiseSource
from dpfy.privacy import PrivacyUnit
from dpfy.release.statement import (
    Statement,
    adjacency_words,
    charge_lines,
    counting_words,
    not_protected,
    plain_words,
    strength_words,
    unit_words,
)
from dpfy.schema import TableSchema
from dpfy.workflow.request import CAP_QUANTILE, FitRequest


def state(
    *,
    request: FitRequest,
    unit: PrivacyUnit,
    charges: Sequence[Charge],
    delta: float,
    noise: NoiseSource,
    name: str,
    population: Population,
    schema: TableSchema,
    cap_was_chosen: bool,
    date: str,
    code_version: str,
) -> Statement:
    """Builds the statement from public parameters and released figures.

    Args:
        request: what was asked.
        unit: the unit with the cap in force.
        charges: all mechanism runs.
        delta: of the guarantee.
        noise: the source.
        name: data set's name.
        population: noisy sizes.
        schema: the columns of the output.
        cap_was_chosen: the cap came from a DP quantile.
        date: ISO date.
        code_version: of dpfy.
    """
    composed = compose([charge.event for charge in charges])
    epsilon = composed.epsilon(delta)
    cap = unit.max_records_per_user or 1
    return Statement(
        product="dpfy synthetic table",
        code_version=code_version,
        date=date,
        dataset=name,
        epsilon=epsilon,
        delta=delta,
        epsilon_target=request.parameters.epsilon,
        delta_words=f"the probability with which the bound on epsilon may fail: {delta * population.users:.2g} times "
        "1 / (noisy number of users); where it was lowered from 1e-5 for a large table, it holds given that number",
        strength=strength_words(epsilon),
        privacy_unit=unit_words(unit),
        user_columns=[list(owner) for owner in unit.owners],
        adjacency=unit.adjacency.value,
        adjacency_words=adjacency_words(unit),
        max_records_per_user=cap,
        contribution_bound=_bound_words(unit, cap_was_chosen),
        counting=counting_words(request.counting, unit),
        charges=charge_lines(charges, delta),
        composition="Gaussian mechanisms compose exactly (squares of 1 / noise multiplier add); deltas of thresholds "
        "add to the delta of the guarantee",
        accountant=composed.accountant,
        mechanisms="Gaussian mechanism on whole counts, noise rounded to whole numbers; Gaussian partition selection",
        noise="AES-256-CTR keyed by the operating system; normal numbers by inversion at 52 bits, rounded to whole "
        "counts"
        if noise.secure
        else "repeatable test noise: no guarantee",
        noise_is_secure=noise.secure,
        generator=request.generator,
        users=population.users,
        records=population.records,
        public_inputs=_public_inputs(request, schema),
        preprocessing=_preprocessing(request),
        post_processing="estimation, sampling, rules, keys and spelling read released values alone",
        tuning="none on this data: parameters are functions of epsilon",
        not_protected=not_protected(unit),
        trust="central model: whoever runs dpfy sees the raw data; nobody else needs to",
        minimisation=_minimisation(unit, schema),
        releases="one generator, from which any number of rows may be drawn at no further cost",
        utility="low-order statistics are kept, less so for small groups, whose counts drown in noise; rare values are "
        "merged",
        evidence="sensitivities are checked by record and replay on neighbouring tables in the test suite of this "
        "code version; no audit of this release",
        plain_words=plain_words(epsilon, delta, unit),
    )


def _bound_words(unit: PrivacyUnit, cap_was_chosen: bool) -> str:
    if unit.is_record:
        return "one record is the unit"
    words = (
        f"at most {unit.max_records_per_user} records of each user are used, chosen at random under a secret key; "
        "the others are left out"
    )
    if cap_was_chosen:
        words += f"; the bound is a private {CAP_QUANTILE:.0%} quantile of records per user, and was charged"
    return words


def _minimisation(unit: PrivacyUnit, schema: TableSchema) -> str:
    words = "user ids and keys are made up anew and never modelled"
    dropped = [c.name for c in schema.columns if c.drop]
    if dropped:
        words += f"; left out: {', '.join(dropped)}"
    if not unit.is_record:
        words += "; records beyond the contribution bound are not used"
    return words


def _public_inputs(request: FitRequest, schema: TableSchema) -> list[str]:
    lines = []
    listed = [c.name for c in schema.columns if isinstance(c.categories, tuple)]
    ranged = [c.name for c in schema.columns if c.bounds is not None]
    keys = [c.name for c in schema.columns if c.key]
    if listed:
        lines.append(f"categories of {', '.join(listed)}")
    if ranged:
        lines.append(f"ranges of {', '.join(ranged)}")
    if keys:
        lines.append(f"keys, made up anew: {', '.join(keys)}")
    if schema.rules:
        lines.append(f"rules: {'; '.join(schema.rules)}")
    if request.target:
        lines.append(f"target: {request.target}")
    return lines or [
        "none beyond column names and storage types: the domain of every column was discovered and charged"
    ]


def _preprocessing(request: FitRequest) -> list[str]:
    lines = [f"record-local filter: {clause}" for clause in request.where]
    if request.exclude_users is not None:
        lines.append("people on the owner's opt-out list were left out")
    if not request.unit.is_record:
        lines.append("records without a user id were left out")
    return lines or ["none"]
