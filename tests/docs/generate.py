"""Writes docs/reference/cli.md and statement.schema.json from the code: `python -m tests.docs.generate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpfy.release.statement import Statement
from tests.docs.commands import Command, Parameter, commands, global_options

CLI_PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
STATEMENT_SCHEMA = CLI_PAGE.with_name("statement.schema.json")

_HEAD = """\
# Commands

This page is generated from the code by `make docs`; a test fails when it is stale.

Results go to stdout, messages to stderr. With `--json` stdout holds one JSON document, also for an error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | a bug in dpfy |
| 2 | wrong usage or bad input |
| 3 | refused by the budget |
| 4 | refused by the release gate |
| 130 | stopped by Ctrl-C or SIGTERM; the message says whether anything counts as spent |

| `--json` of | has |
|---|---|
| synth | `synthetic`, `rows`, `statement_file`, `model`, `report`, `statement`, `notes_for_the_owner` |
| fit | `model`, `statement`, `notes_for_the_owner` |
| sample | `synthetic`, `rows` |
| inspect | the statement |
| schema | the schema |
| plan | a list of plans: `epsilon`, `delta`, `mu`, `spending`, `columns`, `pairs`, `pairs_measured` |
| ledger show, cap | a list of accounts |
| ledger history | a list of runs, each with its mechanism runs |
| doctor | a list of checks |
| an error | `error`, `message`; refused by the budget also `requested`, `remaining`, `largest` |

`notes_for_the_owner` and the messages of errors are for the owner alone.

| variable | meaning |
|---|---|
| `DPFY_HOME` | the workspace, when `--workspace` is not given; without both it is `.dpfy` in the current folder |
"""


def cli_page() -> str:
    """The page's text."""
    parts = [_HEAD, "## dpfy\n", *_table("option", global_options())]
    for command in commands():
        parts += _section(command)
    return "\n".join(parts).rstrip() + "\n"


def statement_schema() -> str:
    """The JSON Schema of the privacy statement."""
    return json.dumps(Statement.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def _section(command: Command) -> Iterator[str]:
    arguments = [p for p in command.parameters if not p.is_option]
    options = [p for p in command.parameters if p.is_option]
    usage = ["dpfy", command.name, *(a.name if a.required else f"[{a.name}]" for a in arguments)]
    usage += [f"{o.name} {o.kind.upper()}" for o in options if o.required]
    yield f"## dpfy {command.name}\n"
    yield f"{command.help}\n"
    yield f"```text\n{' '.join(usage)} [options]\n```\n"
    if arguments:
        yield from _table("argument", arguments)
    if options:
        yield from _table("option", options)


def _table(title: str, parameters: Sequence[Parameter]) -> Iterator[str]:
    lines = [f"| {title} | value | default | meaning |", "|---|---|---|---|"]
    for p in parameters:
        kind = (p.kind or "flag") + (", repeatable" if p.repeats else "")
        default = "required" if p.required else "" if p.default is None else f"`{p.default}`"
        lines.append(f"| `{p.name}` | {kind} | {default} | {_escaped(p.help)} |")
    yield "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("**", "\\*\\*")


if __name__ == "__main__":
    CLI_PAGE.parent.mkdir(parents=True, exist_ok=True)
    CLI_PAGE.write_text(cli_page(), encoding="utf-8")
    STATEMENT_SCHEMA.write_text(statement_schema(), encoding="utf-8")
    sys.stdout.write("docs/reference/cli.md and statement.schema.json are written\n")
