import pytest

from tasks.generalization.game import Payoffs
from tests.support.worlds import World

PAIR_ROWS = (
    [["a1", "*"], ["a2", "*"]],
    [["b1", "b12", "*"], ["b2", "b12", "*"], ["b3", "b34", "*"], ["b4", "b34", "*"]],
)
"""ln 2 + ln 4 = 3 ln 2 in all, so that with V = 90 a group of 2 costs 30 and one of 4 costs 60."""


@pytest.fixture
def pair_world() -> World:
    """An attempt costs 10 and brings 60: groups from 6 people are left alone."""
    people = {("a1", "b1"): 1, ("a1", "b2"): 1, ("a1", "b3"): 1, ("a2", "b1"): 2, ("a2", "b2"): 2, ("a2", "b4"): 3}
    return World(PAIR_ROWS, people, {("a1", "b1"): 1}, Payoffs(benefit=90, loss=60, gain=60, cost=10), (1.0, 1.0))
