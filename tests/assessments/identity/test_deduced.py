"""Information that the rule adds to a released cell, by hand and by a sum over all people of random worlds."""

from collections import Counter
from dataclasses import replace
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.identity.deduced import deduced_bits
from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import Generalization
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.generalize import generalize
from tasks.request.model import Method
from tests.support import slow
from tests.support.examples import examples
from tests.support.generalization import cells_as_sets, table_of, values_of
from tests.support.worlds import World, worlds

METHODS = (Method.NO_ATTACK_REMAINDER, Method.NO_ATTACK, Method.BASIC)


def test_worked_by_hand() -> None:
    """Ten people of x are released as x, three of y as the cell that holds both; a record of each."""
    people = {("x",): 10, ("y",): 3}
    world = World(([["x", "*"], ["y", "*"]],), people, {("x",): 1, ("y",): 1}, Payoffs(10.0, 1.0, 1.0, 1.0), (1.0,))
    table = table_of(world, (0,), 2**20)
    (tree,), codes = table.hierarchies, table.population.codes
    own = np.array([[tree.positions[code, level]] for code, level in zip(codes[:, 0], (0, 1), strict=True)])
    both = np.array([2, 13])
    generalization = Generalization(Method.NO_ATTACK_REMAINDER, codes, own, np.ones(2), both, both)
    kept = np.ones(2, dtype=np.bool_)
    # A record of x tells nothing more; that in {x, y} is surely y, where 3 of 13 people are.
    assert deduced_bits(table, generalization, kept, own) == {"q0": pytest.approx(log2(13 / 3) / 2)}
    whole = own[[1, 1]]
    assert deduced_bits(table, replace(generalization, cells=whole), kept, whole)["q0"] == pytest.approx(0.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(world=st.one_of(worlds(), worlds(crossing=True)))
@settings(max_examples=examples(40))
def test_is_the_divergence_summed_person_by_person(method: Method, world: World) -> None:
    table = table_of(world, (0,) * len(world.rows), 2**20)
    try:
        made = generalize(table, method, world.payoffs, np.array(world.weights))
    except StageFailed:
        return
    assert made.own is not None
    found = deduced_bits(table, made, np.ones(len(table.data), dtype=np.bool_), made.own)
    people = values_of(table, table.population.codes)
    cells = cells_as_sets(table, made)
    for axis, (name, bits) in enumerate(found.items()):
        assert name == table.hierarchies[axis].name
        total = 0.0
        for row, count in enumerate(table.data.counts.tolist()):
            same = (made.own == made.cells[row]).all(axis=1)
            members: Counter[str] = Counter()
            for one, place in zip(people, same, strict=True):
                members[one[axis]] += world.people[one] * int(place)
            inside = {v: n for v, n in members.items() if n}
            whole = slow.count(world.people, cells[row])
            for value, number in inside.items():
                share = number / sum(inside.values())
                narrower = (*cells[row][:axis], frozenset([value]), *cells[row][axis + 1 :])
                total += count * share * log2(share * whole / slow.count(world.people, narrower))
        assert bits == pytest.approx(total / table.data.total, abs=1e-9)
        assert bits >= -1e-9
