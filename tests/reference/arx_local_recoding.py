"""Local recoding as ARX does it: over and over the one node for all records left that loses least.

Each round takes the node that generalizes the records left least, among those that release at least a hundredth of
them, and releases its classes of k records; there are 100 rounds at most, as in ARX 3.9.2. Whoever is left then is
released by the best node for all of them.
"""

import numpy as np

from tasks.generalization.kanonymity.classes import Floats, Ints
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem

_ROUNDS, _SHARE = 100, 0.01


def local_recoding(problem: RemainderProblem) -> Ints:
    """Strategy of each row, ``UNPLACED`` for one suppressed."""
    node, most = np.full(len(problem.codes), UNPLACED), np.full(len(problem.lattice), np.inf)
    for _ in range(_ROUNDS):
        _release(problem, node, most, _SHARE)
    _release(problem, node, most, 1.0)
    return node


def _release(problem: RemainderProblem, node: Ints, most: Floats, share: float) -> None:
    """Release records that are left by the node that generalizes them least, a share of them at least.

    ``most`` has the records that each node released when it was tried last: later it releases no more.
    """
    rows = np.flatnonzero(node == UNPLACED)
    if len(rows) == 0:
        return
    counts, loss = problem.counts[rows], np.zeros(len(problem.lattice))
    for axis, lost in enumerate(problem.lost):
        shares = np.bincount(problem.codes[rows, axis], counts, len(lost)) / counts.sum()
        loss += (shares @ lost)[problem.lattice.nodes[:, axis]]
    least = max(share * counts.sum(), 1.0)
    for strategy in np.argsort(loss, kind="stable").tolist():
        if most[strategy] < least:
            continue
        among, cell, many = problem.cells(rows, strategy)
        held = among[(np.bincount(cell, problem.counts[among], many) >= problem.least)[cell]]
        most[strategy] = problem.counts[held].sum()
        if most[strategy] >= least:
            node[held] = strategy
            return
