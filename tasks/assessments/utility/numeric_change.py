"""Change in statistics of a file by masking or generalization: moments, distributions, correlations.

Changes of numeric attributes are in standard deviations of the original, so that no figure is a value of the file. The
standard deviation is that of the file itself (divisor n). Where an attribute has none, what is scaled by it is absent
(None); nothing is ever NaN.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tasks.assessments.utility.facts import AssociationFact, NumericChangeFact
from tasks.core.errors import ParameterError, row_positions

Floats = NDArray[np.float64]

_DECILES = np.arange(1, 10) / 10
LARGEST_TO_SQUARE = 1e140
FEWEST_A_VALUE = 5
"""Records of each value, on average, from which an association is measured: of fewer, chance and clusters tell most."""


def check_squarable(name: str, column: Floats) -> None:
    """Refuse a column with a value that is missing, infinite, or too large to be squared.

    Raises ParameterError if a value is not a number within ±1e140.
    """
    wrong = np.flatnonzero(~(np.abs(column) <= LARGEST_TO_SQUARE))
    if len(wrong):
        raise ParameterError(
            "a value is missing, infinite or too large to be squared",
            where=f"{name}, {row_positions(wrong)}",
            expected="a number within ±1e140 in every record",
            got=f"{len(wrong)} without",
            fix="correct the data, or leave the attribute out",
        )


def varies(column: Floats) -> bool:
    """Whether a column has a standard deviation: two values that differ, and by enough for a double to square."""
    return len(column) > 0 and bool(column.min() < column.max() and column.std() > 0)


def numeric_change(name: str, before: Floats, after: Floats) -> NumericChangeFact:
    """Change of one numeric attribute by masking.

    Parameters
    ----------
    name : str
    before, after : array of shape (n_records,)
        Record i of the one is record i of the other, masked.

    Raises
    ------
    ParameterError
        If a value is missing, infinite or too large to be squared.

    Notes
    -----
    The displacement is the mean of |x − x'| / (√2 s) over the records (Mateo-Sanz et al. 2004, IL1s).
    """
    check_squarable(name, before)
    check_squarable(name, after)
    steps = np.concatenate([before, after])
    shares = [np.searchsorted(np.sort(column), steps, "right") / len(column) for column in (before, after)]
    figures: dict[str, float | None] = dict.fromkeys(("mean", "deviation_ratio", "deciles", "displacement"))
    if varies(before):
        spread = float(before.std())
        deciles = np.abs(np.quantile(after, _DECILES) - np.quantile(before, _DECILES))
        figures = {
            "mean": float(after.mean() - before.mean()) / spread,
            "deviation_ratio": float(after.std()) / spread,
            "deciles": float(np.median(deciles)) / spread,
            "displacement": float(np.abs(after - before).mean()) / (float(np.sqrt(2)) * spread),
        }
    return NumericChangeFact(name=name, distribution=float(np.abs(shares[0] - shares[1]).max()), **figures)


def correlation_changes(names: Sequence[str], before: Floats, after: Floats) -> Iterator[AssociationFact]:
    """Pearson's correlation of every two attributes, before and after; shape (n_records, n_attributes) both.

    None where an attribute does not vary.
    """
    first, second = _correlations(before), _correlations(after)
    for i, j in combinations(range(len(names)), 2):
        yield AssociationFact(
            attributes=(names[i], names[j]), measure="correlation", before=first[i][j], after=second[i][j]
        )


def association_changes(
    names: Sequence[str],
    before: NDArray[np.integer],
    after: NDArray[np.integer],
    records: NDArray[np.int64],
    kept: NDArray[np.bool_],
) -> Iterator[AssociationFact]:
    """Cramér's V of every two attributes before and after generalization.

    Parameters
    ----------
    names : sequence of str, length n_attributes
    before, after : array of shape (n_tuples, n_attributes)
        Codes of the original values and of the released groups.
    records : array of shape (n_tuples,)
        Records of each tuple, from 1.
    kept : array of bool, shape (n_tuples,)
        Whether each tuple's records are released; the others count before only.
    """
    for i, j in combinations(range(len(names)), 2):
        yield AssociationFact(
            attributes=(names[i], names[j]),
            measure="Cramér's V",
            before=cramers_v(before[:, i], before[:, j], records),
            after=cramers_v(after[kept, i], after[kept, j], records[kept]),
        )


def total_variation(before: NDArray[np.number], after: NDArray[np.number]) -> float:
    """½ Σ |p − p'|: share of the records that would have to change value, 0 to 1, from the records of each value."""
    return min(float(np.abs(before / before.sum() - after / after.sum()).sum() / 2), 1.0)


def cramers_v(first: ArrayLike, second: ArrayLike, counts: ArrayLike) -> float | None:
    """Cramér's V of two attributes, corrected for bias (Bergsma 2013), 0 to 1.

    Parameters
    ----------
    first, second : array_like of int, shape (n,)
        Codes of the two attributes; any codes, only whether they are equal counts.
    counts : array_like of int, shape (n,)
        Records of each pair of codes, from 1; pairs may occur again.

    Returns
    -------
    float or None
        None where an attribute has one value, or so many that fewer than five records have each on average.

    Notes
    -----
    V² = max(0, φ² − (r−1)(c−1)/(n−1)) / min(r̃−1, c̃−1) with r̃ = r − (r−1)²/(n−1). Without the correction V grows with
    the number of values alone: a generalized file, which has fewer, would seem to lose association that never was.
    """
    weights = np.asarray(counts)
    (rows, values), (columns, others) = (pd.factorize(np.asarray(codes)) for codes in (first, second))
    n, n_rows, n_columns = float(weights.sum()), len(values), len(others)
    if min(n_rows, n_columns) < 2 or n < FEWEST_A_VALUE * max(n_rows, n_columns):
        return None
    cell, cells = pd.factorize(rows * n_columns + columns)
    observed, in_row, in_column = (np.bincount(of, weights=weights) for of in (cell, rows, columns))
    phi2 = float((observed**2 / in_row[cells // n_columns] / in_column[cells % n_columns]).sum()) - 1
    extra_rows, extra_columns = n_rows - 1, n_columns - 1
    freedom = min(extra_rows * (1 - extra_rows / (n - 1)), extra_columns * (1 - extra_columns / (n - 1)))
    return min(float(np.sqrt(max(phi2 - extra_rows * extra_columns / (n - 1), 0.0) / freedom)), 1.0)


def _correlations(values: Floats) -> list[list[float | None]]:
    """Correlation matrix, None in the rows and columns of attributes that do not vary."""
    matrix = np.full((values.shape[1], values.shape[1]), np.nan)
    varying = np.flatnonzero([varies(column) for column in values.T])
    if len(varying):
        chosen = values[:, varying]
        standardised = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)
        matrix[np.ix_(varying, varying)] = np.clip(standardised.T @ standardised / len(values), -1.0, 1.0)
    return [[None if np.isnan(value) else value for value in row] for row in matrix.tolist()]
