"""Files that are damaged at random end in a result or in a message, and never in a traceback or in data."""

import pytest

from tests.damaged.files import CANARY
from tests.damaged.running import judged, mutants

MUTANTS = 24
"""Two of each form; ``make damaged`` makes 2,000."""


@pytest.mark.slow
def test_no_damaged_file_shows_a_traceback_or_data() -> None:
    ended = list(mutants(range(MUTANTS), seed=7))
    assert [one for one in ended if one.outcome == "WRONG"] == []
    for command in ("init", "check"):
        assert {one.outcome for one in ended if one.command == command} >= {"done", "refused"}


def test_data_and_tracebacks_are_seen() -> None:
    assert judged("init", "x.csv", 0, (2, "error: no such thing")).outcome == "refused"
    for output in (f"got: {CANARY}x", "Traceback (most recent call last):", "can't decode byte 0xfc"):
        assert judged("init", "x.csv", 0, (2, output)).outcome == "WRONG"
    assert judged("check", "x.csv", 0, (1, "error: the program failed")).outcome == "WRONG"
