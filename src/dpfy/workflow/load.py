"""The library's objects: a generator with a statement that has attributes, and requests from plain arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfy.errors import SpecError
from dpfy.ledger.workspace import Workspace
from dpfy.privacy import CountingMode, PrivacyParameters, PrivacyUnit, parse_delta, parse_epsilon
from dpfy.release.statement import Statement
from dpfy.schema import ReadingOptions, TableSchema
from dpfy.sealed.generator import SealedGenerator
from dpfy.workflow import arguments
from dpfy.workflow.outputs import check_model_name, check_output
from dpfy.workflow.request import FitRequest

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Generator", "load", "make_request"]


class Generator:
    """A sealed generator: draw from it, read its statement, save it.

    **Privacy:** everything it gives was paid for; drawing costs nothing.
    """

    def __init__(self, sealed: SealedGenerator, workspace: Workspace | None) -> None:
        self._sealed = sealed
        self._workspace = workspace

    @property
    def statement(self) -> Statement:
        """The privacy statement."""
        return Statement.model_validate(self._sealed.statement)

    @property
    def schema(self) -> TableSchema:
        """The columns of the output."""
        return self._sealed.schema

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> pa.Table:
        """Draws a table.

        Args:
            rows: how many; left out, the noisy number of records of the source.
            seed: makes sampling repeatable; the guarantee does not hang on it.

        Returns:
            An Arrow table: `.to_pandas()`, `polars.from_arrow(table)`.
        """
        return self._sealed.sample(
            arguments.whole_number("rows", rows, 0), seed=arguments.whole_number("seed", seed, 0)
        )

    def write(self, path: str | Path, rows: int | None = None, *, seed: int | None = None) -> int:
        """Draws rows into a .csv, .tsv, .jsonl or .parquet file; returns how many."""
        return self._sealed.write(
            path, arguments.whole_number("rows", rows, 0), seed=arguments.whole_number("seed", seed, 0)
        )

    def save(self, path: str | Path) -> None:
        """Writes a .dpfy file, signed with the workspace's key.

        Raises:
            SpecError: for another suffix, or a folder that is not there.
        """
        check_model_name(Path(path))
        check_output(Path(path))
        workspace = self._workspace or Workspace.locate(None)
        self._sealed.save(path, workspace.signing_key)

    def __repr__(self) -> str:
        statement = self.statement
        return (
            f"<dpfy generator of {statement.dataset!r}: epsilon {statement.epsilon:.3g}, delta {statement.delta:.2g}>"
        )


def load(path: str | Path) -> Generator:
    """Reads a .dpfy file.

    Raises:
        SealBrokenError: when it is none, is damaged, or was changed after sealing.
    """
    return Generator(SealedGenerator.load(path), None)


def make_request(
    source: Any,
    *,
    epsilon: object,
    delta: object = None,
    user: str | Sequence[str] | None = None,
    max_records_per_user: int | None = None,
    schema: TableSchema | Mapping[str, Any] | str | Path | None = None,
    reading: ReadingOptions | Mapping[str, Any] | None = None,
    counting: str = "rows",
    distinct_owners: bool = False,
    **options: Any,
) -> FitRequest:
    """Builds a request from plain arguments, and checks them before anything is read.

    Raises:
        DpfyError: for arguments that no guarantee can be built on.
    """
    from dpfy.contribution import parse_user_option

    parameters = PrivacyParameters(epsilon=parse_epsilon(epsilon), delta=None if delta is None else parse_delta(delta))
    confirmed = arguments.confirmed_schema(schema)
    wanted = user if user is not None else (confirmed.user if confirmed is not None else None)
    text = None if wanted is None else ",".join(arguments.texts("user", wanted))
    owners = parse_user_option(text) if text else ()
    cap = arguments.records_per_user(max_records_per_user)
    if not isinstance(counting, str) or counting not in set(CountingMode):
        raise SpecError(f"counting must be rows or users; {counting!r} was given.")
    return FitRequest(
        source=source,
        reading=arguments.reading_options(reading),
        schema=confirmed,
        parameters=parameters,
        unit=PrivacyUnit(
            owners=owners,
            max_records_per_user=cap if owners else (1 if cap is None else cap),
            distinct_owners=arguments.truth("distinct_owners", distinct_owners),
        ),
        counting=CountingMode(counting),
        **_checked(options),
    )


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise SpecError(
            f"there is no option {unknown[0]!r}.",
            hint=f"Known: {', '.join(sorted({*_OPTIONS, *_NAMED}))}.",
        )
    return {name: _OPTIONS[name](name, value) for name, value in options.items()}


def _family(name: str, value: object) -> str:
    return arguments.text_or_none(name, value) or ""


_OPTIONS: Mapping[str, Callable[[str, object], Any]] = {
    "exclude_users": arguments.path_or_none,
    "where": arguments.texts,
    "rules": arguments.texts,
    "generator": _family,
    "target": arguments.text_or_none,
    "name": arguments.text_or_none,
    "population": arguments.text_or_none,
}
_NAMED = ("delta", "user", "max_records_per_user", "schema", "reading", "counting", "distinct_owners", "workspace")
