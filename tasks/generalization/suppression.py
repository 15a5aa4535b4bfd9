"""Records left out: of classes below a minimum size, and whether a copy keeps the limit of k-anonymity on them."""

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.kanonymity.checks import checked_limit
from tasks.microdata.tuples import Counts


def class_sizes(cells: Counts, records: Counts) -> Counts:
    """Records in the class of each tuple, from the number of its released cell and its own records; all (n_tuples,)."""
    _, cell = np.unique(cells, return_inverse=True)
    return np.rint(np.bincount(cell, weights=records)).astype(np.int64)[cell]


def suppressed(cells: Counts, records: Counts, minimum: int) -> NDArray[np.bool_]:
    """Whether each tuple's records are left out because their class is smaller than ``minimum``."""
    return class_sizes(cells, records) < minimum


def check_copy(counts: Counts, withheld: NDArray[np.bool_] | None, suppression_limit: float) -> None:
    """Refuse (StageFailed) a copy that goes without a larger share of its records than ``suppression_limit``.

    ``counts`` are the records of each distinct tuple, ``withheld`` marks those missing from the copy, None where none
    is. Suppression by a minimum class size, which applies afterwards, is not counted.
    """
    gone = 0 if withheld is None else int(counts[withheld].sum())
    if gone > checked_limit(suppression_limit, int(counts.sum())):
        raise StageFailed(
            "the copy would go without more records than k-anonymity may suppress",
            where="policy.generalization.k_anonymity.suppression_limit",
            expected=f"at most {suppression_limit:g} of the records",
            got="more, with the records that are missing from it for others' decoys",
            fix="raise suppression_limit, or lower policy.decoys.missing_limit or the number of decoys",
        )
