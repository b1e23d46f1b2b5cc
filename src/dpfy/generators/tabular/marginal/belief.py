"""Exact inference on a clique tree with dense arrays: sum-product, no compilation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfy.generators.tabular.marginal.tree import CliqueTree

Floats = NDArray[np.float64]


def aligned(table: Floats, columns: Sequence[int], clique: Sequence[int]) -> Floats:
    """Views a table over some of a clique's columns so that it broadcasts over the clique.

    Args:
        table: float64, one axis for each of `columns` (ascending).
        columns: ascending column indices, a subset of clique.
        clique: ascending column indices.

    Returns:
        A view with one axis for each column of the clique, length 1 where the table has none.
    """
    present = set(columns)
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if c in present else 1 for c in clique])


def summed(table: Floats, clique: Sequence[int], columns: Sequence[int]) -> Floats:
    """Sums a clique's table down to some of its columns (both ascending)."""
    keep = set(columns)
    away = tuple(axis for axis, c in enumerate(clique) if c not in keep)
    return np.asarray(table.sum(axis=away)) if away else table


@dataclass(frozen=True, kw_only=True)
class Beliefs:
    """Clique marginals of a model.

    Args:
        tables: for each clique a float64 array that sums to 1.
        log_partition: log of the normalising constant.
    """

    tables: tuple[Floats, ...]
    log_partition: float


def calibrate(tree: CliqueTree, potentials: Sequence[Floats]) -> Beliefs:
    """Computes all clique marginals by two passes over the tree.

    Args:
        tree: the cliques; parents come first.
        potentials: non-negative float64 tables, one for each clique; each component has some mass.

    Returns:
        Marginals and the log partition function.

    **Source:** Lauritzen and Spiegelhalter (1988), Hugin form; messages are scaled to sum 1.
    """
    tables = [np.array(p) for p in potentials]
    upward: list[Floats | None] = [None] * len(tables)
    log_partition = 0.0
    for index in reversed(range(len(tables))):
        above = tree.parent[index]
        separator = tree.separator(index) if above >= 0 else ()
        message = summed(tables[index], tree.cliques[index], separator)
        mass = float(message.sum())
        log_partition += math.log(mass)
        tables[index] /= mass
        if above >= 0 and separator:
            scaled = message / mass
            upward[index] = scaled
            tables[above] *= aligned(scaled, separator, tree.cliques[above])
    for index in range(len(tables)):
        above, sent = tree.parent[index], upward[index]
        if above < 0 or sent is None:
            continue
        separator = tree.separator(index)
        wanted = summed(tables[above], tree.cliques[above], separator)
        ratio = np.divide(wanted, sent, out=np.zeros_like(wanted), where=sent > 0)
        tables[index] *= aligned(ratio, separator, tree.cliques[index])
    return Beliefs(tables=tuple(tables), log_partition=log_partition)
