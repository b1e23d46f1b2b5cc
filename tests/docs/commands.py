"""The commands as the code declares them: name, help, arguments and options."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.models import ArgumentInfo, OptionInfo

from dpfy.cli.app import app

_KINDS: dict[type, str] = {str: "text", int: "number", float: "number", Path: "path"}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One argument or option.

    Args:
        name: as typed, such as "--rows" or "SOURCE".
        kind: text, number, path; empty for a flag.
        default: as typed; None when there is none.
        required: must be given.
        repeats: may be given several times.
        help: one or two sentences.
    """

    name: str
    kind: str
    default: str | None
    required: bool
    repeats: bool
    help: str

    @property
    def is_option(self) -> bool:
        """Whether it is given by name."""
        return self.name.startswith("--")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command.

    Args:
        name: such as "ledger show".
        help: what it does.
        parameters: in the order of the code.
    """

    name: str
    help: str
    parameters: tuple[Parameter, ...]

    @property
    def options(self) -> frozenset[str]:
        """Names of the options that it takes."""
        return frozenset(p.name for p in self.parameters if p.is_option) | {"--help"}


def commands() -> list[Command]:
    """All commands, groups flattened."""
    return list(_commands(app, ""))


def global_options() -> tuple[Parameter, ...]:
    """Options that stand before a command."""
    assert app.registered_callback is not None
    assert app.registered_callback.callback is not None
    return _parameters(app.registered_callback.callback)


def _commands(group: typer.Typer, prefix: str) -> Iterator[Command]:
    for registered in group.registered_commands:
        callback = registered.callback
        assert callback is not None
        yield Command(
            name=prefix + (registered.name or callback.__name__.replace("_", "-")),
            help=inspect.cleandoc(registered.help or callback.__doc__ or ""),
            parameters=_parameters(callback),
        )
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from _commands(inner.typer_instance, f"{prefix}{inner.name} ")


def _parameters(callback: Callable[..., Any]) -> tuple[Parameter, ...]:
    return tuple(_parameter(p) for p in inspect.signature(callback, eval_str=True).parameters.values())


def _parameter(parameter: inspect.Parameter) -> Parameter:
    declared, info = typing.get_args(parameter.annotation)[:2]
    assert isinstance(info, (OptionInfo, ArgumentInfo)), parameter.name
    plain = _without_none(declared)
    repeats = typing.get_origin(plain) is list
    inner = typing.get_args(plain)[0] if repeats else plain
    required = parameter.default is inspect.Parameter.empty
    flag = inner is bool
    default = None if required or flag or parameter.default is None else str(parameter.default)
    # Inside Annotated the first name lands where a default would stand.
    named = [d for d in (info.default, *(info.param_decls or ())) if isinstance(d, str)]
    name = named[0] if named else parameter.name.replace("_", "-")
    if isinstance(info, OptionInfo) and not name.startswith("--"):
        name = f"--{name}"
    return Parameter(
        name=name if isinstance(info, OptionInfo) else name.upper(),
        kind="" if flag else _KINDS[inner],
        default=default,
        required=required,
        repeats=repeats,
        help=info.help or "",
    )


def _without_none(declared: Any) -> Any:
    if typing.get_origin(declared) in (typing.Union, types.UnionType):
        return next(part for part in typing.get_args(declared) if part is not type(None))
    return declared
