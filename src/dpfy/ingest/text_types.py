"""From the evidence of text columns to a proposal of their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpfy.errors import SourceError
from dpfy.ingest.datetimes import ClockEvidence
from dpfy.ingest.evidence import ColumnEvidence, Mark, NumberForm
from dpfy.schema import ColumnKind, ColumnSpec, ReadingOptions

_MOST_PLACES = 9
_INT64_DIGITS = 18


@dataclass
class Proposal:
    """Columns with what the owner should know.

    Args:
        columns: the specs.
        notes: sentences about decisions that were taken.
        comments: remarks by column for the schema file.
    """

    columns: list[ColumnSpec] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)


def decimal_mark(evidence: Sequence[ColumnEvidence], options: ReadingOptions, separator: str) -> Mark:
    """The decimal mark of a whole file, proven by a column that reads as numbers under one mark only."""
    if options.decimal_mark != "auto":
        return options.decimal_mark
    if options.thousands in (",", "."):
        return "." if options.thousands == "," else ","
    votes: dict[Mark, int] = {".": 0, ",": 0}
    for column in evidence:
        alive = [f for f in column.forms if f.alive]
        if len(alive) == 1 and (alive[0].marked or alive[0].grouped):
            votes[alive[0].mark] += 1
    if votes["."] != votes[","]:
        return "." if votes["."] > votes[","] else ","
    return "," if separator == ";" and votes[","] >= votes["."] else "."


def propose_text_columns(
    names: Sequence[str],
    evidence: Mapping[str, ColumnEvidence],
    options: ReadingOptions,
    separator: str,
) -> Proposal:
    """Specs of text columns.

    Args:
        names: columns in order.
        evidence: by name.
        options: how the source is read.
        separator: of the file; a semicolon speaks for a decimal comma.

    Raises:
        SourceError: when `dates` is strict and a column's day and month can't be told apart.
    """
    mark = decimal_mark([evidence[n] for n in names], options, separator)
    proposal = Proposal()
    for name in names:
        spec = _column(name, evidence[name], mark, options, proposal)
        proposal.columns.append(spec)
        _comment(spec, evidence[name], proposal)
    return proposal


def _column(name: str, evidence: ColumnEvidence, mark: Mark, options: ReadingOptions, proposal: Proposal) -> ColumnSpec:
    if not evidence.seen and not evidence.markers:
        proposal.notes.append(f"column {name!r} is empty in every row; it comes back empty.")
        return ColumnSpec(name=name, type=ColumnKind.EMPTY)
    fields = _number_fields(name, evidence, mark, options, proposal) or _clock_fields(name, evidence, options, proposal)
    if fields is not None and evidence.markers and evidence.seen:
        words = ", ".join(sorted(evidence.markers))
        proposal.notes.append(
            f"column {name!r} is {fields['type']} but for cells that read {words}; it is kept as text. "
            "If they mean missing, set missing_markers."
        )
        fields = None
    if fields is None or not evidence.seen:
        if evidence.padded and evidence.seen and options.blanks == "keep":
            proposal.notes.append(
                f"column {name!r}: all its words have blanks around them; the blanks count as part of the word. "
                "Set blanks to strip to leave them out."
            )
        return ColumnSpec(name=name, type=ColumnKind.TEXT, categories="discover")
    return ColumnSpec(name=name, range="discover", **fields)


def _number_fields(
    name: str, evidence: ColumnEvidence, mark: Mark, options: ReadingOptions, proposal: Proposal
) -> dict[str, Any] | None:
    forms = {f.mark: f for f in evidence.forms if f.alive and not _forbidden(f, options)}
    if not forms:
        return None
    form = forms.get(mark) or next(iter(forms.values()))
    if len(forms) == 2 and (form.marked or form.grouped) and options.decimal_mark == "auto":
        proposal.notes.append(
            f"column {name!r}: its numbers read as numbers with {form.mark!r} as decimal mark and with the other "
            f"one; {form.mark!r} is assumed. Set decimal_mark to decide."
        )
    fields: dict[str, Any] = {"decimal_mark": form.mark}
    if form.grouped:
        fields["thousands"] = form.group
    if form.power:
        return fields | _float(form)
    if form.most == 0 or form.zeros:
        if evidence.beyond or form.whole > _INT64_DIGITS + 1 or (form.grouped and form.whole > _INT64_DIGITS):
            proposal.notes.append(
                f"column {name!r} has whole numbers beyond 64 bits; it is kept as text, digit by digit."
            )
            return None
        fields["type"] = ColumnKind.INTEGER
        if form.most:
            fields |= {"min_decimals": form.most, "arrow_type": "double"}
        return fields
    if form.most <= _MOST_PLACES and form.whole + form.most <= _INT64_DIGITS:
        places = {"decimals": form.most, "min_decimals": form.least}
        return fields | places | {"type": ColumnKind.DECIMAL}
    return fields | _float(form)


def _forbidden(form: NumberForm, options: ReadingOptions) -> bool:
    if options.decimal_mark not in ("auto", form.mark) and (form.marked or form.grouped):
        return True
    return form.grouped and options.thousands not in ("auto", form.group)


def _float(form: NumberForm) -> dict[str, Any]:
    return {"type": ColumnKind.FLOAT, "significant": form.digits if 1 <= form.digits <= 15 else 17}


def _clock_fields(
    name: str, evidence: ColumnEvidence, options: ReadingOptions, proposal: Proposal
) -> dict[str, Any] | None:
    fits = list(evidence.clocks or ())
    if not fits:
        if name in options.date_formats and evidence.seen:
            raise SourceError(
                f"column {name!r}: some cells are not written as {options.date_formats[name]}.",
                hint="Correct date_formats, or declare words that mean missing as missing_markers.",
            )
        if evidence.partly_zoned:
            proposal.notes.append(
                f"column {name!r} has times with and times without a zone; it is kept as text. Write all times alike "
                "to have them read as times."
            )
        return None
    chosen = _chosen(name, fits, options, proposal)
    fields = chosen.details()
    if len(chosen.zones) > 1:
        proposal.notes.append(f"column {name!r} mixes time zones; its times are converted to UTC and written in UTC.")
    return fields


def _chosen(name: str, fits: list[ClockEvidence], options: ReadingOptions, proposal: Proposal) -> ClockEvidence:
    ambiguous = len(fits) > 1 and "%b" not in fits[0].pattern and "%b" not in fits[1].pattern
    if not ambiguous:
        return fits[0]
    if options.dates == "strict":
        raise SourceError(
            f"column {name!r}: nothing in its dates tells day from month.",
            hint="Set dates to day_first or month_first, or date_formats for the column.",
        )
    if options.dates == "auto":
        proposal.notes.append(
            f"column {name!r}: nothing in its dates tells day from month; the day is assumed to come first. "
            "Set dates to month_first if that is wrong."
        )
    return fits[1] if options.dates == "month_first" else fits[0]


def _comment(spec: ColumnSpec, evidence: ColumnEvidence, proposal: Proposal) -> None:
    if spec.type is ColumnKind.INTEGER and evidence.looks_like_codes:
        proposal.comments[spec.name] = (
            "Few different whole numbers: if these are codes, list them as categories: [..], or set it to discover."
        )
    elif spec.type is ColumnKind.TEXT and evidence.all_distinct and evidence.rows > 1:
        proposal.comments[spec.name] = (
            "Every row seems to have its own value: if it is an identifier, set key: true (made up anew)."
        )
