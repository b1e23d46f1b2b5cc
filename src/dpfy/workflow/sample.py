"""Use case: draw rows from a sealed generator. Post-processing: opens no private data and no ledger."""

from __future__ import annotations

from pathlib import Path

from dpfy.errors import SpecError
from dpfy.schema.output import output_format
from dpfy.sealed.generator import SealedGenerator
from dpfy.workflow.outputs import check_output
from dpfy.workflow.request import Progress, no_progress

__all__ = ["run_sample"]


def run_sample(
    model: Path,
    out: Path,
    rows: int | None = None,
    *,
    seed: int | None = None,
    neutralise_formulas: bool = False,
    progress: Progress = no_progress,
) -> int:
    """Draws rows into a file; returns how many.

    Args:
        model: a .dpfy file.
        out: output file; its suffix names the format.
        rows: how many; None for the noisy number of records.
        seed: makes sampling repeatable.
        neutralise_formulas: for CSV output.
        progress: shows the share that is done.

    Raises:
        SealBrokenError: when the model is none or was changed.
        SpecError: when the output can't be written as asked.
    """
    output_format(out)
    check_output(out, (model,))
    if rows is not None and rows < 0:
        raise SpecError(f"--rows must be 0 or more; {rows} was given.")
    if seed is not None and seed < 0:
        raise SpecError(f"--seed must be 0 or more; {seed} was given.")
    sealed = SealedGenerator.load(model)
    progress("sample", 0.0)
    return sealed.write(
        out,
        rows,
        seed=seed,
        neutralise_formulas=neutralise_formulas,
        progress=lambda share: progress("sample", share),
    )
