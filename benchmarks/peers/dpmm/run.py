"""dpmm's PrivBayes and MST: categories and ranges declared, bins found by its own private binning."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pandas as pd
from arguments import parse_arguments
from declared_table import read_domain, read_texts
from dpmm.pipelines import MSTPipeline, PrivBayesPipeline

PIPELINES = {"privbayes": PrivBayesPipeline, "mst": MSTPipeline}


def main() -> None:
    given = parse_arguments(__doc__, tuple(PIPELINES))
    columns = read_domain(given.domain)
    table = pd.DataFrame(read_texts(given.train, columns))
    domain = {}
    for column in columns:
        if column.categories:
            domain[column.name] = {"categories": list(column.categories)}
            continue
        numbers = table[column.name].map(column.number).clip(column.lower, column.upper)
        table[column.name] = numbers.astype("int64") if column.whole else numbers
        domain[column.name] = {"lower": column.lower, "upper": column.upper}
    pipeline = PIPELINES[given.mechanism](
        epsilon=given.epsilon,
        proc_epsilon=given.binning_epsilon,
        delta=given.delta,
        compress=True,
        max_model_size=80,
        gen_kwargs={"n_iters": 500},
        n_jobs=1,
    )
    pipeline.fit(table, domain=domain)
    made = pipeline.generate(given.rows)
    for column in columns:
        if column.days:
            made[column.name] = made[column.name].map(column.day)
    made.to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
