"""Fast inference for estimation: the model's marginals and log partition for many parameters on one clique tree.

`belief.calibrate` is the plain form of the same and the reference in tests. Here a clique's table is built from its
small factors, and summed down to its small marginals, one axis at a time along the same plan, so that only a few
operations touch a whole table and no exponential is taken of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfy.generators.tabular.marginal.tree import CliqueTree

Floats = NDArray[np.float64]
Columns = tuple[int, ...]
_SMALLEST_EXPONENT = -60.0


@dataclass(frozen=True, kw_only=True)
class _Node:
    """A marginal of a clique: its parent's with one axis summed out.

    Args:
        columns: in the clique's order of axes.
        above: index of the parent node; -1 for the whole clique.
        before: cells of the parent's axes before the one that is summed out.
        away: cells of that axis.
        after: cells of the axes behind it.
    """

    columns: Columns
    above: int
    before: int
    away: int
    after: int


class CliquePlan:
    """Which sums lead from a clique's table to the marginals that are wanted, and back from factors to the table.

    Args:
        clique: column indices.
        sizes: cells of every column.
        wanted: proper or improper subsets of the clique.
    """

    def __init__(self, clique: Sequence[int], sizes: Sequence[int], wanted: Sequence[frozenset[int]]) -> None:
        # The largest axis last: sums and products then run along it.
        self.columns: Columns = tuple(sorted(clique, key=lambda c: (sizes[c], c)))
        self.sizes = sizes
        self.nodes: list[_Node] = [_Node(columns=self.columns, above=-1, before=1, away=1, after=1)]
        self.place: dict[frozenset[int], int] = {frozenset(clique): 0}
        self._divide(0, set(wanted) - {frozenset(clique)})
        self._children: list[list[int]] = [[] for _ in self.nodes]
        for index, node in enumerate(self.nodes[1:], start=1):
            self._children[node.above].append(index)
        self._whole = np.empty(self.cells(0))
        self._ones = {n.away: np.ones(n.away) for n in self.nodes}

    def cells(self, node: int) -> int:
        """Cells of a node's table."""
        return math.prod(self.sizes[c] for c in self.nodes[node].columns)

    def _divide(self, index: int, wanted: set[frozenset[int]]) -> None:
        left = set(wanted)
        columns = self.nodes[index].columns
        while left:
            # The axis whose removal serves most, the largest among equals.
            axis = max(columns, key=lambda c: (sum(c not in w for w in left), self.sizes[c]))
            served = {w for w in left if axis not in w}
            left -= served
            at = columns.index(axis)
            rest = columns[:at] + columns[at + 1 :]
            child = len(self.nodes)
            self.nodes.append(
                _Node(
                    columns=rest,
                    above=index,
                    before=math.prod(self.sizes[c] for c in columns[:at]),
                    away=self.sizes[axis],
                    after=math.prod(self.sizes[c] for c in columns[at + 1 :]),
                )
            )
            members = frozenset(rest)
            if members in served:
                self.place.setdefault(members, child)
            self._divide(child, served - {members})

    def product(self, factors: dict[int, Floats]) -> Floats:
        """The clique's table: the product of its factors.

        Args:
            factors: by node, flat.

        Returns:
            Flat table in a buffer that the next call overwrites.
        """
        held: list[Floats | None] = [factors.get(i) for i in range(len(self.nodes))]
        for index in reversed(range(len(self.nodes))):
            children = [c for c in self._children[index] if held[c] is not None]
            if not children:
                continue
            out = self._whole if index == 0 else np.empty(self.cells(index))
            table: Floats | None = held[index]
            for child in children:
                node, part = self.nodes[child], held[child]
                assert part is not None
                shape = (node.before, node.away, node.after)
                spread = part.reshape(node.before, 1, node.after)
                if table is None:
                    out.reshape(shape)[...] = spread
                else:
                    np.multiply(table.reshape(shape), spread, out=out.reshape(shape))
                table = out
            held[index] = table
        if held[0] is None:
            self._whole.fill(1.0)
        elif held[0] is not self._whole:
            self._whole[:] = held[0]
        return self._whole

    def marginals(self, table: Floats, nodes: Sequence[int]) -> list[Floats]:
        """Sums the clique's table down to some nodes.

        Args:
            table: flat.
            nodes: which marginals are wanted.

        Returns:
            Flat tables.
        """
        held: dict[int, Floats] = {0: table}

        def of(index: int) -> Floats:
            if index not in held:
                node = self.nodes[index]
                held[index] = self._sum(of(node.above), node)
            return held[index]

        return [of(node) for node in nodes]

    def _sum(self, table: Floats, node: _Node) -> Floats:
        if node.after == 1:
            return table.reshape(node.before, node.away) @ self._ones[node.away]
        if node.before == 1:
            return self._ones[node.away] @ table.reshape(node.away, node.after)
        return np.asarray(table.reshape(node.before, node.away, node.after).sum(axis=1).ravel())


@dataclass(frozen=True, kw_only=True)
class _Factor:
    """Where a measured marginal lives: clique, node, and how its axes are turned to the node's order."""

    clique: int
    node: int
    axes: tuple[int, ...]
    shape: tuple[int, ...]


class Inference:
    """Log partition and marginals of p(x) ~ product of base 1-ways and exp(theta) tables on a clique tree.

    Args:
        tree: the cliques.
        base: a 1-way table for each column.
        columns: of each theta table, ascending; each set lies within one clique.
    """

    def __init__(self, tree: CliqueTree, base: Sequence[Floats], columns: Sequence[Columns]) -> None:
        sizes = [len(table) for table in base]
        self._tree = tree
        homes = [tree.home(c) for c in columns]
        alone = [tree.home((c,)) for c in range(len(base))]
        self._separators = [frozenset(tree.separator(i)) for i in range(len(tree.cliques))]
        self._plans: list[CliquePlan] = []
        for index, clique in enumerate(tree.cliques):
            wanted = [frozenset(c) for c, home in zip(columns, homes, strict=True) if home == index]
            wanted += [frozenset((c,)) for c, home in enumerate(alone) if home == index]
            around = [index, *(i for i, above in enumerate(tree.parent) if above == index)]
            wanted += [self._separators[i] for i in around if self._separators[i]]
            self._plans.append(CliquePlan(clique, sizes, wanted))
        self._factors = [self._factor(c, home, sizes) for c, home in zip(columns, homes, strict=True)]
        self._base: list[dict[int, Floats]] = [{} for _ in tree.cliques]
        for column, home in enumerate(alone):
            _multiply(self._base[home], self._plans[home].place[frozenset((column,))], base[column])

    def _factor(self, columns: Columns, clique: int, sizes: Sequence[int]) -> _Factor:
        plan = self._plans[clique]
        node = plan.place[frozenset(columns)]
        axes = tuple(columns.index(c) for c in plan.nodes[node].columns)
        return _Factor(clique=clique, node=node, axes=axes, shape=tuple(sizes[c] for c in columns))

    def run(self, theta: Sequence[Floats]) -> tuple[float, list[Floats]]:
        """Log partition, and the marginal of each theta table's columns, with its shape.

        Args:
            theta: float64 tables.

        Returns:
            Log of the normalising constant, and probabilities.
        """
        tree = self._tree
        factors = [dict(part) for part in self._base]
        log_partition = 0.0
        for place, table in zip(self._factors, theta, strict=True):
            top = float(table.max())
            log_partition += top
            raised = np.exp(np.maximum(table.transpose(place.axes) - top, _SMALLEST_EXPONENT)).ravel()
            _multiply(factors[place.clique], place.node, raised)
        tables: list[Floats] = [np.empty(0)] * len(tree.cliques)
        sent: list[Floats | None] = [None] * len(tree.cliques)
        for index in reversed(range(len(tree.cliques))):
            plan, above = self._plans[index], tree.parent[index]
            table = tables[index] = plan.product(factors[index])
            separator = self._separators[index]
            if above < 0 or not separator:
                mass = float(table.sum())
                table /= mass
            else:
                message = plan.marginals(table, [plan.place[separator]])[0]
                mass = float(message.sum())
                sent[index] = message
                into = self._plans[above]
                _multiply(factors[above], into.place[separator], self._turned(message / mass, index, above))
            log_partition += math.log(mass)
        results: list[Floats] = [np.empty(0)] * len(self._factors)
        from_above: list[Floats] = [np.empty(0)] * len(tree.cliques)
        for index, plan in enumerate(self._plans):
            table, message_up = tables[index], sent[index]
            if message_up is not None:
                wanted = from_above[index]
                ratio = np.divide(wanted, message_up, out=np.zeros_like(wanted), where=message_up > 0)
                self._spread(table, plan, plan.place[self._separators[index]], ratio)
            own = [i for i, f in enumerate(self._factors) if f.clique == index]
            below = [i for i, above in enumerate(tree.parent) if above == index and sent[i] is not None]
            nodes = [self._factors[i].node for i in own] + [plan.place[self._separators[i]] for i in below]
            sums = plan.marginals(table, nodes)
            for i, flat in zip(own, sums, strict=False):
                place = self._factors[i]
                turned = flat.reshape([place.shape[a] for a in place.axes])
                results[i] = turned.transpose(np.argsort(place.axes))
            for i, flat in zip(below, sums[len(own) :], strict=True):
                from_above[i] = self._turned(flat, index, i, of=i)
        return log_partition, results

    def _turned(self, flat: Floats, source: int, goal: int, of: int | None = None) -> Floats:
        """Turns a separator's table from one clique's order of axes to another's."""
        separator = self._separators[source if of is None else of]
        plan, other = self._plans[source], self._plans[goal]
        columns = plan.nodes[plan.place[separator]].columns
        wanted = other.nodes[other.place[separator]].columns
        if columns == wanted:
            return flat
        shape = [plan.sizes[c] for c in columns]
        return np.ascontiguousarray(flat.reshape(shape).transpose([columns.index(c) for c in wanted])).ravel()

    @staticmethod
    def _spread(table: Floats, plan: CliquePlan, node: int, ratio: Floats) -> None:
        kept = set(plan.nodes[node].columns)
        shape = [plan.sizes[c] for c in plan.columns]
        table.reshape(shape)[...] *= ratio.reshape([plan.sizes[c] if c in kept else 1 for c in plan.columns])


def _multiply(factors: dict[int, Floats], node: int, table: Floats) -> None:
    held = factors.get(node)
    factors[node] = table if held is None else held * table
