"""Families of parametric distances: features that are linear in their parameters, and the allowed parameters.

Torra 2016, slides 25 to 41. Every squared distance is w·φ, φ being the family's features of how two standardised
records differ in each attribute. Only the direction of the learned w matters: the allowed parameters are a cone.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tasks.assessments.linkage.problem.figure import Floats
from tasks.core.errors import ParameterError

MOST_CHOQUET_ATTRIBUTES = 8
"""A Choquet integral has 2^m − 1 parameters; beyond 255 it neither learns in seconds nor says anything."""


class Kind(StrEnum):
    """A family of distances.

    AM is plain distance-based linkage, in which nothing is learned. MD is the inverse of Cov(A − B), differences of a
    record and its own masked one. WM has one weight an attribute, OWA one a rank of the difference, smallest first,
    both from 0. CI has a monotone measure of every set of attributes, SB any symmetric matrix.
    """

    ARITHMETIC_MEAN = "arithmetic mean"
    MAHALANOBIS = "Mahalanobis"
    WEIGHTED_MEAN = "weighted mean"
    OWA = "OWA"
    CHOQUET = "Choquet"
    BILINEAR = "bilinear"


ADDITIVE = {Kind.ARITHMETIC_MEAN, Kind.WEIGHTED_MEAN}
MATRICES = {Kind.MAHALANOBIS, Kind.BILINEAR}
"""The families that look at signed differences; all others look at distances from 0, one an attribute."""


def n_parameters(kind: Kind, n_attributes: int) -> int:
    """Length of w: m, for matrices m(m + 1)/2, for Choquet 2^m − 1; ParameterError if m is then too large."""
    if kind in MATRICES:
        return n_attributes * (n_attributes + 1) // 2
    if kind is not Kind.CHOQUET:
        return n_attributes
    if n_attributes > MOST_CHOQUET_ATTRIBUTES:
        raise ParameterError(
            "a Choquet integral has a parameter for every set of attributes, which are too many here",
            where="known attributes",
            expected=f"at most {MOST_CHOQUET_ATTRIBUTES}",
            got=f"{n_attributes}",
            fix="let the intruder know fewer attributes, or learn a weighted mean or a bilinear form",
        )
    return (1 << n_attributes) - 1


def features(kind: Kind, compared: Floats) -> Floats:
    """φ, shape (..., n_parameters), of signed differences for matrices, else of distances from 0, (..., n_attributes).

    The distances as they are (AM, WM) or in ascending order (OWA); for Choquet, at A − 1 the rise of the ordered
    distances that belongs to the set with the bits of A; for matrices the products of the upper triangle row by row,
    those off the diagonal twice.
    """
    if kind in MATRICES:
        row, column = np.triu_indices(compared.shape[-1])
        return np.where(row == column, 1.0, 2.0) * compared[..., row] * compared[..., column]
    if kind is Kind.CHOQUET:
        return _rises(compared)
    return np.sort(compared, axis=-1) if kind is Kind.OWA else compared


def _rises(distances: Floats) -> Floats:
    """Features of the Choquet integral: Σ (x_(k) − x_(k−1)) μ({(k), …, (m)}) for ascending x_(k)."""
    order = np.argsort(distances, axis=-1, kind="stable")
    rises = np.diff(np.take_along_axis(distances, order, axis=-1), axis=-1, prepend=0)
    sets = np.cumsum((1 << order)[..., ::-1], axis=-1)[..., ::-1]
    result = np.zeros((*distances.shape[:-1], 2 ** distances.shape[-1]))
    np.put_along_axis(result, sets, rises, axis=-1)
    return result[..., 1:]


def lifted(kind: Kind, weights: Floats) -> Floats:
    """Parameters of a richer family that give the weighted mean with these weights.

    >>> lifted(Kind.CHOQUET, np.array([1.0, 3.0])), lifted(Kind.BILINEAR, np.array([1.0, 3.0]))
    (array([1., 3., 4.]), array([1., 0., 3.]))
    """
    if kind is Kind.CHOQUET:
        members = np.arange(1, 2 ** len(weights))[:, None] >> np.arange(len(weights)) & 1
        return members @ weights
    return parameters_of(np.diag(weights))


def parameters_of(matrix: Floats) -> Floats:
    """Upper triangle of a symmetric matrix, row by row."""
    return matrix[np.triu_indices(len(matrix))]


def matrix_of(parameters: Floats) -> Floats:
    """The symmetric matrix with this upper triangle."""
    m = (math.isqrt(8 * len(parameters) + 1) - 1) // 2
    row, column = np.triu_indices(m)
    matrix = np.empty((m, m))
    matrix[row, column] = matrix[column, row] = parameters
    return matrix


@dataclass(frozen=True)
class LinearCone:
    """Parameters w with G w ≥ 0, row by row; G has shape (n_conditions, n_parameters)."""

    rows: Floats

    def step_range(self, parameters: Floats, direction: Floats) -> tuple[float, float]:
        """Smallest and largest t for which parameters + t·direction are allowed; holds 0."""
        slack, rate = self.rows @ parameters, self.rows @ direction
        falling, rising = rate < 0, rate > 0
        lowest = np.max(-slack[rising] / rate[rising], initial=-np.inf)
        highest = np.min(-slack[falling] / rate[falling], initial=np.inf)
        return min(float(lowest), 0.0), max(float(highest), 0.0)


def cone(kind: Kind, n_attributes: int) -> LinearCone:
    """Allowed parameters: weights from 0, measures with μ(A ∪ {k}) − μ(A) ≥ 0 for every k outside A, any matrix."""
    size = n_parameters(kind, n_attributes)
    if kind is not Kind.CHOQUET:
        return LinearCone(np.empty((0, size)) if kind is Kind.BILINEAR else np.eye(size))
    pairs = [(a, a | 1 << k) for a in range(size + 1) for k in range(n_attributes) if not a >> k & 1]
    # Sets are bit masks; the empty set, whose measure is 0, has no column.
    unit = np.eye(size + 1)[:, 1:]
    return LinearCone(np.array([unit[larger] - unit[smaller] for smaller, larger in pairs]))
