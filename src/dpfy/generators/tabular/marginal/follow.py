"""Learning which value follows from which: post-processing of a measured pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpfy.domain.columns import ColumnDomain, NumberDomain
from dpfy.domain.rules import Following
from dpfy.generators.tabular.marginal.belief import summed
from dpfy.generators.tabular.marginal.estimate import TreeModel


def learn_following(
    model: TreeModel, domains: Sequence[ColumnDomain], links: Sequence[tuple[int, int]]
) -> tuple[Following, ...]:
    """Finds for each code of a column the most probable code of its follower.

    Args:
        model: fitted; the pairs were measured.
        domains: of the model columns.
        links: (column, follower) pairs, in the owner's order.

    Returns:
        One function a link, ordered so that a column is set before what follows it.
    """
    beliefs = model.beliefs()
    found = []
    for of, column in links:
        home = model.tree.home((of, column))
        joint = summed(beliefs.tables[home], model.tree.cliques[home], tuple(sorted((of, column))))
        if of > column:
            joint = joint.T
        joint = np.array(joint)
        catch_all = domains[column].other_code
        if catch_all is not None and domains[column].cells > 1:
            joint[:, catch_all] = -1.0
        codes = joint.argmax(axis=1)
        found.append(Following(column=column, of=of, codes=tuple(codes.tolist()), keys=_keys(domains[column], codes)))
    return _in_order(found)


def _keys(domain: ColumnDomain, codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[int, ...] | None:
    if not isinstance(domain, NumberDomain):
        return None
    keys = []
    for code in codes.tolist():
        if code < domain.bins:
            first, last = int(domain.piece_start[code]), int(domain.piece_start[code + 1])
            piece = first + int(np.argmax(domain.piece_weight[first:last]))
            keys.append(int(domain.piece_low[piece]) + int(domain.piece_width[piece] - 1) // 2)
        elif code < domain.bins + len(domain.atoms):
            keys.append(int(domain.atoms[code - domain.bins]))
        else:
            keys.append(0)
    return tuple(keys)


def _in_order(found: Sequence[Following]) -> tuple[Following, ...]:
    ordered: list[Following] = []
    waiting = list(found)
    while waiting:
        followers = {f.column for f in waiting}
        ready = [f for f in waiting if f.of not in followers] or waiting[:1]
        ordered += ready
        waiting = [f for f in waiting if f not in ready]
    return tuple(ordered)
