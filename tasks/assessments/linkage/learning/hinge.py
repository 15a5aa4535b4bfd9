"""A linear program for a start: least Σ credit·max(0, 1 − w·Δ) over each record's worst rivals."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.learning.cone import LinearCone
from tasks.assessments.linkage.learning.rows import Rows, lowest, unit

_ROUNDS = 4
_WORST = 3
_MOST_ENTRIES = 400_000


def hinge(rows: Rows, cone: LinearCone, start: Floats) -> list[Floats]:
    """Parameters of a few rounds; each adds the rivals that are worst under the last one's.

    Parameters
    ----------
    rows : Rows
    cone : LinearCone
    start : array of shape (n_parameters,)

    Returns
    -------
    list of arrays of shape (n_parameters,)
        Up to ``_ROUNDS``; fewer where no new rival is found or the program gives nothing. Where records and
        parameters are many, some of the records alone make the program.
    """
    parameters, chosen, found = start, np.zeros(len(rows.of), dtype=bool), []
    every = -(-len(rows.starts) * len(rows.gains) * _WORST * _ROUNDS // _MOST_ENTRIES)
    for _ in range(_ROUNDS):
        worst = lowest(rows.scores(unit(parameters)), rows.of, _WORST)
        worst = worst[rows.of[worst] % every == 0]
        if chosen[worst].all():
            break
        chosen[worst] = True
        solved = _solved(rows, cone, np.flatnonzero(chosen))
        if solved is None:
            break
        parameters = solved
        found.append(parameters)
    return found


def _solved(rows: Rows, cone: LinearCone, chosen: NDArray[np.intp]) -> Floats | None:
    size, records = len(rows.gains), len(rows.starts)
    short = sparse.csr_array((np.ones(len(chosen)), (np.arange(len(chosen)), rows.of[chosen])), (len(chosen), records))
    allowed = sparse.csr_array(cone.rows)
    conditions = sparse.block_array(
        [[sparse.csr_array(rows.gains[:, chosen].T), short], [allowed, sparse.csr_array((allowed.shape[0], records))]]
    )
    least = np.concatenate([np.ones(len(chosen)), np.zeros(allowed.shape[0])])
    bounds = [(None, None)] * size + [(0, None)] * records
    costs = np.concatenate([np.zeros(size), rows.credit])
    # HiGHS takes sparse conditions; the stubs know dense ones only.
    solution = linprog(costs, A_ub=-conditions, b_ub=-least, bounds=bounds, method="highs")  # type: ignore[call-overload]
    if solution.x is None or not np.abs(solution.x[:size]).max() > 0:
        return None
    return unit(solution.x[:size])
