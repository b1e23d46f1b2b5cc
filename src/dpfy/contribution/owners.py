"""Who a record belongs to: from the option's text to ids that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpfy.errors import ContributionError
from dpfy.privacy import PrivacyUnit

__all__ = ["id_expressions", "id_of_cells", "parse_user_option"]

Owners = tuple[tuple[str, ...], ...]


def parse_user_option(text: str, distinct_owners: bool = False) -> Owners:
    """Reads which columns name the users.

    "patient" is one owner; "clinic+number" one owner that two columns name together; "student,lecturer" two
    owners, to each of whom the record belongs. A name with a comma or plus in it stands in double quotes.

    Args:
        text: the option as given.
        distinct_owners: the owners are people of different kinds; means something for several owners only.

    Returns:
        For each owner the columns that name it, for `PrivacyUnit.owners`.

    Raises:
        ContributionError: a name is empty or given twice.
    """
    owners: list[tuple[str, ...]] = [()]
    for name, mark in _names(text):
        if not name:
            raise ContributionError(
                f"names of columns were expected for the user; {text!r} leaves one empty.",
                hint="Write them as in `id`, `clinic+number` or `buyer,seller`.",
            )
        owners[-1] += (name,)
        if mark == ",":
            owners.append(())
    columns = [column for owner in owners for column in owner]
    for column in columns:
        if columns.count(column) > 1:
            raise ContributionError(f"each column can name one user; {column!r} is given twice.")
    if distinct_owners and len(owners) == 1:
        raise ContributionError("owners of different kinds need at least two owners, as in `buyer,seller`.")
    return tuple(owners)


def _names(text: str) -> Iterator[tuple[str, str]]:
    """Column names, each with the mark that ends it: comma, plus, or nothing."""
    name, quoted, was_quoted = "", False, False
    position = 0
    while position < len(text):
        letter = text[position]
        if quoted and letter == '"' and text[position + 1 : position + 2] == '"':
            name += '"'
            position += 1
        elif letter == '"' and (quoted or not name.strip()):
            quoted, was_quoted = not quoted, True
            name = name if not quoted else ""
        elif not quoted and letter in ",+":
            yield (name if was_quoted else name.strip()), letter
            name, was_quoted = "", False
        else:
            name += letter
        position += 1
    if quoted:
        raise ContributionError(f"a closing quote was expected in {text!r}.")
    yield (name if was_quoted else name.strip()), ""


def _is_plain(unit: PrivacyUnit) -> bool:
    return not unit.distinct_owners and all(len(owner) == 1 for owner in unit.owners)


def id_expressions(unit: PrivacyUnit, *, table: str) -> list[str]:
    """SQL for the id of each owner of a row; NULL where a part is missing.

    Ids are exact text. Several columns are joined with the length of each part before it, so that ('a',
    'bc') is not ('ab', 'c'). Ids of different owners share one name space, which is sound whatever the data
    means (two people taken for one are bounded more tightly); `distinct_owners` puts the owner's position
    before it.

    Args:
        unit: with at least one owner.
        table: alias of the relation with the columns u0, u1, ... in the order of the unit's columns.
    """
    expressions, first = [], 0
    for position, owner in enumerate(unit.owners):
        columns = [f"{table}.u{first + offset}" for offset in range(len(owner))]
        first += len(owner)
        if _is_plain(unit):
            expressions.append(columns[0])
            continue
        parts = [f"strlen({column}) || ':' || {column}" for column in columns]
        prefix = [f"'{position}#'"] if unit.distinct_owners else []
        expressions.append(" || ".join(prefix + parts))
    return expressions


def id_of_cells(unit: PrivacyUnit, position: int, cells: Sequence[str]) -> str:
    """The id that `id_expressions` gives an owner with these cells."""
    if _is_plain(unit):
        return cells[0]
    prefix = f"{position}#" if unit.distinct_owners else ""
    return prefix + "".join(f"{len(cell.encode())}:{cell}" for cell in cells)
