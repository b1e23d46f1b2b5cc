"""What is run: data sets, systems, epsilons, and the bars that dpfy is held to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.group_privacy import row_epsilon_gaussian, row_epsilon_zcdp, user_epsilon_gaussian

__all__ = ["BARS", "DATA_SETS", "DELTA", "Bar", "Case", "DataSet", "all_cases"]

DELTA = 1e-5
MOST_ROWS = 5  # of one person in RAND HIE, by the experiment's design: five years


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A file of shared/data and how the yardstick reads it."""

    name: str
    title: str
    file: str
    yardstick: tuple[str, ...]
    user: str | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One system at one epsilon on one data set.

    Args:
        key: unique in its data set.
        system: for --only.
        label: in the table.
        epsilon: spent in all, for the unit.
        unit: "row" or "user".
        domain: how the system knows categories and ranges.
        command: whole process; {train} {out} {rows} {work} {peer} {peers} are filled in.
        venv: a folder of peers/, or None for dpfy's own environment.
        user_epsilon: what it means for a user with MOST_ROWS rows, where the unit is a row.
        quick: also run by --quick.
    """

    key: str
    system: str
    label: str
    epsilon: float
    unit: str
    domain: str
    command: tuple[str, ...]
    venv: str | None = None
    user_epsilon: float | None = None
    quick: bool = False


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What is asked of one case's median."""

    case: str
    figure: str
    asked: float
    at_least: bool = False


DATA_SETS = {
    "adult": DataSet(
        name="adult",
        title="Adult",
        file="adult_train.csv",
        yardstick=("--target", "income", "--positive", ">50K"),
    ),
    "randhie": DataSet(
        name="randhie",
        title="RAND HIE",
        file="randhie.csv",
        yardstick=("--user", "zper", "--order", "year"),
        user="zper",
    ),
}

BARS = {
    "adult": (
        Bar(case="dpfy-1", figure="tvd2", asked=0.057),
        Bar(case="dpfy-1", figure="auc", asked=0.89, at_least=True),
        Bar(case="dpfy-1", figure="cpu_seconds", asked=20),
        Bar(case="dpfy-1", figure="peak_megabytes", asked=700),
    ),
    "randhie": (),
}


def _dpfy(key: str, label: str, epsilon: float, unit: str, options: tuple[str, ...], **more: object) -> Case:
    command = ("{dpfy}", "synth", "{train}", "--epsilon", f"{epsilon:.6g}", "--delta", "1e-5", "--out", "{out}")
    return Case(
        key=key,
        system="dpfy",
        label=label,
        epsilon=epsilon,
        unit=unit,
        domain="discovered, charged",
        command=(*command, "--workspace", "{work}", "--rows", "{rows}", *options),
        **more,  # type: ignore[arg-type]
    )


def _peer(
    peer: str,
    mechanism: str,
    label: str,
    data_set: str,
    epsilon: float,
    domain: str,
    *,
    key: str,
    binning: float = 0.0,
    **more: object,
) -> Case:
    command = ("{peer}/bin/python", "{peers}/" + peer + "/run.py", "--mechanism", mechanism, "--train", "{train}")
    domain_file = "{peers}/domains/" + data_set + ".json"
    rest = ("--domain", domain_file, "--out", "{out}", "--rows", "{rows}", "--delta", "1e-5")
    return Case(
        key=key,
        system=f"{peer}-{mechanism}",
        label=label,
        epsilon=epsilon + binning,
        unit="row",
        domain=domain,
        command=(*command, *rest, "--epsilon", f"{epsilon:.6g}", "--binning-epsilon", f"{binning:.6g}"),
        venv=peer,
        **more,  # type: ignore[arg-type]
    )


_CELLS = "by hand: categories, ranges, cells"
_RANGES = "by hand: categories, ranges; bins found"


def _adult() -> list[Case]:
    def dpmm(mechanism: str, name: str, epsilon: float, **more: object) -> Case:
        # Its default spends 0.1 on bins on top of its epsilon: left as it is, in its favour.
        key = f"dpmm-{mechanism}-{epsilon:g}"
        return _peer("dpmm", mechanism, f"dpmm 0.1.9 {name}", "adult", epsilon, _RANGES, key=key, binning=0.1, **more)

    return [
        *(_dpfy(f"dpfy-{epsilon:g}", "dpfy", epsilon, "row", (), quick=True) for epsilon in (1.0, 3.0, 10.0)),
        *(dpmm("privbayes", "PrivBayes", epsilon, quick=epsilon == 1.0) for epsilon in (1.0, 3.0, 10.0)),
        dpmm("mst", "MST", 1.0),
        _peer("mbi", "mst", "MST on mbi 2.0.0", "adult", 1.0, _CELLS, key="mbi-mst-1"),
        _peer("smartnoise", "mst", "smartnoise-synth 1.0.8 MST", "adult", 1.0, _CELLS, key="smartnoise-mst-1"),
    ]


def _randhie() -> list[Case]:
    people = ("--user", "zper", "--max-records-per-user", str(MOST_ROWS))
    weights = (*people, "--counting", "users")
    per_row = ("--exclude", "zper")
    epsilon = 3.0
    naive = user_epsilon_gaussian(epsilon, DELTA, MOST_ROWS)
    grouped = row_epsilon_gaussian(epsilon, DELTA, MOST_ROWS)
    # dpmm's bins cost pure epsilon, which grows by the number of rows; what is left for its model is zCDP.
    binning = 0.02 * epsilon
    model = row_epsilon_zcdp(epsilon - MOST_ROWS * binning, DELTA, MOST_ROWS)
    whole = row_epsilon_zcdp(epsilon, DELTA, MOST_ROWS)
    peers: dict[str, Any] = {"data_set": "randhie", "user_epsilon": epsilon}
    return [
        _dpfy("dpfy-user", "dpfy --user, each row counts 1", epsilon, "user", people, quick=True),
        _dpfy("dpfy-user-weights", "dpfy --user --counting users", epsilon, "user", weights, quick=True),
        _dpfy("dpfy-row-naive", "dpfy per row, people forgotten", epsilon, "row", per_row, user_epsilon=naive),
        _dpfy("dpfy-row-for-user", "dpfy per row, by group privacy", grouped, "row", per_row, user_epsilon=epsilon),
        _peer(
            "mbi",
            "mst",
            "MST on mbi 2.0.0, by group privacy",
            epsilon=whole,
            domain=_CELLS,
            key="mbi-row-for-user",
            **peers,
        ),
        _peer(
            "dpmm",
            "privbayes",
            "dpmm 0.1.9 PrivBayes, by group privacy",
            epsilon=model,
            domain=_RANGES,
            binning=binning,
            key="dpmm-row-for-user",
            **peers,
        ),
    ]


def all_cases() -> dict[str, list[Case]]:
    """The cases of each data set, in the order of the table."""
    return {"adult": _adult(), "randhie": _randhie()}
