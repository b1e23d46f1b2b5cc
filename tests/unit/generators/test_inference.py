"""The fast path of estimation against plain references that enumerate the whole joint."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from dpfy.generators.tabular.marginal.belief import summed
from dpfy.generators.tabular.marginal.estimate import NoisyMarginal, Objective, TreeModel, estimate
from dpfy.generators.tabular.marginal.inference import CliquePlan, Inference
from dpfy.generators.tabular.marginal.tree import CliqueTree, clique_tree

Tables = list[np.ndarray]


def _random_model(seed: int) -> tuple[CliqueTree, Tables, list[tuple[int, ...]]]:
    """A tree over 3 to 6 small columns with random pairs, and triples where a clique holds three columns."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, rng.integers(3, 7)).tolist()
    pairs = [p for p in itertools.combinations(range(len(sizes)), 2) if rng.random() < 0.45]
    tree = clique_tree(pairs, sizes)
    columns: list[tuple[int, ...]] = list(pairs)
    columns += [clique[:3] for clique in tree.cliques if len(clique) >= 3]
    base = [rng.dirichlet(np.ones(size)) for size in sizes]
    if sizes[0] > 2:
        base[0][1] = 0.0  # a cell without mass, as missing may be
        base[0] /= base[0].sum()
    return tree, base, columns or [(0,)]


def _joint(base: Tables, columns: list[tuple[int, ...]], theta: Tables) -> tuple[float, np.ndarray]:
    """Log partition and probabilities by enumeration of every cell."""
    sizes = [len(table) for table in base]
    joint = np.ones(sizes)
    for column, table in enumerate(base):
        joint = joint * table.reshape([-1 if c == column else 1 for c in range(len(sizes))])
    for members, table in zip(columns, theta, strict=True):
        joint = joint * np.exp(table).reshape([sizes[c] if c in members else 1 for c in range(len(sizes))])
    mass = joint.sum()
    return float(np.log(mass)), joint / mass


@pytest.mark.parametrize("seed", range(40))
def test_fast_marginals_equal_enumeration(seed: int) -> None:
    tree, base, columns = _random_model(seed)
    rng = np.random.default_rng(seed + 1000)
    theta = [rng.normal(scale=2.0, size=[len(base[c]) for c in members]) for members in columns]
    log_partition, marginals = Inference(tree, base, columns).run(theta)
    expected, joint = _joint(base, columns, theta)
    assert log_partition == pytest.approx(expected, abs=1e-9)
    for members, marginal in zip(columns, marginals, strict=True):
        plain = summed(joint, tuple(range(len(base))), members)
        np.testing.assert_allclose(marginal, plain, atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_fast_marginals_equal_the_plain_tree(seed: int) -> None:
    tree, base, columns = _random_model(seed)
    rng = np.random.default_rng(seed)
    theta = [rng.normal(size=[len(base[c]) for c in members]) for members in columns]
    _, marginals = Inference(tree, base, columns).run(theta)
    model = TreeModel(tree=tree, base=tuple(base), columns=tuple(columns), theta=tuple(theta))
    beliefs = model.beliefs()
    for members, marginal in zip(columns, marginals, strict=True):
        home = tree.home(members)
        np.testing.assert_allclose(marginal, summed(beliefs.tables[home], tree.cliques[home], members), atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_estimate_equals_a_plain_dense_reference(seed: int) -> None:
    """The whole estimation against BFGS on the enumerated joint with plain formulas: same marginals to 1e-6."""
    tree, base, columns = _random_model(seed)
    base = [np.maximum(table, 0.05) / np.maximum(table, 0.05).sum() for table in base]
    rng = np.random.default_rng(seed)
    total = 500.0
    true = rng.dirichlet(np.full(int(np.prod([len(b) for b in base])), 0.5)).reshape([len(b) for b in base])
    marginals = [
        NoisyMarginal(
            columns=members,
            counts=total * summed(true, tuple(range(len(base))), members)
            + rng.normal(scale=4.0, size=[len(base[c]) for c in members]),
            variance=16.0,
        )
        for members in columns
    ]
    model = estimate(tree, base, marginals, total=total, penalty=0.1, iterations=3000)
    shapes = [m.counts.shape for m in marginals]
    ends = np.cumsum([m.counts.size for m in marginals])[:-1]

    def plain(flat: np.ndarray) -> tuple[float, np.ndarray]:
        theta = [part.reshape(shape) for part, shape in zip(np.split(flat, ends), shapes, strict=True)]
        log_partition, joint = _joint(base, columns, theta)
        value = total * log_partition
        gradient = []
        for marginal, table in zip(marginals, theta, strict=True):
            value += float((-table * marginal.counts + 0.05 * 16.0 * table**2).sum())
            expected = total * summed(joint, tuple(range(len(base))), marginal.columns)
            gradient.append((expected - marginal.counts + 0.1 * 16.0 * table).ravel())
        return value / total, np.concatenate(gradient) / total

    size = sum(m.counts.size for m in marginals)
    solved = minimize(plain, np.zeros(size), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    theta = [part.reshape(shape) for part, shape in zip(np.split(solved.x, ends), shapes, strict=True)]
    _, joint = _joint(base, columns, theta)
    beliefs = model.beliefs()
    for clique, table in zip(tree.cliques, beliefs.tables, strict=True):
        np.testing.assert_allclose(table, summed(joint, tuple(range(len(base))), clique), atol=1e-6)


def test_gradient_equals_finite_differences() -> None:
    tree, base, columns = _random_model(3)
    rng = np.random.default_rng(3)
    base = [np.maximum(table, 0.05) / np.maximum(table, 0.05).sum() for table in base]
    marginals = [
        NoisyMarginal(columns=c, counts=rng.uniform(0, 9, size=[len(base[k]) for k in c]), variance=2.0)
        for c in columns
    ]
    objective = Objective(tree, base, marginals, total=100.0, penalty=0.05)
    point = rng.normal(size=objective.parameters)
    _, gradient = objective(point)
    for index in range(objective.parameters):
        step = np.zeros(objective.parameters)
        step[index] = 1e-5
        slope = (objective(point + step)[0] - objective(point - step)[0]) / 2e-5
        assert gradient[index] == pytest.approx(slope, abs=1e-7)


def test_a_plan_touches_the_whole_table_few_times() -> None:
    """All ten pairs of five columns cost at most three sums over the whole table, not ten."""
    sizes = [4, 5, 6, 7, 8]
    wanted = [frozenset(p) for p in itertools.combinations(range(5), 2)]
    plan = CliquePlan(range(5), sizes, wanted)
    assert all(w in plan.place for w in wanted)
    assert sum(node.above == 0 for node in plan.nodes) <= 3


def test_far_apart_parameters_stay_finite() -> None:
    tree, base, columns = _random_model(5)
    theta = [np.zeros([len(base[c]) for c in members]) for members in columns]
    for table in theta:
        table.flat[0] = 900.0
        table.flat[-1] = -900.0
    log_partition, marginals = Inference(tree, base, columns).run(theta)
    assert np.isfinite(log_partition)
    for marginal in marginals:
        assert np.isfinite(marginal).all()
        assert marginal.sum() == pytest.approx(1.0)
