"""The parameters that a family of distances allows: cones, since only the direction of the parameters matters."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.learning.family import MEASURES, Kind, matrix_of, n_parameters, parameters_of

_DEFINITE = 1e-6
_SINGULAR = 1e-12
_WITHIN = 0.999


@dataclass(frozen=True)
class LinearCone:
    """Parameters w with G w ≥ 0, row by row."""

    rows: sparse.csr_array
    """G, shape (n_conditions, n_parameters)."""

    def inside(self, parameters: Floats) -> Floats:
        """The same parameters: what a linear program gives is allowed as it is."""
        return parameters

    def step_range(self, parameters: Floats, direction: Floats) -> tuple[float, float]:
        """Smallest and largest t for which parameters + t·direction are allowed; holds 0."""
        slack, rate = self.rows @ parameters, self.rows @ direction
        falling, rising = rate < 0, rate > 0
        lowest = np.max(-slack[rising] / rate[rising], initial=-np.inf)
        highest = np.min(-slack[falling] / rate[falling], initial=np.inf)
        return min(float(lowest), 0.0), max(float(highest), 0.0)


@dataclass(frozen=True)
class SemidefiniteCone:
    """Parameters of positive semi-definite matrices."""

    n_attributes: int

    @property
    def rows(self) -> sparse.csr_array:
        """Linear conditions that every such matrix meets: a diagonal from 0."""
        row, column = np.triu_indices(self.n_attributes)
        return sparse.eye_array(len(row), format="csr")[np.flatnonzero(row == column)]

    def inside(self, parameters: Floats) -> Floats:
        """The matrix with its eigenvalues raised to a small share of the largest, so that steps lead anywhere."""
        values, vectors = np.linalg.eigh(matrix_of(parameters))
        largest = values[-1] if values[-1] > 0 else 1.0
        return parameters_of((vectors * np.maximum(values, _DEFINITE * largest)) @ vectors.T)

    def step_range(self, parameters: Floats, direction: Floats) -> tuple[float, float]:
        """As for a linear cone; M + tD is positive definite between −1/λ of the extreme λ of L⁻¹DL⁻ᵀ, M = LLᵀ."""
        values, vectors = np.linalg.eigh(matrix_of(parameters))
        if values[0] <= _SINGULAR * values[-1]:
            return 0.0, 0.0
        scaled = vectors / np.sqrt(values)
        rates = np.linalg.eigvalsh(scaled.T @ matrix_of(direction) @ scaled)
        lowest = -_WITHIN / rates[-1] if rates[-1] > 0 else -np.inf
        highest = -_WITHIN / rates[0] if rates[0] < 0 else np.inf
        return float(lowest), float(highest)


Cone = LinearCone | SemidefiniteCone


def cone(kind: Kind, n_attributes: int) -> Cone:
    """The parameters that a family allows, up to a positive factor."""
    size = n_parameters(kind, n_attributes)
    if kind is Kind.SEMIDEFINITE_BILINEAR:
        return SemidefiniteCone(n_attributes)
    if kind is Kind.BILINEAR:
        return LinearCone(sparse.csr_array((0, size)))
    if kind not in MEASURES:
        return LinearCone(sparse.eye_array(size, format="csr"))
    conditions = _monotone(n_attributes)
    if kind is Kind.SUBMODULAR_CHOQUET:
        conditions += _submodular(n_attributes)
    return LinearCone(_signed_sums(conditions, size))


Condition = tuple[tuple[int, int], ...]


def _monotone(n_attributes: int) -> list[Condition]:
    """μ(A ∪ {k}) − μ(A) ≥ 0 for every A and k outside it; sets are bit masks."""
    sets = range(2**n_attributes)
    return [((1, a | 1 << k), (-1, a)) for a in sets for k in range(n_attributes) if not a >> k & 1]


def _submodular(n_attributes: int) -> list[Condition]:
    """μ(A ∪ {k}) + μ(A ∪ {l}) − μ(A ∪ {k, l}) − μ(A) ≥ 0, which is enough for all pairs of sets."""
    pairs = list(combinations([1 << k for k in range(n_attributes)], 2))
    return [
        ((1, a | one), (1, a | other), (-1, a | one | other), (-1, a))
        for a in range(2**n_attributes)
        for one, other in pairs
        if not a & (one | other)
    ]


def _signed_sums(conditions: list[Condition], size: int) -> sparse.csr_array:
    """One row a condition; the empty set, whose measure is 0, has no column."""
    entries = [(row, a - 1, sign) for row, terms in enumerate(conditions) for sign, a in terms if a]
    row, column, sign = zip(*entries, strict=True)
    return sparse.csr_array((np.array(sign, dtype=float), (row, column)), shape=(len(conditions), size))
