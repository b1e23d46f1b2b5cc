"""MST (McKenna, Miklau, Sheldon, 2021) written after the paper on mbi's inference, over a domain declared by hand.

One third of rho each for the columns alone, for choosing a spanning tree of pairs, and for measuring its pairs.
The noise is NumPy's: good enough to compare utility, not for a release.
"""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import numpy as np
from arguments import parse_arguments
from declared_table import read_domain, read_texts, write_texts
from mbi import Domain, Factor, LinearMeasurement
from mbi.estimation import MirrorDescent

rng = np.random.default_rng()


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho that the tight conversion of zCDP allows, by bisection."""
    alpha = 1.0 + np.geomspace(1e-3, 1e4, 4000)

    def log_delta(rho: float) -> float:
        return float(np.min((alpha - 1) * (alpha * rho - epsilon) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)))

    low, high = 0.0, epsilon + 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return low


def joint(cells: dict[str, np.ndarray], sizes: dict[str, int], names: tuple[str, ...]) -> np.ndarray:
    """Counts over the product of the named columns, flat."""
    shape = [sizes[name] for name in names]
    flat = np.ravel_multi_index([cells[name] for name in names], shape)
    return np.bincount(flat, minlength=math.prod(shape)).astype(float)


def measured(
    cells: dict[str, np.ndarray], sizes: dict[str, int], cliques: list[tuple[str, ...]], rho: float
) -> list[LinearMeasurement]:
    """Noisy counts of each clique at an equal share of rho."""
    sigma = math.sqrt(len(cliques) / (2 * rho))
    noisy = [joint(cells, sizes, clique) for clique in cliques]
    return [
        LinearMeasurement(counts + rng.normal(0, sigma, len(counts)), clique, sigma)
        for counts, clique in zip(noisy, cliques, strict=True)
    ]


def spanning_tree(gaps: dict[tuple[str, str], float], names: list[str], rho: float) -> list[tuple[str, ...]]:
    """Pairs that join all columns, each drawn by the exponential mechanism; a row moves a gap by at most 1."""
    epsilon = math.sqrt(8 * rho / (len(names) - 1))
    part = {name: name for name in names}
    chosen: list[tuple[str, ...]] = []
    while len(chosen) < len(names) - 1:
        open_pairs = [(a, b) for a, b in gaps if part[a] != part[b]]
        scores = np.array([0.5 * epsilon * gaps[pair] for pair in open_pairs])
        weights = np.exp(scores - scores.max())
        a, b = open_pairs[rng.choice(len(open_pairs), p=weights / weights.sum())]
        chosen.append((a, b))
        old = part[b]
        part = {name: part[a] if at == old else at for name, at in part.items()}
    return chosen


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    given = parse_arguments(__doc__, ("mst",))
    columns = read_domain(given.domain)
    names = [column.name for column in columns]
    texts = read_texts(given.train, columns)
    cells = {column.name: column.encode(texts[column.name]) for column in columns}
    rho = rho_of(given.epsilon, given.delta)

    # The columns alone; cells below three sigma become one.
    full = {column.name: column.cells for column in columns}
    alone = measured(cells, full, [(name,) for name in names], rho / 3)
    kept, sizes, one_way = {}, {}, []
    for found, name in zip(alone, names, strict=True):
        counts = np.asarray(found.noisy_measurement)
        heavy = counts >= 3 * found.stddev
        kept[name], sizes[name] = np.flatnonzero(heavy), int(heavy.sum()) + int(not heavy.all())
        place = np.full(len(counts), sizes[name] - 1)
        place[heavy] = np.arange(int(heavy.sum()))
        cells[name] = place[cells[name]]
        one_way.append(LinearMeasurement(counts[heavy], (name,), found.stddev, _First(int(heavy.sum()))))

    total = float(len(next(iter(cells.values()))))
    domain = Domain(names, [sizes[name] for name in names])
    shares = {}
    for found, name in zip(one_way, names, strict=True):
        head = np.maximum(np.asarray(found.noisy_measurement), 0)
        rest = [max(total - head.sum(), 0.0)] * (sizes[name] - len(head))
        shares[name] = np.append(head, rest) / max(head.sum() + sum(rest), 1.0)
    gaps = {
        (a, b): float(np.abs(joint(cells, sizes, (a, b)) - total * np.outer(shares[a], shares[b]).ravel()).sum())
        for a, b in itertools.combinations(names, 2)
    }
    tree = spanning_tree(gaps, names, rho / 3)
    model = MirrorDescent().estimate(
        domain, one_way + measured(cells, sizes, tree, rho / 3), known_total=total, iters=2500
    )
    made = model.synthetic_data(rows=given.rows).data

    out = {}
    for column in columns:
        light = np.setdiff1d(np.arange(column.cells), kept[column.name])
        drawn = np.asarray(made[column.name]).astype(np.int64)
        back = np.append(kept[column.name], light[:1])[np.minimum(drawn, len(kept[column.name]))]
        in_rest = drawn >= len(kept[column.name])
        back[in_rest] = rng.choice(light, int(in_rest.sum())) if len(light) else back[in_rest]
        out[column.name] = column.decode(back, rng)
    write_texts(given.out, out)


class _First:
    """The query that reads the first cells of a column: those that were heavy enough."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __call__(self, factor: Factor) -> jax.Array:
        return factor.datavector()[: self.length]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _First) and other.length == self.length

    def __hash__(self) -> int:
        return hash(self.length)


if __name__ == "__main__":
    main()
