"""Public parameters of the marginal generator: nothing here may depend on data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


def _between(epsilon: float, at: tuple[float, ...], values: tuple[float, ...]) -> float:
    return float(np.interp(np.log(epsilon), np.log(at), values))


@dataclass(frozen=True, kw_only=True)
class MarginalParams:
    """How the budget is split and how large the model may grow.

    Args:
        count_share: of the budget for the number of records or users.
        one_way_share: of what is left after count and domain.
        select_share: of what is left after count and domain.
        clique_limit: most cells of a clique.
        penalty: weight of the ridge in estimation.
        noise_penalty: what a pair's expected noise counts against its error in selection.
        target_weight: how much more a pair with the declared target counts.
        iterations: most iterations of estimation.
        target: index of the target's model column, or None.
        forced: pairs of model columns that are measured in any case (they follow from each other).
        drawn_first: model columns that are constant within a user.
    """

    count_share: float = 0.01
    one_way_share: float = 0.08
    select_share: float = 0.02
    clique_limit: int = 200_000
    penalty: float
    noise_penalty: float = 0.32
    target_weight: float = 2.0
    iterations: int = 160
    target: int | None = None
    forced: tuple[tuple[int, int], ...] = ()
    drawn_first: frozenset[int] = field(default_factory=frozenset)

    @classmethod
    def for_epsilon(
        cls,
        epsilon: float,
        *,
        target: int | None = None,
        count_share: float = 0.01,
        forced: tuple[tuple[int, int], ...] = (),
        drawn_first: frozenset[int] = frozenset(),
    ) -> MarginalParams:
        """The split that docs/benchmarks.md reports for an epsilon.

        Args:
            epsilon: target.
            target: index of the target's model column, or None.
            count_share: of the budget for the number of records or users.
            forced: pairs that are measured in any case.
            drawn_first: model columns that are constant within a user.

        **Source:** measured on Adult; see the ablation there.
        """
        return cls(
            count_share=count_share,
            penalty=_between(epsilon, (1.0, 3.0, 10.0), (0.01, 0.02, 0.1)),
            target=target,
            forced=forced,
            drawn_first=drawn_first,
        )


Progress = Callable[[str, float], None]
"""Called with a stage's name and the share of it that is done."""
