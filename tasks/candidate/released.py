"""Released records of a generalization."""

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.suppression import suppressed
from tasks.generalization.transparency import cell_numbers


def released_tuples(table: CountIndex, played: Generalization, minimum_class_size: int) -> NDArray[np.bool_]:
    """Whether each tuple's records are released.

    Raises
    ------
    StageFailed
        If k-anonymity or a budget, or the minimum class size among the records that it leaves, suppresses every record.
    """
    kept = np.ones(len(table.data), dtype=np.bool_) if played.withheld is None else ~played.withheld
    if not kept.any():
        if played.budget is not None:
            raise StageFailed(
                "every record would be suppressed",
                where="policy.generalization.budget",
                expected="a release of at least one record within the limits",
                got="none",
                fix="widen the limits, or allow less suppression so that more general cells are taken",
            )
        raise StageFailed(
            "every record would be suppressed",
            where="policy.generalization.k_anonymity",
            expected="at least one class that meets its demands",
            got="none",
            fix="lower k or the other demands, or suppression_limit, so that more general classes are taken",
        )
    numbers = cell_numbers(played.cells[kept], table.axis_sizes)
    kept[kept] = ~suppressed(numbers, table.data.counts[kept], minimum_class_size)
    if not kept.any():
        raise StageFailed(
            "every record would be suppressed",
            where="policy.generalization.minimum_class_size",
            expected="at least one class of that size",
            got="none",
            fix="lower the minimum class size or generalize more",
        )
    return kept
