"""Distance of learned parameters from the optimum: a proof of optimality, or the remaining gap."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.learning.cone import Cone
from tasks.assessments.linkage.learning.rows import MARGIN, Rows
from tasks.assessments.linkage.learning.simplex import LEAST_STEP

_INFEASIBLE = 2


@dataclass(frozen=True)
class Certificate:
    """Upper bound over all parameters of the family, in linked records.

    A record counts when its own masked record is nearer than every rival by ``learning.rows.MARGIN``;
    ties that other parameters could break count nothing here, while the figure of the linkage shares them.
    """

    found: float
    """Credit of the parameters."""
    upper_bound: float
    """Credit that no parameters exceed; at least ``found``."""
    rivals: int
    """Comparisons of a record and a rival that were looked at."""

    @property
    def gap(self) -> float:
        """Records by which better parameters could do better."""
        return self.upper_bound - self.found

    @property
    def proven(self) -> bool:
        """Whether the parameters are the best there are."""
        return self.gap <= LEAST_STEP


def winnable(rows: Rows, allowed: Cone, parameters: Floats, programs: int) -> float:
    """Credit of the records that some parameters win, each on its own: a bound for any family.

    A linear program a record that ``parameters`` do not win says whether any do; records beyond so many programs are
    taken to be won by some.
    """
    lost = np.flatnonzero(~rows.wins(parameters)[rows.records])[:programs]
    hopeless = [place for place in lost if not _can_win(rows, allowed, int(place))]
    return rows.sure + float(rows.credit.sum() - rows.credit[hopeless].sum())


def _can_win(rows: Rows, allowed: Cone, record: int) -> bool:
    """Whether parameters, their largest 1, clear the margin in all comparisons of a record; True where undecided."""
    conditions = sparse.vstack([sparse.csr_array(rows.gains[:, rows.slice(record)].T), allowed.rows], format="csr")
    least = np.zeros(conditions.shape[0])
    least[: conditions.shape[0] - allowed.rows.shape[0]] = 1.0
    size = len(rows.gains)
    solution = linprog(
        np.zeros(size), A_ub=-conditions, b_ub=-least, bounds=[(-1 / MARGIN, 1 / MARGIN)] * size, method="highs"
    )
    return bool(solution.status != _INFEASIBLE)
