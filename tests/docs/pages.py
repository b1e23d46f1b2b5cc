"""The pages of the documentation, and what stands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def pages() -> list[Path]:
    """All Markdown pages for readers: those at the root, and docs/."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def links(page: Path) -> list[str]:
    """Targets of links that point into the project."""
    text = _CODE.sub("", _FENCE.sub("", page.read_text("utf-8")))
    return [target for target in _LINK.findall(text) if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """Names of a page's headings, as links spell them."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in _HEADING.findall(text)}


def console_commands(page: Path) -> Iterator[list[str]]:
    """Words of each `$ dpfy ...` in a console block; a backslash continues a line."""
    for language, block in _FENCE.findall(page.read_text("utf-8")):
        if language != "console":
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ dpfy"):
                yield shlex.split(line.removeprefix("$ "), comments=True)


def python_blocks(page: Path) -> list[str]:
    """Python examples."""
    return [block for language, block in _FENCE.findall(page.read_text("utf-8")) if language == "python"]
