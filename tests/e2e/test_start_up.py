"""Commands that only tell something start at once."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import dpfy

HEAVY = ("numpy", "scipy", "pandas", "pyarrow", "duckdb", "sklearn", "lightgbm", "dp_accounting", "torch")
LIMIT_SECONDS = 0.5


def cpu_seconds(arguments: list[str]) -> float:
    """Of one whole process: what a busy machine takes besides does not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "dpfy", *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed")
    source = folder / "colours.csv"
    source.write_text("colour,size\n" + "red,1\nblue,2\n" * 300)
    made = dpfy("fit", source, "--epsilon", "5", "--out", folder / "colours.dpfy", home=folder / "home")
    assert made.code == 0, made.err
    return folder / "colours.dpfy"


def test_version_and_inspect_start_in_half_a_second(sealed: Path) -> None:
    for arguments in (["--version"], ["inspect", str(sealed)]):
        assert statistics.median(cpu_seconds(arguments) for _ in range(3)) < LIMIT_SECONDS, arguments


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_nothing_heavy_is_loaded_to_tell_the_version(arguments: list[str]) -> None:
    program = (
        "import sys, runpy\n"
        f"sys.argv = ['dpfy', *{arguments!r}]\n"
        "try:\n    runpy.run_module('dpfy', run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "print('LOADED', *sorted(sys.modules))\n"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    loaded = set(told.rsplit("LOADED", 1)[1].split())
    assert "dpfy" in loaded
    assert not loaded & set(HEAVY)
