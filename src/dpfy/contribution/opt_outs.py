"""Users who are left out."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from dpfy.contribution.owners import id_of_cells
from dpfy.errors import ContributionError
from dpfy.privacy import PrivacyUnit

__all__ = ["read_opt_outs"]


def read_opt_outs(path: Path, unit: PrivacyUnit) -> list[str]:
    """Reads the ids of users to leave out.

    One id a line, compared as exact text. Where several columns name a user together, or owners are of
    different kinds, the file is CSV whose header names user columns; with several owners it may be.

    **Privacy:** the list is given by the owner and the same for neighbouring data. Ids that don't occur are
    passed over in silence, so that nobody learns from the run who is in the data.

    Args:
        path: UTF-8 text; empty means nobody.
        unit: whose user columns the header may name.

    Returns:
        Ids as `id_expressions` spells them.

    Raises:
        ContributionError: no user columns, no such file, or a line that names no user (by number, never by
            content).
    """
    if unit.is_record:
        raise ContributionError(
            "leaving users out needs to know who they are.", hint="Name the user column with --user."
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ContributionError(f"a file of users to leave out was expected; there is no {path}.") from None
    except (OSError, UnicodeDecodeError):
        raise ContributionError(f"a UTF-8 text file of users was expected in {path}; it can't be read.") from None
    lines = text.splitlines() if "\n" not in text else [line.removesuffix("\r") for line in text.split("\n")]
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return []
    header = next(csv.reader([lines[first]]))
    if set(header) <= set(unit.columns) and len(set(header)) == len(header):
        return _read_table(path, "\n".join(lines[first:]), first, unit)
    if unit.distinct_owners or any(len(owner) > 1 for owner in unit.owners):
        raise ContributionError(
            f"a header with the user columns {', '.join(map(repr, unit.columns))} was expected in {path}.",
            hint="Write CSV with one user a line below the header.",
        )
    return [line for line in lines if line.strip()]


def _read_table(path: Path, text: str, skipped: int, unit: PrivacyUnit) -> list[str]:
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader)
    places = {name: place for place, name in enumerate(header)}
    named = [
        (position, [places[column] for column in owner])
        for position, owner in enumerate(unit.owners)
        if set(owner) <= places.keys()
    ]
    if sum(len(columns) for _, columns in named) != len(header):
        raise ContributionError(f"all columns that name a user together were expected in the header of {path}.")
    ids = []
    for cells in reader:
        if not any(cells):
            continue
        if len(cells) != len(header):
            raise ContributionError(
                f"{len(header)} cells were expected in each line of {path}; "
                f"line {skipped + reader.line_num} has {len(cells)}."
            )
        for position, columns in named:
            mine = [cells[place] for place in columns]
            if all(mine):
                ids.append(id_of_cells(unit, position, mine))
            elif any(mine):
                raise ContributionError(
                    f"all parts of a user's id were expected in {path}; line {skipped + reader.line_num} lacks one."
                )
    return ids
