"""Change in statistics of a file by masking or generalization: moments, distributions, correlations.

Changes of numeric attributes are in standard deviations of the original, so that no figure is a value of the file. The
standard deviation is that of the file itself (divisor n). Where an attribute has none, what is scaled by it is absent
(None); nothing is ever NaN.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import ks_2samp

from tasks.assessments.utility.checks import (
    Floats,
    Ints,
    checked_codes,
    checked_counts,
    checked_numbers,
    refused,
    varies,
)

_DECILES = np.arange(1, 10) / 10


@dataclass(frozen=True)
class AttributeChange:
    """Change of one numeric attribute; None where the original does not vary."""

    name: str
    mean: float | None
    """Mean of the masked less that of the original, in standard deviations of the original."""
    spread: float | None
    """Standard deviation of the masked over that of the original, from 0; 1 is no change."""
    deciles: float | None
    """Median of the nine deciles' absolute changes, in standard deviations of the original."""
    distance: float
    """Kolmogorov–Smirnov distance: largest difference of the two distribution functions, 0 to 1."""
    il1s: float | None
    """Mean of |x − x'| / (√2 s) over the records (Mateo-Sanz et al. 2004, IL1s), from 0."""


@dataclass(frozen=True)
class CorrelationChange:
    """Pearson's correlations before and after."""

    before: tuple[tuple[float | None, ...], ...]
    """Matrix of shape (n_attributes, n_attributes); None where an attribute does not vary."""
    after: tuple[tuple[float | None, ...], ...]
    largest: float | None
    """Largest absolute change over the pairs that have a correlation in both files, 0 to 2; None without such pairs."""
    mean: float | None
    """Mean absolute change over them, 0 to 2."""
    pairs: int
    """Pairs of attributes that have a correlation in both files."""
    absent_pairs: int
    """Pairs that lack one in either file."""


@dataclass(frozen=True)
class NumericChange:
    """Change of a masked numeric file from its original."""

    attributes: tuple[AttributeChange, ...]
    il1s: float | None
    """Mean of the attributes' IL1s; None where no attribute varies."""
    correlation: CorrelationChange


@dataclass(frozen=True)
class MarginalChange:
    """Change in the shares of a categorical attribute's values."""

    name: str
    total_variation: float
    """½ Σ |p − p'|: share of the records that would have to change value, 0 to 1."""
    values_lost: int
    """Values that occur before and no more after."""


@dataclass(frozen=True)
class PairAssociation:
    """Cramér's V of two attributes before and after, 0 to 1; None where either attribute carries no information.

    Where records are generalized each by itself, the level is part of what is released, and it may depend on the other
    attribute: V then rises without anything being learned of the values. A rise is a distortion as a fall is.
    """

    first: str
    second: str
    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        """After less before, −1 to 1; an attribute that no longer carries information has an association of 0."""
        return None if self.before is None else (self.after or 0.0) - self.before


@dataclass(frozen=True)
class AssociationChange:
    """Change in the associations between categorical attributes."""

    pairs: tuple[PairAssociation, ...]
    largest: float | None
    """Largest absolute change over the pairs associated before, 0 to 1; None without such pairs."""
    mean: float | None
    """Mean absolute change over them, 0 to 1."""


def numeric_change(original: ArrayLike, masked: ArrayLike, names: Sequence[str]) -> NumericChange:
    """Compare a masked numeric file with its original.

    Parameters
    ----------
    original, masked : array_like of shape (n_records, n_attributes)
        Record i of the masked file is record i of the original, masked.
    names : sequence of str, length n_attributes

    Raises
    ------
    ParameterError
        If the files are empty, differ in shape, are not numeric, or hold missing, infinite or overly large values.
    """
    before, after = checked_numbers(original, names, "original file"), checked_numbers(masked, names, "masked file")
    if before.shape != after.shape:
        raise refused("the two files cannot be paired", "masked file", f"shape {before.shape}", f"shape {after.shape}")
    attributes = tuple(_attribute(name, x, y) for name, x, y in zip(names, before.T, after.T, strict=True))
    return NumericChange(
        attributes=attributes,
        il1s=_mean(attribute.il1s for attribute in attributes),
        correlation=_correlation_change(before, after),
    )


def marginal_change(name: str, before: ArrayLike, after: ArrayLike) -> MarginalChange:
    """Compare how often each value of a categorical attribute occurs.

    Parameters
    ----------
    name : str
    before, after : array_like of shape (n_values,)
        Records with each value, in the same order; the two totals may differ.

    Raises
    ------
    ParameterError
        If the vectors differ in length, are all 0, or hold anything but counts.
    """
    first, second = checked_counts(before, f"{name}, before"), checked_counts(after, f"{name}, after")
    if len(first) != len(second):
        raise refused("the counts cannot be paired", name, f"{len(first)} counts after", f"{len(second)}")
    distance = np.abs(first / first.sum() - second / second.sum()).sum() / 2
    return MarginalChange(name, min(float(distance), 1.0), int(np.count_nonzero((first > 0) & (second == 0))))


def association_change(
    names: Sequence[str], before: NDArray[np.integer], after: NDArray[np.integer], records: ArrayLike, kept: ArrayLike
) -> AssociationChange:
    """Compare the association of every two attributes before and after generalization.

    Parameters
    ----------
    names : sequence of str, length n_attributes
    before, after : array of shape (n_tuples, n_attributes)
        Codes of the original and of the released groups.
    records : array_like of shape (n_tuples,)
        Records of each tuple, from 1.
    kept : array_like of bool, shape (n_tuples,)
        Whether each tuple's records are released; the others count before only.

    Raises
    ------
    ParameterError
        If the arrays do not fit one another.
    """
    counts, released = checked_counts(records, "records", smallest=1), np.asarray(kept)
    shape = (len(counts), len(names))
    if before.shape != shape or after.shape != shape or released.shape != counts.shape or released.dtype != np.bool_:
        raise refused(
            "the released file does not fit its original",
            "before, after and kept",
            f"{shape[0]} tuples of {shape[1]} attributes",
            f"{before.shape}, {after.shape} and {released.shape}",
        )
    pairs = tuple(
        PairAssociation(
            names[i],
            names[j],
            cramers_v(before[:, i], before[:, j], counts),
            cramers_v(after[released, i], after[released, j], counts[released]) if released.any() else None,
        )
        for i, j in combinations(range(len(names)), 2)
    )
    changes = [abs(pair.change) for pair in pairs if pair.change is not None]
    return AssociationChange(pairs, max(changes, default=None), _mean(changes))


def cramers_v(first: ArrayLike, second: ArrayLike, counts: ArrayLike) -> float | None:
    """Cramér's V of two attributes, corrected for bias (Bergsma 2013), 0 to 1.

    Parameters
    ----------
    first, second : array_like of int, shape (n,)
        Codes of the two attributes; any codes, only whether they are equal counts.
    counts : array_like of shape (n,)
        Records of each pair of codes; pairs may occur again.

    Returns
    -------
    float or None
        None where an attribute has one value, or as many as there are records, so that nothing can be told.

    Notes
    -----
    V² = max(0, φ² − (r−1)(c−1)/(n−1)) / min(r̃−1, c̃−1) with r̃ = r − (r−1)²/(n−1). Without the correction V grows with
    the number of values alone: a generalized file, which has fewer, would seem to lose association that never was.
    """
    weights = checked_counts(counts, "counts", smallest=1)
    rows = _numbered(checked_codes(first, len(weights), "first"))
    columns = _numbered(checked_codes(second, len(weights), "second"))
    n, n_rows, n_columns = float(weights.sum()), int(rows.max()) + 1, int(columns.max()) + 1
    if min(n_rows, n_columns) < 2:
        return None
    cells, cell = np.unique(rows * n_columns + columns, return_inverse=True)
    observed = np.bincount(cell, weights=weights)
    in_row, in_column = np.bincount(rows, weights=weights), np.bincount(columns, weights=weights)
    phi2 = float((observed**2 / in_row[cells // n_columns] / in_column[cells % n_columns]).sum()) - 1
    extra_rows, extra_columns = n_rows - 1, n_columns - 1
    freedom = min(extra_rows * (1 - extra_rows / (n - 1)), extra_columns * (1 - extra_columns / (n - 1)))
    if freedom < 1e-9:
        return None
    return min(float(np.sqrt(max(phi2 - extra_rows * extra_columns / (n - 1), 0.0) / freedom)), 1.0)


def _numbered(codes: Ints) -> Ints:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _attribute(name: str, before: Floats, after: Floats) -> AttributeChange:
    with np.errstate(all="ignore"):
        # For the p-value alone, which few records do not have and nobody here reads.
        distance = float(ks_2samp(before, after, method="asymp").statistic)
    if not varies(before):
        return AttributeChange(name, None, None, None, distance, None)
    spread = float(before.std())
    deciles = np.abs(np.quantile(after, _DECILES) - np.quantile(before, _DECILES))
    with np.errstate(under="ignore"):
        return AttributeChange(
            name=name,
            mean=float(after.mean() - before.mean()) / spread,
            spread=float(after.std()) / spread,
            deciles=float(np.median(deciles)) / spread,
            distance=distance,
            il1s=float(np.abs(after - before).mean()) / (float(np.sqrt(2)) * spread),
        )


def _correlation_change(before: Floats, after: Floats) -> CorrelationChange:
    first, second = _correlations(before), _correlations(after)
    pairs = np.triu_indices(len(first), 1)
    changes = np.abs(second[pairs] - first[pairs])
    present = changes[np.isfinite(changes)]
    return CorrelationChange(
        before=_matrix(first),
        after=_matrix(second),
        largest=float(present.max()) if len(present) else None,
        mean=float(present.mean()) if len(present) else None,
        pairs=len(present),
        absent_pairs=len(changes) - len(present),
    )


def _correlations(values: Floats) -> Floats:
    """Correlation matrix, NaN in the rows and columns of attributes that do not vary."""
    matrix = np.full((values.shape[1], values.shape[1]), np.nan)
    varying = np.flatnonzero([varies(column) for column in values.T])
    if len(varying):
        chosen = values[:, varying]
        with np.errstate(under="ignore"):
            standardised = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)
            found = np.clip(standardised.T @ standardised / len(values), -1.0, 1.0)
        np.fill_diagonal(found, 1.0)
        matrix[np.ix_(varying, varying)] = found
    return matrix


def _matrix(values: Floats) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(None if np.isnan(value) else float(value) for value in row) for row in values)


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None
