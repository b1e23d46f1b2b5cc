"""Drawing rows from a calibrated tree, column by column, with rounding that keeps the marginals.

Post-processing. Within each group of rows that agree on a column's parents the new values are laid out by systematic
sampling, so that counts differ from their expectation by less than one; which row gets which value is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfy.generators.tabular.marginal.belief import Beliefs, summed
from dpfy.generators.tabular.marginal.tree import CliqueTree

Codes = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Conditional:
    """A column's distribution given its parents.

    Args:
        column: what is drawn.
        parents: what it is drawn from, in axis order.
        sizes: cells of each parent.
        cumulative: float64 of shape (parent cells * cells,): running sums of the joint, parents first.
    """

    column: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    cells: int
    cumulative: NDArray[np.float64]

    @classmethod
    def of_joint(cls, joint: NDArray[np.float64], clique: Sequence[int], column: int) -> Conditional:
        """Arranges a joint table over a clique for drawing one of its columns."""
        axis = list(clique).index(column)
        parents = tuple(c for c in clique if c != column)
        table = np.moveaxis(joint, axis, -1)
        return cls(
            column=column,
            parents=parents,
            sizes=table.shape[:-1],
            cells=table.shape[-1],
            cumulative=np.cumsum(table.ravel()),
        )

    def draw(self, codes: Sequence[Codes | None], rows: int, rng: np.random.Generator) -> Codes:
        """Draws the column for all rows.

        Args:
            codes: drawn columns; those of the parents are there.
            rows: how many.
            rng: sampling randomness; the model is released already, so no privacy hangs on it.

        Returns:
            int32 of shape (rows,).
        """
        shuffled = rng.permutation(rows)
        if self.parents:
            group = np.zeros(rows, dtype=np.int64)
            for parent, size in zip(self.parents, self.sizes, strict=True):
                held = codes[parent]
                assert held is not None
                group = group * size + held
            group = group[shuffled]
            if self.cumulative.size // self.cells <= 1 << 16:
                order = np.argsort(group.astype(np.uint16), kind="stable")
            else:
                order = np.argsort(group, kind="stable")
            group = group[order]
            shuffled = shuffled[order]
        else:
            group = np.zeros(rows, dtype=np.int64)
        drawn = np.empty(rows, dtype=np.int32)
        if rows:
            starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
            drawn[shuffled] = self._laid_out(group[starts], np.diff(np.r_[starts, rows]), rng)
        return drawn

    def _laid_out(
        self, groups: NDArray[np.int64], lengths: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int32]:
        """Values of each group's rows, ascending: row j of n takes the quantile (j + offset) / n."""
        ends = self.cumulative.reshape(-1, self.cells)
        before = np.where(groups > 0, ends[np.maximum(groups - 1, 0), -1], 0.0)
        held = ends[groups] - before[:, None]
        mass = held[:, -1:]
        share = np.divide(held, mass, out=np.zeros_like(held), where=mass > 0)
        share[:, -1] = 1.0
        offset = rng.random(len(groups))
        upto = np.ceil(share * lengths[:, None] - offset[:, None]).astype(np.int64)
        upto = np.clip(upto, 0, lengths[:, None])
        upto[:, -1] = lengths
        counts = np.diff(upto, axis=1, prepend=0)
        return np.repeat(np.tile(np.arange(self.cells, dtype=np.int32), len(groups)), counts.ravel())


def conditionals(tree: CliqueTree, beliefs: Beliefs) -> tuple[Conditional, ...]:
    """The chain of conditionals that draws a row, in order."""
    chain = []
    for step in tree.steps:
        home = tree.home(step.clique)
        joint = summed(beliefs.tables[home], tree.cliques[home], step.clique)
        chain.append(Conditional.of_joint(joint, step.clique, step.column))
    return tuple(chain)


def redraw_without(tree: CliqueTree, beliefs: Beliefs, column: int, excluded: Sequence[int]) -> Conditional | None:
    """A column's distribution given the other columns of its largest clique, with some of its cells left out.

    Args:
        column: whose cell is to be resolved.
        excluded: cells without mass: the catch-all, and missing.

    Returns:
        The conditional, or None when no other cell has mass.
    """
    home = max((i for i, c in enumerate(tree.cliques) if column in c), key=lambda i: len(tree.cliques[i]))
    clique = tree.cliques[home]
    axis = clique.index(column)
    joint = np.moveaxis(np.array(beliefs.tables[home]), axis, -1)
    joint[..., list(excluded)] = 0.0
    alone = joint.reshape(-1, joint.shape[-1]).sum(axis=0)
    if alone.sum() <= 0:
        return None
    # Groups whose mass lay in excluded cells alone fall back on the column's own distribution.
    empty = joint.sum(axis=-1, keepdims=True) <= 1e-12
    joint = np.where(empty, alone * 1e-12, joint)
    return Conditional.of_joint(np.moveaxis(joint, -1, axis), clique, column)
