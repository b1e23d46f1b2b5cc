"""Mistakes that others made, planted on purpose: each must be caught by a check that guards the real code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpfy.contribution
import dpfy.domain.table as domain_table
import dpfy.generators.tabular.marginal.select as select
import dpfy.workflow.fit as fit_module
import dpfy.workflow.population as population_module
from dpfy.accounting.meter import ChargeKind, Meter, plan_charge
from dpfy.domain.columns import CategoryDomain
from dpfy.domain.counted import CountedTable
from dpfy.domain.counts import ValueCounts
from dpfy.domain.discovery import Discovered
from dpfy.domain.keys import Roots
from dpfy.errors import ReleaseRefusedError, UnchargedReleaseError
from dpfy.mechanisms.counting import CountScale
from dpfy.mechanisms.histogram import GaussianHistogram
from dpfy.noise.source import SecureSource, SeededSource
from tests.privacy.replay import Recorder, SensitivityError, SequenceError
from tests.privacy.tables import base_table, with_user
from tests.privacy.test_record_replay import replayed, run

USER = {"user": "person", "max_records_per_user": 4}


def expect_violation(folder: Path, kind: str = "extreme", rows: int = 4, **settings: Any) -> None:
    """The planted mistake is caught: by a sensitivity, by the sequence of draws, or by something unpaid that leaves."""
    table = base_table()
    with pytest.raises(AssertionError) as caught:
        replayed(table, with_user(table, kind, rows=rows), folder, **(settings or USER))
    told = isinstance(caught.value, SensitivityError | SequenceError)
    assert told or "depends on more than noisy results" in str(caught.value)


def test_domain_from_raw_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def raw(held: ValueCounts, run: Any, **_: Any) -> Discovered:
        domain = CategoryDomain(values=tuple(sorted(held.keys.tolist())), has_other=True, has_missing=True)
        return Discovered(domain=domain, counts=np.zeros(domain.cells), variance=np.ones(domain.cells))

    monkeypatch.setattr(domain_table, "discover_categories", raw)
    expect_violation(tmp_path)


def test_range_from_raw_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    honest = domain_table.discover_numbers

    def raw(held: ValueCounts, run: Any, *, roots: Any, **rest: Any) -> Discovered:
        keys = held.keys.astype(np.int64)
        borders = np.array([keys.min(), keys.max() + 1])
        return honest(held, run, roots=Roots.of_ticks(borders, public=True), **rest)

    monkeypatch.setattr(domain_table, "discover_numbers", raw)
    expect_violation(tmp_path)


def test_cap_per_row_in_place_of_per_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    honest = dpfy.contribution.bound

    def loose(table: Any, unit: Any, **rest: Any) -> Any:
        bounded = honest(table, unit, **{**rest, "max_records_per_user": 1000})
        return replace(bounded, unit=replace(bounded.unit, max_records_per_user=4))

    monkeypatch.setattr(dpfy.contribution, "bound", loose, raising=False)
    expect_violation(tmp_path, kind="plain", rows=60)


def test_contribution_bound_forgotten_in_the_noise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(CountScale, "user_total", property(lambda self: self.one))
    expect_violation(tmp_path, kind="plain")


def test_weights_that_are_rounded_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    honest = CountedTable.__init__

    def heavy(self: CountedTable, bounded: Any, mode: Any) -> None:
        honest(self, bounded, mode)
        self._connection.execute(
            "CREATE OR REPLACE TEMP VIEW weighted AS SELECT b.*, 4096 // w.n + 1 AS weight FROM bounded b JOIN "
            '(SELECT "user", count(*) AS n FROM bounded GROUP BY "user") w USING ("user")'
        )

    monkeypatch.setattr(CountedTable, "__init__", heavy)
    expect_violation(tmp_path, kind="plain", user="person", max_records_per_user=4, counting="users")


def test_selection_that_halves_its_sensitivity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    honest = GaussianHistogram.of_budget.__func__  # type: ignore[attr-defined]

    def half(cls: type, mu_squared: float, l2_sensitivity: float) -> GaussianHistogram:
        smaller = l2_sensitivity / 8 if l2_sensitivity > 100 else l2_sensitivity
        return honest(cls, mu_squared, smaller)

    monkeypatch.setattr(select.GaussianHistogram, "of_budget", classmethod(half))
    expect_violation(tmp_path, kind="plain")


def test_exact_number_of_records_as_denominator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    honest = population_module.population_of

    def exact(noisy: Any, upto: Any, cap: int, owners: int) -> Any:
        return replace(honest(noisy, upto, cap, owners), records=exact.rows, users=exact.rows)  # type: ignore[attr-defined]

    counted = dpfy.contribution.bound

    def bound(table: Any, unit: Any, **rest: Any) -> Any:
        bounded = counted(table, unit, **rest)
        exact.rows = int(bounded.rows_per_user().sum())  # type: ignore[attr-defined]
        return bounded

    monkeypatch.setattr(population_module, "population_of", exact)
    monkeypatch.setattr(dpfy.contribution, "bound", bound, raising=False)
    expect_violation(tmp_path, kind="plain")


def test_missing_values_that_pass_for_a_category(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    honest = CountedTable.value_counts

    def silent(self: CountedTable, column: Any) -> ValueCounts:
        held = honest(self, column)
        return ValueCounts(keys=held.keys, counts=held.counts, missing=0)

    monkeypatch.setattr(CountedTable, "value_counts", silent)
    table = base_table()
    recorder = Recorder()
    run(table, recorder, tmp_path, **USER)
    selections = [d for d in recorder.draws if d.keys is not None]
    # Every row of a column must stand in one cell of its first histogram; here the empty ones are nowhere.
    rows = table.num_rows
    assert any(int(d.counts.sum()) < rows for d in selections)
    monkeypatch.undo()
    recorder = Recorder()
    run(table, recorder, tmp_path, **USER)
    assert all(int(d.counts.sum()) == rows for d in recorder.draws if d.keys is not None)


def test_draw_without_charge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def free(self: GaussianHistogram, counts: Any, *, noise: Any, label: str, **_: Any) -> Any:
        return noise.perturb(counts, self.sigma, l2_sensitivity=self.l2_sensitivity, label=label)

    monkeypatch.setattr(GaussianHistogram, "run", free)
    recorder = Recorder()
    released = run(base_table(), recorder, tmp_path, **USER)
    assert len(released["statement"]["charges"]) < len(recorder.draws)


def test_charge_beyond_the_plan_stops_before_noise_is_drawn() -> None:
    meter = Meter(plan_charge(1.0, 1e-6))
    mechanism = GaussianHistogram.of_budget(2 * meter.planned.gaussian_mu_squared, 1.0)
    recorder = Recorder()
    with pytest.raises(UnchargedReleaseError):
        mechanism.run(np.zeros(3, dtype=np.int64), meter=meter, noise=recorder, label="x", kind=ChargeKind.MEASURE)
    assert recorder.draws == []
    assert meter.charges == ()


def test_seeded_noise_is_refused_by_the_gate(tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefusedError) as refused:
        run(base_table(), SeededSource(3), tmp_path, **USER)
    assert refused.value.failed_checks == ("1 noise is cryptographic",)


def test_a_forked_process_does_not_repeat_noise() -> None:
    import multiprocessing

    source = SecureSource()
    results = multiprocessing.get_context("fork").SimpleQueue()
    source.words(4)
    for _ in range(2):
        child = multiprocessing.get_context("fork").Process(target=lambda: results.put(source.words(4).tolist()))
        child.start()
        child.join()
    drawn = [tuple(results.get()), tuple(results.get()), tuple(source.words(4).tolist())]
    assert len(set(drawn)) == 3


def test_noise_sources_can_not_be_stored() -> None:
    import copy

    with pytest.raises(TypeError):
        copy.copy(SecureSource())


def test_a_value_of_one_user_is_never_in_the_domain(tmp_path: Path) -> None:
    table = base_table()
    rare = with_user(table, "extreme", rows=4)
    for _ in range(5):
        from dpfy.ledger.workspace import Workspace
        from dpfy.workflow.load import make_request

        request = make_request(rare, epsilon=8.0, delta=1e-6, name="t", **USER)
        with fit_module.fitting(request, workspace=Workspace.locate(tmp_path)) as outcome:
            words = str(outcome.sealed.contents.to_json()["domains"])
            drawn = outcome.sealed.sample(2000)
        assert "only here" not in words
        ages = pa.compute.max(drawn["age"]).as_py()
        assert ages < 10**6
