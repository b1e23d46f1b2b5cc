"""What the command prints, and where: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from dpfy.errors import BudgetExceededError, DpfyError

STAGES = {
    "read": "reading the source",
    "bound": "bounding what each user contributes",
    "discover": "discovering domains",
    "encode": "encoding",
    "measure columns": "measuring columns",
    "compare pairs": "comparing pairs of columns",
    "measure pairs": "measuring pairs",
    "estimate": "estimating the model",
    "sample": "drawing rows",
    "report": "writing the report",
}

_json_wanted = False


def want_json(wanted: bool) -> None:
    """Remembers that errors are wanted as JSON too."""
    global _json_wanted
    _json_wanted = wanted


def note(text: str) -> None:
    """Prints a line for the owner."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def emit_json(document: Mapping[str, Any] | list[Any]) -> None:
    """Prints one strict JSON document."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def fail(error: BaseException, code: int) -> NoReturn:
    """Prints one message, no traceback, and ends with the exit code."""
    if isinstance(error, DpfyError):
        message = str(error)
    elif isinstance(error, MemoryError):
        message = "there was not enough memory. Try fewer columns (--exclude) or a machine with more."
    elif isinstance(error, OSError):
        message = f"{error.strerror or 'a file could not be used'}: {error.filename or 'unknown file'}."
    else:
        message = _bug_message(error)
    if not isinstance(error, DpfyError):
        message = " ".join((message, *(f"{line[0].upper()}{line[1:]}." for line in _costs(error))))
    _end(error, message, code)


def fail_stopped(error: BaseException, code: int) -> NoReturn:
    """Says that the user stopped the run, and what it cost; whatever the interrupt became on its way up."""
    spent = _costs(error)
    _end(KeyboardInterrupt(), f"stopped; {spent[-1] if spent else 'nothing was spent'}", code)


def fail_usage(error: Any, code: int) -> NoReturn:
    """Says that the command line can't be understood."""
    error.show()
    if _json_wanted:
        emit_json({"error": "usage", "message": error.format_message()})
    sys.exit(code)


def _costs(error: BaseException) -> list[str]:
    """What the workflow noted on an error, or on one that it came from."""
    return [line for held in (error, error.__cause__, error.__context__) for line in getattr(held, "__notes__", ())][:1]


def _end(error: BaseException, message: str, code: int) -> NoReturn:
    if _json_wanted:
        name = "stopped" if isinstance(error, KeyboardInterrupt) else type(error).__name__
        document: dict[str, Any] = {"error": getattr(error, "code", name), "message": message}
        if isinstance(error, BudgetExceededError):
            document |= {"requested": error.requested, "remaining": error.remaining, "largest": error.largest}
        emit_json(document)
    note(f"dpfy: {message}")
    sys.exit(code)


def _bug_message(error: BaseException) -> str:
    # The exception's own text may quote a cell, so only its type and place are shown.
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if "dpfy" in f.filename]
    place = (
        f"{inside[-1].filename.rsplit('dpfy', 1)[-1].lstrip('/')}:{inside[-1].lineno}" if inside else "unknown place"
    )
    return (
        f"this is a bug in dpfy ({type(error).__name__} in {place}). Nothing was written. Please report this line; it "
        "holds no data."
    )


class StageDisplay:
    """Shows stages with a bar on a terminal, and as lines elsewhere."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._stage = ""

    def __call__(self, stage: str, share: float) -> None:
        """Shows that a stage has come so far."""
        words = STAGES.get(stage, stage)
        if self._bar is None:
            if stage != self._stage:
                note(f"  {words}")
            self._stage = stage
            return
        if stage != self._stage:
            if self._task is not None:
                self._bar.update(self._task, completed=1.0)
            self._task = self._bar.add_task(words, total=1.0)
            self._stage = stage
        self._bar.update(self._task, completed=share)

    def start(self) -> None:
        """Opens the display."""
        if not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._bar.start()

    def stop(self) -> None:
        """Closes the display."""
        if self._bar is not None:
            if self._task is not None:
                self._bar.update(self._task, completed=1.0)
            self._bar.stop()


@contextmanager
def stage_display() -> Iterator[StageDisplay]:
    """Shows progress while the body runs."""
    display = StageDisplay()
    display.start()
    try:
        yield display
    finally:
        display.stop()
