"""Runs the installed command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Result:
    """What a run left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Strict JSON on stdout."""

        def refuse(name: str) -> None:
            raise ValueError(f"{name} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


def dpfy(*arguments: object, home: Path, cwd: Path | None = None, **environment: str) -> Result:
    """Runs `dpfy` with a workspace of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "dpfy", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd or home.parent,
        env={**os.environ, "DPFY_HOME": str(home), **environment},
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def synth(source: object, folder: Path, *options: object, epsilon: object = 3, name: str = "out.csv") -> Result:
    """Runs synth with --json into folder/name."""
    return dpfy("synth", source, "--epsilon", epsilon, "--out", folder / name, "--json", *options, home=folder / "home")
