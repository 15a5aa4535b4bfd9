"""How many examples a property is tried on: all of them in the full suite, a few in the quick one."""

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

FULL = "RELEASEGATE_FULL_TESTS"
"""Environment variable that asks for the full suite's counts."""
_FEW = 15


def examples(count: int, few: int = _FEW) -> int:
    """The number given, or a few where the suite is to be quick."""
    return count if os.environ.get(FULL) else min(count, few)


def every(step: int) -> int:
    """The step through a list of cases: the number given, or three times that where the suite is to be quick."""
    return step if os.environ.get(FULL) else 3 * step


def quick_and_slow(quick: Collection[str], cases: Iterable[str]) -> list[Any]:
    """Cases of a test by name, for ``parametrize``: those that are not named as quick are marked slow."""
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in cases]
