"""Rooms and the direction of imports, and what is loaded when."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT

HEAVY = ("numpy", "scipy", "pandas", "polars", "duckdb", "pyarrow", "torch", "sklearn", "dp_accounting", "cryptography")
WITH_PROOF = ("mechanisms", "domain", "contribution", "generators/tabular/marginal")


def _loaded_after(statement: str) -> set[str]:
    program = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_import_contracts_hold() -> None:
    program = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_every_folder_is_a_room_of_the_contract() -> None:
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = next(c for c in settings["contracts"] if c["id"] == "rooms")
    named = {room.strip() for layer in layers["layers"] for room in layer.split("|")}
    found = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert layers["exhaustive"]
    assert found == named


@pytest.mark.parametrize(
    "statement", ["import dpfy", "import dpfy.cli.app", "import dpfy.errors, dpfy.privacy, dpfy.schema"]
)
def test_heavy_libraries_wait_until_they_are_needed(statement: str) -> None:
    assert _loaded_after(statement) & set(HEAVY) == set()


def test_the_check_of_loaded_libraries_sees_them() -> None:
    assert "numpy" in _loaded_after("import dpfy; dpfy.fit")


def test_version_is_quick_and_light() -> None:
    program = (
        "import sys, json, resource; sys.argv = ['dpfy', '--version']\n"
        "from dpfy.cli.main import run; run()\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(json.dumps([used.ru_utime + used.ru_stime, 'numpy' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    version, figures = done.stdout.splitlines()
    seconds, has_numpy = json.loads(figures)
    assert version.startswith("dpfy ")
    assert seconds < 0.5
    assert not has_numpy


@pytest.mark.parametrize("room", WITH_PROOF)
def test_room_with_a_guarantee_has_its_proof(room: str) -> None:
    text = (PACKAGE / room / "PROOF.md").read_text("utf-8")
    assert "Not covered" in text or "Not kept" in text
    assert "ensitivity" in text


def test_every_generator_family_has_its_proof() -> None:
    families = [p.parent for p in (PACKAGE / "generators").rglob("fit.py")]
    assert families
    for family in families:
        for file in ("params.py", "sampler.py", "PROOF.md"):
            assert (family / file).exists(), f"{family.name} has no {file}"
