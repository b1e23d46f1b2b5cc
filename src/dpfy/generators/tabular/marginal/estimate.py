"""Maximum-entropy estimation of a clique-tree model from noisy marginals.

Post-processing: sees noisy tables only. The dual of the penalised problem is minimised by L-BFGS, in variables that
are scaled to equal curvature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dpfy.generators.tabular.marginal.belief import Beliefs, aligned, calibrate
from dpfy.generators.tabular.marginal.inference import Inference
from dpfy.generators.tabular.marginal.tree import CliqueTree

Floats = NDArray[np.float64]
_SMALLEST_EXPONENT = -60.0


@dataclass(frozen=True, kw_only=True)
class NoisyMarginal:
    """A measured marginal.

    Args:
        columns: ascending column indices, one or more.
        counts: float64, one axis a column; noisy, in records.
        variance: of each cell's noise, a scalar or an array that broadcasts over counts.
    """

    columns: tuple[int, ...]
    counts: Floats
    variance: float | Floats


@dataclass(frozen=True, kw_only=True)
class TreeModel:
    """p(x) proportional to the product of the base 1-way tables and the exponentials of theta.

    Args:
        tree: the cliques.
        base: a 1-way probability table for each column.
        columns: columns of each theta table.
        theta: float64 tables.
    """

    tree: CliqueTree
    base: tuple[Floats, ...]
    columns: tuple[tuple[int, ...], ...]
    theta: tuple[Floats, ...]

    def potentials(self) -> list[Floats]:
        """One non-negative table a clique."""
        tables = _log_base(self.tree, self.base)
        for columns, theta in zip(self.columns, self.theta, strict=True):
            home = self.tree.home(columns)
            tables[home] += aligned(theta, columns, self.tree.cliques[home])
        for table in tables:
            _exponentiate(table)
        return tables

    def beliefs(self) -> Beliefs:
        """Clique marginals."""
        return calibrate(self.tree, self.potentials())


def estimate(
    tree: CliqueTree,
    base: Sequence[Floats],
    marginals: Sequence[NoisyMarginal],
    *,
    total: float,
    penalty: float,
    iterations: int = 200,
    progress: Callable[[float], None] | None = None,
) -> TreeModel:
    """Fits the model whose marginals come nearest to the noisy ones.

    Minimises total * log Z(theta) - <theta, counts> + penalty/2 * sum variance * theta^2.

    Args:
        tree: every marginal's columns lie within one clique.
        base: 1-way probabilities, positive where mass may fall.
        marginals: measured tables, two or more columns each (1-ways stand in base).
        total: number of records, noisy, > 0.
        penalty: > 0; small follows the counts, large stays near the base.
        iterations: most L-BFGS iterations; public.
        progress: called with the share done.

    Returns:
        The fitted model.
    """
    if not marginals:
        return TreeModel(tree=tree, base=tuple(base), columns=(), theta=())
    columns = tuple(m.columns for m in marginals)
    objective = Objective(tree, base, marginals, total=total, penalty=penalty)
    calls = 0

    def call(scaled: Floats) -> tuple[float, Floats]:
        nonlocal calls
        calls += 1
        if progress is not None:
            progress(min(1.0, calls / (1.1 * iterations)))
        return objective(scaled)

    solved = minimize(
        call,
        np.zeros(objective.parameters),
        jac=True,
        method="L-BFGS-B",
        bounds=None,
        options={"maxiter": iterations, "maxfun": int(1.25 * iterations), "maxcor": 12, "ftol": 1e-12, "gtol": 1e-9},
    )
    return TreeModel(tree=tree, base=tuple(base), columns=columns, theta=tuple(objective.theta(solved.x)))


class Objective:
    """The dual that `estimate` minimises, and its gradient, in variables scaled to about equal curvature.

    Args:
        tree: every marginal's columns lie within one clique.
        base: 1-way probabilities.
        marginals: measured tables, one at least.
        total: number of records, noisy, > 0.
        penalty: weight of the ridge.
    """

    def __init__(
        self,
        tree: CliqueTree,
        base: Sequence[Floats],
        marginals: Sequence[NoisyMarginal],
        *,
        total: float,
        penalty: float,
    ) -> None:
        self._inference = Inference(tree, base, [m.columns for m in marginals])
        self._shapes = [m.counts.shape for m in marginals]
        self._ends = np.cumsum([m.counts.size for m in marginals])[:-1]
        self._target = np.concatenate([m.counts.ravel() for m in marginals])
        self._total = total
        variance = [np.broadcast_to(m.variance, m.counts.shape).ravel() for m in marginals]
        self._ridge = penalty * np.concatenate(variance)
        expected = np.concatenate([total * _product(base, m.columns).ravel() for m in marginals])
        self._scale = 1.0 / np.sqrt(np.maximum(self._target, expected).clip(1.0) + self._ridge)
        self.parameters = len(self._target)

    def theta(self, scaled: Floats) -> list[Floats]:
        """The tables that scaled variables stand for."""
        parts = np.split(scaled * self._scale, self._ends)
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]

    def __call__(self, scaled: Floats) -> tuple[float, Floats]:
        """Value and gradient, both divided by the number of records.

        Args:
            scaled: float64 of shape (parameters,).
        """
        flat = scaled * self._scale
        log_partition, marginals = self._inference.run(self.theta(scaled))
        model = np.concatenate([m.ravel() for m in marginals])
        ridge = self._ridge * flat
        value = self._total * log_partition - float(flat @ self._target) + 0.5 * float(ridge @ flat)
        gradient = self._total * model - self._target + ridge
        return value / self._total, gradient * self._scale / self._total


def _log_base(tree: CliqueTree, base: Sequence[Floats]) -> list[Floats]:
    """Logarithms of the 1-way tables, each added to one clique; -inf where a cell is empty."""
    sizes = [len(b) for b in base]
    tables = [np.zeros([sizes[c] for c in clique]) for clique in tree.cliques]
    for column, table in enumerate(base):
        home = tree.home((column,))
        with np.errstate(divide="ignore"):
            tables[home] += aligned(np.log(table), (column,), tree.cliques[home])
    return tables


def _exponentiate(table: Floats) -> float:
    """Turns logarithms into potentials of at most 1, in place; gives the logarithm that was taken off.

    Cells far below the largest keep a trace, so that products of a clique and its messages never vanish altogether.
    """
    top = float(table.max())
    table -= top
    np.maximum(table, _SMALLEST_EXPONENT, out=table, where=np.isfinite(table))
    np.exp(table, out=table)
    return top


def _product(base: Sequence[Floats], columns: Sequence[int]) -> Floats:
    table = base[columns[0]]
    for column in columns[1:]:
        table = np.multiply.outer(table, base[column])
    return table
