"""The learning problem as a mixed-integer program, solved by HiGHS: what no parameters can exceed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from tasks.linkage.figure import Floats

_INFEASIBLE = 2


@dataclass(frozen=True)
class Polytope:
    """Parameters x with 0 ≤ x ≤ 1, total·x = 1 and conditions·x ≥ 0."""

    total: Floats
    """Shape (n_parameters,)."""
    conditions: sparse.csr_array
    """Shape (n_conditions, n_parameters)."""


@dataclass(frozen=True)
class Answer:
    """What the solver found."""

    bound: float
    """Credit that no parameters exceed; −∞ where none reaches what was asked for."""
    parameters: Floats | None
    """The best that it met, None where it met none."""


def simplex(size: int) -> Polytope:
    """Weights that add up to 1."""
    return Polytope(np.ones(size), sparse.csr_array((0, size)))


def most_credit(
    gains: Floats,
    smallest: Floats,
    of: NDArray[np.intp],
    credit: Floats,
    polytope: Polytope,
    needed: float,
    nodes: int,
) -> Answer:
    """Most credit of records whose comparisons all hold.

    Maximise Σ credit_i z_i subject to x·Δ_r ≥ −C_r (1 − z_i) for each row r of record i, z_i ∈ {0, 1}, with the
    smallest constant C_r that lets any x of the polytope through (Torra 2016, slide 33, with a constant a row).

    Parameters
    ----------
    gains : array of shape (n_parameters, n_rows)
        Δ, the margin taken off.
    smallest : array of shape (n_rows,)
        The smallest x·Δ that the polytope allows, or less.
    of : array of shape (n_rows,)
        Record of each row, 0 to n_records − 1.
    credit : array of shape (n_records,)
    polytope : Polytope
    needed : float
        Only solutions of at least this credit count.
    nodes : int
        Branch-and-bound nodes that the solver may take; the result does not depend on the time it has.
    """
    size, n_records, n_rows = len(gains), len(credit), len(of)
    constant = np.maximum(-smallest, 0)
    chosen = sparse.csr_array((constant, (np.arange(n_rows), of)), shape=(n_rows, n_records))
    value = np.concatenate([np.zeros(size), credit])
    total = np.concatenate([polytope.total, np.zeros(n_records)])
    blank = sparse.csr_array((polytope.conditions.shape[0], n_records))
    solution = milp(
        -value,
        integrality=np.concatenate([np.zeros(size), np.ones(n_records)]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(sparse.hstack([sparse.csr_array(gains.T), -chosen], format="csr"), -constant, np.inf),
            LinearConstraint(sparse.hstack([polytope.conditions, blank], format="csr"), 0, np.inf),
            LinearConstraint(total[None, :], 1, 1),
            LinearConstraint(value[None, :], needed, np.inf),
        ],
        options={"node_limit": nodes, "mip_rel_gap": 0.0},
    )
    if solution.status == _INFEASIBLE:
        return Answer(-np.inf, None)
    bound = float(credit.sum()) if solution.mip_dual_bound is None else -float(solution.mip_dual_bound)
    found = None if solution.x is None else np.maximum(solution.x[:size], 0)
    return Answer(min(bound, float(credit.sum())), found)
