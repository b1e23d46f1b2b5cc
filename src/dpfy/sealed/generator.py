"""The sealed generator as users hold it: a statement, and rows without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfy.errors import SpecError
from dpfy.generators.protocol import FittedGenerator
from dpfy.generators.registry import family
from dpfy.schema import TableSchema
from dpfy.schema.output import TableWriter, arrow_schema, to_table
from dpfy.sealed.assemble import Assembler
from dpfy.sealed.contents import Contents, contents_from_json
from dpfy.sealed.file import SealedParts, read_sealed, write_sealed

if TYPE_CHECKING:
    import pyarrow as pa
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

BATCH_ROWS = 1 << 18


class SealedGenerator:
    """A released generator.

    **Privacy:** everything in it was paid for or is public, so whatever is drawn or computed from it is
    post-processing and costs nothing.

    Args:
        contents: what is drawn.
        generator: the fitted model.
        statement: the privacy statement.
        signed_by: hex public key of who sealed it; empty if it was never written.
    """

    def __init__(
        self, contents: Contents, generator: FittedGenerator, statement: Mapping[str, Any], signed_by: str = ""
    ) -> None:
        self.contents = contents
        self.generator = generator
        self.statement = dict(statement)
        self.signed_by = signed_by

    @classmethod
    def load(cls, path: Path | str) -> SealedGenerator:
        """Reads a .dpfy file.

        Raises:
            SealBrokenError: when the file is none, is damaged, or was changed after sealing.
        """
        parts = read_sealed(Path(path))
        contents = contents_from_json(parts.generator["contents"])
        model = family(contents.family).from_parts(parts.generator["model"], parts.arrays, contents.unresolved)
        return cls(contents, model, parts.statement, parts.signed_by)

    def save(self, path: Path | str, key: Ed25519PrivateKey) -> None:
        """Writes a .dpfy file, whole or not at all."""
        data, arrays = self.generator.to_parts()
        write_sealed(
            Path(path),
            SealedParts(
                statement=self.statement,
                generator={"contents": self.contents.to_json(), "model": data},
                arrays=arrays,
            ),
            key,
        )

    @property
    def schema(self) -> TableSchema:
        """The columns of the output."""
        return self.contents.schema

    def batches(self, rows: int, *, seed: int | None = None, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Draws rows as batches of physical columns.

        Args:
            rows: how many, >= 0.
            seed: makes sampling repeatable; harmless, since the model is released already.
            batch_rows: most rows of a batch.
        """
        if rows < 0:
            raise SpecError(f"rows must be 0 or more; {rows} was given.")
        assembler = Assembler(self.contents, self.generator, np.random.default_rng(seed))
        return assembler.batches(rows, batch_rows)

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> pa.Table:
        """Draws a table.

        Args:
            rows: how many; left out, the noisy number of records of the source.
            seed: makes sampling repeatable.

        Returns:
            An Arrow table with the source's column names, order and types.
        """
        import pyarrow as pa

        wanted = self.contents.records if rows is None else rows
        tables = [
            to_table(self.schema, [(column.values, column.missing) for column in batch.values()])
            for batch in self.batches(wanted, seed=seed)
        ]
        return pa.concat_tables(tables) if tables else arrow_schema(self.schema).empty_table()

    def write(
        self,
        path: Path | str,
        rows: int | None = None,
        *,
        seed: int | None = None,
        neutralise_formulas: bool = False,
        progress: Callable[[float], None] | None = None,
    ) -> int:
        """Draws rows into a file, in bounded memory; the suffix names the format.

        Returns:
            The number of rows written.
        """
        from concurrent.futures import Future, ThreadPoolExecutor

        wanted = self.contents.records if rows is None else rows
        done = 0
        written: Future[None] | None = None
        # A batch is written while the next is drawn; never more than the two are held.
        with (
            TableWriter(Path(path), self.schema, neutralise_formulas=neutralise_formulas) as writer,
            ThreadPoolExecutor(max_workers=1) as other,
        ):
            for batch in self.batches(wanted, seed=seed):
                columns = [(column.values, column.missing) for column in batch.values()]
                if written is not None:
                    written.result()
                written = other.submit(writer.write, columns)
                done += len(columns[0][0])
                if progress is not None:
                    progress(done / max(1, wanted))
            if written is not None:
                written.result()
        return done
