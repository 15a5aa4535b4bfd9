"""The learning problem in a small simplex of weights as a mixed-integer program, solved by HiGHS."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from tasks.assessments.linkage.figure import Floats

_INFEASIBLE = 2


@dataclass(frozen=True)
class Answer:
    """Result of the solver."""

    bound: float
    """Credit that no weights exceed; −∞ where none reaches what was asked for."""
    weights: Floats | None
    """The best that it met, which add up to 1; None where it met none."""


def most_credit(values: Floats, of: NDArray[np.intp], credit: Floats, needed: float, nodes: int) -> Answer:
    """Most credit of records whose comparisons all hold.

    Maximise Σ credit_i z_i subject to x·Δ_r ≥ −C_r (1 − z_i) for each row r of record i, Σ x = 1, x ≥ 0, z_i ∈ {0, 1},
    with the smallest constant C_r that lets any x through (Torra 2016, slide 33, with a constant a row).

    Parameters
    ----------
    values : array of shape (n_weights, n_rows)
        Δ, the margin taken off.
    of : array of shape (n_rows,)
        Record of each row, 0 to n_records − 1.
    credit : array of shape (n_records,)
    needed : float
        Only solutions of at least this credit count.
    nodes : int
        Branch-and-bound nodes that the solver may take; the result does not depend on the time it has.
    """
    size, n_records, n_rows = len(values), len(credit), len(of)
    constant = np.maximum(-values.min(axis=0), 0)
    chosen = sparse.csr_array((constant, (np.arange(n_rows), of)), shape=(n_rows, n_records))
    value = np.concatenate([np.zeros(size), credit])
    total = np.concatenate([np.ones(size), np.zeros(n_records)])
    solution = milp(
        -value,
        integrality=np.concatenate([np.zeros(size), np.ones(n_records)]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(sparse.hstack([sparse.csr_array(values.T), -chosen], format="csr"), -constant, np.inf),
            LinearConstraint(total[None, :], 1, 1),
            LinearConstraint(value[None, :], needed, np.inf),
        ],
        options={"node_limit": nodes, "mip_rel_gap": 0.0},
    )
    if solution.status == _INFEASIBLE:
        return Answer(-np.inf, None)
    most = float(credit.sum())
    bound = most if solution.mip_dual_bound is None else min(-float(solution.mip_dual_bound), most)
    return Answer(bound, None if solution.x is None else np.maximum(solution.x[:size], 0))
