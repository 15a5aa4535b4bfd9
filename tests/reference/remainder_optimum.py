"""The best classes of all by CP-SAT: each tuple in one cell that holds it, each used cell with enough people.

The problem whose bound and heuristic ``tasks.generalization.remainder`` has, without any order of release; with the
limits of a budget where one is given.
"""

from collections import defaultdict
from math import log

from ortools.sat.python import cp_model

from tasks.request.model import BudgetPolicy
from tests.support import slow
from tests.support.worlds import World

_SCALE = 10**6


def best_classes(world: World, least: int, budget: BudgetPolicy | None = None) -> float | None:
    """Most that the publisher can have in sum over the people; None where no classes are possible.

    Parameters
    ----------
    world : World
        All records are of people of the population.
    least : int
        Least people of a class.
    budget : BudgetPolicy, optional
        Limits on the classes, on records left out and on what attributes lose.
    """
    model, members, gains = cp_model.CpModel(), defaultdict(list), []
    floors = (
        {} if budget is None else {int(name.removeprefix("q")): floor for name, floor in budget.utility_floor.items()}
    )
    lost: dict[int, list[cp_model.LinearExprT]] = defaultdict(list)
    left_out: list[cp_model.LinearExprT] = []
    for value, people in world.people.items():
        records = world.records.get(value, 0)
        cells = {slow.cell_of(world, value, levels) for levels in slow.strategies(world)}
        chosen = {cell: model.new_bool_var("") for cell in cells}
        out = model.new_bool_var("")
        if budget is None or budget.suppression is None:
            model.add(out == 0)
        left_out.append(records * out)
        model.add_exactly_one([*chosen.values(), out])
        for axis in floors:
            lost[axis].append(records * _SCALE * out)
        for cell, taken in chosen.items():
            members[cell].append((people, records, taken))
            gains.append(round(people * world.payoffs.benefit * slow.kept(world, cell) * _SCALE) * taken)
            for axis in floors:
                share = log(len(cell[axis])) / log(len(world.rows[axis]))
                lost[axis].append(round(records * share * _SCALE) * taken)
    for held in members.values():
        used, filed = model.new_bool_var(""), model.new_bool_var("")
        for _, records, taken in held:
            model.add_implication(taken, used)
            if records:
                model.add_implication(taken, filed)
        model.add(sum(people * taken for people, _, taken in held) >= least).only_enforce_if(used)
        if budget is not None:
            fewest = budget.least_records or 0
            model.add(sum(records * taken for _, records, taken in held) >= fewest).only_enforce_if(filed)
    n_records = sum(world.records.values())
    if budget is not None and budget.suppression is not None:
        model.add(sum(left_out) <= int(budget.suppression * n_records + 1e-9))
    for axis, floor in floors.items():
        model.add(sum(lost[axis]) <= round((1 - floor) * n_records * _SCALE) + n_records)
    model.maximize(sum(gains))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL
    return solver.objective_value / _SCALE
