"""The commands. Each parses, calls one workflow and prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfy.cli import options
from dpfy.cli.console import emit_json, note, stage_display, want_json
from dpfy.cli.shared import FITTING, READING, carries

if TYPE_CHECKING:
    from dpfy.workflow.synth import FitMade, SynthMade

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Synthetic data about people under one differential-privacy guarantee for a whole user.",
)
ledger_app = typer.Typer(no_args_is_help=True, help="What was spent on whom, and how much may be.")
app.add_typer(ledger_app, name="ledger")

Rows = Annotated[
    int | None, typer.Option("--rows", help="Number of synthetic rows; default the noisy number of records.")
]
Out = Annotated[Path, typer.Option("--out", help="Where to write; the suffix names the format.")]
Neutralise = Annotated[
    bool, typer.Option("--neutralise-formulas", help="Put ' before CSV cells that a spreadsheet would run.")
]


def invoke(arguments: Sequence[str]) -> None:
    """Runs a command; all errors, of usage too, come out as they are.

    Raises:
        typer.Exit: when the command ends early, with its exit code.
    """
    with typer.main.get_command(app).make_context("dpfy", list(arguments)) as context:
        context.command.invoke(context)


def _version(wanted: bool) -> None:
    if wanted:
        from dpfy import __version__

        typer.echo(f"dpfy {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Synthetic data about people under one differential-privacy guarantee for a whole user."""


def _request(source: str, epsilon: str, given: dict[str, Any]) -> Any:
    from dpfy.workflow.load import make_request

    reading = options.reading_options(**{name: given.pop(name) for name in READING})
    given["where"] = tuple(given.pop("where") or ())
    given["rules"] = tuple(given.pop("rule") or ())
    return make_request(source, epsilon=epsilon, reading=reading, **given)


@app.command()
@carries(FITTING)
def synth(
    source: options.Source,
    epsilon: options.Epsilon,
    out: Out,
    rows: Rows = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Folder for the owner's report; it reads raw data.")
    ] = None,
    neutralise_formulas: Neutralise = False,
    **given: Any,
) -> None:
    """Make a synthetic table: fit, sample and write in one go."""
    from dpfy.workflow.synth import SynthRequest, run_synth

    as_json, workspace = given.pop("json_output"), given.pop("workspace")
    want_json(as_json)
    schema_file = given["schema"]
    request = SynthRequest(
        fit=_request(source, epsilon, given),
        out=out,
        rows=rows,
        report=report,
        neutralise_formulas=neutralise_formulas,
        schema_file=schema_file,
    )
    with stage_display() as display:
        made = run_synth(request, workspace=workspace, progress=display)
    _tell(made)
    files = {
        "synthetic": str(made.out),
        "rows": made.rows,
        "statement_file": str(made.statement_file),
        "model": str(made.model),
        "report": None if made.report is None else str(made.report),
    }
    if as_json:
        emit_json({**files, "statement": made.statement, "notes_for_the_owner": list(made.notes)})
        return
    typer.echo(f"synthetic table  {made.out}  ({made.rows} rows)")
    typer.echo(f"statement        {made.statement_file}")
    typer.echo(f"generator        {made.model}  (dpfy sample draws more rows at no cost)")
    if made.report is not None:
        typer.echo(f"report           {made.report}  (for the owner: reads raw data, do not share)")


@app.command()
@carries(FITTING)
def fit(source: options.Source, epsilon: options.Epsilon, out: Out, **given: Any) -> None:
    """Fit a generator and seal it."""
    from dpfy.workflow.synth import run_fit

    as_json, workspace = given.pop("json_output"), given.pop("workspace")
    want_json(as_json)
    schema_file = given["schema"]
    request = _request(source, epsilon, given)
    with stage_display() as display:
        made = run_fit(request, out, workspace=workspace, schema_file=schema_file, progress=display)
    _tell(made)
    if as_json:
        emit_json({"model": str(out), "statement": made.statement, "notes_for_the_owner": list(made.notes)})
    else:
        typer.echo(f"generator  {out}")


def _tell(made: FitMade | SynthMade) -> None:
    statement = made.statement
    for line in made.notes:
        note(f"note: {line}")
    note(f"epsilon {statement['epsilon']:.4g}, delta {statement['delta']:.2g}; unit: {statement['privacy_unit']}")
    note(statement["plain_words"])
    note(made.account)


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(help="A .dpfy file.")],
    out: Out,
    rows: Rows = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Makes sampling repeatable; costs no privacy.")] = None,
    neutralise_formulas: Neutralise = False,
    json_output: options.Json = False,
) -> None:
    """Draw rows from a sealed generator; costs nothing."""
    from dpfy.workflow.sample import run_sample

    want_json(json_output)
    with stage_display() as display:
        written = run_sample(model, out, rows, seed=seed, neutralise_formulas=neutralise_formulas, progress=display)
    if json_output:
        emit_json({"synthetic": str(out), "rows": written})
    else:
        typer.echo(f"synthetic table  {out}  ({written} rows)")


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="A .dpfy file.")],
    workspace: options.Workspace = None,
    json_output: options.Json = False,
) -> None:
    """Print a sealed generator's privacy statement, and whether this workspace sealed it."""
    from dpfy.cli.statement_text import statement_text
    from dpfy.workflow.look import look

    want_json(json_output)
    seen = look(model, workspace)
    if json_output:
        emit_json(seen.statement)
        return
    typer.echo(statement_text(seen.statement))
    whose = "this workspace's key" if seen.sealed_here else f"key {seen.signed_by[:16]}, which is not this workspace's"
    typer.echo(f"\nUnchanged since it was sealed by {whose}.")


@app.command()
@carries(READING)
def schema(source: options.Source, json_output: options.Json = False, **given: Any) -> None:
    """Propose a schema (YAML on stdout); what the owner confirms is public."""
    from dpfy.workflow.propose import run_propose

    want_json(json_output)
    proposed = run_propose(source, options.reading_options(**given))
    for line in proposed.notes:
        note(f"note: {line}")
    note("This proposal holds types and formats. Read it, change what is wrong, and pass it with --schema.")
    if json_output:
        emit_json(proposed.schema.model_dump(mode="json"))
    else:
        typer.echo(proposed.text, nl=False)


@app.command("plan")
def plan_command(
    schema_file: Annotated[Path, typer.Argument(metavar="SCHEMA", help="YAML file that the owner confirmed.")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="One or several, with commas: 0.3,1,3.")],
    records: Annotated[float | None, typer.Option("--records", help="About how many records; a public guess.")] = None,
    users: Annotated[float | None, typer.Option("--users", help="About how many users; a public guess.")] = None,
    delta: options.Delta = None,
    user: options.User = None,
    max_records_per_user: options.MaxRecords = None,
    counting: options.Counting = "rows",
    target: options.Target = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="An .svg file to draw.")] = None,
    json_output: options.Json = False,
) -> None:
    """Tell what runs at several epsilons will be able to see; reads a schema, no data, and costs nothing."""
    from dpfy.cli.plan_text import plan_text
    from dpfy.workflow.plan import plan, plan_to_json, write_picture

    want_json(json_output)
    plans = plan(
        schema_file,
        epsilon,
        records=records,
        users=users,
        delta=delta,
        user=user,
        max_records_per_user=max_records_per_user,
        counting=counting,
        target=target,
    )
    if picture is not None:
        write_picture(plans, picture)
    if json_output:
        emit_json(plan_to_json(plans))
    else:
        typer.echo(plan_text(plans))


@ledger_app.command("show")
def ledger_show(workspace: options.Workspace = None, json_output: options.Json = False) -> None:
    """Show every account: spent, held, cap and what remains."""
    from dpfy.cli.ledger_text import accounts_text
    from dpfy.workflow.budget import accounts

    want_json(json_output)
    found = accounts(workspace)
    if json_output:
        emit_json(found)
    else:
        typer.echo(accounts_text(found))


@ledger_app.command("cap")
def ledger_cap(
    dataset: Annotated[str, typer.Argument(help="The data set's name in the ledger.")],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Most epsilon that all runs together may spend.")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Most delta that all runs together may spend.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the cap away.")] = False,
    workspace: options.Workspace = None,
    json_output: options.Json = False,
) -> None:
    """Cap what may be spent on a data set."""
    from dpfy.cli.ledger_text import accounts_text
    from dpfy.workflow.budget import accounts, set_cap

    want_json(json_output)
    for line in set_cap(workspace, dataset, epsilon=epsilon, delta=delta, remove=remove):
        note(f"note: {line}")
    found = [a for a in accounts(workspace) if dataset in a["names"]]
    if json_output:
        emit_json(found)
    else:
        typer.echo(accounts_text(found))


@ledger_app.command("history")
def ledger_history(
    dataset: Annotated[str | None, typer.Argument(help="A data set's name; default all.")] = None,
    workspace: options.Workspace = None,
    json_output: options.Json = False,
) -> None:
    """List every run, what it spent and what on."""
    from dpfy.cli.ledger_text import history_text
    from dpfy.workflow.budget import history

    want_json(json_output)
    found = history(workspace, dataset)
    if json_output:
        emit_json(found)
    else:
        typer.echo(history_text(found))


@app.command("run")
def run_file(
    file: Annotated[Path, typer.Argument(help="A YAML file whose keys are the options of synth.")],
    json_output: options.Json = False,
) -> None:
    """Run what a YAML file says: keys are those of synth, with underscores."""
    from dpfy.cli.run_file import arguments_of, synth_options

    want_json(json_output)
    invoke(["synth", *(["--json"] if json_output else []), *arguments_of(file, synth_options())])


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the demo's files.")] = Path("demo-out"),
    epsilon: Annotated[str, typer.Option("--epsilon", help="Target epsilon.")] = "3",
) -> None:
    """Run the main job on a real table: RAND Health Insurance Experiment, 5,912 persons."""
    from dpfy.workflow.demo import run_demo

    with stage_display() as display:
        made = run_demo(out, epsilon, progress=display)
    _tell(made)
    typer.echo(f"synthetic table  {made.out}  ({made.rows} rows)")
    typer.echo(f"report           {made.report}  (open it in a browser; for the owner, do not share)")
    typer.echo(f"statement        {made.statement_file}")


@app.command()
def doctor(workspace: options.Workspace = None, json_output: options.Json = False) -> None:
    """Check the installation, the workspace and the ledger's journal."""
    from dpfy.workflow.doctor import examine

    want_json(json_output)
    findings = examine(workspace)
    if json_output:
        emit_json(findings)
    else:
        for finding in findings:
            typer.echo(f"{'ok ' if finding['ok'] else 'NO '} {finding['check']}: {finding['detail']}")
    if not all(finding["ok"] for finding in findings):
        raise typer.Exit(2)
