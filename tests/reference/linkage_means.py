"""Means of several attacks, as the papers print them."""

import math
from collections.abc import Sequence

from tasks.assessments.linkage.problem.figure import Linkage
from tasks.core.errors import ParameterError


def mean_share(figures: Sequence[Linkage]) -> float:
    """Mean share of correct links over several attacks, such as one for each number of known attributes.

    Raises
    ------
    ParameterError
        If there are none.
    """
    if not figures:
        raise ParameterError(
            "there is no attack to average",
            where="figures",
            expected="at least one",
            got="none",
            fix="run an attack first",
        )
    return math.fsum(figure.share_correct for figure in figures) / len(figures)
