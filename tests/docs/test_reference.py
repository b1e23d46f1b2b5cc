"""The reference says what the code does: nothing undocumented, nothing stale."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

import dpfy
from dpfy.release.statement import ChargeLine, Statement
from dpfy.schema import ColumnSpec, ReadingOptions, TableSchema
from dpfy.schema.kinds import ColumnKind
from dpfy.workflow.request import FitRequest
from tests.docs.commands import Command, commands, global_options
from tests.docs.generate import CLI_PAGE, STATEMENT_SCHEMA, cli_page, statement_schema
from tests.docs.pages import ROOT, anchors, console_commands, links, pages, python_blocks

COMMANDS = {command.name: command for command in commands()}
DOCS = ROOT / "docs"


def _id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_command_page_is_what_the_code_says() -> None:
    assert CLI_PAGE.read_text("utf-8") == cli_page(), "docs/reference/cli.md is stale: run `make docs`"


def test_statement_schema_is_what_the_code_says() -> None:
    assert STATEMENT_SCHEMA.read_text("utf-8") == statement_schema(), "statement.schema.json is stale: run `make docs`"


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda c: c.name)
def test_command_and_its_options_have_help(command: Command) -> None:
    assert command.help
    for parameter in (*command.parameters, *global_options()):
        assert len(parameter.help.split()) >= 2, f"{command.name}: {parameter.name} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_appears_outside_its_reference(name: str) -> None:
    told = [page for page in pages() if page != CLI_PAGE and f"dpfy {name}" in page.read_text("utf-8")]
    assert told, f"no page but the generated one speaks of `dpfy {name}`"


@pytest.mark.parametrize(
    ("model", "page"),
    [
        (ColumnSpec, "reference/schema.md"),
        (TableSchema, "reference/schema.md"),
        (ReadingOptions, "reference/schema.md"),
        (Statement, "concepts/statement.md"),
        (ChargeLine, "concepts/statement.md"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_every_field_is_explained(model: type[BaseModel], page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    lacking = [name for name in model.model_fields if f"`{name}`" not in text]
    assert not lacking, f"docs/{page} does not explain {', '.join(lacking)} of {model.__name__}"


def test_schema_page_invents_no_field() -> None:
    known = {name for model in (ColumnSpec, TableSchema, ReadingOptions) for name in model.model_fields}
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "reference/schema.md").read_text("utf-8"), re.MULTILINE)
    assert set(rows) - known - set(ColumnKind) == set()


def test_every_kind_of_column_is_explained() -> None:
    text = (DOCS / "reference/schema.md").read_text("utf-8")
    assert [kind for kind in ColumnKind if f"`{kind}`" not in text] == []


def test_python_reference_names_what_can_be_imported() -> None:
    text = (DOCS / "reference/python.md").read_text("utf-8")
    assert [name for name in dpfy.__all__ if f"`dpfy.{name}" not in text] == []
    options = FitRequest.__dataclass_fields__.keys() - {"parameters", "unit"}
    assert [name for name in sorted(options) if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", pages(), ids=_id)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{_id(page)}: {link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{_id(page)}: {link} names no heading"


@pytest.mark.parametrize("page", pages(), ids=_id)
def test_shell_examples_use_options_that_exist(page: Path) -> None:
    general = {p.name for p in global_options()} | {"--help"}
    for words in console_commands(page):
        said = " ".join(words)
        given = [word.split("=")[0] for word in words if word.startswith("--")]
        if len(words) > 1 and words[1].startswith("--"):
            assert set(given) <= general, said
            continue
        name = next((n for n in (" ".join(words[1:3]), words[1]) if n in COMMANDS), None)
        assert name is not None, f"{_id(page)}: there is no command in {said!r}"
        assert set(given) <= COMMANDS[name].options, f"{_id(page)}: {said}"
        required = {p.name for p in COMMANDS[name].parameters if p.required and p.is_option}
        assert required <= set(given) or "--help" in given, f"{_id(page)}: {said} lacks {required - set(given)}"


@pytest.mark.parametrize("page", pages(), ids=_id)
def test_python_examples_are_python(page: Path) -> None:
    for block in python_blocks(page):
        ast.parse(block)


@pytest.mark.parametrize("page", pages(), ids=_id)
def test_words_that_promise_too_much_are_not_used(page: Path) -> None:
    text = page.read_text("utf-8")
    found = re.findall(r"\b(?:safe|safely|anonymous|anonymi[sz]ed)\b", text, re.IGNORECASE)
    assert not found, f"{_id(page)}: {found}"


def test_index_names_every_page() -> None:
    indexes = [DOCS / "README.md", DOCS / "decisions" / "README.md"]
    named = {(index.parent / link.split("#")[0]).resolve() for index in indexes for link in links(index)}
    lacking = [_id(page) for page in sorted(DOCS.rglob("*.md")) if page != indexes[0] and page.resolve() not in named]
    assert lacking == []


def test_readme_has_every_room_in_order() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in settings if c["id"] == "rooms")
    rooms = [room.strip() for layer in layers for room in layer.split("|")]
    tree = (ROOT / "README.md").read_text("utf-8").split("## The rooms")[1].split("```")[1]
    assert re.findall(r"^(\w+)  +\w", tree, re.MULTILINE) == rooms
