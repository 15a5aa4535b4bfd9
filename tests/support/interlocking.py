"""Three binary attributes whose best cells interlock, so that no attribute divides them."""

from tasks.generalization.game import Payoffs
from tests.support.worlds import World

PAIRS = (
    (("a0", "b0", "c1"), ("a1", "b0", "c1")),
    (("a1", "b0", "c0"), ("a1", "b1", "c0")),
    (("a0", "b1", "c0"), ("a0", "b1", "c1")),
)
"""Each differs in another attribute, and the cells of the pairs leave (0, 0, 0) and (1, 1, 1)."""


def interlocking_world(payoffs: Payoffs | None = None) -> World:
    """Two people at either of the corners, one at each other place; a pair is left alone."""
    rows = tuple([[f"{name}0", "*"], [f"{name}1", "*"]] for name in "abc")
    people = {("a0", "b0", "c0"): 2, ("a1", "b1", "c1"): 2}
    people |= {place: 1 for pair in PAIRS for place in pair}
    stakes = payoffs or Payoffs(benefit=90, loss=60, gain=20, cost=10)
    return World(rows, people, people, stakes, (1.0, 1.0, 1.0))
