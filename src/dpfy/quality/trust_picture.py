"""A picture of what noise leaves of pairs of columns, one map an epsilon, for a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from dpfy.quality.svg import WIDTH, heat_map

_GAP = 24.0
_HEAD = 58.0
_TITLE = 22.0
_WORDS = ("trusted", "coarse only", "lost in noise")
_FILLS = ("#00545c", "#8fb9bd", "#e4c9c9")
_STYLE = (
    "<style>text{font:11px sans-serif;fill:#23262d}.head{font-size:13px;font-weight:600}.sheet{fill:#f4f5f7}"
    "rect{stroke:#fff;stroke-width:.5}</style>"
)


def trust_picture(
    names: Sequence[str],
    verdicts: Sequence[tuple[str, Mapping[tuple[str, str], str]]],
    description: str,
) -> str:
    """An SVG document: columns by columns, coloured by how far a pair can be trusted.

    Args:
        names: the columns.
        verdicts: for each epsilon its title, and "trusted", "coarse only" or "lost in noise" by pair of names.
        description: spoken in place of the picture.
    """
    across = min(2, max(1, len(verdicts)))
    maps = [_map(names, found) for _, found in verdicts]
    tall = WIDTH + _TITLE + _GAP
    down = -(-len(maps) // across)
    width = across * WIDTH + (across + 1) * _GAP
    height = _HEAD + down * tall
    body = [f'<rect width="{width}" height="{height}" fill="#fff"/>', _STYLE]
    body.append(f'<text class="head" x="{_GAP}" y="20">{escape(description)}</text>')
    left = _GAP
    for word, fill in zip((*_WORDS, "sizes not public"), (*_FILLS, "#d9dbe0"), strict=True):
        body.append(f'<rect x="{left}" y="31" width="11" height="11" fill="{fill}"/>')
        body.append(f'<text x="{left + 16}" y="41">{word}</text>')
        left += 34 + 6.2 * len(word)
    for order, ((title, _), drawn) in enumerate(zip(verdicts, maps, strict=True)):
        x = _GAP + order % across * (WIDTH + _GAP)
        y = _HEAD + order // across * tall
        body.append(f'<text class="head" x="{x}" y="{y + 13}">{escape(title)}</text>')
        body.append(f'<svg x="{x}" y="{y + _TITLE}" width="{WIDTH}" height="{WIDTH}">{drawn}</svg>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(description, quote=True)}">{"".join(body)}</svg>\n'
    )


def _map(names: Sequence[str], found: Mapping[tuple[str, str], str]) -> str:
    def level(a: str, b: str) -> float | None:
        verdict = found.get((a, b)) or found.get((b, a))
        return None if verdict is None else float(_WORDS.index(verdict))

    matrix = [[level(a, b) for b in names] for a in names]
    return heat_map(names, matrix, lambda value: _FILLS[int(value)], "Pairs of columns")
