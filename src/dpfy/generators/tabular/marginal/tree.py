"""Clique trees: which columns are modelled together, and in which order they are drawn.

Pure graph work on public column sizes and on pairs that were selected privately.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EliminationStep:
    """One column and those it is drawn from.

    Args:
        column: index of the column.
        parents: indices of the columns that are drawn before it and that it depends on.
    """

    column: int
    parents: tuple[int, ...]

    @property
    def clique(self) -> tuple[int, ...]:
        """Column and parents, ascending."""
        return tuple(sorted((self.column, *self.parents)))


@dataclass(frozen=True, kw_only=True)
class CliqueTree:
    """Maximal cliques joined into a forest.

    Args:
        cliques: each an ascending tuple of column indices.
        parent: for each clique the index of its parent, or -1; parents come before children.
        steps: how columns are drawn, in order; each step's clique lies within one of the cliques.
    """

    cliques: tuple[tuple[int, ...], ...]
    parent: tuple[int, ...]
    steps: tuple[EliminationStep, ...]

    def separator(self, index: int) -> tuple[int, ...]:
        """The columns that a clique shares with its parent."""
        if self.parent[index] < 0:
            return ()
        return tuple(sorted(set(self.cliques[index]) & set(self.cliques[self.parent[index]])))

    def home(self, columns: Iterable[int]) -> int:
        """Index of the smallest clique that holds these columns."""
        wanted = set(columns)
        fitting = [i for i, clique in enumerate(self.cliques) if wanted <= set(clique)]
        if not fitting:
            raise KeyError("no clique holds these columns")
        return min(fitting, key=lambda i: (len(self.cliques[i]), self.cliques[i]))


def _cells(columns: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[c] for c in columns)


def neighbours_of(pairs: Iterable[tuple[int, int]], columns: int) -> list[set[int]]:
    """Adjacency sets of the graph whose edges are the pairs."""
    adjacent: list[set[int]] = [set() for _ in range(columns)]
    for i, j in pairs:
        adjacent[i].add(j)
        adjacent[j].add(i)
    return adjacent


def eliminate(
    pairs: Iterable[tuple[int, int]],
    sizes: Sequence[int],
    *,
    drawn_first: frozenset[int] = frozenset(),
    limit: int | None = None,
) -> list[EliminationStep] | None:
    """Triangulates the graph of pairs by weighted min-fill.

    Args:
        pairs: edges.
        sizes: number of cells of each column, >= 1.
        drawn_first: columns that are drawn before all others (they are eliminated last).
        limit: most cells of a clique; None for no limit.

    Returns:
        The steps in elimination order, or None as soon as a clique exceeds the limit.

    **Source:** weighted min-fill, Kjaerulff (1990).
    """
    adjacent = neighbours_of(pairs, len(sizes))
    log_size = [math.log(s) for s in sizes]
    left = set(range(len(sizes)))
    cost: dict[int, tuple[float, float, int]] = {}

    def price(column: int) -> tuple[float, float, int]:
        around = adjacent[column]
        fill = 0.0
        ordered = sorted(around)
        for position, a in enumerate(ordered):
            lacking = around - adjacent[a]
            fill += sum(log_size[a] + log_size[b] for b in ordered[position + 1 :] if b in lacking)
        return (fill, log_size[column] + sum(log_size[a] for a in around), column)

    for column in left:
        cost[column] = price(column)
    steps: list[EliminationStep] = []
    while left:
        free = [c for c in left if c not in drawn_first] or left
        column = min(free, key=cost.__getitem__)
        around = adjacent[column]
        if limit is not None and around and _cells(around, sizes) * sizes[column] > limit:
            return None
        steps.append(EliminationStep(column=column, parents=tuple(sorted(around))))
        touched = set(around)
        for a in around:
            touched |= adjacent[a]
            adjacent[a] |= around
            adjacent[a] -= {a, column}
        left.discard(column)
        adjacent[column] = set()
        for a in touched & left:
            cost[a] = price(a)
    return steps


def clique_tree(
    pairs: Iterable[tuple[int, int]],
    sizes: Sequence[int],
    *,
    drawn_first: frozenset[int] = frozenset(),
) -> CliqueTree:
    """Builds the forest of maximal cliques for a graph of pairs.

    Args:
        pairs: edges.
        sizes: cells of each column.
        drawn_first: columns that are drawn before all others.
    """
    steps = eliminate(pairs, sizes, drawn_first=drawn_first)
    assert steps is not None  # there is no limit
    maximal: list[tuple[int, ...]] = []
    for step in sorted(steps, key=lambda s: -len(s.clique)):
        members = set(step.clique)
        if not any(members <= set(other) for other in maximal):
            maximal.append(step.clique)
    parent_of = _join(maximal, sizes)
    order = _parents_first(parent_of)
    position = {old: new for new, old in enumerate(order)}
    return CliqueTree(
        cliques=tuple(maximal[i] for i in order),
        parent=tuple(-1 if parent_of[i] < 0 else position[parent_of[i]] for i in order),
        steps=tuple(reversed(steps)),
    )


def _join(cliques: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> list[int]:
    """Maximum spanning forest over shared columns (Prim); gives each clique's parent or -1."""
    parent = [-1] * len(cliques)
    placed = [False] * len(cliques)
    best: list[tuple[int, float, int]] = [(0, 0.0, -1)] * len(cliques)
    members = [set(c) for c in cliques]
    for _ in cliques:
        index = max((i for i, done in enumerate(placed) if not done), key=lambda i: (best[i][0], best[i][1], -i))
        placed[index] = True
        parent[index] = best[index][2] if best[index][0] else -1
        for other, done in enumerate(placed):
            if done:
                continue
            shared = members[index] & members[other]
            rank = (len(shared), math.log(_cells(shared, sizes)), index)
            if rank[:2] > best[other][:2]:
                best[other] = rank
    return parent


def _parents_first(parent: Sequence[int]) -> list[int]:
    children: Mapping[int, list[int]] = {i: [] for i in range(-1, len(parent))}
    for child, above in enumerate(parent):
        children[above].append(child)
    order, waiting = [], list(reversed(children[-1]))
    while waiting:
        index = waiting.pop()
        order.append(index)
        waiting.extend(reversed(children[index]))
    return order
