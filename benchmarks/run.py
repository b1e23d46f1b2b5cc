"""`make bench`: dpfy against peers from PyPI, each system in its own environment, measured as whole processes.

    .venv/bin/python benchmarks/run.py [--runs N] [--only SYSTEM] [--data NAME] [--quick] [--write-docs]

Reads the data and the yardstick of ../shared (or $DPFY_SHARED), works in benchmarks/work/, writes
benchmarks/results/*.json and docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.cases import BARS, DATA_SETS, DELTA, Case, DataSet, all_cases  # noqa: E402
from benchmarks.cited import CITED  # noqa: E402
from benchmarks.machine import machine, package_versions  # noqa: E402
from benchmarks.measure import run_measured  # noqa: E402
from benchmarks.page import render  # noqa: E402
from benchmarks.results import medians, merge, read_results, write_results  # noqa: E402
from benchmarks.tables import rows_of, split  # noqa: E402

HERE = ROOT / "benchmarks"
WORK = HERE / "work"
PEERS = HERE / "peers"
RESULTS = HERE / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
LIMIT_SECONDS = 420.0
DPFY_RUNS = 5
PEER_RUNS = 3
LONG_SECONDS = 60.0  # a peer that takes longer is run once
# Peers' CPU time multiplies when linear algebra starts threads; dpfy sees to that itself.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def say(text: str) -> None:
    """One line of progress."""
    print(text, flush=True)  # noqa: T201


def shared_folder() -> Path:
    """Where data and yardstick lie.

    Raises:
        SystemExit: they are not there.
    """
    folder = Path(os.environ.get("DPFY_SHARED") or ROOT.parent / "shared")
    needed = ["bench/evaluate_table.py", "bench/split.py", *(f"data/{d.file}" for d in DATA_SETS.values())]
    absent = [name for name in needed if not (folder / name).exists()]
    if absent:
        raise SystemExit(
            f"The benchmarks need {', '.join(absent)} under {folder}, which is not there. "
            "Put the folder beside the repository, or name it in DPFY_SHARED."
        )
    return folder


def evaluate(
    shared: Path, data: DataSet, folder: Path, files: list[Path], *, floor: bool = False
) -> list[dict[str, Any]]:
    """The yardstick's figures for each file, and before them those of train where the floor is wanted."""
    command = [sys.executable, str(shared / "bench" / "evaluate_table.py")]
    command += ["--train", str(folder / "train.csv"), "--holdout", str(folder / "holdout.csv"), *data.yardstick]
    command += ["--floor"] if floor else []
    done = subprocess.run([*command, *map(str, files)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def environment_of(peer: str) -> Path | None:
    """A peer's environment, made on first use; None when it can't be installed."""
    folder = WORK / "venvs" / peer
    ready = folder / ".installed"
    wanted = (PEERS / peer / "requirements.txt").read_text(encoding="utf-8")
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return folder
    say(f"making the environment of {peer}")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q"]
    lines = [line for line in wanted.splitlines() if line and not line.startswith("#")]
    # torch alone first, so that a CPU build is taken where there is one.
    groups = [[line for line in lines if line.startswith("torch==")], lines]
    for group in filter(None, groups):
        if subprocess.run([*pip, *group], check=False).returncode:
            return None
    ready.write_text(wanted, encoding="utf-8")
    return folder


def run_once(case: Case, data: DataSet, folder: Path, shared: Path, number: int) -> dict[str, Any]:
    """One fresh process of one case, measured and evaluated."""
    out = folder / "out" / f"{case.key}-{number}.csv"
    home = folder / "homes" / f"{case.key}-{number}"
    shutil.rmtree(home, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    peer = environment_of(case.venv) if case.venv else None
    if case.venv and peer is None:
        return {"status": "not installed"}
    bounded = f"bounded-{data.most_rows}.csv" if data.user else "train.csv"
    places = {
        "dpfy": str(Path(sys.executable).parent / "dpfy"),
        "train": str(folder / "train.csv"),
        "bounded": str(folder / bounded),
        "schemas": str(HERE / "schemas"),
        "out": str(out),
        "rows": str(rows_of(folder / "train.csv")),
        "work": str(home),
        "peer": str(peer),
        "peers": str(PEERS),
    }
    measured = run_measured(
        [part.format(**places) for part in case.command],
        log=folder / "logs" / f"{case.key}-{number}.txt",
        limit=LIMIT_SECONDS,
        environment=ONE_THREAD if case.venv else {},
    )
    run: dict[str, Any] = asdict(measured)
    if measured.status == "done" and out.exists():
        figures = evaluate(shared, data, folder, [out])[0]
        run |= {name: value for name, value in figures.items() if name != "file"}
        run |= stated(out)
    shutil.rmtree(home, ignore_errors=True)
    return run


def stated(out: Path) -> dict[str, Any]:
    """What dpfy's statement says was spent, where there is one."""
    file = out.with_name(out.name + ".statement.json")
    if not file.exists():
        return {}
    statement = json.loads(file.read_text(encoding="utf-8"))
    return {"stated_epsilon": statement["epsilon"], "stated_delta": statement["delta"]}


def described(case: Case) -> dict[str, Any]:
    """A case as it is kept in the results."""
    kept = ("key", "system", "label", "epsilon", "unit", "domain", "user_epsilon", "compared")
    return {name: getattr(case, name) for name in kept}


def versions_of(cases: list[Case]) -> dict[str, Any]:
    """The versions of dpfy's environment and of each peer's."""
    found: dict[str, Any] = {"dpfy": package_versions(Path(sys.executable))}
    for peer in {case.venv for case in cases if case.venv}:
        python = WORK / "venvs" / peer / "bin" / "python"
        if python.exists():
            found[peer] = package_versions(python)
    return found


def enough(case: Case, before: list[dict[str, Any]], runs: int | None) -> bool:
    """Whether a case needs no further run: peers get fewer than dpfy, and one where a run takes long."""
    if any(run["status"] != "done" for run in before):
        return True  # once is enough for what fails or is too slow
    if runs is not None:
        return len(before) >= runs
    slow = bool(before) and before[0]["wall_seconds"] > LONG_SECONDS
    return slow or len(before) >= (PEER_RUNS if case.venv else DPFY_RUNS)


def bench(data: DataSet, cases: list[Case], shared: Path, runs: int | None) -> dict[str, Any]:
    """All runs of the cases on one data set; the runs take turns, so that a busy minute hits all alike."""
    folder = split(shared, data, WORK)
    floor = evaluate(shared, data, folder, [], floor=True)[0]
    made: dict[str, list[dict[str, Any]]] = {case.key: [] for case in cases}
    for number in range(1, (runs or DPFY_RUNS) + 1):
        for case in cases:
            before = made[case.key]
            if enough(case, before, runs):
                continue
            run = run_once(case, data, folder, shared, number)
            before.append(run)
            shown = ", ".join(f"{name} {run[name]}" for name in ("tvd2", "auc", "cpu_seconds") if name in run)
            say(f"{data.name} {case.key} {number}: {run['status']} {shown}")
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return {
        "data_set": data.name,
        "title": data.title,
        "date": today,
        "delta": DELTA,
        "rows": {part: rows_of(folder / f"{part}.csv") for part in ("train", "holdout")},
        "machine": machine(),
        "versions": versions_of(cases),
        "floor": {name: value for name, value in floor.items() if name != "file"},
        "cases": [
            {**described(case), "date": today, "medians": medians(made[case.key]), "runs": made[case.key]}
            for case in cases
        ],
    }


def in_order(results: dict[str, Any]) -> dict[str, Any]:
    """The cases in the order of the table; cases that are no longer asked for are left out."""
    order = [case.key for case in all_cases()[results["data_set"]]]
    known = [case for case in results["cases"] if case["key"] in order]
    return {**results, "cases": sorted(known, key=lambda case: order.index(case["key"]))}


def page_of(folder: Path) -> str:
    """The page of what lies in a folder of results."""
    found = [read_results(folder / f"{name}.json") for name in DATA_SETS]
    return render([results for results in found if results], bars=BARS, cited=CITED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    systems = sorted({case.system for cases in all_cases().values() for case in cases})
    parser.add_argument("--only", choices=systems, help="this system alone; what others measured before stays")
    parser.add_argument("--data", choices=sorted(DATA_SETS), help="this data set alone")
    parser.add_argument(
        "--runs",
        type=int,
        help=f"fresh runs of each case; left out, {DPFY_RUNS} of dpfy, {PEER_RUNS} of a peer, 1 of a slow peer",
    )
    parser.add_argument(
        "--quick", action="store_true", help="one run of dpfy and the fastest peer (or of --only); changes no results"
    )
    parser.add_argument("--write-docs", action="store_true", help="measure nothing; write the page from the results")
    given = parser.parse_args()
    results_folder = WORK / "quick" if given.quick else RESULTS
    if not given.write_docs:
        shared = shared_folder()
        for name, cases in all_cases().items():
            chosen = [
                case
                for case in cases
                if given.only in (None, case.system)
                and given.data in (None, name)
                and (case.quick or given.only or not given.quick)
            ]
            if not chosen:
                continue
            file = results_folder / f"{name}.json"
            now = bench(DATA_SETS[name], chosen, shared, 1 if given.quick else given.runs)
            before = None if given.quick else read_results(file)
            write_results(file, in_order(merge(before, now)))
    if given.quick:
        say(page_of(results_folder))
        return
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page_of(RESULTS), encoding="utf-8")
    say(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
