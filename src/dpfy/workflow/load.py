"""The library's objects: a generator with a statement that has attributes, and requests from plain arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfy.errors import SpecError
from dpfy.ledger.workspace import Workspace
from dpfy.privacy import CountingMode, PrivacyParameters, PrivacyUnit, parse_delta, parse_epsilon
from dpfy.release.statement import Statement
from dpfy.schema import ReadingOptions, TableSchema, load_schema
from dpfy.sealed.generator import SealedGenerator
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
        return self._sealed.sample(rows, seed=seed)

    def write(self, path: str | Path, rows: int | None = None, *, seed: int | None = None) -> int:
        """Draws rows into a .csv, .tsv, .jsonl or .parquet file; returns how many."""
        return self._sealed.write(path, rows, seed=seed)

    def save(self, path: str | Path) -> None:
        """Writes a .dpfy file, signed with the workspace's key."""
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
    schema: TableSchema | str | Path | None = None,
    reading: ReadingOptions | None = None,
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
    confirmed = load_schema(Path(schema)) if isinstance(schema, (str, Path)) else schema
    wanted = user if user is not None else (confirmed.user if confirmed is not None else None)
    text = wanted if wanted is None or isinstance(wanted, str) else ",".join(wanted)
    owners = parse_user_option(text) if text else ()
    if counting not in set(CountingMode):
        raise SpecError(f"counting must be rows or users; {counting!r} was given.")
    try:
        return FitRequest(
            source=source,
            reading=reading or ReadingOptions(),
            schema=confirmed,
            parameters=parameters,
            unit=PrivacyUnit(
                owners=owners,
                max_records_per_user=max_records_per_user if owners else (max_records_per_user or 1),
                distinct_owners=distinct_owners,
            ),
            counting=CountingMode(counting),
            **options,
        )
    except TypeError as error:
        raise SpecError(f"an option is not known: {error}.") from None
