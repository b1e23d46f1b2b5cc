"""Pairwise association of columns: Pearson's r between numbers, Cramer's V otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpfy.quality.binning import EncodedTable
from dpfy.quality.distances import histogram
from dpfy.quality.figures import AssociationFigures, absent, measured
from dpfy.quality.values import ColumnValues, FloatArray


def cramers_v(table: EncodedTable, first: int, second: int) -> float:
    """Bias-corrected Cramer's V of two encoded columns, in [0, 1]; NaN when one has a single value.

    **Source:** W. Bergsma, "A bias-correction for Cramer's V and Tschuprow's T", 2013.
    """
    n = table.rows
    cells, shares = histogram(table, (first, second))
    if n < 2 or len(cells) < 2:
        return float("nan")
    row, column = np.divmod(cells, table.sizes[second])
    rows = np.bincount(row, weights=shares)
    columns = np.bincount(column, weights=shares)
    height, width = int((rows > 0).sum()), int((columns > 0).sum())
    if height < 2 or width < 2:
        return float("nan")
    phi = float((shares**2 / (rows[row] * columns[column])).sum()) - 1.0
    phi = max(0.0, phi - (height - 1) * (width - 1) / (n - 1))
    least = min(height - (height - 1) ** 2 / (n - 1), width - (width - 1) ** 2 / (n - 1)) - 1.0
    return min(1.0, float(np.sqrt(phi / least))) if least > 0 else float("nan")


def pearson(columns: Sequence[FloatArray]) -> FloatArray:
    """Pearson's r of all pairs over the rows where both are finite; NaN where one does not vary.

    Args:
        columns: float64 arrays of one length; NaN and infinities are left out pairwise.

    Returns:
        Symmetric matrix, shape (columns, columns).
    """
    scaled, known = [], []
    for column in columns:
        finite = np.isfinite(column)
        centre = column[finite].mean() if finite.any() else 0.0
        # Centred and scaled first: sums of squares of large values would lose all digits.
        spread = float(np.abs(column[finite] - centre).max()) if finite.any() else 0.0
        scaled.append(np.where(finite, (np.where(finite, column, centre) - centre) / (spread or 1.0), 0.0))
        known.append(finite.astype(np.float64))
    if not columns:
        return np.empty((0, 0))
    X, M = np.stack(scaled), np.stack(known)
    count = M @ M.T
    with np.errstate(invalid="ignore", divide="ignore"):
        sums, squares = X @ M.T, (X**2) @ M.T
        spread_of = squares - sums**2 / count
        product = np.sqrt(np.maximum(spread_of, 0) * np.maximum(spread_of.T, 0))
        r = (X @ X.T - sums * sums.T / count) / product
    r[(product <= 1e-12) | (count < 2)] = np.nan
    return np.asarray(np.clip(r, -1.0, 1.0), dtype=np.float64)


def association_matrix(table: EncodedTable, values: Sequence[ColumnValues], chosen: Sequence[int]) -> FloatArray:
    """The matrix of associations among the chosen columns; 1 on the diagonal of columns that vary."""
    size = len(chosen)
    matrix = np.full((size, size), np.nan)
    numeric = [p for p, c in enumerate(chosen) if values[c].kind == "number" and values[c].numbers is not None]
    r = pearson([values[chosen[p]].finite() for p in numeric])
    place = {p: k for k, p in enumerate(numeric)}
    for a in range(size):
        if len(histogram(table, (chosen[a],))[0]) > 1:
            matrix[a, a] = 1.0
        for b in range(a):
            both = a in place and b in place
            value = r[place[a], place[b]] if both else cramers_v(table, chosen[a], chosen[b])
            matrix[a, b] = matrix[b, a] = value
    return matrix


def associations(
    names: Sequence[str], chosen: Sequence[int], real: FloatArray, synthetic: FloatArray
) -> AssociationFigures:
    """Both matrices and the mean absolute difference over pairs that are defined in both."""
    difference = np.abs(real - synthetic)[np.triu_indices(len(chosen), 1)]
    difference = difference[np.isfinite(difference)]
    return AssociationFigures(
        columns=tuple(names[c] for c in chosen),
        real=_rows(real),
        synthetic=_rows(synthetic),
        mean_difference=measured(float(difference.mean()))
        if len(difference)
        else absent("No pair of columns varies in both tables."),
    )


def _rows(matrix: FloatArray) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(float(x) if np.isfinite(x) else None for x in row) for row in matrix)
