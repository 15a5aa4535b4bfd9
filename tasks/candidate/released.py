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
    left_out = "budget" if played.budget is not None else "k_anonymity"
    if kept.any():
        left_out = "minimum_class_size"
        numbers = cell_numbers(played.cells[kept], table.axis_sizes)
        kept[kept] = ~suppressed(numbers, table.data.counts[kept], minimum_class_size)
    if not kept.any():
        expected, fix = _NONE_LEFT[left_out]
        raise StageFailed(
            "every record would be suppressed",
            where=f"policy.generalization.{left_out}",
            expected=expected,
            got="none",
            fix=fix,
        )
    return kept


_NONE_LEFT = {
    "budget": (
        "a release of at least one record within the limits",
        "widen the limits, or allow less suppression so that more general cells are taken",
    ),
    "k_anonymity": (
        "at least one class that meets its demands",
        "lower k or the other demands, or suppression_limit, so that more general classes are taken",
    ),
    "minimum_class_size": ("at least one class of that size", "lower the minimum class size or generalize more"),
}
"""What was expected and what to do where nothing is left, by the term that suppressed the last record."""
