"""Whether a copy keeps the suppression limit of k-anonymity once all is known that it goes without.

The search suppresses within the limit. Decoys may take whole classes from a copy after that, so that others alone keep
them: the remaining classes stay as large as they were, but more records are left out.
"""

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.kanonymity.checks import checked_limit
from tasks.microdata.tuples import Counts


def check_copy(counts: Counts, withheld: NDArray[np.bool_] | None, suppression_limit: float) -> None:
    """Compare what a copy goes without with the limit; a minimum class size, which applies afterwards, is not counted.

    Parameters
    ----------
    counts : array of shape (n_tuples,)
        Records of each distinct tuple.
    withheld : array of shape (n_tuples,) or None
        Whether its records are missing from the copy; None where nobody's are.
    suppression_limit : float
        Share of the records that may be left out.

    Raises
    ------
    StageFailed
        If the copy goes without more.
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
