"""Runs collected into medians and kept as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["FIGURES", "medians", "merge", "read_results", "write_results"]

FIGURES = (
    "tvd1",
    "tvd2",
    "tvd3",
    "auc",
    "corr_mae",
    "copies",
    "rows_per_user_tvd",
    "next_row_tvd",
    "cpu_seconds",
    "wall_seconds",
    "peak_megabytes",
)


def medians(runs: list[dict[str, Any]]) -> dict[str, float]:
    """The median of each figure over the runs that ended well and have it."""
    done = [run for run in runs if run["status"] == "done"]
    found = {}
    for figure in FIGURES:
        values = [run[figure] for run in done if run.get(figure) is not None]
        if values:
            found[figure] = round(median(values), 5)
    return found


def merge(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """New results over earlier ones: cases measured now replace their earlier figures, others stay as they were."""
    if before is None:
        return now
    fresh = {case["key"] for case in now["cases"]}
    kept = [case for case in before["cases"] if case["key"] not in fresh]
    return {**before, **now, "versions": {**before["versions"], **now["versions"]}, "cases": [*kept, *now["cases"]]}


def read_results(path: Path) -> dict[str, Any] | None:
    """Earlier results, or None."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Writes results whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)
