"""Drawn tables lie nearer to the model than independent draws would: in one batch, over batches, and with users."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from dpfy.generators.tabular.marginal.belief import summed
from dpfy.generators.tabular.marginal.draw import Conditional
from dpfy.generators.tabular.marginal.estimate import TreeModel
from dpfy.generators.tabular.marginal.sampler import MarginalGenerator
from dpfy.generators.tabular.marginal.tree import clique_tree

SIZES = (4, 6, 3, 5, 2)
PAIRS = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]
INDEPENDENT = 1.0
"""Mean of (count - expected)**2 / (n p (1 - p)) over cells for independent draws."""


def generator(rows_per_user: Sequence[float] = (1.0,), drawn_first: frozenset[int] = frozenset()) -> MarginalGenerator:
    rng = np.random.default_rng(5)
    tree = clique_tree(PAIRS, SIZES, drawn_first=drawn_first)
    model = TreeModel(
        tree=tree,
        base=tuple(rng.dirichlet(np.full(s, 3.0)) for s in SIZES),
        columns=tuple(PAIRS),
        theta=tuple(rng.normal(0, 0.7, (SIZES[i], SIZES[j])) for i, j in PAIRS),
    )
    return MarginalGenerator(model, drawn_first, np.array(rows_per_user), (None,) * len(SIZES))


def expected(model: TreeModel, columns: tuple[int, ...]) -> np.ndarray:
    home = model.tree.home(columns)
    return summed(model.beliefs().tables[home], model.tree.cliques[home], columns)


def error(made: MarginalGenerator, batches: Sequence[int], columns: tuple[int, ...], seed: int) -> float:
    rng = np.random.default_rng(seed)
    drawn = [made.draw(rows, rng).codes for rows in batches]
    codes = [np.concatenate([part[c] for part in drawn]) for c in range(len(SIZES))]
    shape = tuple(SIZES[c] for c in columns)
    flat = np.ravel_multi_index(tuple(codes[c] for c in columns), shape)
    share = expected(made.model, columns).ravel()
    rows = sum(batches)
    off = np.bincount(flat, minlength=len(share)) - rows * share
    return float(np.mean(off**2 / (rows * share * (1 - share))))


def mean_error(made: MarginalGenerator, batches: Sequence[int], of: Sequence[tuple[int, ...]]) -> float:
    return float(np.mean([error(made, batches, columns, seed) for columns in of for seed in range(20)]))


def independently(
    self: Conditional, codes: Sequence[np.ndarray | None], rows: int, rng: np.random.Generator
) -> np.ndarray:
    """What drawing would be without rounding."""
    group = np.zeros(rows, dtype=np.int64)
    for parent, size in zip(self.parents, self.sizes, strict=True):
        group = group * size + codes[parent]
    table = np.diff(self.cumulative, prepend=0.0).reshape(-1, self.cells)
    share = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)[group]
    return (rng.random(rows)[:, None] > share[:, :-1]).sum(axis=1).astype(np.int32)


ONE_WAYS = [(c,) for c in range(len(SIZES))]
USERS = (0.2, 0.3, 0.5)

CASES: dict[str, Callable[[], float]] = {
    "columns of one batch": lambda: mean_error(generator(), [4000], ONE_WAYS),
    "pairs of one batch": lambda: mean_error(generator(), [4000], PAIRS),
    "columns over batches": lambda: mean_error(generator(), [1000] * 8, ONE_WAYS),
    "pairs over batches": lambda: mean_error(generator(), [1000] * 8, PAIRS),
    "columns with users": lambda: mean_error(generator(USERS), [4000], ONE_WAYS),
    "pairs with users": lambda: mean_error(generator(USERS), [4000], PAIRS),
    "what changes within users": lambda: mean_error(generator(USERS, frozenset({0})), [4000], ONE_WAYS[1:]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_error_is_well_below_that_of_independent_draws(case: str) -> None:
    assert CASES[case]() < 0.5 * INDEPENDENT


@pytest.mark.parametrize("case", CASES)
def test_independent_draws_would_be_noticed(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conditional, "draw", independently)
    assert CASES[case]() > 0.75 * INDEPENDENT


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows: int) -> None:
    drawn = generator().draw(rows, np.random.default_rng(0))
    assert [len(c) for c in drawn.codes] == [rows] * len(SIZES)
    assert all(((c >= 0) & (c < s)).all() for c, s in zip(drawn.codes, SIZES, strict=True))
