"""Options that several commands share, and their way into requests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dpfy.errors import SpecError
from dpfy.schema.options import ReadingOptions

Source = Annotated[
    str, typer.Argument(help="A .csv, .tsv, .jsonl or .parquet file (also .gz, .zst), a folder or a glob.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout; messages go to stderr.")]
Workspace = Annotated[
    Path | None, typer.Option("--workspace", help="Folder of ledger, keys and generators; default $DPFY_HOME or .dpfy.")
]

Epsilon = Annotated[str, typer.Option("--epsilon", help="Target epsilon, 0.001 to 1000. There is no default.")]
Delta = Annotated[
    str | None, typer.Option("--delta", help="Target delta; default min(1e-5, noisy number of users ** -1.1).")
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        help="Column that names the user. a+b: two columns name one user together. a,b: a record belongs to both "
        "people. Without it rows are protected, not people.",
    ),
]
MaxRecords = Annotated[
    int | None,
    typer.Option("--max-records-per-user", help="Contribution bound; left out, chosen privately and charged."),
]
DistinctOwners = Annotated[
    bool, typer.Option("--distinct-owners", help="With --user a,b: equal ids in a and b are different people.")
]
Counting = Annotated[
    str,
    typer.Option(
        "--counting",
        help="rows: each record counts 1. users: a user's records count 1 together; better when users have many.",
    ),
]
Schema = Annotated[
    Path | None, typer.Option("--schema", help="YAML file that the owner confirmed; what it says is public.")
]
Generator = Annotated[str, typer.Option("--generator", help="Generator family: marginal.")]
Target = Annotated[
    str | None, typer.Option("--target", help="Column to be predicted later: its pairs count double. Public.")
]
Name = Annotated[str | None, typer.Option("--name", help="Data set's name in the ledger; default the file's stem.")]
Population = Annotated[
    str | None,
    typer.Option("--population", help="Name of the people in it: data sets that share it share one account."),
]
ExcludeUsers = Annotated[
    Path | None, typer.Option("--exclude-users", help="File with one user id a line: people who opted out.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help='Keep rows for which this SQL on one row is true, e.g. "age >= 18". May be repeated.'),
]
Rule = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        help='Public knowledge between columns: "b follows a", "if a = x then b is missing", "a <= b". Repeatable.',
    ),
]

Separator = Annotated[
    str, typer.Option("--separator", help="Between cells: auto, tab, comma, semicolon, pipe or a character.")
]
DecimalMark = Annotated[str, typer.Option("--decimal", help="Decimal mark: auto, . or ,")]
Thousands = Annotated[
    str, typer.Option("--thousands", help="Mark between groups of digits: auto, none or a character.")
]
Encoding = Annotated[str, typer.Option("--encoding", help="Such as utf-8, utf-16, cp1252; default auto.")]
Header = Annotated[str, typer.Option("--header", help="Whether the first line holds names: auto, yes, no.")]
Quote = Annotated[str, typer.Option("--quote", help="Character around cells that hold separators or line breaks.")]
Missing = Annotated[
    list[str] | None, typer.Option("--missing", help="Cell that means missing beside the empty one. May be repeated.")
]
Dates = Annotated[str, typer.Option("--dates", help="Order of ambiguous dates: auto, day_first, month_first, strict.")]
DateFormat = Annotated[
    list[str] | None, typer.Option("--date-format", help="COLUMN=PATTERN, e.g. seen=%d/%m/%Y. May be repeated.")
]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", help="Column that is not read. May be repeated.")]
Blanks = Annotated[str, typer.Option("--blanks", help="Blanks around words: keep or strip.")]
LargestCell = Annotated[int | None, typer.Option("--largest-cell", help="Most characters of one cell.")]


def reading_options(**given: Any) -> ReadingOptions:
    """Builds reading options from what the command line gave.

    Raises:
        SpecError: for a value that can't be used.
    """
    from pydantic import ValidationError

    formats: dict[str, str] = {}
    for text in given.pop("date_format") or ():
        column, mark, pattern = text.partition("=")
        if not mark or not column or not pattern:
            raise SpecError(f"--date-format needs COLUMN=PATTERN; {text!r} was given.")
        formats[column] = pattern
    given["date_formats"] = formats
    given["missing_markers"] = tuple(given.pop("missing") or ())
    given["exclude"] = tuple(given.pop("exclude") or ())
    if given["largest_cell"] is None:
        del given["largest_cell"]
    try:
        return ReadingOptions(**given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        option = str(first["loc"][0]).replace("_", "-").replace("decimal-mark", "decimal")
        raise SpecError(f"--{option}: {first['msg'].removeprefix('Value error, ')}.") from None
