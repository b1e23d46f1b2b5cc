"""The clique tree's inference and drawing, held against brute-force enumeration on small models."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpfy.generators.tabular.marginal.belief import summed
from dpfy.generators.tabular.marginal.draw import conditionals, redraw_without
from dpfy.generators.tabular.marginal.estimate import NoisyMarginal, TreeModel, estimate
from dpfy.generators.tabular.marginal.tree import clique_tree, eliminate


def brute_force(model: TreeModel) -> np.ndarray:
    sizes = [len(b) for b in model.base]
    joint = np.ones(sizes)
    for cell in itertools.product(*(range(s) for s in sizes)):
        value = 0.0
        for columns, theta in zip(model.columns, model.theta, strict=True):
            value += theta[tuple(cell[c] for c in columns)]
        joint[cell] = np.exp(value) * np.prod([model.base[c][cell[c]] for c in range(len(sizes))])
    return joint / joint.sum()


def random_model(seed: int) -> TreeModel:
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(2, 7))
    sizes = [int(s) for s in rng.integers(1, 5, columns)]
    pairs = [p for p in itertools.combinations(range(columns), 2) if rng.random() < 0.5]
    tree = clique_tree(pairs, sizes)
    theta = tuple(rng.normal(0, 1.5, (sizes[i], sizes[j])) for i, j in pairs)
    base = tuple(rng.dirichlet(np.ones(s)) for s in sizes)
    return TreeModel(tree=tree, base=base, columns=tuple(pairs), theta=theta)


@pytest.mark.parametrize("seed", range(25))
def test_clique_marginals_equal_enumeration(seed: int) -> None:
    model = random_model(seed)
    joint = brute_force(model)
    everything = tuple(range(joint.ndim))
    beliefs = model.beliefs()
    for clique, table in zip(model.tree.cliques, beliefs.tables, strict=True):
        np.testing.assert_allclose(table, summed(joint, everything, clique), atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_drawn_rows_follow_the_joint(seed: int) -> None:
    model = random_model(seed)
    joint = brute_force(model)
    rows, rng = 40_000, np.random.default_rng(seed)
    codes: list[np.ndarray | None] = [None] * joint.ndim
    for conditional in conditionals(model.tree, model.beliefs()):
        codes[conditional.column] = conditional.draw(codes, rows, rng)
    flat = np.ravel_multi_index(tuple(codes), joint.shape)
    drawn = np.bincount(flat, minlength=joint.size).reshape(joint.shape) / rows
    assert 0.5 * np.abs(drawn - joint).sum() < 0.5 * np.sqrt(joint.size / rows) + 0.004


def test_systematic_drawing_beats_independent_draws() -> None:
    table = np.random.default_rng(0).dirichlet(np.ones(40))
    tree = clique_tree([], [40])
    model = TreeModel(tree=tree, base=(table,), columns=(), theta=())
    drawn = conditionals(tree, model.beliefs())[0].draw([None], 1000, np.random.default_rng(1))
    assert np.abs(np.bincount(drawn, minlength=40) - 1000 * table).max() < 1.0


@pytest.mark.parametrize("seed", range(6))
def test_estimation_recovers_marginals_when_noise_vanishes(seed: int) -> None:
    model = random_model(seed + 100)
    joint = brute_force(model)
    everything = tuple(range(joint.ndim))
    total = 10_000.0
    base = [summed(joint, everything, (c,)) for c in everything]
    measured = [
        NoisyMarginal(columns=p, counts=total * summed(joint, everything, p), variance=1e-6) for p in model.columns
    ]
    fitted = estimate(model.tree, base, measured, total=total, penalty=1e-3, iterations=400)
    beliefs = fitted.beliefs()
    for marginal in measured:
        home = model.tree.home(marginal.columns)
        found = summed(beliefs.tables[home], model.tree.cliques[home], marginal.columns)
        np.testing.assert_allclose(found, marginal.counts / total, atol=2e-4)


def test_columns_drawn_first_have_no_later_parents() -> None:
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3)]
    tree = clique_tree(pairs, [3] * 5, drawn_first=frozenset({2, 4}))
    assert {step.column for step in tree.steps[:2]} == {2, 4}
    for step in tree.steps[:2]:
        assert set(step.parents) <= {2, 4}


def test_limit_refuses_large_cliques() -> None:
    assert eliminate([(0, 1), (1, 2), (0, 2)], [10, 10, 10], limit=999) is None
    assert eliminate([(0, 1), (1, 2), (0, 2)], [10, 10, 10], limit=1000) is not None


def test_excluded_cell_is_redrawn_from_its_neighbours() -> None:
    joint = np.array([[0.3, 0.0, 0.1], [0.0, 0.3, 0.3]])
    tree = clique_tree([(0, 1)], [2, 3])
    model = TreeModel(
        tree=tree, base=(np.ones(2) / 2, np.ones(3) / 3), columns=((0, 1),), theta=(np.log(joint + 1e-12),)
    )
    conditional = redraw_without(tree, model.beliefs(), 1, (2,))
    assert conditional is not None
    rows = np.repeat(np.array([0, 1], dtype=np.int32), 500)
    drawn = conditional.draw([rows, None], 1000, np.random.default_rng(0))
    assert (drawn == rows).mean() > 0.999
