"""A table whose domain was declared by hand, for peers that can't find one: CSV text to cells and back.

Needs NumPy alone, so that it works in every peer's environment.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

MOST_BINS = 32  # of a range; a short range of whole numbers has a cell for each
SHORT_RANGE = 100


@dataclass(frozen=True, kw_only=True)
class DeclaredColumn:
    """One column: listed categories, or a range in equal (or, skewed, growing) bins with some values in own cells.

    Days are whole numbers, counted as `date.toordinal` does.
    """

    name: str
    categories: tuple[str, ...] = ()
    lower: float = 0.0
    upper: float = 0.0
    whole: bool = False
    skewed: bool = False
    own: tuple[float, ...] = ()
    missing: bool = False
    days: bool = False

    def number(self, text: str) -> float:
        """The number that a text stands for; NaN for an empty one."""
        if not text:
            return float("nan")
        return float(date.fromisoformat(text).toordinal()) if self.days else float(text)

    @staticmethod
    def day(number: float) -> str:
        """The text of a day."""
        return date.fromordinal(int(number)).isoformat()

    @property
    def bins(self) -> int:
        values = round(self.upper - self.lower) + 1
        return values if self.whole and not self.skewed and values <= SHORT_RANGE else MOST_BINS

    @property
    def cells(self) -> int:
        return len(self.categories) or len(self.own) + self.bins + int(self.missing)

    @property
    def _edges(self) -> np.ndarray:
        # A bin of whole numbers reaches to just before the next bin's first.
        upper = self.upper + (1.0 if self.whole else 0.0)
        if self.skewed:
            return np.expm1(np.linspace(np.log1p(self.lower), np.log1p(upper), self.bins + 1))
        return np.linspace(self.lower, upper, self.bins + 1)

    def encode(self, texts: list[str]) -> np.ndarray:
        """Cells of the texts; a value outside the range counts at its end."""
        if self.categories:
            index = {text: cell for cell, text in enumerate(self.categories)}
            return np.array([index[text] for text in texts])
        values = np.array([self.number(text) for text in texts])
        within = np.clip(np.nan_to_num(values, nan=self.lower), self.lower, self.upper)
        cells = np.clip(np.digitize(within, self._edges) - 1, 0, self.bins - 1) + len(self.own)
        for cell, value in enumerate(self.own):
            cells[values == value] = cell
        if self.missing:
            cells[np.isnan(values)] = self.cells - 1
        return cells

    def decode(self, cells: np.ndarray, rng: np.random.Generator) -> list[str]:
        """Texts for cells; inside a bin values are drawn uniformly."""
        if self.categories:
            return [self.categories[cell] for cell in cells]
        first_bin, edges = len(self.own), self._edges
        bins = np.clip(cells - first_bin, 0, self.bins - 1)
        drawn = edges[bins] + rng.random(len(cells)) * (edges[bins + 1] - edges[bins])
        numbers = np.floor(drawn).astype(int) if self.whole else np.round(drawn, 3)
        texts = [self.day(number) if self.days else str(number) for number in numbers]
        for cell, value in enumerate(self.own):
            for row in np.flatnonzero(cells == cell):
                texts[row] = f"{value:g}"
        if self.missing:
            for row in np.flatnonzero(cells == self.cells - 1):
                texts[row] = ""
        return texts


def read_domain(path: Path) -> list[DeclaredColumn]:
    """The declared columns of a JSON file in domains/."""

    def column(name: str, given: dict[str, Any]) -> DeclaredColumn:
        tuples = {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
        if "from_date" in given:
            first, last = (float(date.fromisoformat(given[end]).toordinal()) for end in ("from_date", "to_date"))
            return DeclaredColumn(name=name, lower=first, upper=last, whole=True, days=True)
        return DeclaredColumn(name=name, **{**given, **tuples})

    declared = json.loads(path.read_text(encoding="utf-8"))["columns"]
    return [column(name, given) for name, given in declared.items()]


def read_texts(path: Path, columns: list[DeclaredColumn]) -> dict[str, list[str]]:
    """The declared columns of a CSV file, as text."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {column.name: [row[column.name] for row in rows] for column in columns}


def write_texts(path: Path, texts: dict[str, list[str]]) -> None:
    """Writes columns of text as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(texts)
        writer.writerows(zip(*texts.values(), strict=True))
