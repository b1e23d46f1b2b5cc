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
from dpfy.workflow.before import check_keys
from dpfy.workflow.budget import account_line
from dpfy.workflow.fit import FitOutcome, fitting
from dpfy.workflow.outputs import check_model_name, check_output, check_report, input_files
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
        schema_file: where the schema came from; no output may replace it.
    """

    fit: FitRequest
    out: Path
    rows: int | None = None
    report: Path | None = None
    neutralise_formulas: bool = False
    schema_file: Path | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 0:
            raise SpecError(f"--rows must be 0 or more; {self.rows} was given.")


@dataclass(frozen=True, kw_only=True)
class FitMade:
    """What a fit wrote."""

    model: Path
    statement: dict[str, Any]
    notes: tuple[str, ...]
    account: str


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
    account: str


def run_fit(
    request: FitRequest,
    out: Path,
    *,
    workspace: Path | None = None,
    schema_file: Path | None = None,
    progress: Progress = no_progress,
) -> FitMade:
    """Fits and seals a generator into a file.

    **Privacy:** see `fitting`.
    """
    check_model_name(out)
    inputs = input_files(request.source, request.reading, schema_file, request.exclude_users)
    check_output(out, inputs, request.source)
    place = Workspace.locate(workspace)
    with fitting(request, workspace=place, operation="fit", progress=progress) as outcome:
        outcome.sealed.save(out, place.signing_key)
        statement, notes = outcome.sealed.statement, (*outcome.notes, *place.notes)
    return FitMade(model=out, statement=statement, notes=notes, account=account_line(place, statement["dataset"]))


def run_synth(request: SynthRequest, *, workspace: Path | None = None, progress: Progress = no_progress) -> SynthMade:
    """Fits, seals, draws and writes.

    **Privacy:** see `fitting`; what follows it is post-processing, except the report, which reads raw data and is
    for the owner alone.

    Raises:
        DpfyError: for bad input; nothing is half-written.
    """
    fit = request.fit
    output_format(request.out)
    statement_file = request.out.with_name(f"{request.out.name}.statement.json")
    inputs = input_files(fit.source, fit.reading, request.schema_file, fit.exclude_users)
    for output in (request.out, statement_file):
        check_output(output, inputs, fit.source)
    if request.report is not None:
        check_report(request.report, inputs, fit.source)
    if fit.schema is not None:
        check_keys(fit.schema, fit.unit.columns, request.rows)
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
        write_text(statement_file, json.dumps(sealed.statement, ensure_ascii=False, indent=2, allow_nan=False))
        report = None
        if request.report is not None:
            report = _report(request, outcome, rows, seed, progress)
        statement, notes = sealed.statement, (*outcome.notes, *place.notes)
    return SynthMade(
        out=request.out,
        rows=rows,
        statement_file=statement_file,
        model=model,
        report=report,
        statement=statement,
        notes=notes,
        account=account_line(place, statement["dataset"]),
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
    from dpfy.workflow.arguments import confirmed_schema, whole_number
    from dpfy.workflow.fit import fit

    wanted = whole_number("rows", rows, 0)
    schema = confirmed_schema(options.get("schema"))
    if schema is not None and wanted is not None:
        check_keys(schema, (), wanted)
    return fit(source, epsilon=epsilon, **{**options, "schema": schema}).sample(wanted)


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
