"""The suppression limit of k-anonymity, for all that a copy goes without."""

import numpy as np
import pytest

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.suppression import check_copy

COUNTS = np.array([3, 4, 13, 30])


@pytest.mark.parametrize(
    ("withheld", "limit", "kept"),
    [
        (None, 0.0, True),
        ([0, 0, 0, 0], 0.0, True),
        ([1, 0, 0, 0], 0.06, True),
        ([1, 0, 0, 0], 0.0599, False),
        ([1, 1, 0, 0], 0.14, True),
        ([1, 1, 0, 0], 0.1, False),
        ([1, 1, 1, 0], 0.4, True),
        ([1, 1, 1, 1], 1.0, True),
    ],
)
def test_a_copy_is_held_to_the_limit(withheld: list[int] | None, limit: float, kept: bool) -> None:
    gone = None if withheld is None else np.array(withheld, dtype=np.bool_)
    if kept:
        check_copy(COUNTS, gone, limit)
        return
    with pytest.raises(StageFailed, match="more records than k-anonymity may suppress") as caught:
        check_copy(COUNTS, gone, limit)
    assert caught.value.expected == f"at most {limit:g} of the records"
    assert not any(digit in str(caught.value.got) for digit in "0123456789"), "how many are missing tells of decoys"


def test_no_limit_that_is_none() -> None:
    with pytest.raises(ParameterError, match="outside its range"):
        check_copy(COUNTS, None, float("nan"))
