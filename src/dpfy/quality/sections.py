"""The sections of the report as HTML. Every name and value goes through `escape`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dpfy.quality import svg
from dpfy.quality.comparison import MOST_SHOWN, worst_columns
from dpfy.quality.figures import (
    AssociationFigures,
    CopyFigures,
    CopyRate,
    DistanceFigures,
    Measure,
    QualityFigures,
    TargetUtility,
    UserFigures,
    UtilityFigures,
)

_WORST_PAIRS = 30
_LEGEND = (
    '<div class="legend"><span><i class="swatch real"></i>real</span>'
    '<span><i class="swatch made"></i>synthetic</span></div>'
)

_SCALES = (
    '<div class="scale"><span>−1</span>'
    '<i style="background:linear-gradient(90deg,#5e237a,#fff,#00545c)"></i><span>1</span></div>'
    '<div class="scale"><span>difference 0</span>'
    '<i style="background:linear-gradient(90deg,#fff,#8c141e)"></i><span>½ and more</span></div>'
)


def number(measure: Measure, digits: int = 3) -> str:
    """A figure, or a dash that tells why there is none."""
    if measure.value is None:
        return f'<span title="{escape(measure.reason, quote=True)}">–</span>'
    return f"{measure.value:.{digits}f}"


def share(measure: Measure) -> str:
    """A share in percent, or a dash that tells why there is none."""
    return number(measure) if measure.value is None else escape(svg.percent(measure.value))


def section(place: str, heading: str, *parts: str) -> str:
    """A section with an anchor for the table of contents."""
    return (
        f'<section id="{place}" aria-labelledby="{place}-h"><h2 id="{place}-h">{escape(heading)}</h2>'
        + "".join(parts)
        + "</section>"
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, tall: bool = False, label: str) -> str:
    """A table in a box of its own that scrolls; heads that begin with # are numbers. Cells hold HTML."""
    numeric = [head.startswith("#") for head in heads]
    top = "".join(
        f'<th scope="col"{" class=n" if n else ""}>{escape(head.lstrip("#"))}</th>'
        for head, n in zip(heads, numeric, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            cell if cell.startswith("<td") else f'<td class="{"n" if n else "" if place else "name"}">{cell}</td>'
            for place, (cell, n) in enumerate(zip(row, numeric, strict=True))
        )
        + "</tr>"
        for row in rows
    )
    box = "scroll tall" if tall else "scroll"
    return (
        f'<div class="{box}" tabindex="0" role="region" aria-label="{escape(label, quote=True)}">'
        f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _meter(distance: Measure, floor: Measure, most: float) -> str:
    wide = 100 * (distance.value or 0.0) / most
    mark = "" if floor.value is None else f'<u style="left:{min(99.0, 100 * floor.value / most):.1f}%"></u>'
    return f'<td class="meter" aria-hidden="true"><i><b style="width:{wide:.1f}%"></b>{mark}</i></td>'


def distance_section(figures: DistanceFigures) -> str:
    """How far the tables are apart, over one, two and three columns at a time."""
    held_out = any(way.against_holdout.value is not None for way in figures.ways)
    ways = table(
        [
            "Columns together",
            "#Distance",
            *(["#Synthetic against holdout"] * held_out),
            "#Chance alone",
            "#Sets compared",
        ],
        [
            (
                f"{way.ways}",
                number(way.mean),
                *([number(way.against_holdout)] * held_out),
                number(way.floor),
                f"{way.compared:,} of {way.possible:,}",
            )
            for way in figures.ways
        ],
        label="Mean distances",
    )
    rows = sorted(figures.columns, key=lambda c: -(c.distance.value or 0.0))
    most = max([c.distance.value or 0.0 for c in rows] + [c.floor.value or 0.0 for c in rows] + [1e-9])
    columns = table(
        ["Column", "#Distance", "#Chance alone", "Distance (bar) and chance (line)"],
        [(escape(c.name), number(c.distance), number(c.floor), _meter(c.distance, c.floor, most)) for c in rows],
        tall=len(rows) > 14,
        label="Distance of each column",
    )
    return section(
        "distances",
        "Distances",
        "<p>A total variation distance of 0.05 over two columns means: 5% of the rows would have to "
        "change before "
        "the joint counts of the two columns were the same in both tables. 0 is equal, 1 has nothing in "
        "common. "
        "Beside it stands what chance alone would give; a distance near it can't be improved upon.</p>",
        ways,
        f'<p class="note">{escape(figures.bin_rule)}</p><p class="note">Chance: {escape(figures.floor_rule)}</p>',
        "<h3>Column by column, worst first</h3>",
        columns,
        _pairs(figures),
    )


def _pairs(figures: DistanceFigures) -> str:
    if not figures.pairs:
        return ""
    rows = sorted(figures.pairs, key=lambda p: -(p.distance.value or 0.0))[:_WORST_PAIRS]
    listed = table(
        ["Pair", "#Distance", "#Chance alone"],
        [(f"{escape(p.first)} × {escape(p.second)}", number(p.distance), number(p.floor)) for p in rows],
        tall=True,
        label="Pairs with the largest distances",
    )
    return f"<details><summary>The {len(rows)} pairs that differ most</summary>{listed}</details>"


def distribution_section(figures: QualityFigures) -> str:
    """A picture of each column; the worst sixty of a wide table."""
    apart = figures.distances
    chosen = worst_columns(apart, MOST_SHOWN)
    order = sorted(chosen, key=lambda c: -(apart.columns[c].distance.value or 0.0))
    rank = {column: place for place, column in enumerate(order)}
    cards = []
    for column in chosen:
        item, own = figures.distributions[column], apart.columns[column]
        beside = f"distance {number(own.distance)} (chance {number(own.floor)})"
        cards.append(
            f'<figure style="--rank:{rank[column]}"><div class="line"><h3>{escape(item.name)}</h3>'
            f"<span>{beside}</span></div>{svg.distribution_picture(item)}</figure>"
        )
    told = ""
    if len(chosen) < len(figures.distributions):
        told = (
            f'<p class="note">The table has {len(figures.distributions)} columns; shown are the '
            f"{len(chosen)} that "
            "differ most. report.json holds all of them.</p>"
        )
    return section(
        "distributions",
        "Distribution of every column",
        _LEGEND,
        told,
        "<p>Behind each bar stands its share of the rows, real · synthetic. Values that hold much of a "
        "column, and "
        "missing values, have bars of their own below the histogram; its end bins also hold the few "
        "values beyond its "
        "axis. Times are UTC.</p>",
        '<input type="checkbox" id="worst"> <label for="worst" class="pick">Worst first</label>',
        f'<div class="cards">{"".join(cards)}</div>',
    )


def association_section(figures: AssociationFigures, columns: int) -> str:
    """Heat maps of both tables and of their difference."""
    if len(figures.columns) < 2:
        return section("associations", "How columns go together", "<p>There is only one column.</p>")
    difference = tuple(
        tuple(None if a is None or b is None else a - b for a, b in zip(x, y, strict=True))
        for x, y in zip(figures.real, figures.synthetic, strict=True)
    )
    maps = (
        ("Real", figures.real, svg.association_colour),
        ("Synthetic", figures.synthetic, svg.association_colour),
        ("Difference", difference, svg.difference_colour),
    )
    drawn = "".join(
        f"<figure><h3>{name}</h3>"
        + svg.heat_map(figures.columns, matrix, colour, f"{name}: associations among {len(figures.columns)} columns")
        + "</figure>"
        for name, matrix, colour in maps
    )
    some = ""
    if len(figures.columns) < columns:
        some = f'<p class="note">Shown are the {len(figures.columns)} of {columns} columns that differ most.</p>'
    if len(figures.columns) > 30:
        listed = ", ".join(escape(name) for name in figures.columns)
        some += f"<details><summary>The columns from left to right</summary><p>{listed}</p></details>"
    return section(
        "associations",
        "How columns go together",
        f"<p>Mean absolute difference over all pairs: <strong>{number(figures.mean_difference)}</strong>. "
        f"Between two "
        "numbers it is Pearson’s correlation, from −1 to 1; between all other pairs Cramér’s V after "
        "binning, from 0 "
        "(unrelated) to 1 (one tells the other). Grey: not defined, as a column has a single value.</p>",
        _SCALES,
        some,
        f'<div class="maps">{drawn}</div>',
    )


def utility_section(figures: UtilityFigures) -> str:
    """What a model learns from synthetic rows."""
    rows = [
        (
            escape(t.target),
            "R²" if t.score == "R2" else t.score,
            number(t.trained_on_synthetic),
            number(t.trained_on_real),
            f"{t.baseline:.1f}",
            _accuracy(t),
            f"{t.synthetic_training_rows:,} / {t.real_training_rows:,} / {t.test_rows:,}",
        )
        for t in figures.targets
    ]
    shown = (
        table(
            [
                "Target",
                "Score",
                "#Trained on synthetic",
                "#Trained on real",
                "#Knows nothing",
                "#Accuracy synthetic / real / most frequent",
                "#Rows synthetic / real / test",
            ],
            rows,
            label="Utility for each target",
        )
        if rows
        else ""
    )
    reasons = {
        m.reason for t in figures.targets for m in (t.trained_on_synthetic, t.trained_on_real) if m.value is None
    }
    notes = [*(note for t in figures.targets for note in t.notes), *sorted(reasons)]
    listed = "".join(f'<p class="note">{escape(note)}</p>' for note in dict.fromkeys(notes))
    return section(
        "utility",
        "What a model learns from it",
        "<p>A gradient-boosted model learns to predict one column from all others, once from synthetic "
        "and once from "
        "real rows. Both are tested on real rows that neither was trained on. AUC is the chance that of "
        "two rows of "
        "different classes the right one is ranked higher (0.5: guessing); R² is the share of the "
        "target’s variance "
        "that is explained (0 or less: no better than the mean).</p>",
        shown,
        listed,
        f'<p class="note">{escape(figures.rule)}</p>',
    )


def _accuracy(target: TargetUtility) -> str:
    if target.task == "regression":
        return "–"
    return " / ".join(share(m) for m in (target.accuracy_synthetic, target.accuracy_real, target.accuracy_baseline))


def user_section(figures: UserFigures, cap: object) -> str:
    """Rows per user and what stays the same within one."""
    rows = sorted(figures.static, key=lambda s: -abs((s.real.value or 0.0) - (s.synthetic.value or 0.0)))
    capped = ""
    if isinstance(cap, int) and not isinstance(cap, bool):
        capped = (
            f'<p class="note">The generator saw at most {cap} records of each user; the real table is '
            f"shown as it "
            "was handed to the report.</p>"
        )
    return section(
        "users",
        "Rows per user",
        f"<p>{figures.real_users:,} real users, {figures.synthetic_users:,} synthetic ones. Distance "
        f"between the two "
        f"distributions of rows per user: <strong>{number(figures.rows_per_user_distance)}</strong>.</p>",
        _LEGEND,
        '<div class="wide">',
        svg.upright_bars(figures.rows_per_user, "Share of users by number of rows.", "rows per user"),
        "</div>",
        capped,
        "<h3>What stays the same within a user</h3>",
        "<p>Share of users with two or more rows in whom a column keeps one value, such as a year of birth.</p>",
        table(
            ["Column", "#Real", "#Synthetic"],
            [(escape(s.name), share(s.real), share(s.synthetic)) for s in rows],
            tall=len(rows) > 14,
            label="Columns that keep one value within a user",
        ),
    )


def copy_section(figures: CopyFigures) -> str:
    """The copy check."""

    def row(name: str, rate: CopyRate) -> tuple[str, ...]:
        return (
            name,
            share(rate.share),
            share(rate.expected),
            share(rate.single_share),
            share(rate.expected_single),
            "yes" if rate.flagged else "no" if rate.share.value is not None else "–",
        )

    return section(
        "copies",
        "Copies",
        f"<p><strong>{escape(figures.label)}.</strong> {escape(figures.explanation)}</p>",
        table(
            [
                "Synthetic rows that",
                "#meet a real row",
                "#expected",
                "#meet a lone real row",
                "#expected ",
                "#Flagged",
            ],
            [row("equal it", figures.exact), row("nearly equal it", figures.near)],
            label="Copy rates",
        ),
        "<p>A lone real row belongs to one person only. The verdict rests on these, because rows that "
        "many share are "
        "met by chance. That no copies are found says nothing about the guarantee, and the guarantee "
        "doesn’t rest on "
        "this check. Keys and user ids are left out of the comparison.</p>",
        f'<p class="note">{escape(figures.baseline_rule)} {escape(figures.near_rule or figures.near.share.reason)}</p>',
    )
