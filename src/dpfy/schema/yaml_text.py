"""The schema as a YAML file that a person reads, edits and confirms."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dpfy.errors import SpecError
from dpfy.schema.column import ColumnSpec
from dpfy.schema.kinds import ColumnKind, default_arrow_type
from dpfy.schema.options import ReadingOptions
from dpfy.schema.table import TableSchema, schema_from_data

_HEAD = """\
# The schema of a table. What stands here is public: it costs no privacy budget, and it is printed in the statement.
# categories: a list of values, or discover (found privately, charged)
# range:      [lowest, highest], or discover (charged)
# missing:    discover the share of empty cells (charged), or never
# Also: static: true (one value a user) · key: true (made up anew) · drop: true (left out)
#       other: resample | label | missing (what becomes of the catch-all of rare values)
"""


class SpelledFloat(float):
    """A float that remembers how it was written: categories are compared as text."""

    spelling: str


class _Loader(yaml.SafeLoader):
    """YAML without its traps: no and on are words, 007 is a word, dates are words."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


_WHOLE = r"^-?(?:0|[1-9][0-9]*)$"
_BROKEN = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(_WHOLE), list("-0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(_BROKEN), list("-0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])


def _spelled_float(loader: _Loader, node: yaml.ScalarNode) -> SpelledFloat:
    number = SpelledFloat(node.value)
    number.spelling = node.value
    return number


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        key = key if isinstance(key, str) else key_node.value
        if key in result:
            raise SpecError(f"line {key_node.start_mark.line + 1}: the key {key!r} stands there twice.")
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_Loader.add_constructor("tag:yaml.org,2002:float", _spelled_float)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_yaml(text: str, *, where: str) -> Any:
    """Reads YAML whose words stay words.

    Raises:
        SpecError: names the line that can't be read.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise SpecError(
            f"{where}{line}: this is not YAML ({getattr(error, 'problem', None) or 'it can not be parsed'})."
        ) from None


def load_schema(path: str | Path) -> TableSchema:
    """Reads a schema file.

    Args:
        path: a YAML (or JSON) file.

    Raises:
        SpecError: when it is missing or faulty; names column and key.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError:
        raise SpecError(f"the schema file {str(path)!r} can't be read.", hint="Check the path.") from None
    except UnicodeDecodeError:
        raise SpecError(f"the schema file {str(path)!r} is not UTF-8 text.") from None
    return parse_schema(text, where=file.name)


def parse_schema(text: str, *, where: str = "the schema") -> TableSchema:
    """Reads a schema from YAML text.

    Raises:
        SpecError: when it is faulty; names column and key.
    """
    return schema_from_data(read_yaml(text, where=where), where=where)


def dump_schema(schema: TableSchema, comments: Mapping[str, str] | None = None) -> str:
    """Writes a schema as YAML; defaults are left out.

    Args:
        schema: what to write.
        comments: a remark to the owner by column name.

    Returns:
        The text; `parse_schema` of it gives the same schema.
    """
    lines = [_HEAD.rstrip("\n")]
    if schema.user is not None:
        lines.append(f"user: {_scalar(schema.user)}")
    lines.append("columns:")
    for column in schema.columns:
        remark = (comments or {}).get(column.name)
        lines += [f"    # {line}" for line in (remark.splitlines() if remark else [])]
        lines.append(f"  - name: {_scalar(column.name)}")
        lines += [f"    {key}: {_value(value)}" for key, value in _stated(column).items()]
    lines.append("# What holds between the columns of a row, such as: start <= end")
    lines.append(f"rules: {_value(list(schema.rules))}")
    reading = _changed(schema.reading, ReadingOptions())
    if reading:
        lines.append("reading:")
        lines += [f"  {key}: {_value(value)}" for key, value in reading.items()]
    return "\n".join(lines) + "\n"


def _stated(column: ColumnSpec) -> dict[str, Any]:
    """What differs from what would be filled in anyway."""
    plain: dict[str, Any] = {"type": str(column.type)}
    for key, field in ColumnSpec.model_fields.items():
        value = getattr(column, key)
        if key not in ("name", "type") and value != field.default:
            plain[key] = list(value) if isinstance(value, tuple) else value
    if column.min_decimals == column.decimals:
        plain.pop("min_decimals", None)
    elif column.min_decimals == 0:
        plain["min_decimals"] = 0
    filled = ColumnSpec.model_validate({"name": column.name, **plain, "arrow_type": ""})
    if filled.arrow_type == column.arrow_type:
        plain.pop("arrow_type", None)
    order = ["type", "categories", "range", "missing"]
    if column.type is ColumnKind.EMPTY and column.arrow_type == default_arrow_type(ColumnKind.EMPTY):
        plain.pop("arrow_type", None)
    return {k: plain[k] for k in [*order, *(p for p in plain if p not in order)] if k in plain}


def _changed(options: ReadingOptions, default: ReadingOptions) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key in ReadingOptions.model_fields:
        value = getattr(options, key)
        if value != getattr(default, key):
            changed[key] = list(value) if isinstance(value, tuple) else value
    return changed


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(k)}: {_scalar(v)}" for k, v in value.items()) + "}"
    return _scalar(value)


_PLAIN = re.compile(r"[A-Za-z_][\w .<=>/+-]*(?<! )", re.ASCII)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(getattr(value, "spelling", repr(value)))
    text = str(value)
    reserved = ("true", "false", "null", "yes", "no", "on", "off")
    if _PLAIN.fullmatch(text) and text.lower() not in reserved:
        return text
    # JSON strings are YAML strings, whatever they hold.
    return json.dumps(text, ensure_ascii=not text.isprintable())
