"""Plain Python arguments brought into the form that requests have, each refused by name when it can't be."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpfy.errors import DpfyError, PrivacyParameterError, SpecError
from dpfy.schema import ReadingOptions, TableSchema, load_schema
from dpfy.schema.table import schema_from_data

__all__ = [
    "confirmed_schema",
    "path_or_none",
    "reading_options",
    "records_per_user",
    "text_or_none",
    "texts",
    "truth",
    "whole_number",
]


def whole_number(name: str, value: object, lowest: int | None = None, error: type[DpfyError] = SpecError) -> int | None:
    """A whole number, or None.

    Args:
        name: of the argument.
        value: as given.
        lowest: the least that it may be.
        error: what is raised, which takes a message alone.

    Raises:
        SpecError: or the given error, for anything else.
    """
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise error(f"{name} must be a whole number; {value!r} is a {type(value).__name__}.") from None
    if lowest is not None and number < lowest:
        raise error(f"{name} must be {lowest} or more; {number} was given.")
    return number


def records_per_user(value: object) -> int | None:
    """The contribution bound.

    Raises:
        PrivacyParameterError: when it is no whole number.
    """
    return whole_number("max_records_per_user", value, None, PrivacyParameterError)


def truth(name: str, value: object) -> bool:
    """True or False.

    Raises:
        SpecError: for anything else.
    """
    if not isinstance(value, bool):
        raise SpecError(f"{name} must be True or False; a {type(value).__name__} was given.")
    return value


def text_or_none(name: str, value: object) -> str | None:
    """One text, or None.

    Raises:
        SpecError: for anything else.
    """
    if value is not None and not isinstance(value, str):
        raise SpecError(f"{name} must be text; a {type(value).__name__} was given.")
    return value


def texts(name: str, value: object) -> tuple[str, ...]:
    """Several texts; one text stands for itself, None for nothing.

    Raises:
        SpecError: for anything else.
    """
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    several = tuple(value) if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)) else None
    if several is None or not all(isinstance(one, str) for one in several):
        raise SpecError(f"{name} must be text or a list of texts; a {type(value).__name__} was given.")
    return several


def path_or_none(name: str, value: object) -> Path | None:
    """A path, or None.

    Raises:
        SpecError: for anything else.
    """
    if value is None:
        return None
    if not isinstance(value, (str, Path)):
        raise SpecError(f"{name} must be the path of a file; a {type(value).__name__} was given.")
    return Path(value)


def reading_options(value: object) -> ReadingOptions:
    """Reading options from an object or a mapping.

    Raises:
        SpecError: for a key or a value that can't be used.
    """
    from pydantic import ValidationError

    if value is None or isinstance(value, ReadingOptions):
        return value or ReadingOptions()
    if not isinstance(value, Mapping):
        raise SpecError(f"reading must be ReadingOptions or a mapping; a {type(value).__name__} was given.")
    try:
        return ReadingOptions.model_validate(dict(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        message = "there is no such key" if first["type"] == "extra_forbidden" else first["msg"]
        place = ".".join(map(str, first["loc"][:1]))
        raise SpecError(f"reading, key {place!r}: {message.removeprefix('Value error, ').rstrip('.')}.") from None


def confirmed_schema(value: Any) -> TableSchema | None:
    """A schema from an object, a mapping or a file.

    Raises:
        SpecError: when it can't be read.
    """
    if value is None or isinstance(value, TableSchema):
        return value
    if isinstance(value, Mapping):
        return schema_from_data(value)
    if isinstance(value, (str, Path)):
        return load_schema(Path(value))
    raise SpecError(f"schema must be a TableSchema, a mapping or a path; a {type(value).__name__} was given.")
