"""The best classes of all by CP-SAT: each tuple in one cell that holds it, each used cell with enough people.

The problem whose bound and heuristic ``tasks.generalization.remainder`` has, without any order of release.
"""

from collections import defaultdict

from ortools.sat.python import cp_model

from tests.support import slow
from tests.support.worlds import World

_SCALE = 10**6


def best_classes(world: World, least: int) -> float | None:
    """Most that the publisher can have in sum over the people; None where there are fewer than ``least``."""
    if sum(world.people.values()) < least:
        return None
    model, members, gains = cp_model.CpModel(), defaultdict(list), []
    for value, people in world.people.items():
        cells = {slow.cell_of(world, value, levels) for levels in slow.strategies(world)}
        chosen = {cell: model.new_bool_var("") for cell in cells}
        model.add_exactly_one(chosen.values())
        for cell, taken in chosen.items():
            members[cell].append((people, taken))
            gains.append(round(people * world.payoffs.benefit * slow.kept(world, cell) * _SCALE) * taken)
    for held in members.values():
        used = model.new_bool_var("")
        for _, taken in held:
            model.add_implication(taken, used)
        model.add(sum(people * taken for people, taken in held) >= least).only_enforce_if(used)
    model.maximize(sum(gains))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return solver.objective_value / _SCALE
