"""Application of a method: the cell that every tuple is released as, and how many people match it.

The only entry point to all methods. Where the policy demands k-anonymity, every method is followed by it
(``recoding``); where it has a budget over the whole file, the per-record methods and the partitions keep it
(``budget``).
"""

from collections.abc import Hashable

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.budget.full_domain import budgeted_full_domain
from tasks.generalization.budget.partitions import Weighed, budgeted_partition
from tasks.generalization.budget.records import budgeted_records
from tasks.generalization.budget.remainders import budgeted_remainder
from tasks.generalization.game.count_index import CountIndex, Generalization, MethodCells, matching_people
from tasks.generalization.game.payoffs import Floats, Follower, InformationLoss
from tasks.generalization.game.problem import Problem
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.generalization.game.transparency import cell_numbers, effective_sizes
from tasks.generalization.methods.partitions import check_divisible, divisible
from tasks.generalization.methods.per_record import rule_of, safe_harbor_floor
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.recoding import recode
from tasks.generalization.suppression import class_sizes
from tasks.microdata.hierarchy import Codes, Hierarchy, check_trees
from tasks.microdata.tuples import Counts
from tasks.request.model import BUDGETED, BudgetPolicy, GatesBudget, Method

_OUTCOMES_KEPT = 16


def generalize(
    table: CountIndex, method: Method, payoffs: Follower, weights: Floats, cell_weights: str = "population"
) -> Generalization:
    """Apply a method to the data and, with the same rule, to the whole population.

    Where whole cells are released the people whose own cell it is are those who match, and nobody else's cell is made:
    ``population_cells`` gives them. ``payoffs`` are the recipient's side, ``weights`` those of each attribute in the
    information loss, and a partition maximises the payoff over the ``cell_weights``, "population" or "data". Raises
    StageFailed if the method leaves a record without a strategy, or k-anonymity is demanded and cannot be reached.
    """
    key = _key(method, payoffs, weights, cell_weights)
    if key not in table.outcomes:
        if len(table.outcomes) >= _OUTCOMES_KEPT:
            del table.outcomes[next(iter(table.outcomes))]
        table.outcomes[key] = _play(table, method, payoffs, weights, cell_weights)
    return table.outcomes[key]


def population_cells(
    table: CountIndex, method: Method, payoffs: Follower, weights: Floats, cell_weights: str = "population"
) -> Codes:
    """Cell that the method gives each population tuple, in axis positions; errors as of ``generalize``."""
    own = generalize(table, method, payoffs, weights, cell_weights).own
    return _method_cells(table, method, payoffs, weights, cell_weights).own if own is None else own


def overlapping(table: CountIndex, method: Method) -> bool:
    """Whether some people can match a released cell that is not their own, so that n_T may be below n_p.

    Whole cells that are generalized further stay apart only if all records had one strategy.
    """
    if table.demands is None:
        return not METHODS[method].whole_cells
    if table.demands.local_recoding:
        return True
    if method is Method.SAFE_HARBOR:
        return not all(map(_nested, table.hierarchies, table.safe_harbor))
    return not METHODS[method].common


def _nested(hierarchy: Hierarchy, extra: SafeHarborAxis) -> bool:
    """Whether groups that only Safe Harbor has hold whole groups of each level below the one that holds them."""
    for position in range(hierarchy.axis_length, hierarchy.axis_length + len(extra.extra_labels)):
        held = extra.positions == position
        for level in range(int(extra.floor[np.argmax(held)])):
            groups = hierarchy.groups[:, level]
            if np.isin(groups[~held], groups[held]).any():
                return False
    return True


def game_problem(table: CountIndex, payoffs: Follower, weights: Floats) -> Problem:
    """The game on a table; parameters as of ``generalize``."""
    return Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), payoffs, table.people)


def _play(table: CountIndex, method: Method, payoffs: Follower, weights: Floats, cell_weights: str) -> Generalization:
    made = _method_cells(table, method, payoffs, weights, cell_weights)
    recoded = None if table.demands is None else recode(table, table.demands, made)
    last, released = (made, made.released) if recoded is None else (recoded, recoded.released)
    kept, listed = information_kept(table, payoffs, weights, last.cells), table.listed
    if made.budget is None and recoded is None and listed is None and not overlapping(table, method):
        matching = matching_people(table, made.cells)
        return Generalization(method, made.levels, made.cells, kept, matching, matching, division=made.division)
    people = table.population.counts
    if released is not None:
        people = np.where(released, people, 0)
        listed = None if listed is None else np.where(released, listed, 0)
    effective, effective_listed = effective_people(table, last.cells, last.own, people, listed)
    return Generalization(
        method=method,
        levels=last.levels,
        cells=last.cells,
        kept=kept,
        people=matching_people(table, last.cells),
        effective=effective,
        listed=effective_listed,
        withheld=last.withheld if last.withheld is not None and last.withheld.any() else None,
        k_anonymity=None if recoded is None else recoded.outcome,
        own=last.own,
        counted=None if released is None or released.all() else released,
        division=made.division,
        budget=made.budget,
    )


def _key(method: Method, payoffs: Follower, weights: Floats, cell_weights: str) -> Hashable:
    """Inputs that a method's cells depend on, other than the table."""
    cell_weights = cell_weights if METHODS[method].partition is not None else ""
    return method, payoffs, weights.tobytes(), cell_weights


def _method_cells(
    table: CountIndex, method: Method, payoffs: Follower, weights: Floats, cell_weights: str
) -> MethodCells:
    """Cells that the method itself gives; those of the last ones are kept, as they do not depend on demands."""
    key = _key(method, payoffs, weights, cell_weights)
    if key not in table.made:
        problem, within = game_problem(table, payoffs, weights), False
        budget = table.budget if method in BUDGETED else None
        if budget is None or (isinstance(budget, GatesBudget) and budget.least_records is None):
            found, within = _unlimited(table, problem, method, cell_weights), budget is None
            if budget is not None:
                people = class_sizes(cell_numbers(found.own, table.axis_sizes), table.population.counts)
                within = bool(people.min() >= (budget.least_people or 1))
        if budget is not None and not within:
            found = _budgeted(table, problem, method, cell_weights, budget)
        while len(table.made) >= table.most_made:
            del table.made[next(iter(table.made))]
        table.made[key] = found
    return table.made[key]


def _unlimited(table: CountIndex, problem: Problem, method: Method, cell_weights: str) -> MethodCells:
    recoding = METHODS[method].recoding(table, problem, cell_weights)

    def cells(codes: Codes, levels: Codes | None = None) -> Codes:
        if recoding.cells is not None:
            return recoding.cells(codes)
        levels = recoding.levels(codes) if levels is None else levels
        return problem.cells(codes, levels)

    levels = recoding.levels(table.data.codes)
    own = lambda: cells(table.population.codes)  # noqa: E731  asked for where cells overlap
    return MethodCells(levels, cells(table.data.codes, levels), own, recoding.division)


def _budgeted(
    table: CountIndex, problem: Problem, method: Method, cell_weights: str, budget: BudgetPolicy
) -> MethodCells:
    """Cells that a method gives data and population within a budget over the whole file."""
    check_trees("a budget over the whole file rests on hierarchies that are trees", table.hierarchies)
    data, population = table.data, table.population
    divided = METHODS[method].partition
    if METHODS[method].remainders:
        quick, weighed = table.brief and not table.proven, Weighed(population, data, table.layers)
        found = budgeted_remainder(problem, weighed, budget, divisible=divisible(table), quick=quick)
    elif method is Method.NO_ATTACK_COMMON:
        found = budgeted_full_domain(problem, Weighed(population, data, table.layers), budget)
    elif divided is None:
        if budget.least_records is not None:
            raise StageFailed(
                "this method cannot keep a least number of records in each cell",
                where="policy.generalization.budget.least_records",
                expected="a method that divides the whole file into cells, such as basic-partition",
                got=f"{method.value}, which generalizes each record by itself",
                fix="choose a partition under policy.generalization.method, or remove the limit",
            )
        floored = method is Method.SH_FRIENDLY
        floors = (safe_harbor_floor(table, data.codes), safe_harbor_floor(table, population.codes)) if floored else None
        found = budgeted_records(problem, population, data, budget, rule_of(method), floors=floors)
    else:
        check_divisible(table)
        weighed = Weighed(population, data, table.layers, by_records=cell_weights == "data")
        found = budgeted_partition(problem, weighed, budget, divided)
    cells, own = (
        problem.cells(tuples.codes, levels) for tuples, levels in ((data, found.levels), (population, found.own_levels))
    )
    released = ~found.own_withheld
    return MethodCells(found.levels, cells, lambda: own, None, found.withheld, released, found.outcome)


def information_kept(table: CountIndex, payoffs: Follower, weights: Floats, cells: Codes) -> Floats:
    """Share of information that each of some cells keeps, 0 to 1, groups that only Safe Harbor has included."""
    loss, lost = game_problem(table, payoffs, weights).loss, np.zeros(len(cells))
    for axis, (losses, extra) in enumerate(zip(loss.by_axis, table.safe_harbor, strict=True)):
        lost += np.concatenate([losses, loss.weights[axis] * np.log(extra.extra_sizes)])[cells[:, axis]]
    return 1.0 - lost / loss.maximum


def effective_people(
    table: CountIndex, released: Codes, own: Codes, people: Counts, listed: Counts | None
) -> tuple[Counts, Counts | None]:
    """People whose own cell it is that is released to each data tuple: of the population, and of the register if any.

    ``people`` and ``listed`` are the people of each population tuple who count, and those of them in the register.
    """
    numbers, owned = cell_numbers(released, table.axis_sizes), cell_numbers(own, table.axis_sizes)
    named = None if listed is None else effective_sizes(numbers, owned, listed)
    return effective_sizes(numbers, owned, people), named
