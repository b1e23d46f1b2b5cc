"""What is run: data sets, systems, epsilons, and the bars that dpfy is held to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.group_privacy import row_epsilon_gaussian, row_epsilon_zcdp, user_epsilon_gaussian

__all__ = ["BARS", "DATA_SETS", "DELTA", "Bar", "Case", "DataSet", "all_cases"]

DELTA = 1e-5
EPSILONS = (0.3, 1.0, 3.0, 10.0)
PEER_EPSILONS = (1.0, 3.0)


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A file of shared/data and how the yardstick reads it.

    Args:
        name: of its folder, results and declared domain.
        title: in the page.
        file: in shared/data.
        yardstick: options of evaluate_table.py.
        user: column that names the user, where a row is not a person.
        most_rows: public bound on a user's rows; peers see a table cut to it.
        epsilons: of dpfy's cases.
        peer_epsilons: of the peers' cases.
    """

    name: str
    title: str
    file: str
    yardstick: tuple[str, ...]
    user: str | None = None
    most_rows: int = 1
    epsilons: tuple[float, ...] = EPSILONS
    peer_epsilons: tuple[float, ...] = PEER_EPSILONS


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
        command: whole process; {train} {bounded} {out} {rows} {work} {peer} {peers} {schemas} are filled in.
        venv: a folder of peers/, or None for dpfy's own environment.
        user_epsilon: what it means for a user with as many rows as the bound allows, where the unit is a row.
        quick: also run by --quick.
        compared: counts as dpfy's, or as a peer's, where the page compares them at one epsilon.
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
    compared: float | None = None


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What is asked of one case's median."""

    case: str
    figure: str
    asked: float
    at_least: bool = False


DATA_SETS = {
    data.name: data
    for data in (
        DataSet(
            name="adult",
            title="Adult",
            file="adult_train.csv",
            yardstick=("--target", "income", "--positive", ">50K"),
            peer_epsilons=EPSILONS,
        ),
        DataSet(
            name="randhie",
            title="RAND HIE",
            file="randhie.csv",
            yardstick=("--user", "zper", "--order", "year"),
            user="zper",
            most_rows=5,
        ),
        DataSet(name="hotel_rates", title="Hotel rates", file="hotel_rates.csv", yardstick=()),
        DataSet(
            name="nycflights",
            title="NYC flights",
            file="nycflights.csv",
            yardstick=("--user", "tailnum", "--order", "month"),
            user="tailnum",
            most_rows=10,
        ),
        DataSet(
            name="cdnow_purchases",
            title="CDNOW purchases",
            file="cdnow_purchases.csv",
            yardstick=("--user", "customer_id"),
            user="customer_id",
            most_rows=5,
        ),
        DataSet(
            name="pbcseq",
            title="PBC visits",
            file="pbcseq.csv",
            yardstick=("--user", "id", "--order", "day"),
            user="id",
            most_rows=4,
            epsilons=(3.0,),
            peer_epsilons=(3.0,),
        ),
    )
}


def _adult_bars() -> tuple[Bar, ...]:
    asked = {
        ("dpfy", "tvd2"): (0.075, 0.052, 0.0445, 0.041),
        ("dpfy", "tvd3"): (0.141, 0.108, 0.097, 0.092),
        ("dpfy", "auc"): (0.885, 0.905, 0.91, 0.914),
        ("dpfy-schema", "tvd2"): (0.066, 0.048, 0.043, 0.0405),
        ("dpfy", "cpu_seconds"): (6, 6, 6, 8),
        ("dpfy", "peak_megabytes"): (450, 450, 450, 500),
    }
    return tuple(
        Bar(case=f"{case}-{epsilon:g}", figure=figure, asked=value, at_least=figure == "auc")
        for (case, figure), values in asked.items()
        for epsilon, value in zip(EPSILONS, values, strict=True)
    )


BARS: dict[str, tuple[Bar, ...]] = dict.fromkeys(DATA_SETS, ()) | {"adult": _adult_bars()}

_DISCOVERED = "discovered, charged"
_SCHEMA = "by hand: categories, ranges"
_CELLS = "by hand: categories, ranges, cells"
_RANGES = "by hand: categories, ranges; bins found"


def _dpfy(
    key: str,
    label: str,
    epsilon: float,
    options: tuple[str, ...] = (),
    *,
    unit: str = "row",
    domain: str = _DISCOVERED,
    **more: Any,
) -> Case:
    command = ("{dpfy}", "synth", "{train}", "--epsilon", f"{epsilon:.6g}", "--delta", "1e-5", "--out", "{out}")
    return Case(
        key=key,
        system="dpfy",
        label=label,
        epsilon=epsilon,
        unit=unit,
        domain=domain,
        command=(*command, "--workspace", "{work}", "--rows", "{rows}", *options),
        **more,
    )


def _peer(
    peer: str,
    mechanism: str,
    label: str,
    data: DataSet,
    epsilon: float,
    *,
    key: str,
    binning: float = 0.0,
    **more: Any,
) -> Case:
    command = ("{peer}/bin/python", "{peers}/" + peer + "/run.py", "--mechanism", mechanism, "--train", "{bounded}")
    domain_file = "{peers}/domains/" + data.name + ".json"
    rest = ("--domain", domain_file, "--out", "{out}", "--rows", "{rows}", "--delta", "1e-5")
    return Case(
        key=key,
        system=f"{peer}-{mechanism}",
        label=label,
        epsilon=epsilon + binning,
        unit="row",
        domain=_RANGES if peer == "dpmm" else _CELLS,
        command=(*command, *rest, "--epsilon", f"{epsilon:.6g}", "--binning-epsilon", f"{binning:.6g}"),
        venv=peer,
        **more,
    )


PEERS = (
    ("mbi", "mst", "MST on mbi 2.0.0"),
    ("dpmm", "privbayes", "dpmm 0.1.9 PrivBayes"),
    ("dpmm", "mst", "dpmm 0.1.9 MST"),
    ("smartnoise", "mst", "smartnoise-synth 1.0.8 MST"),
)


def _peers_for_rows(data: DataSet) -> list[Case]:
    cases = []
    for peer, mechanism, label in PEERS:
        for epsilon in data.peer_epsilons:
            # dpmm spends 0.1 on bins on top of its epsilon by default: left as it is, in its favour.
            cases.append(
                _peer(
                    peer,
                    mechanism,
                    label,
                    data,
                    epsilon,
                    key=f"{peer}-{mechanism}-{epsilon:g}",
                    binning=0.1 if peer == "dpmm" else 0.0,
                    compared=epsilon,
                    quick=data.name == "adult" and mechanism == "privbayes" and epsilon == 1.0,
                )
            )
    return cases


def _peers_for_users(data: DataSet) -> list[Case]:
    """Peers know rows only: each gets the row epsilon with which a user of most_rows rows has the epsilon."""
    cases = []
    for peer, mechanism, label in PEERS:
        for epsilon in data.peer_epsilons:
            # dpmm's bins cost pure epsilon, which grows by the number of rows; what is left for its model is zCDP.
            for_bins = 0.1 * epsilon if peer == "dpmm" else 0.0
            model = row_epsilon_zcdp(epsilon - for_bins, DELTA, data.most_rows)
            cases.append(
                _peer(
                    peer,
                    mechanism,
                    f"{label}, by group privacy",
                    data,
                    model,
                    key=f"{peer}-{mechanism}-for-user-{epsilon:g}",
                    binning=for_bins / data.most_rows,
                    user_epsilon=epsilon,
                    compared=epsilon,
                )
            )
    return cases


def _given(data: DataSet) -> tuple[str, ...]:
    return ("--schema", "{schemas}/" + data.name + ".yaml")


def _for_rows(data: DataSet) -> list[Case]:
    return [
        *(_dpfy(f"dpfy-{e:g}", "dpfy", e, compared=e, quick=data.name == "adult") for e in data.epsilons),
        *(
            _dpfy(f"dpfy-schema-{e:g}", "dpfy --schema", e, _given(data), domain=_SCHEMA, compared=e)
            for e in data.epsilons
        ),
        *_peers_for_rows(data),
    ]


def _for_users(data: DataSet) -> list[Case]:
    assert data.user is not None
    chosen = ("--user", data.user)
    people = (*chosen, "--max-records-per-user", str(data.most_rows))
    weights = (*people, "--counting", "users")
    declared = (*people, *_given(data))
    user = partial(_dpfy, unit="user")
    cases = []
    for e in data.epsilons:
        cases += [
            user(
                f"dpfy-user-{e:g}", f"dpfy --user, at most {data.most_rows} rows", e, people, compared=e, quick=e == 3
            ),
            user(
                f"dpfy-user-weights-{e:g}",
                f"dpfy --user, at most {data.most_rows} rows, --counting users",
                e,
                weights,
                compared=e,
            ),
            user(f"dpfy-user-chosen-{e:g}", "dpfy --user, bound chosen privately", e, chosen),
            user(
                f"dpfy-user-schema-{e:g}",
                f"dpfy --user, at most {data.most_rows} rows, --schema",
                e,
                declared,
                domain=_SCHEMA,
                compared=e,
            ),
        ]
    return cases


def _people_forgotten(data: DataSet) -> list[Case]:
    """What a run per row would have to be, to protect people as well; and what it is when nobody thinks of it."""
    assert data.user is not None
    per_row = ("--exclude", data.user)
    naive = user_epsilon_gaussian(3.0, DELTA, data.most_rows)
    grouped = row_epsilon_gaussian(3.0, DELTA, data.most_rows)
    return [
        _dpfy("dpfy-row-naive", "dpfy per row, people forgotten", 3.0, per_row, user_epsilon=naive),
        _dpfy("dpfy-row-for-user", "dpfy per row, by group privacy", grouped, per_row, user_epsilon=3.0),
    ]


def _cases(data: DataSet) -> list[Case]:
    if data.user is None:
        return _for_rows(data)
    forgotten = _people_forgotten(data) if data.name == "randhie" else []
    return [*_for_users(data), *forgotten, *_peers_for_users(data)]


def all_cases() -> dict[str, list[Case]]:
    """The cases of each data set, in the order of the table."""
    return {name: _cases(data) for name, data in DATA_SETS.items()}
