"""The No-Attack game by remainder classes: cells less the people released before, none worth attacking."""

from functools import partial

import numpy as np

from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.facts import BoundBy, DivisionOutcome
from tasks.generalization.game.partition import partition
from tasks.generalization.game.problem import Problem
from tasks.generalization.methods.method import GeneralizationMethod, Recoding
from tasks.generalization.methods.partitions import divisible
from tasks.generalization.remainder.find import find, find_beside_bound, find_briefly
from tasks.generalization.remainder.prices import priced_bound
from tasks.generalization.remainder.problem import UNPLACED, remainder_problem
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import leaf_keys
from tasks.request.model import Method


def _recoding(table: CountIndex, problem: Problem, _weights: str) -> Recoding:
    classes, population = remainder_problem(problem, table.population), table.population
    search = find_beside_bound if table.proven else partial(find, left_out=0)
    found = None if table.brief else search(classes)
    node = find_briefly(classes) if found is None else found.node
    if divisible(table) and (table.proven or not table.brief):
        whole = partition(problem, table.people, GameRule.NO_ATTACK).levels(population.codes)
        node = max(node, classes.lattice.number(whole).astype(np.int64), key=classes.worth)

    def levels(codes: Codes) -> Codes:
        if codes is population.codes:
            return classes.lattice.nodes[node]
        place = population.find(leaf_keys(codes, problem.hierarchies))
        chosen = np.where(place >= 0, node[place], classes.top)
        held = classes.holding(codes[place < 0], node)
        chosen[place < 0] = np.where(held == UNPLACED, classes.top, held)
        return classes.lattice.nodes[chosen]

    if found is None or not table.proven:
        return Recoding(levels)
    bounds, priced = {BoundBy.BEST_CELLS: found.bound(classes)}, priced_bound(classes, node)
    if priced is not None:
        bounds[BoundBy.PRICES] = priced
    by = min(bounds, key=bounds.__getitem__)
    payoff, most = (problem.payoffs.benefit * worth for worth in (classes.worth(node), bounds[by]))
    return Recoding(levels, division=DivisionOutcome(payoff=payoff, upper_bound=most, exact=False, bound_by=by))


NO_ATTACK_REMAINDER = GeneralizationMethod(
    Method.NO_ATTACK_REMAINDER,
    _recoding,
    "No-Attack game, remainder classes",
    "From the most specific cells to the most general ones, every cell is released in which enough people of the "
    "population are left for nobody to attack, and they are taken out; the people left go on to more general cells. "
    "Whole cells are released where the best partition into them pays more.",
    "A class is a cell less the people who were released before. A recipient who knows the rule and the population "
    "finds the class itself: the effective group n_T is its size, which is never worth attacking. The recipient also "
    "learns that nobody in a class lies in a cell that was released before it, which narrows values but never the "
    "people of a class.",
    stakes="loss",
    remainders=True,
    plain="Everybody is put into the narrowest group in which no attempt to identify somebody pays; whoever is left "
    "over, into wider ones",
)
