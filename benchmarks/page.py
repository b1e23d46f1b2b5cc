"""Results as docs/benchmarks.md; a pure function of the committed JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.cases import Bar
from benchmarks.cited import Cited

__all__ = ["render"]

_HEAD = """# Benchmarks

Written by `make bench` (`benchmarks/run.py`) from benchmarks/results/*.json, which hold every single run and the
versions of all packages. Don't edit this page: change the benchmark and run it again.

Each figure is the median of fresh runs. A run is a whole process, measured from outside: from its start to the
written file, with imports, reading, fitting, sampling and writing. CPU is user + system time. Wall time is in the
JSON only, because it depends on what else the machine does. Noise is fresh in every run.

tvd1, tvd2, tvd3: mean 1-, 2- and 3-way total variation distance to the HOLDOUT, lower is better. AUC: a classifier
trained on the synthetic rows and tested on the holdout, higher is better. *Floor*: train itself against the holdout,
which is what sampling error alone costs. Every system draws as many rows as train has; that number is given to all.
"""

_NAMES = {
    "tvd1": "tvd1",
    "tvd2": "tvd2",
    "tvd3": "tvd3",
    "auc": "AUC",
    "rows_per_user_tvd": "rows per user",
    "next_row_tvd": "next row",
    "cpu_seconds": "CPU s",
    "peak_megabytes": "peak MB",
}
_DECIMALS = {"cpu_seconds": 1, "peak_megabytes": 0}

_NOTES = {
    "adult": """What is not comparable:

- dpfy gets nothing but the file: categories, heavy values, bins and the total are discovered with noise and charged.
  The peers are given categories and ranges (benchmarks/peers/domains/adult.json), and take the exact total for free.
- dpmm spends 0.1 on its bins on top of its epsilon, as its defaults do; the table shows the sum.
- *MST on mbi* was written for this benchmark after the paper, since mbi is a library for inference without a
  mechanism. It and smartnoise-synth work on cells declared by hand, heavy values such as 0 in cells of their own. Of a
  few such declarations one that suits *MST on mbi* was kept after a look at the holdout: read it as optimistic.
- Peers run with one thread for linear algebra, in their favour.
- Parameters of dpfy's generator were chosen on this data set too: read its figures here as slightly optimistic.
- Here a row is a person, so a guarantee for rows is one for people.
""",
    "randhie": """People have up to 5 rows here. *Epsilon for a person* is what counts: a guarantee for one row is one
for a person only by group privacy. For Gaussian mechanisms that is exact: 5 rows multiply mu by 5. It leaves out the
thresholds at which values become known, which make the per-row guarantee a little worse still for a person. For zCDP,
which the peers use, rho is multiplied by 25, and pure epsilon by 5.

*Rows per user* and *next row*: distance of the number of rows that a user has, and of (value, value in the same user's
next row) pairs. A run per row leaves the column of people out and can't have them (-).

What is not comparable: the peers are given codes, ranges and heavy values by hand
(benchmarks/peers/domains/randhie.json, adjusted in their favour after a look at the holdout) and take the exact total
for free; dpfy discovers all of it and is charged for it.
""",
}


def _shown(figure: str, value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.{_DECIMALS.get(figure, 4)}f}"


def _epsilon(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _case_row(case: Mapping[str, Any], figures: Sequence[str], *, people: bool) -> list[str]:
    name = case["label"]
    start = [name, _epsilon(case["epsilon"])]
    if people:
        for_person = case["epsilon"] if case["unit"] == "user" else case["user_epsilon"]
        start += [case["unit"], _epsilon(for_person)]
    runs = case["runs"]
    done = sum(run["status"] == "done" for run in runs)
    bad = next((run["status"] for run in runs if run["status"] != "done"), None)
    middle = [_shown(figure, case["medians"].get(figure)) for figure in figures]
    return [*start, *middle, _range("tvd2", runs), case["domain"], str(done) if bad is None else f"{done} ({bad})"]


def _range(figure: str, runs: Sequence[Mapping[str, Any]]) -> str:
    values = [run[figure] for run in runs if run["status"] == "done" and run.get(figure) is not None]
    return f"{min(values):.3f} to {max(values):.3f}" if len(values) > 1 else "-"


def _bars(results: Mapping[str, Any], bars: Sequence[Bar]) -> str:
    by_key = {case["key"]: case for case in results["cases"]}
    rows = []
    for bar in bars:
        case = by_key.get(bar.case)
        value = None if case is None else case["medians"].get(bar.figure)
        met = value is not None and (value >= bar.asked if bar.at_least else value <= bar.asked)
        sign = "at least" if bar.at_least else "at most"
        who = bar.case if case is None else f"{case['label']}, epsilon {_epsilon(case['epsilon'])}"
        verdict = "not measured" if value is None else "yes" if met else "NO"
        rows.append([who, _NAMES[bar.figure], f"{sign} {bar.asked:g}", _shown(bar.figure, value), verdict])
    return _table(["", "figure", "asked", "measured", "met"], rows)


def _versions(results: Mapping[str, Any]) -> str:
    named = {
        "dpfy": ("dpfy", "numpy", "scipy", "duckdb", "pyarrow", "dp-accounting"),
        "dpmm": ("dpmm", "opendp", "pandas", "numpy", "scikit-learn"),
        "mbi": ("mbi", "jax", "numpy"),
        "smartnoise": ("smartnoise-synth", "mbi", "torch", "opacus", "opendp", "pandas"),
    }
    lines = []
    for place, found in sorted(results["versions"].items()):
        names = [f"{name} {found[name]}" for name in named.get(place, tuple(found)) if name in found]
        lines.append(f"- {place}: {', '.join(names)}")
    return "\n".join(lines) + "\n"


def _section(results: Mapping[str, Any], bars: Sequence[Bar]) -> str:
    people = any(case["unit"] == "user" for case in results["cases"])
    quality = ["tvd1", "tvd2", "tvd3", *(["rows_per_user_tvd", "next_row_tvd"] if people else ["auc"])]
    figures = [*quality, "cpu_seconds", "peak_megabytes"]
    head = ["system", "epsilon", *(["unit", "epsilon for a person"] if people else [])]
    head += [*(_NAMES[figure] for figure in figures), "tvd2, lowest to highest", "domain", "runs"]
    floor = ["floor: train", "-", *(["-", "-"] if people else [])]
    floor += [_shown(figure, results["floor"].get(figure)) for figure in figures] + ["-", "-", "-"]
    rows = [_case_row(case, figures, people=people) for case in results["cases"]]
    machine, count = results["machine"], results["rows"]
    dates = sorted({case["date"] for case in results["cases"]})
    measured = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    parts = [
        f"## {results['title']}\n",
        f"{count['train']:,} rows of train, {count['holdout']:,} of holdout, delta {results['delta']:g}. "
        f"Measured {measured} on {machine['cores']} cores ({machine['processor']}), "
        f"{machine['memory_gigabytes']:g} GB, {machine['system']}, Python {machine['python']}.\n",
        *([_bars(results, bars)] if bars else []),
        _table(head, [floor, *rows]),
        _NOTES.get(results["data_set"], ""),
        "Versions:\n",
        _versions(results),
    ]
    return "\n".join(part for part in parts if part)


def _cited(cited: Sequence[Cited]) -> str:
    head = ["system", "epsilon", "tvd2", "tvd3", "AUC", "fit + sample CPU s", "peak MiB", "why not here"]
    rows = [
        [row.system, row.epsilon, row.tvd2, row.tvd3, row.auc, row.cpu_seconds, row.peak_mebibytes, row.why]
        for row in cited
    ]
    return "\n".join(
        [
            "## Not re-measured here\n",
            "One run each on 2 loaded cores, on the same split of Adult with the same yardstick, delta 1e-5, quoted",
            "from measurements made before this project began. Time and memory are those of fitting",
            "and sampling alone, not of a whole process.\n",
            _table(head, rows),
        ]
    )


def render(
    all_results: Sequence[Mapping[str, Any]], *, bars: Mapping[str, Sequence[Bar]], cited: Sequence[Cited]
) -> str:
    """The page.

    Args:
        all_results: one of each data set, as results.py reads them.
        bars: by data set, what is asked.
        cited: figures from elsewhere.
    """
    sections = [_section(results, bars.get(results["data_set"], ())) for results in all_results]
    return "\n".join([_HEAD, *sections, _cited(cited)])
