"""Results that the gate works out alike in most tests, kept for as long as the process runs.

Great Expectations takes a quarter of a small release, and the search for deterring penalties a sixth; most tests of
flows release the same records under the same terms. What is kept depends on nothing but its key.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import pandas as pd
import pytest

from tasks.adversary import exploiting
from tasks.validation import run
from tasks.validation.suite import Check

_evaluate = run.evaluate
_solved = lru_cache(maxsize=4096)(exploiting._table.__wrapped__)
_verdicts: dict[tuple[object, ...], dict[str, bool]] = {}


def _evaluate_once(table: pd.DataFrame, checks: Sequence[Check]) -> dict[str, bool]:
    cells = tuple((name, str(column.dtype), *column) for name, column in table.items())
    key = (cells, repr(checks))
    if key not in _verdicts:
        _verdicts[key] = _evaluate(table, checks)
    return dict(_verdicts[key])


@contextmanager
def remembered() -> Iterator[None]:
    """Keep results of this process, and use those kept before, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "evaluate", _evaluate_once)
        patch.setattr(exploiting, "_table", _solved)
        yield
