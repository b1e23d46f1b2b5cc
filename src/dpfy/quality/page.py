"""The page around the sections: banner, privacy summary, big figures, contents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from dpfy.quality.figures import Measure, QualityFigures
from dpfy.quality.sections import (
    association_section,
    copy_section,
    distance_section,
    distribution_section,
    user_section,
    utility_section,
)

BANNER = "For the data owner: computed from raw data, not covered by the guarantee, do not share"
_KINDS = ("count", "domain", "select", "measure")
_MEANINGS = {
    "count": "counting rows and users",
    "domain": "finding values and bounds",
    "select": "choosing what to measure",
    "measure": "measuring tables of counts",
    "other": "other",
}
_VERDICTS = {"flagged": "Copies found", "not_flagged": "No copies found", "undecided": "Undecided"}


def build_page(figures: QualityFigures, statement: Mapping[str, Any], title: str) -> str:
    """The whole report as one HTML text that needs no network and no script."""
    sections = [
        ("distances", "Distances", distance_section(figures.distances)),
        ("distributions", "Distributions", distribution_section(figures)),
        ("associations", "Associations", association_section(figures.associations, len(figures.columns))),
        ("utility", "Utility", utility_section(figures.utility)),
    ]
    if figures.users is not None:
        cap = statement.get("max_records_per_user")
        sections.append(("users", "Rows per user", user_section(figures.users, cap)))
    sections.append(("copies", "Copies", copy_section(figures.copies)))
    root = files("dpfy.quality")
    return Template(root.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        style=root.joinpath("page.css").read_text(encoding="utf-8"),
        banner=escape(BANNER),
        subtitle=_subtitle(figures),
        privacy=_privacy(statement),
        heads=_heads(figures),
        contents="".join(f'<li><a href="#{place}">{escape(name)}</a></li>' for place, name, _ in sections),
        sections="".join(body for _, _, body in sections),
        footer=_footer(figures),
    )


def _subtitle(figures: QualityFigures) -> str:
    parts = [
        f"{figures.real.rows:,} real rows",
        f"{figures.synthetic.rows:,} synthetic rows",
        f"{len(figures.columns)} columns",
    ]
    if figures.holdout is not None:
        parts.append(f"{figures.holdout.rows:,} holdout rows")
    return escape(" · ".join(parts))


def _footer(figures: QualityFigures) -> str:
    out = list(figures.notes)
    if figures.left_out or figures.user is not None:
        names = [*figures.left_out, *([figures.user] if figures.user is not None else [])]
        out.append("Left out of the comparison: " + ", ".join(dict.fromkeys(names)) + ".")
    out.append("The same figures, and more of them, are in report.json.")
    return "".join(f"<p>{escape(note)}</p>" for note in out)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _small(value: float) -> str:
    return f"{value:.3g}"


def _privacy(statement: Mapping[str, Any]) -> str:
    if not statement:
        return (
            '<section aria-label="Privacy"><h2>Privacy</h2><p>No statement was given with this table: '
            "nothing is "
            "known here about its guarantee.</p></section>"
        )
    epsilon, delta = _finite(statement.get("epsilon")), _finite(statement.get("delta"))
    facts = [
        (
            "ε (epsilon) of the synthetic table",
            _small(epsilon) if epsilon is not None else "no finite epsilon",
        ),
        ("δ (delta)", _small(delta) if delta is not None else "not stated"),
    ]
    for key, label in (
        ("privacy_unit", "What is protected"),
        ("adjacency", "Neighbouring tables differ by"),
        ("max_records_per_user", "Records used of each user, at most"),
    ):
        value = statement.get(key)
        if isinstance(value, Mapping):
            value = value.get("plain_words") or value.get("text") or ", ".join(f"{k}: {v}" for k, v in value.items())
        elif isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        if value is not None and value != "":
            facts.append((label, str(value).replace("_", " ") if key == "adjacency" else str(value)))
    shown = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts)
    words = statement.get("plain_words")
    plain = f"<p>{escape(str(words))}</p>" if words else ""
    if epsilon is None:
        plain += "<p><strong>This table carries no guarantee.</strong></p>"
    return (
        f'<section aria-labelledby="privacy-h"><h2 id="privacy-h">Privacy of the synthetic table</h2>{plain}'
        f'<dl class="facts">{shown}</dl>{_spent(statement.get("charges"))}'
        f"{_unprotected(statement.get('not_protected'))}</section>"
    )


def _unprotected(listed: object) -> str:
    if isinstance(listed, str):
        listed = [listed]
    if not isinstance(listed, Sequence) or not listed:
        return ""
    items = "".join(f"<li>{escape(str(item))}</li>" for item in listed)
    return f'<details open><summary>Not protected</summary><ul class="plain">{items}</ul></details>'


def budget_shares(charges: object) -> tuple[list[tuple[str, str, float]], bool]:
    """Label, kind and share of each charge, shares adding up to 1; and whether the statement gave the shares.

    Without shares they are taken from each charge's epsilon alone. That is for the picture only: the
    epsilon of the
    whole comes from composing the charges, and is less than the sum.
    """
    if not isinstance(charges, Sequence) or isinstance(charges, str):
        return [], True
    rows = [charge for charge in charges if isinstance(charge, Mapping)]
    given = bool(rows) and all(_finite(row.get("share")) is not None for row in rows)
    key = "share" if given else "epsilon_alone"
    sizes = [max(0.0, _finite(row.get(key)) or 0.0) for row in rows]
    total = sum(sizes)
    if total <= 0:
        return [], given
    kinds = [str(row.get("kind", "other")) for row in rows]
    return [
        (str(row.get("label", kind)), kind if kind in _KINDS else "other", size / total)
        for row, kind, size in zip(rows, kinds, sizes, strict=True)
        if size > 0
    ], given


def _spent(charges: object) -> str:
    rows, given = budget_shares(charges)
    if not rows:
        return ""
    rows = sorted(rows, key=lambda row: [*_KINDS, "other"].index(row[1]))
    bar = "".join(
        f'<span class="k-{kind}" style="width:{100 * part:.2f}%" title="{escape(label, quote=True)}: '
        f'{part:.1%}"></span>'
        for label, kind, part in rows
    )
    sums: dict[str, float] = {}
    for _, kind, part in rows:
        sums[kind] = sums.get(kind, 0.0) + part
    parts = "".join(
        f'<li><i class="swatch k-{kind}"></i>{escape(_MEANINGS[kind])}: {part:.0%}</li>' for kind, part in sums.items()
    )
    listed = "".join(f"<li>{escape(label)}: {part:.1%}</li>" for label, _, part in rows)
    how = (
        "" if given else " Parts are in proportion to each charge’s own epsilon; composed they cost less than the sum."
    )
    said = "; ".join(f"{_MEANINGS[kind]} {part:.0%}" for kind, part in sums.items())
    return (
        f'<h3>What the budget was spent on</h3><div class="spent" role="img" '
        f'aria-label="{escape(said, quote=True)}">'
        f'{bar}</div><ul class="parts">{parts}</ul><details><summary>Each charge</summary>'
        f'<ul class="plain">{listed}</ul></details>' + (f'<p class="note">{how.strip()}</p>' if how else "")
    )


def _head(what: str, big: str, beside: str, sentence: str, *, alarm: bool = False) -> str:
    return (
        f'<div class="head{" alarm" if alarm else ""}"><p class="what">{escape(what)}</p>'
        f'<p class="big">{escape(big)}</p><p '
        f'class="beside">{escape(beside)}</p><p>{escape(sentence)}</p></div>'
    )


def _plain(measure: Measure, form: str) -> str:
    return "–" if measure.value is None else format(measure.value, form)


def _heads(figures: QualityFigures) -> str:
    heads = [*_distance_head(figures), *_utility_head(figures)]
    copies = figures.copies
    heads.append(
        _head(
            "Copies of real rows",
            _VERDICTS[copies.verdict],
            copies.label,
            copies.explanation,
            alarm=copies.verdict == "flagged",
        )
    )
    if figures.users is not None:
        users = figures.users
        heads.append(
            _head(
                "Rows per user, distance",
                _plain(users.rows_per_user_distance, ".1%"),
                f"{users.real_users:,} real, {users.synthetic_users:,} synthetic users",
                users.rows_per_user_distance.reason
                or "So many users would need another number of rows before both tables had the same spread.",
            )
        )
    return f'<div class="heads">{"".join(heads)}</div>'


def _distance_head(figures: QualityFigures) -> list[str]:
    way = figures.distances.of(2) or figures.distances.of(1)
    if way is None:
        return []
    against = way.against_holdout if figures.holdout is not None else way.mean
    other = "the holdout" if figures.holdout is not None else "the real table"
    many = "Pairs of columns" if way.ways == 2 else "Single columns"
    over = "any two columns" if way.ways == 2 else "one column"
    if against.value is None:
        sentence = against.reason
    else:
        sentence = f"Over {over}, on average {against.value:.1%} of the synthetic rows "
        sentence += f"would have to change to match {other}"
        sentence += "." if way.floor.value is None else f"; chance alone would make it {way.floor.value:.1%}."
    return [_head(f"{many}, distance", _plain(against, ".1%"), f"chance alone: {_plain(way.floor, '.1%')}", sentence)]


def _utility_head(figures: QualityFigures) -> list[str]:
    if not figures.utility.targets:
        return []
    first = figures.utility.targets[0]
    made, real = first.trained_on_synthetic, first.trained_on_real
    if made.value is None or real.value is None:
        sentence = made.reason or real.reason
    else:
        sentence = (
            f"Predicting {first.target!r} on unseen real rows: {made.value:.3f} when learnt from "
            f"synthetic rows, "
            f"{real.value:.3f} when learnt from real ones, {first.baseline:.1f} when knowing nothing."
        )
    more = len(figures.utility.targets) - 1
    if more:
        sentence += f" {more} more target{'s' if more > 1 else ''} below."
    score = "R²" if first.score == "R2" else first.score
    return [
        _head(
            f"Usefulness for a model, {score}",
            _plain(made, ".3f"),
            f"from real rows: {_plain(real, '.3f')}",
            sentence,
        )
    ]
