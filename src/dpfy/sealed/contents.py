"""What a sealed generator is made of, apart from its model: schema, domains, rules, users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpfy.domain.columns import ColumnDomain, domain_from_json
from dpfy.domain.model_column import ModelColumn, Part
from dpfy.domain.rules import Following, Rule, parse_rules
from dpfy.errors import SealBrokenError, SpecError
from dpfy.schema import TableSchema


@dataclass(frozen=True, kw_only=True)
class Contents:
    """Public description of what is drawn.

    Args:
        family: the generator family's name.
        schema: the source's columns as they come out.
        columns: model columns.
        domains: of each model column.
        owners: columns that name a user, by owner.
        following: learned functions, in order of application.
        records: noisy number of records; the default number of rows.
    """

    family: str
    schema: TableSchema
    columns: tuple[ModelColumn, ...]
    domains: tuple[ColumnDomain, ...]
    owners: tuple[tuple[str, ...], ...] = ()
    following: tuple[Following, ...] = ()
    records: int
    rules: tuple[Rule, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = [c.name for c in self.schema.columns]
        object.__setattr__(self, "rules", parse_rules(self.schema.rules, names))

    @property
    def unresolved(self) -> tuple[tuple[int, ...] | None, ...]:
        """For each model column the code that is redrawn, a catch-all by rule or a missing time of day; then others
        that it must not become."""
        result: list[tuple[int, ...] | None] = []
        for column, domain in zip(self.columns, self.domains, strict=True):
            spec = self.schema.columns[column.source]
            code = domain.missing_code if column.part is Part.TIME else domain.other_code
            if code is None or (column.part is not Part.TIME and spec.other != "resample"):
                result.append(None)
            else:
                absent = domain.missing_code
                result.append((code,) if absent is None or absent == code else (code, absent))
        return tuple(result)

    def parts_of(self, source: int) -> list[int]:
        """Indices of the model columns of a schema column, in order."""
        return [i for i, c in enumerate(self.columns) if c.source == source]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "family": self.family,
            "schema": self.schema.model_dump(mode="json"),
            "columns": [{"source": c.source, "part": c.part.value} for c in self.columns],
            "domains": [d.to_json() for d in self.domains],
            "owners": [list(o) for o in self.owners],
            "following": [
                {"column": f.column, "of": f.of, "codes": list(f.codes), "keys": f.keys and list(f.keys)}
                for f in self.following
            ],
            "records": self.records,
        }


def contents_from_json(data: Mapping[str, Any]) -> Contents:
    """Reads what `Contents.to_json` wrote.

    Raises:
        SealBrokenError: when the data is none.
    """
    try:
        return Contents(
            family=str(data["family"]),
            schema=TableSchema.model_validate(data["schema"]),
            columns=tuple(ModelColumn(source=int(c["source"]), part=Part(c["part"])) for c in data["columns"]),
            domains=tuple(domain_from_json(d) for d in data["domains"]),
            owners=tuple(tuple(o) for o in data["owners"]),
            following=tuple(
                Following(
                    column=f["column"],
                    of=f["of"],
                    codes=tuple(f["codes"]),
                    keys=None if f["keys"] is None else tuple(f["keys"]),
                )
                for f in data["following"]
            ),
            records=int(data["records"]),
        )
    except (KeyError, TypeError, ValueError, SpecError):
        raise SealBrokenError("the sealed generator can't be read: it is damaged or of another version.") from None


def apply_following(codes: Sequence[np.ndarray[Any, Any]], following: Sequence[Following]) -> None:
    """Sets the codes of columns that follow others, in place."""
    for rule in following:
        codes[rule.column][:] = np.array(rule.codes, dtype=np.int32)[codes[rule.of]]
