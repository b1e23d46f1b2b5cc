"""Runs a command as a whole process and measures it from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Measured", "run_measured"]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one process took, its children included.

    Args:
        status: "done", "failed" (exit code other than 0) or "too slow" (ended at the limit).
        cpu_seconds: user + system.
        wall_seconds: from start to end; depends on what else the machine does.
        peak_megabytes: highest resident size, in 10**6 bytes.
    """

    status: str
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float


def run_measured(command: list[str], *, log: Path, limit: float, environment: dict[str, str]) -> Measured:
    """Runs a command to its end, or to the limit.

    Args:
        command: program and arguments.
        log: where its output goes.
        limit: most wall seconds.
        environment: added to this process's own.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with log.open("wb") as out:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        ended = False
        try:
            while True:
                pid, wait_status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                if not ended and time.monotonic() - begun > limit:
                    os.killpg(child.pid, signal.SIGKILL)
                    ended = True
                time.sleep(0.02)
        except BaseException:
            # The child has a session of its own, so an interrupt from the keyboard does not reach it.
            os.killpg(child.pid, signal.SIGKILL)
            raise
    wall = time.monotonic() - begun
    child.returncode = os.waitstatus_to_exitcode(wait_status)
    status = "too slow" if ended else "done" if child.returncode == 0 else "failed"
    return Measured(
        status=status,
        cpu_seconds=round(usage.ru_utime + usage.ru_stime, 2),
        wall_seconds=round(wall, 2),
        peak_megabytes=round(usage.ru_maxrss * 1024 / 1e6, 1),
    )
