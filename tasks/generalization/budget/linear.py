"""A linear programme in non-negative unknowns, by HiGHS: an optimal vertex and the prices of its limits."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.game import Floats


@dataclass(frozen=True)
class Vertex:
    """An optimum."""

    at: Floats
    cost: float
    prices: Floats
    """Fall in cost for one more unit of each limit, at least 0."""


def least_cost(
    cost: Floats, usage: Floats, limits: Floats, sums: "scipy.sparse.csr_array | NDArray[np.float64]", totals: Floats
) -> Vertex | None:
    """Minimise cost·x subject to usage·x ≤ limits, sums·x = totals and x ≥ 0; None where that is infeasible.

    Raises
    ------
    StageFailed
        If HiGHS ends without an answer.
    """
    found = scipy.optimize.linprog(cost, A_ub=usage, b_ub=limits, A_eq=sums, b_eq=totals, method="highs-ds")  # type: ignore[call-overload]
    if found.status == 2:
        return None
    if not found.success:
        raise StageFailed(
            "a linear programme was not solved",
            where="policy.generalization.budget",
            expected="an optimum",
            got=f"HiGHS ended with status {int(found.status)}",
            fix="use fewer limits, or wider ones",
        )
    prices = np.maximum(-np.asarray(found.ineqlin.marginals, dtype=np.float64), 0.0)
    return Vertex(np.asarray(found.x, dtype=np.float64), float(found.fun), prices)
