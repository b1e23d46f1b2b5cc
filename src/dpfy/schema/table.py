"""The schema of a table: its columns in order, how it is read, and the rules between columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dpfy.errors import SpecError
from dpfy.schema.column import ColumnSpec
from dpfy.schema.options import ReadingOptions


class TableSchema(BaseModel):
    """What the owner confirms about a table.

    **Privacy:** everything in here counts as public.

    Args:
        columns: in the order of the source.
        reading: how the source is read and its text is spelled.
        rules: what holds between columns of a row, such as "start <= end".
        user: the column or columns (joined with a comma) that name the user.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[ColumnSpec, ...] = Field(min_length=1)
    reading: ReadingOptions = ReadingOptions()
    rules: tuple[str, ...] = ()
    user: str | None = None

    @model_validator(mode="after")
    def _distinct_names(self) -> TableSchema:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise ValueError(f"column {column.name!r} is listed twice")
            seen.add(column.name)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(c.name for c in self.columns)

    @property
    def output_columns(self) -> tuple[ColumnSpec, ...]:
        """Columns that the output has: all but the dropped ones."""
        return tuple(c for c in self.columns if not c.drop)

    def index(self, name: str) -> int:
        """Position of a column.

        Raises:
            SpecError: when there is none of this name.
        """
        for position, column in enumerate(self.columns):
            if column.name == name:
                return position
        raise SpecError(f"there is no column {name!r}.", hint=f"The columns are {', '.join(map(repr, self.names))}.")

    def column(self, name: str) -> ColumnSpec:
        """A column by name.

        Raises:
            SpecError: when there is none of this name.
        """
        return self.columns[self.index(name)]

    def with_columns(self, columns: Iterable[ColumnSpec]) -> TableSchema:
        """The same schema with other columns."""
        return self.model_copy(update={"columns": tuple(columns)})


def schema_from_data(data: Any, *, where: str = "the schema") -> TableSchema:
    """Checks plain data against the schema's form.

    Args:
        data: a mapping with `columns` (a list, or a mapping by name) and perhaps reading, rules and user.
        where: what the data is called in messages.

    Raises:
        SpecError: names column and key.
    """
    if not isinstance(data, Mapping):
        raise SpecError(f"{where}: expected keys such as `columns`, got {type(data).__name__}.")
    data = dict(data)
    columns = data.get("columns")
    if isinstance(columns, Mapping):
        data["columns"] = [{"name": name, **_as_mapping(column, where, name)} for name, column in columns.items()]
    try:
        return TableSchema.model_validate(data)
    except ValidationError as error:
        raise SpecError(_in_plain_words(error, data, where)) from None


def _as_mapping(column: Any, where: str, name: Any) -> Mapping[str, Any]:
    if not isinstance(column, Mapping):
        raise SpecError(f"{where}, column {name!r}: expected keys such as `type`, got {type(column).__name__}.")
    return column


def _in_plain_words(error: ValidationError, data: Mapping[str, Any], where: str) -> str:
    """The first fault of a pydantic report, with the column's name instead of its position."""
    faults = error.errors(include_url=False, include_context=False)
    # A misspelled key also makes the right one missing: the misspelling tells more.
    first = next((f for f in faults if f["type"] == "extra_forbidden"), faults[0])
    place = list(first["loc"])
    subject = where
    if len(place) >= 2 and place[0] == "columns" and isinstance(place[1], int):
        column = data["columns"][place[1]]
        name = column.get("name") if isinstance(column, Mapping) else None
        subject += f", column {name!r}" if name is not None else f", column number {place[1] + 1}"
        place = place[2:]
    # Branches of a union carry their type's name in the location, which tells the reader nothing.
    keys = [str(p) for p in place if not (isinstance(p, str) and ("[" in p or p in ("literal", "tuple")))][:2]
    if keys:
        subject += f", key {'.'.join(keys)!r}"
    message = {
        "extra_forbidden": "there is no such key",
        "missing": "this key is missing",
    }.get(first["type"], first["msg"].removeprefix("Value error, ").removeprefix("Input should be "))
    if first["type"] in ("literal_error", "enum"):
        message = f"expected {message}, got {first['input']!r}"
    return f"{subject}: {message.rstrip('.')}."


def blank_mismatch(listed: Sequence[str], found: Iterable[str]) -> dict[str, str]:
    """Listed categories that differ from a value of the data in blanks or case alone.

    **Privacy:** returns listed (public) words only; what was found stays inside.

    Args:
        listed: the public categories.
        found: values of the column, as read.

    Returns:
        For each listed word that has a near double in the data but does not occur itself: "blanks", or "case".
    """
    exact = set(found)
    stripped = {w.strip() for w in exact}
    folded = {w.strip().casefold() for w in exact}
    reasons: dict[str, str] = {}
    for word in listed:
        if word in exact:
            continue
        if word.strip() in stripped:
            reasons[word] = "blanks"
        elif word.strip().casefold() in folded:
            reasons[word] = "case"
    return reasons
