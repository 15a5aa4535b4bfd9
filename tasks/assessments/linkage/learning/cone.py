"""The parameters that a family of distances allows: cones, since only the direction of the parameters matters."""

from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.learning.family import MEASURES, Kind, n_parameters


@dataclass(frozen=True)
class LinearCone:
    """Parameters w with G w ≥ 0, row by row."""

    rows: Floats
    """G, shape (n_conditions, n_parameters)."""

    def step_range(self, parameters: Floats, direction: Floats) -> tuple[float, float]:
        """Smallest and largest t for which parameters + t·direction are allowed; holds 0."""
        slack, rate = self.rows @ parameters, self.rows @ direction
        falling, rising = rate < 0, rate > 0
        lowest = np.max(-slack[rising] / rate[rising], initial=-np.inf)
        highest = np.min(-slack[falling] / rate[falling], initial=np.inf)
        return min(float(lowest), 0.0), max(float(highest), 0.0)


def cone(kind: Kind, n_attributes: int) -> LinearCone:
    """The parameters that a family allows, up to a positive factor.

    Weights are from 0, measures monotone: μ(A ∪ {k}) − μ(A) ≥ 0 for every A and k outside it; any matrix is allowed.
    """
    size = n_parameters(kind, n_attributes)
    if kind not in MEASURES:
        return LinearCone(np.empty((0, size)) if kind is Kind.BILINEAR else np.eye(size))
    pairs = [(a, a | 1 << k) for a in range(size + 1) for k in range(n_attributes) if not a >> k & 1]
    # Sets are bit masks; the empty set, whose measure is 0, has no column.
    unit = np.eye(size + 1)[:, 1:]
    return LinearCone(np.array([unit[larger] - unit[smaller] for smaller, larger in pairs]))
