"""Use case: fit a generator. Reserve, open, bound, count, discover, measure, commit, gate, seal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpfy
from dpfy.accounting.meter import Meter, PlannedCharge, plan_charge
from dpfy.domain.budget import count_share, domain_mu_squared
from dpfy.domain.counted import CountedTable
from dpfy.domain.discovery import DiscoveryRun
from dpfy.domain.model_column import ModelColumn, model_columns
from dpfy.domain.population import Population
from dpfy.domain.rules import Follows, parse_rules
from dpfy.domain.table import discover_table, hidden_columns
from dpfy.errors import PrivacyParameterError, SpecError
from dpfy.generators.tabular.marginal.fit import MeasuringBudget, fit_marginals
from dpfy.generators.tabular.marginal.follow import learn_following
from dpfy.generators.tabular.marginal.params import MarginalParams
from dpfy.generators.tabular.marginal.sampler import MarginalGenerator
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.workspace import Workspace
from dpfy.noise.source import NoiseSource, SecureSource
from dpfy.release.gate import Candidate, check_release
from dpfy.release.statement import Statement
from dpfy.schema import TableSchema
from dpfy.sealed.apply_rules import check_rules
from dpfy.sealed.contents import Contents
from dpfy.sealed.generator import SealedGenerator
from dpfy.workflow.before import check_schema
from dpfy.workflow.cost import give_back, tell_cost
from dpfy.workflow.hints import category_hints, missing_user_hints
from dpfy.workflow.owner_notes import default_rows, released_notes
from dpfy.workflow.population import bound_and_count
from dpfy.workflow.request import DEFAULT_DELTA, FitRequest, Progress, no_progress
from dpfy.workflow.state import state

if TYPE_CHECKING:
    from dpfy.contribution import BoundedTable
    from dpfy.ingest import PrivateTable, Source
    from dpfy.ledger.records import Reservation
    from dpfy.workflow.load import Generator

__all__ = ["FitOutcome", "fit", "fitting"]


@dataclass(frozen=True, kw_only=True)
class FitOutcome:
    """What a fit leaves behind.

    Args:
        sealed: released; passed the gate.
        notes: sentences for the owner about how the source was read.
        bounded: the private table, open until the fit's context ends; for the owner's report only.
    """

    sealed: SealedGenerator
    notes: tuple[str, ...]
    bounded: BoundedTable


@contextmanager
def fitting(
    request: FitRequest,
    *,
    workspace: Workspace,
    operation: str = "fit",
    noise: NoiseSource | None = None,
    progress: Progress = no_progress,
) -> Iterator[FitOutcome]:
    """Fits a generator; the private table stays open until the context ends.

    **Privacy:** unit, adjacency and parameters are the request's. The whole cost is reserved before a row is read;
    each mechanism is charged before its noise is drawn; charges are committed before the outcome exists. An error
    before the first charge gives the reservation back; one after it leaves the whole of it spent.

    Args:
        request: what to do.
        workspace: where ledger and keys live.
        operation: for the ledger's history.
        noise: tests only; the gate refuses a source that is not secure.
        progress: shows stages.

    Raises:
        BudgetExceededError: refused by the ledger; no row was read.
        DpfyError: for bad input.
    """
    from dpfy.ingest import open_source

    source = open_source(request.source, request.reading)
    if request.schema is not None:
        check_schema(request.schema, request.unit.columns)
    _ = workspace.signing_key  # nothing is spent on what can't be sealed
    planned = plan_charge(request.parameters.epsilon, request.parameters.delta or DEFAULT_DELTA)
    noise = noise or SecureSource()
    with Ledger.open(workspace) as ledger:
        name = request.name or source.name
        reservation = ledger.reserve(
            dataset=name,
            fingerprint=source.fingerprint(workspace.fingerprint_key),
            population=request.population,
            planned=planned,
            operation=operation,
        )
        meter = Meter(planned)
        try:
            ledger.start(reservation)
            fitted = _Fit(request, source, meter, noise, progress).run()
        except BaseException as error:
            if meter.charges:
                tell_cost(error, planned)
            else:
                give_back(ledger, reservation)
            raise
        try:
            sealed = _release(request, fitted, name, reservation, planned, ledger, meter, noise)
            notes = (*source.notes, *fitted.hints)
            yield FitOutcome(sealed=sealed, notes=notes, bounded=fitted.bounded)
        except BaseException as error:
            tell_cost(error, meter.planned)
            raise
        finally:
            fitted.table.close()


def _release(
    request: FitRequest,
    fitted: _Fitted,
    name: str,
    reservation: Reservation,
    planned: PlannedCharge,
    ledger: Ledger,
    meter: Meter,
    noise: NoiseSource,
) -> SealedGenerator:
    meter.close()
    delta = meter.planned.delta
    ledger.commit(reservation, meter.charges, delta=delta)
    check_release(
        Candidate(planned=planned, charges=meter.charges, delta=delta, committed=True, noise_is_secure=noise.secure)
    )
    statement: Statement = state(
        request=request,
        unit=fitted.bounded.unit,
        charges=meter.charges,
        delta=delta,
        noise=noise,
        name=name,
        population=fitted.population,
        schema=fitted.contents.schema,
        cap_was_chosen=request.unit.max_records_per_user is None and not request.unit.is_record,
        date=datetime.now(UTC).date().isoformat(),
        code_version=dpfy.__version__,
    )
    return SealedGenerator(fitted.contents, fitted.generator, statement.model_dump(mode="json"))


@dataclass(frozen=True, kw_only=True)
class _Fitted:
    contents: Contents
    generator: MarginalGenerator
    population: Population
    bounded: BoundedTable
    table: PrivateTable
    hints: tuple[str, ...]


class _Fit:
    """The steps between opening the data and committing the charges."""

    def __init__(
        self, request: FitRequest, source: Source, meter: Meter, noise: NoiseSource, progress: Progress
    ) -> None:
        self._request = request
        self._source = source
        self._meter = meter
        self._noise = noise
        self._progress = progress
        self._hints: tuple[str, ...] = ()

    def run(self) -> _Fitted:
        request = self._request
        self._progress("read", 0.0)
        table = self._source.read(request.schema, request.unit.columns)
        try:
            schema = _with_rules(table.schema, request.rules)
            _check_columns(schema, request)
            self._hints = (*category_hints(table, schema), *missing_user_hints(table))
            columns = model_columns(schema.columns, frozenset(request.unit.columns))
            links = _links(schema, columns)
            drawn_first = frozenset(
                i for i, c in enumerate(columns) if schema.columns[c.source].static and not request.unit.is_record
            )
            self._progress("bound", 0.0)
            params = MarginalParams.for_epsilon(
                request.parameters.epsilon,
                target=_target(request.target, schema, columns),
                count_share=count_share(
                    is_record=request.unit.is_record, has_cap=request.unit.max_records_per_user is not None
                ),
                forced=tuple((min(a, b), max(a, b)) for a, b in links),
                drawn_first=drawn_first,
            )
            bounded, population = bound_and_count(
                table,
                request,
                mu_squared=params.count_share * self._meter.planned.gaussian_mu_squared,
                meter=self._meter,
                noise=self._noise,
            )
            self._settle_delta(population)
            return self._model(table, bounded, population, schema, columns, links, params)
        except BaseException:
            table.close()
            raise

    def _settle_delta(self, population: Population) -> None:
        """delta is chosen from, or held against, the noisy number of users."""
        given = self._request.parameters.delta
        if given is None:
            self._meter.lower_delta(min(DEFAULT_DELTA, population.users**-1.1))
        elif given >= 1.0 / population.users:
            raise PrivacyParameterError(
                f"delta must be smaller than 1 / (number of users); {given:g} is not.",
                hint="Leave --delta out, or give 1e-6 or less.",
            )

    def _model(
        self,
        private: PrivateTable,
        bounded: BoundedTable,
        population: Population,
        schema: TableSchema,
        columns: tuple[ModelColumn, ...],
        links: Sequence[tuple[int, int]],
        params: MarginalParams,
    ) -> _Fitted:
        meter, noise = self._meter, self._noise
        table = CountedTable(bounded, self._request.counting)
        counted = population.users if self._request.counting.value == "users" else population.records
        run = DiscoveryRun(meter=meter, noise=noise, scale=table.scale, records=float(counted))
        hidden = len(hidden_columns(schema.columns, columns))
        domain_budget = domain_mu_squared(
            meter.planned.gaussian_mu_squared,
            records=float(counted),
            scale=table.scale,
            columns=len(columns),
            hidden=hidden,
        )
        domain = discover_table(
            table,
            columns,
            run,
            mu_squared=domain_budget,
            delta=meter.remaining_threshold_delta,
            progress=lambda label: self._progress("discover", columns_done(label, columns, schema)),
        )
        count_sigma = (params.count_share * meter.planned.gaussian_mu_squared) ** -0.5
        notes = released_notes(
            schema=schema,
            columns=columns,
            domains=domain.domains,
            hidden=hidden,
            domain_mu_squared=domain_budget,
            scale=table.scale,
            counted=float(counted),
            records=population.records,
            count_sigma=count_sigma,
        )
        self._hints = (*self._hints, *notes)
        self._progress("encode", 0.0)
        encoded = table.encode(columns, domain.domains)
        model = fit_marginals(
            encoded,
            domain.found,
            MeasuringBudget(mu_squared=meter.remaining_mu_squared, records=float(counted)),
            params,
            meter=meter,
            noise=noise,
            progress=self._progress,
        )
        contents = Contents(
            family=self._request.generator,
            schema=schema,
            columns=columns,
            domains=domain.domains,
            owners=self._request.unit.owners,
            following=learn_following(model, domain.domains, links),
            records=default_rows(population.records, count_sigma),
        )
        generator = MarginalGenerator(model, params.drawn_first, population.rows_per_user, contents.unresolved)
        return _Fitted(
            contents=contents,
            generator=generator,
            population=population,
            bounded=bounded,
            table=private,
            hints=self._hints,
        )


def columns_done(label: str, columns: Sequence[ModelColumn], schema: TableSchema) -> float:
    """The share of columns that come before a label."""
    labels = [c.label(schema.columns[c.source]) for c in columns]
    return labels.index(label) / len(labels)


def _with_rules(schema: TableSchema, rules: Sequence[str]) -> TableSchema:
    return schema.model_copy(update={"rules": (*schema.rules, *(r for r in rules if r not in schema.rules))})


def _check_columns(schema: TableSchema, request: FitRequest) -> None:
    check_schema(schema, request.unit.columns)
    specs = {spec.name: spec for spec in schema.columns}
    rules = parse_rules(schema.rules, list(specs))
    check_rules(rules, specs)
    for name in request.unit.columns:
        if name not in specs:
            raise SpecError(f"there is no column {name!r} to name users.", hint="Read `dpfy schema SOURCE`.")
        for rule in rules:
            if name in vars(rule).values():
                raise SpecError(f"a rule speaks of the user column {name!r}, whose values are made up anew.")
    if request.unit.is_record and any(spec.static for spec in schema.columns):
        raise SpecError("`static` columns need a user column.", hint="Name it with --user.")


def _links(schema: TableSchema, columns: Sequence[ModelColumn]) -> tuple[tuple[int, int], ...]:
    """Model columns of `follows` rules, as (column, follower)."""
    links = []
    for rule in parse_rules(schema.rules, schema.names):
        if not isinstance(rule, Follows):
            continue
        place = []
        for name in (rule.of, rule.column):
            parts = [i for i, c in enumerate(columns) if schema.columns[c.source].name == name]
            if len(parts) != 1:
                raise SpecError(f"a `follows` rule can't speak of the time stamp {name!r}.")
            place.append(parts[0])
        links.append((place[0], place[1]))
    return tuple(links)


def _target(name: str | None, schema: TableSchema, columns: Sequence[ModelColumn]) -> int | None:
    if name is None:
        return None
    source = schema.index(name)
    return next((i for i, c in enumerate(columns) if c.source == source), None)


def fit(
    source: Any,
    *,
    epsilon: float,
    user: str | Sequence[str] | None = None,
    max_records_per_user: int | None = None,
    delta: float | None = None,
    schema: TableSchema | Mapping[str, Any] | str | Path | None = None,
    workspace: str | Path | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> Generator:
    """Fits a generator to a table about people.

    **Privacy:** (epsilon, delta)-DP for one user's whole contribution of at most max_records_per_user records (one
    record when user is left out), add/remove; charged to the workspace's ledger before a row is read.

    Args:
        source: a path, glob, folder, list of paths, or a pandas, polars or Arrow table.
        epsilon: in [1e-3, 1e3]; no default.
        user: column that names the user; "a+b" for two columns that name one user together, "a,b" for two owners.
        max_records_per_user: contribution bound; left out, chosen privately and charged.
        delta: left out, min(1e-5, noisy number of users ** -1.1).
        schema: what the owner confirmed; a `TableSchema`, a mapping or a YAML file.
        workspace: folder of ledger and keys; left out, $DPFY_HOME or .dpfy.
        progress: called with a stage and the share of it that is done.
        **options: name, population, where, exclude_users, counting, distinct_owners, target, rules, reading,
            generator.

    Returns:
        The sealed generator; `.sample(rows)` draws from it, `.statement` says what is guaranteed.

    Raises:
        BudgetExceededError: refused by the ledger; no row was read.
        DpfyError: for bad input.
    """
    from dpfy.workflow.load import Generator, make_request

    request = make_request(
        source,
        epsilon=epsilon,
        delta=delta,
        user=user,
        max_records_per_user=max_records_per_user,
        schema=schema,
        **options,
    )
    place = Workspace.locate(workspace)
    with fitting(request, workspace=place, progress=progress) as outcome:
        return Generator(outcome.sealed, place)
