"""Use case: a table in, a synthetic table out; and the same without drawing rows."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfy.errors import SpecError
from dpfy.ledger.workspace import Workspace
from dpfy.schema.output import output_format
from dpfy.workflow.fit import FitOutcome, fitting
from dpfy.workflow.request import FitRequest, Progress, no_progress

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FitMade", "SynthMade", "SynthRequest", "run_fit", "run_synth", "synth"]


@dataclass(frozen=True, kw_only=True)
class SynthRequest:
    """What synth is asked to do.

    Args:
        fit: the fit.
        out: output file.
        rows: how many; None for the noisy number of records.
        report: folder for the owner's report, or None.
        neutralise_formulas: for CSV output.
    """

    fit: FitRequest
    out: Path
    rows: int | None = None
    report: Path | None = None
    neutralise_formulas: bool = False

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 0:
            raise SpecError(f"--rows must be 0 or more; {self.rows} was given.")


@dataclass(frozen=True, kw_only=True)
class FitMade:
    """What a fit wrote."""

    model: Path
    statement: dict[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SynthMade:
    """What synth wrote."""

    out: Path
    rows: int
    statement_file: Path
    model: Path
    report: Path | None
    statement: dict[str, Any]
    notes: tuple[str, ...]


def run_fit(
    request: FitRequest, out: Path, *, workspace: Path | None = None, progress: Progress = no_progress
) -> FitMade:
    """Fits and seals a generator into a file.

    **Privacy:** see `fitting`.
    """
    if out.suffix != ".dpfy":
        raise SpecError(f"a sealed generator is a .dpfy file; {out.name!r} was given.")
    check_folder(out)
    place = Workspace.locate(workspace)
    with fitting(request, workspace=place, operation="fit", progress=progress) as outcome:
        outcome.sealed.save(out, place.signing_key)
        return FitMade(model=out, statement=outcome.sealed.statement, notes=outcome.notes)


def run_synth(request: SynthRequest, *, workspace: Path | None = None, progress: Progress = no_progress) -> SynthMade:
    """Fits, seals, draws and writes.

    **Privacy:** see `fitting`; what follows it is post-processing, except the report, which reads raw data and is
    for the owner alone.

    Raises:
        DpfyError: for bad input; nothing is half-written.
    """
    output_format(request.out)
    check_folder(request.out)
    if request.report is not None and request.report.exists() and not request.report.is_dir():
        raise SpecError(f"--report needs a folder; {request.report.name!r} is a file.")
    place = Workspace.locate(workspace)
    with fitting(request.fit, workspace=place, operation="synth", progress=progress) as outcome:
        sealed = outcome.sealed
        folder = place.folder / "generators"
        folder.mkdir(mode=0o700, exist_ok=True)
        model = folder / f"{_file_name(sealed.statement['dataset'])}-{secrets.token_hex(4)}.dpfy"
        sealed.save(model, place.signing_key)
        seed = secrets.randbits(63)  # the report draws the same rows again
        progress("sample", 0.0)
        rows = sealed.write(
            request.out,
            request.rows,
            seed=seed,
            neutralise_formulas=request.neutralise_formulas,
            progress=lambda share: progress("sample", share),
        )
        statement_file = request.out.with_name(f"{request.out.name}.statement.json")
        write_text(statement_file, json.dumps(sealed.statement, ensure_ascii=False, indent=2, allow_nan=False))
        report = None
        if request.report is not None:
            report = _report(request, outcome, rows, seed, progress)
        return SynthMade(
            out=request.out,
            rows=rows,
            statement_file=statement_file,
            model=model,
            report=report,
            statement=sealed.statement,
            notes=outcome.notes,
        )


def _report(request: SynthRequest, outcome: FitOutcome, rows: int, seed: int, progress: Progress) -> Path:
    from dpfy.workflow.report import report_on

    assert request.report is not None
    progress("report", 0.0)
    return report_on(
        outcome,
        request.report,
        rows=rows,
        seed=seed,
        target=request.fit.target,
        progress=lambda share: progress("report", share),
    )


def synth(source: Any, *, epsilon: float, rows: int | None = None, **options: Any) -> pa.Table:
    """Fits and draws in one call.

    **Privacy:** see `dpfy.fit`.

    Args:
        source: as in `dpfy.fit`.
        epsilon: in [1e-3, 1e3]; no default.
        rows: how many; left out, the noisy number of records.
        **options: as in `dpfy.fit`.

    Returns:
        An Arrow table with the source's columns.
    """
    from dpfy.workflow.fit import fit

    return fit(source, epsilon=epsilon, **options).sample(rows)


def check_folder(path: Path) -> None:
    """Makes sure that a file can be written before anything is spent.

    Raises:
        SpecError: when its folder is missing or can't be written.
    """
    folder = path.parent if str(path.parent) else Path()
    if not folder.is_dir():
        raise SpecError(f"the folder {str(folder)!r} for the output does not exist.", hint="Make it first.")
    if not os.access(folder, os.W_OK):
        raise SpecError(f"the folder {str(folder)!r} can't be written.")
    if path.is_dir():
        raise SpecError(f"{str(path)!r} is a folder; a file name is needed.")


def write_text(path: Path, text: str) -> None:
    """Writes a text file whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:60] or "table"
