"""smartnoise-synth's MST over cells declared by hand; its own bins are left out: see docs/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
from arguments import parse_arguments
from declared_table import read_domain, read_texts, write_texts
from snsynth.mst import MSTSynthesizer
from snsynth.transform import LabelTransformer, TableTransformer


def main() -> None:
    given = parse_arguments(__doc__, ("mst",))
    columns = read_domain(given.domain)
    texts = read_texts(given.train, columns)
    table = pd.DataFrame({column.name: column.encode(texts[column.name]) for column in columns})
    # Its labels come from the rows it is fitted to: here a public list of all cells, not the private table.
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in columns])
    longest = max(column.cells for column in columns)
    transformer.fit(pd.DataFrame({column.name: np.arange(longest) % column.cells for column in columns}))
    synthesizer = MSTSynthesizer(epsilon=given.epsilon, delta=given.delta)
    synthesizer.fit(table, transformer=transformer)
    made = pd.DataFrame(synthesizer.sample(given.rows))
    rng = np.random.default_rng()
    cells = {column.name: made.iloc[:, at].to_numpy().astype(np.int64) for at, column in enumerate(columns)}
    write_texts(given.out, {column.name: column.decode(cells[column.name], rng) for column in columns})


if __name__ == "__main__":
    main()
