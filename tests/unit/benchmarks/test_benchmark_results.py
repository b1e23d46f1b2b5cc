"""Medians, merging and the page, from small results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.cases import BARS, DATA_SETS, Bar, all_cases
from benchmarks.cited import CITED
from benchmarks.page import render
from benchmarks.results import medians, merge, read_results, write_results


def run(status: str = "done", **figures: float) -> dict[str, Any]:
    return {"status": status, "cpu_seconds": 2.0, "peak_megabytes": 300.0, **figures}


def case(key: str, runs: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    given = {
        "key": key,
        "system": "dpfy",
        "label": "dpfy",
        "epsilon": 1.0,
        "unit": "row",
        "domain": "discovered, charged",
        "user_epsilon": None,
        "date": "2026-12-01",
        "runs": runs,
        "medians": medians(runs),
    }
    return {**given, **changes}


def results(*cases: dict[str, Any], data_set: str = "adult") -> dict[str, Any]:
    return {
        "data_set": data_set,
        "title": data_set.title(),
        "date": "2026-12-01",
        "delta": 1e-5,
        "rows": {"train": 26049, "holdout": 6512},
        "machine": {"processor": "P", "cores": 2, "memory_gigabytes": 24.0, "system": "Linux", "python": "3.11.7"},
        "versions": {"dpfy": {"dpfy": "0.1.0", "numpy": "2.4.6", "left-out": "1"}},
        "floor": {"tvd1": 0.012, "tvd2": 0.0345, "tvd3": 0.0795, "auc": 0.9328},
        "cases": list(cases),
    }


def row_of(page: str, start: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_median_is_the_middle_run_and_not_the_mean() -> None:
    found = medians([run(tvd2=0.05), run(tvd2=0.09), run(tvd2=0.06)])
    assert found["tvd2"] == 0.06


def test_runs_that_failed_do_not_count() -> None:
    found = medians([run(tvd2=0.05), run(tvd2=0.07), run("too slow", cpu_seconds=400.0)])
    assert found["tvd2"] == pytest.approx(0.06)
    assert found["cpu_seconds"] == 2.0


def test_no_median_without_a_run_that_ended() -> None:
    assert medians([run("failed"), run("too slow")]) == {}


def test_merge_replaces_what_was_measured_again_and_keeps_the_rest() -> None:
    before = results(case("dpfy-1", [run(tvd2=0.2)]), case("mbi-mst-1", [run(tvd2=0.06)]))
    before["versions"]["mbi"] = {"mbi": "2.0.0"}
    merged = merge(before, results(case("dpfy-1", [run(tvd2=0.05)])))
    assert {c["key"]: c["medians"]["tvd2"] for c in merged["cases"]} == {"mbi-mst-1": 0.06, "dpfy-1": 0.05}
    assert set(merged["versions"]) == {"dpfy", "mbi"}


def test_results_survive_the_file(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "adult.json"
    assert read_results(file) is None
    given = results(case("dpfy-1", [run(tvd2=0.05)]))
    write_results(file, given)
    assert read_results(file) == given
    assert [path.name for path in file.parent.iterdir()] == ["adult.json"]


def test_page_shows_medians_floor_and_whether_bars_are_met() -> None:
    bars = {
        "adult": (
            Bar(case="dpfy-1", figure="tvd2", asked=0.057),
            Bar(case="dpfy-1", figure="auc", asked=0.91, at_least=True),
            Bar(case="dpfy-9", figure="tvd2", asked=0.01),
        )
    }
    page = render([results(case("dpfy-1", [run(tvd2=0.05, auc=0.9)]))], bars=bars, cited=CITED)
    assert row_of(page, "dpfy, epsilon 1")[1:] == ["tvd2", "at most 0.057", "0.0500", "yes"]
    unmet = next(line for line in page.splitlines() if "at least 0.91" in line)
    assert unmet.endswith("| 0.9000 | NO |")
    assert row_of(page, "dpfy-9")[-1] == "not measured"
    assert "0.0345" in row_of(page, "floor: train")
    assert row_of(page, "dpfy")[1:] == [
        "1",
        "-",
        "0.0500",
        "-",
        "0.9000",
        "2.0",
        "300",
        "-",
        "discovered, charged",
        "1",
    ]
    assert "P" in page
    assert "2026-12-01" in page
    assert "numpy 2.4.6" in page


def test_page_shows_how_far_apart_the_runs_are() -> None:
    page = render([results(case("dpfy-1", [run(tvd2=0.05), run(tvd2=0.09), run(tvd2=0.06)]))], bars={}, cited=())
    assert "0.0600" in row_of(page, "dpfy")
    assert "0.050 to 0.090" in row_of(page, "dpfy")


def test_page_says_which_peers_did_not_end() -> None:
    slow = case("dpmm-mst-1", [run("too slow")], label="dpmm MST")
    page = render([results(slow)], bars={}, cited=())
    assert row_of(page, "dpmm MST")[-1] == "0 (too slow)"


def test_page_shows_what_a_row_guarantee_means_for_a_person() -> None:
    naive = case("n", [run(tvd2=0.08)], label="naive", epsilon=3.0, user_epsilon=21.14)
    people = case("u", [run(tvd2=0.12, next_row_tvd=0.5)], label="people", epsilon=3.0, unit="user")
    page = render([results(naive, people, data_set="randhie")], bars={}, cited=())
    assert row_of(page, "naive")[1:4] == ["3", "row", "21.1"]
    assert row_of(page, "people")[1:4] == ["3", "user", "3"]
    assert "0.5000" in row_of(page, "people")


def test_every_table_has_as_many_cells_in_each_row() -> None:
    page = render([results(case("dpfy-1", [run(tvd2=0.05)]))], bars=BARS, cited=CITED)
    width = None
    for line in page.splitlines():
        if not line.startswith("|"):
            width = None
            continue
        width = width or line.count("|")
        assert line.count("|") == width, line


def test_figures_from_elsewhere_are_marked() -> None:
    page = render([], bars={}, cited=CITED)
    assert "Not re-measured here" in page
    assert "mostlyai-engine" in page


def test_cases_have_their_own_keys_and_bars_name_cases() -> None:
    for name, cases in all_cases().items():
        keys = [made.key for made in cases]
        assert len(set(keys)) == len(keys)
        assert {bar.case for bar in BARS[name]} <= set(keys)


def test_committed_results_are_those_of_the_page() -> None:
    root = Path(__file__).resolve().parents[3]
    found = [json.loads((root / "benchmarks" / "results" / f"{name}.json").read_text()) for name in DATA_SETS]
    assert (root / "docs" / "benchmarks.md").read_text() == render(found, bars=BARS, cited=CITED)
