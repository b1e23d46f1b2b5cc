"""A run file: the options of synth as YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dpfy.errors import SpecError


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a command.

    Args:
        name: as typed, such as "--rows".
        is_flag: it takes no value.
        repeats: it may be given several times.
    """

    name: str
    is_flag: bool
    repeats: bool


def synth_options() -> dict[str, Option]:
    """The options of synth by their key in a run file."""
    import typer

    from dpfy.cli.app import app

    group: Any = typer.main.get_command(app)
    found = {}
    for parameter in group.commands["synth"].params:
        name = parameter.opts[0]
        if name.startswith("--") and name != "--help":
            option = Option(name=name, is_flag=bool(parameter.is_flag), repeats=bool(parameter.multiple))
            found[name[2:].replace("-", "_")] = option
    return found


def arguments_of(file: Path, options: Mapping[str, Option]) -> list[str]:
    """Turns a run file into arguments of synth.

    Args:
        file: YAML with `source` and options, e.g. `max_records_per_user: 5`; lists repeat an option. Words stay
            words, as in a schema file.
        options: that there are, by key.

    Raises:
        SpecError: when the file can't be read as that; names the key.
    """
    from dpfy.schema.yaml_text import read_yaml

    try:
        held = read_yaml(file.read_text(encoding="utf-8-sig"), where=file.name)
    except OSError:
        raise SpecError(f"the run file {str(file)!r} can't be read.", hint="Check the path.") from None
    except UnicodeDecodeError:
        raise SpecError(f"the run file {str(file)!r} is not UTF-8 text.") from None
    if not isinstance(held, Mapping) or held.get("source") is None:
        raise SpecError(f"{file.name!r} needs the key `source`.", hint="Its other keys are the options of synth.")
    arguments = []
    for key, value in held.items():
        if key == "source":
            continue
        option = options.get(str(key).replace("-", "_"))
        if option is None:
            raise SpecError(f"{file.name}: there is no key {key!r}.", hint=_nearest(str(key), options))
        arguments += _arguments(option, value, f"{file.name}, key {key!r}")
    return [*arguments, "--", _word(held["source"], f"{file.name}, key 'source'")]


def _arguments(option: Option, value: Any, where: str) -> list[str]:
    if value is None:
        return []
    if option.is_flag:
        if not isinstance(value, bool):
            raise SpecError(f"{where}: expected true or false.")
        return [option.name] if value else []
    if isinstance(value, list) and not option.repeats:
        raise SpecError(f"{where}: expected one value, got a list.")
    several = value if isinstance(value, list) else [value]
    return [f"{option.name}={_word(one, where)}" for one in several]


def _word(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise SpecError(f"{where}: expected a word or a number.", hint="Put quotes around true, false and null.")
    return str(getattr(value, "spelling", value))


def _nearest(key: str, options: Mapping[str, Option]) -> str:
    near = get_close_matches(key, options, 1)
    return f"Did you mean {near[0]!r}?" if near else "The keys are the options of synth, with _ for -."
