"""How many examples a property is tried on: all of them in the full suite, a few in the quick one."""

import os

FULL = "RELEASEGATE_FULL_TESTS"
"""Environment variable that asks for the full suite's counts."""
_FEW = 15


def examples(count: int, few: int = _FEW) -> int:
    """The number given, or a few where the suite is to be quick."""
    return count if os.environ.get(FULL) else min(count, few)


def every(step: int) -> int:
    """The step through a list of cases: the number given, or three times that where the suite is to be quick."""
    return step if os.environ.get(FULL) else 3 * step
