"""The package's modules as syntax trees."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dpfy"

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, kw_only=True)
class Module:
    """One source file.

    Args:
        name: relative to the package, such as "noise/source.py".
        text: its content.
        tree: its syntax tree.
    """

    name: str
    text: str
    tree: ast.Module


@cache
def modules() -> tuple[Module, ...]:
    """All modules of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        found.append(Module(name=path.relative_to(PACKAGE).as_posix(), text=text, tree=ast.parse(text)))
    return tuple(found)


def definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Functions and classes, also inside others, with their dotted names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}{child.name}"
            yield name, child
            yield from definitions(child, f"{name}.")
        else:
            yield from definitions(child, prefix)


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines


def tracked_files() -> list[Path]:
    """Text files that belong to the project."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        files = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        folders = ("src", "tests", "docs", ".ci")
        files = [p for folder in folders for p in (ROOT / folder).rglob("*")] + list(ROOT.glob("*"))
    binary = {".png", ".pyc", ".parquet", ".zst", ".gz", ".dpfy"}
    return sorted(p for p in files if p.is_file() and p.suffix not in binary)
