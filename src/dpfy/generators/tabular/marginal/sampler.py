"""Drawing rows from a fitted marginal generator: post-processing, needs no more than what was sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpfy.errors import SealBrokenError
from dpfy.generators.protocol import Arrays, DrawnRows
from dpfy.generators.tabular.marginal.belief import Beliefs
from dpfy.generators.tabular.marginal.draw import Codes, Conditional, conditionals, redraw_without
from dpfy.generators.tabular.marginal.estimate import TreeModel
from dpfy.generators.tabular.marginal.tree import clique_tree


@dataclass(frozen=True)
class MarginalGenerator:
    """A clique-tree model and the number of rows a user has.

    Args:
        model: potentials over the model columns.
        drawn_first: model columns that keep one value within a user.
        rows_per_user: float64 of shape (cap,): share of users with 1..cap rows; (1.0,) when the unit is a record.
        unresolved: for each model column the code that is redrawn, and those that it must not become; or None.
    """

    model: TreeModel
    drawn_first: frozenset[int]
    rows_per_user: NDArray[np.float64]
    unresolved: tuple[tuple[int, ...] | None, ...]

    family: ClassVar[str] = "marginal"

    @cached_property
    def _beliefs(self) -> Beliefs:
        return self.model.beliefs()

    @cached_property
    def _chain(self) -> tuple[Conditional, ...]:
        return conditionals(self.model.tree, self._beliefs)

    @cached_property
    def _redrawn(self) -> dict[int, Conditional]:
        found = {}
        for column, codes in enumerate(self.unresolved):
            if codes is None:
                continue
            conditional = redraw_without(self.model.tree, self._beliefs, column, codes)
            if conditional is not None:
                found[column] = conditional
        return found

    def draw(self, rows: int, rng: np.random.Generator) -> DrawnRows:
        """See `FittedGenerator.draw`."""
        user = self._users(rows, rng)
        users = int(user[-1]) + 1 if rows else 0
        codes: list[Codes | None] = [None] * len(self.model.base)
        spread = False
        for conditional in self._chain:
            if conditional.column in self.drawn_first:
                codes[conditional.column] = self._resolve(codes, conditional, users, rng)
                continue
            if not spread:
                codes = [c if c is None else c[user] for c in codes]
                spread = True
            codes[conditional.column] = conditional.draw(codes, rows, rng)
        if not spread:
            codes = [c if c is None else c[user] for c in codes]
        for column in self._redrawn:
            if column not in self.drawn_first:
                self._redraw(codes, column, rng)
        done = [c for c in codes if c is not None]
        return DrawnRows(codes=done, user=user)

    def _resolve(
        self, codes: Sequence[Codes | None], conditional: Conditional, users: int, rng: np.random.Generator
    ) -> Codes:
        # A column that is constant within a user is resolved before rows are drawn, so that it stays constant.
        drawn = conditional.draw(codes, users, rng)
        excluded = self.unresolved[conditional.column]
        if excluded is None or conditional.column not in self._redrawn:
            return drawn
        hit = np.flatnonzero(drawn == excluded[0])
        alone = Conditional.of_joint(
            self._alone(conditional.column, excluded), (conditional.column,), conditional.column
        )
        drawn[hit] = alone.draw([], len(hit), rng)
        return drawn

    def _alone(self, column: int, excluded: tuple[int, ...]) -> NDArray[np.float64]:
        table = self._beliefs.tables[self.model.tree.home((column,))]
        axis = self.model.tree.cliques[self.model.tree.home((column,))].index(column)
        alone = np.moveaxis(table, axis, -1).reshape(-1, table.shape[axis]).sum(axis=0)
        alone[list(excluded)] = 0.0
        return np.asarray(alone, dtype=np.float64)

    def _redraw(self, codes: list[Codes | None], column: int, rng: np.random.Generator) -> None:
        held = codes[column]
        assert held is not None
        excluded = self.unresolved[column]
        assert excluded is not None
        hit = np.flatnonzero(held == excluded[0])
        if not len(hit):
            return
        around = [c if c is None else c[hit] for c in codes]
        held[hit] = self._redrawn[column].draw(around, len(hit), rng)

    def _users(self, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        if len(self.rows_per_user) == 1:
            return np.arange(rows, dtype=np.int64)
        lengths = np.arange(1, len(self.rows_per_user) + 1)
        mean = float(self.rows_per_user @ lengths)
        sizes = np.zeros(0, dtype=np.int64)
        while sizes.sum() < rows:
            wanted = int((rows - sizes.sum()) / mean) + 1
            place = (np.arange(wanted) + rng.random()) / wanted
            more = 1 + np.searchsorted(np.cumsum(self.rows_per_user), place * self.rows_per_user.sum())
            sizes = np.concatenate([sizes, np.minimum(more, len(lengths))])
        sizes = rng.permutation(sizes)
        ends = np.cumsum(sizes)
        last = int(np.searchsorted(ends, rows)) if rows else -1
        sizes = sizes[: last + 1]
        if rows:
            sizes[-1] -= int(sizes.sum()) - rows
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """See `FittedGenerator.to_parts`."""
        data = {
            "columns": [list(c) for c in self.model.columns],
            "drawn_first": sorted(self.drawn_first),
            "rows_per_user": self.rows_per_user.tolist(),
        }
        arrays = {f"base_{i}": base for i, base in enumerate(self.model.base)}
        arrays |= {f"theta_{i}": theta.astype(np.float32) for i, theta in enumerate(self.model.theta)}
        return data, arrays


class MarginalFamily:
    """Reads fitted marginal generators."""

    def from_parts(
        self, data: Mapping[str, Any], arrays: Arrays, unresolved: Sequence[tuple[int, ...] | None]
    ) -> MarginalGenerator:
        """See `GeneratorFamily.from_parts`."""
        try:
            base = tuple(
                np.asarray(arrays[f"base_{i}"], dtype=np.float64)
                for i in range(sum(name.startswith("base_") for name in arrays))
            )
            columns = tuple(tuple(int(c) for c in pair) for pair in data["columns"])
            theta = tuple(np.asarray(arrays[f"theta_{i}"], dtype=np.float64) for i in range(len(columns)))
            drawn_first = frozenset(int(c) for c in data["drawn_first"])
            pairs = [(p[0], p[1]) for p in columns]
            tree = clique_tree(pairs, [len(b) for b in base], drawn_first=drawn_first)
            rows_per_user = np.asarray(data["rows_per_user"], dtype=np.float64)
        except (KeyError, TypeError, ValueError, IndexError):
            raise SealBrokenError("the generator's model can't be read: it is damaged.") from None
        return MarginalGenerator(
            TreeModel(tree=tree, base=base, columns=columns, theta=theta),
            drawn_first,
            rows_per_user,
            tuple(unresolved),
        )


FAMILY = MarginalFamily()
