"""Checks on files that a run will write: before anything is spent, and so that no input is replaced."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpfy.errors import SpecError

__all__ = ["check_model_name", "check_output", "check_report", "input_files"]


def check_model_name(path: Path) -> None:
    """Makes sure that a sealed generator is called one.

    Raises:
        SpecError: for another suffix.
    """
    if path.suffix != ".dpfy":
        raise SpecError(f"a sealed generator is a .dpfy file; {path.name!r} was given.")


def check_output(path: Path, inputs: Sequence[Path] = (), source: Any = None) -> None:
    """Makes sure that a file can be written, and that writing it takes nothing away.

    Args:
        path: the output.
        inputs: files that are read.
        source: what the table is read from; an output that the next run would read as a part of it is refused.

    Raises:
        SpecError: when its folder is missing or can't be written, when it is a folder or write-protected, or when it
            is an input or would become one.
    """
    folder = path.parent
    if not folder.is_dir():
        raise SpecError(f"the folder {str(folder)!r} for the output does not exist.", hint="Make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SpecError(f"the folder {str(folder)!r} can't be written.")
    if path.is_dir():
        raise SpecError(f"{str(path)!r} is a folder; a file name is needed.")
    for held in inputs:
        if _is_same(path, held):
            raise SpecError(
                f"the output {str(path)!r} is the input {str(held)!r}, which it would replace.",
                hint="Name another file.",
            )
    # Replacing a file asks for rights on its folder alone, so its own mode is looked at.
    if path.exists() and (not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK)):
        raise SpecError(f"the output {str(path)!r} is write-protected.", hint="Name another file, or chmod u+w it.")
    for item in source if isinstance(source, (list, tuple)) else [source]:
        if isinstance(item, (str, Path)) and _would_be_read(path, Path(item).expanduser()):
            raise SpecError(
                f"the output {str(path)!r} would be read as a part of the source {str(item)!r} the next time.",
                hint="Write it to another folder.",
            )


def check_report(folder: Path, inputs: Sequence[Path] = (), source: Any = None) -> None:
    """Makes sure that the report's folder can be made and written.

    Args:
        folder: may be there or not.
        inputs: files that are read.
        source: what the table is read from.

    Raises:
        SpecError: when it can't, or when the report would replace an input.
    """
    if folder.exists():
        if not folder.is_dir():
            raise SpecError(f"--report needs a folder; {folder.name!r} is a file.")
        for name in ("report.html", "report.json"):
            check_output(folder / name, inputs, source)
        return
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise SpecError(
            f"the report's folder {str(folder)!r} can't be made: {str(above)!r} can't be written.",
            hint="Name another folder.",
        )


def input_files(source: Any, reading: Any, *others: Path | None) -> tuple[Path, ...]:
    """All files that a run reads.

    Raises:
        SourceError: when the source is a path without files.
    """
    from dpfy.ingest.files import find_files

    named = [p for p in others if p is not None]
    several = isinstance(source, (list, tuple)) and all(isinstance(p, (str, Path)) for p in source)
    if isinstance(source, (str, Path)) or several:
        named += [file.path for file in find_files(source, reading)]
    return tuple(named)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))
    except OSError:
        return False


def _would_be_read(path: Path, source: Path) -> bool:
    if source.is_dir():
        return path.parent.resolve() == source.resolve()
    if source.exists() or not any(mark in str(source) for mark in "*?["):
        return False
    # The part before the first mark may go through links; the rest is compared name by name.
    names = source.absolute().parts
    fixed = next(i for i, name in enumerate(names) if any(mark in name for mark in "*?["))
    start, target = Path(*names[:fixed]).resolve(), path.parent.resolve() / path.name
    return target.is_relative_to(start) and _matches(target.relative_to(start).parts, names[fixed:])


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        return any(_matches(names[skip:], patterns[1:]) for skip in range(len(names) + 1))
    return bool(names) and fnmatch.fnmatchcase(names[0], patterns[0]) and _matches(names[1:], patterns[1:])
