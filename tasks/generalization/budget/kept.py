"""Whether a copy keeps the limits of its budget once all is known that it goes without.

A method keeps its limits over what it releases. Decoys may take whole classes from a copy after that, so that others
alone keep them: fewer records are at risk, but more are left out, and these keep no information.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.budget.outcome import BudgetOutcome
from tasks.generalization.budget.records import Spent
from tasks.generalization.budget.rounding import within
from tasks.generalization.budget.terms import LOST, SUPPRESSED, lost_share
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Tuples


def of_copy(
    outcome: BudgetOutcome,
    hierarchies: Sequence[Hierarchy],
    data: Tuples,
    cells: Codes,
    kept: NDArray[np.bool_],
) -> BudgetOutcome:
    """The outcome with what the copy uses of the limits on suppression and on the information that attributes lose.

    Parameters
    ----------
    outcome : BudgetOutcome
        Of the method.
    hierarchies : sequence of Hierarchy
    data : Tuples
    cells : array of shape (n_tuples, n_attributes)
        Released cell of each tuple in axis positions.
    kept : array of shape (n_tuples,)
        Whether a tuple's records are in the copy.

    Raises
    ------
    StageFailed
        If the copy exceeds one of these limits.
    """
    gone = float(data.counts[~kept].sum())
    lost = {LOST + tree.name: (axis, lost_share(tree)) for axis, tree in enumerate(hierarchies) if tree.n_leaves > 1}

    def used(spent: Spent) -> float:
        if spent.name == SUPPRESSED:
            return gone
        if spent.name not in lost:
            return spent.used
        axis, share = lost[spent.name]
        return gone + float(data.counts[kept] @ share[cells[kept, axis]])

    limits = tuple(replace(spent, used=used(spent)) for spent in outcome.limits)
    broken = [spent for spent in limits if not within(np.array([spent.used]), np.array([spent.limit]))]
    if broken:
        raise StageFailed(
            "the copy would break the budget, since it goes without more records than the method leaves out",
            where="policy.generalization.budget",
            expected=", ".join(f"{spent.name} at most {spent.limit:g}" for spent in broken),
            got="more, with the records that are missing from it for others' decoys",
            fix="widen the limit, or lower policy.decoys.missing_limit or the number of decoys",
        )
    return replace(outcome, limits=limits, kept=tuple(spent.kept_share(data.total) for spent in limits))
