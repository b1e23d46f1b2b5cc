"""Entry point of the command `dpfy`: one place for threads, errors and exit codes."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType

# Linear algebra on small tables gets slower with threads, and libraries read these on import.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

EXIT_BUG, EXIT_INPUT, EXIT_BUDGET, EXIT_GATE, EXIT_STOPPED = 1, 2, 3, 4, 130
_PATIENCE = 3.0
"""Seconds after a first signal in which a second one is passed over: temporary files are being removed."""

_stopped_at: float | None = None


def _stop(_signal: int, _frame: FrameType | None) -> None:
    global _stopped_at
    now = time.monotonic()
    if _stopped_at is None or now - _stopped_at > _PATIENCE:
        _stopped_at = now
        raise KeyboardInterrupt


def run() -> None:
    """Runs the command and maps errors to exit codes."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from dpfy import __version__

        sys.stdout.write(f"dpfy {__version__}\n")
        return
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _stop)
        _run(sys.argv[1:])
    except BaseException as error:
        # On its way up an interrupt can become an error of the engine: the signal is what counts.
        if not isinstance(error, KeyboardInterrupt) and (_stopped_at is None or isinstance(error, SystemExit)):
            raise
        from dpfy.cli.console import fail_stopped

        fail_stopped(error, EXIT_STOPPED)


def _run(arguments: list[str]) -> None:
    import typer

    from dpfy.cli.app import invoke
    from dpfy.cli.console import fail, fail_usage, want_json

    want_json("--json" in arguments)
    usage = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    try:
        invoke(arguments)
        sys.stdout.flush()
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
    except Exception as error:
        if _stopped_at is not None:
            raise
        if isinstance(error, usage):
            fail_usage(error, EXIT_INPUT)
        if isinstance(error, BrokenPipeError):
            # Whoever read the output has gone; Python's own flush at the end must not complain either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(EXIT_BUG)
        # A traceback shows values of local variables' text in some libraries' messages: name the place alone.
        fail(error, _code(error))


def _code(error: Exception) -> int:
    from dpfy.errors import BudgetExceededError, DpfyError, ReleaseRefusedError, UnchargedReleaseError

    if isinstance(error, BudgetExceededError):
        return EXIT_BUDGET
    if isinstance(error, ReleaseRefusedError):
        return EXIT_GATE
    if isinstance(error, UnchargedReleaseError):
        return EXIT_BUG
    return EXIT_INPUT if isinstance(error, (DpfyError, MemoryError, OSError)) else EXIT_BUG
