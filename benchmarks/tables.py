"""The files that systems read: the yardstick's split, and train cut to a few rows of each user."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from benchmarks.cases import DataSet

__all__ = ["bound_rows", "rows_of", "split"]


def split(shared: Path, data: DataSet, work: Path) -> Path:
    """Makes train.csv and holdout.csv with the yardstick's script, and bounded.csv of train; once.

    Args:
        shared: folder of data and yardstick.
        data: which data set.
        work: folder for all data sets.

    Returns:
        The data set's folder.
    """
    folder = work / data.name
    if not (folder / "holdout.csv").exists():
        by_user = ["--user", data.user] if data.user else []
        source = shared / "data" / data.file
        command = [sys.executable, str(shared / "bench" / "split.py"), str(source), str(folder), *by_user]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if data.user and not (folder / f"bounded-{data.most_rows}.csv").exists():
        bound_rows(folder / "train.csv", folder / f"bounded-{data.most_rows}.csv", data.user, data.most_rows)
    return folder


def bound_rows(source: Path, out: Path, user: str, most_rows: int) -> None:
    """Keeps at most so many rows of each user, drawn at random with a fixed seed: what peers get as their table."""
    with source.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or ())
        rows = list(reader)
    places: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[row[user]].append(place)
    draw = random.Random(0)
    kept = sorted(place for own in places.values() for place in draw.sample(own, min(most_rows, len(own))))
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows[place] for place in kept)


def rows_of(file: Path) -> int:
    """Records of one of the split's files, which have no line breaks inside cells."""
    with file.open("rb") as lines:
        return sum(1 for _ in lines) - 1
