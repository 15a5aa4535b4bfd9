"""Application of a method: the cell that every tuple is released as, and how many people match it.

The only entry point to all methods, so that the gate, the comparison of methods and the explanation agree. Where
the policy demands k-anonymity, every method is followed by it (``recoding``); where it has a budget over the whole
file, the per-record methods and the partitions keep it (``budget``).
"""

from collections.abc import Hashable

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.budget.partitions import Weighed
from tasks.generalization.budget.ruling import Ruled, ruled_partition, ruled_records
from tasks.generalization.budget.terms import Budget
from tasks.generalization.common import common_strategy
from tasks.generalization.dividing import LevelsRule, cells_fit, divided
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import Floats, Follower, InformationLoss
from tasks.generalization.problem import Problem, all_attacked
from tasks.generalization.raised import matching_people
from tasks.generalization.recoding import recode
from tasks.generalization.safe_harbor import SafeHarborAxis
from tasks.generalization.table import CountIndex, DivisionOutcome, Generalization, KAnonymityOutcome, MethodCells
from tasks.generalization.transparency import cell_numbers, effective_sizes
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy, check_trees
from tasks.microdata.tuples import Counts
from tasks.request.model import Method

__all__ = [
    "PARTITION_RULES",
    "PER_RECORD",
    "CountIndex",
    "DivisionOutcome",
    "Generalization",
    "KAnonymityOutcome",
    "effective_people",
    "information_kept",
    "overlapping",
    "play",
    "population_cells",
    "rule_of",
    "safe_harbor_floor",
]

PARTITION_RULES = {Method.BASIC_PARTITION: Rule.BASIC, Method.NO_ATTACK_PARTITION: Rule.NO_ATTACK}
PER_RECORD = frozenset({Method.BASIC, Method.NO_ATTACK, Method.SH_FRIENDLY})
_OUTCOMES_KEPT = 16


def play(
    table: CountIndex, method: Method, payoffs: Follower, weights: Floats, cell_weights: str = "population"
) -> Generalization:
    """Apply a method to the data and, with the same rule, to the whole population.

    Parameters
    ----------
    table : CountIndex
    method : Method
    payoffs : Follower
        The recipient's side: stakes, or a plan.
    weights : array of shape (n_attributes,)
        Weight of each attribute in the information loss.
    cell_weights : {"population", "data"}
        What a partition maximises the payoff over.

    Raises
    ------
    StageFailed
        If the method leaves a record without a strategy, or k-anonymity is demanded and cannot be reached.
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
    """Cell that the method gives each population tuple, in axis positions; parameters as of ``play``.

    Raises
    ------
    StageFailed
        If the method leaves a record without a strategy.
    """
    if table.budget is not None:
        own = play(table, method, payoffs, weights, cell_weights).own
        if own is not None:
            return own
    made = _made(table, method, payoffs, weights, cell_weights)
    return made.own if table.demands is None else recode(table, table.demands, made).own


def overlapping(table: CountIndex, method: Method) -> bool:
    """Whether some people can match a released cell that is not their own, so that n_T may be below n_p.

    Where each record has a strategy of its own they can; where whole cells are released they cannot. Generalized
    further, whole cells stay apart if all records had one strategy; others may come to hold each other.
    """
    if table.demands is None:
        return method in PER_RECORD
    if table.demands.local_recoding:
        return True
    if method is Method.SAFE_HARBOR:
        return not all(map(_nested, table.hierarchies, table.safe_harbor))
    return method not in {Method.COMMON, Method.K_ANONYMITY}


def _nested(hierarchy: Hierarchy, extra: SafeHarborAxis) -> bool:
    """Whether groups that only Safe Harbor has hold whole groups of each level below the one that holds them."""
    for position in range(hierarchy.axis_length, hierarchy.axis_length + len(extra.extra_labels)):
        held = extra.positions == position
        for level in range(int(extra.floor[np.argmax(held)])):
            groups = hierarchy.groups[:, level]
            if np.isin(groups[~held], groups[held]).any():
                return False
    return True


def _problem(table: CountIndex, payoffs: Follower, weights: Floats) -> Problem:
    return Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), payoffs, table.people)


def _play(table: CountIndex, method: Method, payoffs: Follower, weights: Floats, cell_weights: str) -> Generalization:
    problem = _problem(table, payoffs, weights)
    made = _made(table, method, payoffs, weights, cell_weights)
    found = None if table.demands is None else recode(table, table.demands, made)
    last, people, listed = made if found is None else found, table.population.counts, table.listed
    withheld, released = (made.withheld, made.released) if found is None else (found.withheld, found.released)
    if released is not None:
        people = np.where(released, people, 0)
        listed = None if listed is None else np.where(released, listed, 0)
    effective, effective_listed = effective_people(table, last.cells, last.own, people, listed)
    whole = found is None and method in PARTITION_RULES and not cells_fit(table)
    return Generalization(
        method=method,
        levels=last.levels,
        cells=last.cells,
        kept=_kept(table, problem, last.cells),
        people=effective if whole else matching_people(table, last.cells),
        effective=effective,
        listed=effective_listed,
        withheld=withheld if withheld is not None and withheld.any() else None,
        k_anonymity=None if found is None else found.outcome,
        own=last.own,
        counted=None if released is None or released.all() else released,
        division=made.division,
        budget=made.budget,
    )


def _key(method: Method, payoffs: Follower, weights: Floats, cell_weights: str) -> Hashable:
    """Inputs that a method's cells depend on, other than the table."""
    return method, payoffs, weights.tobytes(), cell_weights if method in PARTITION_RULES else None


def _made(table: CountIndex, method: Method, payoffs: Follower, weights: Floats, cell_weights: str) -> MethodCells:
    key = _key(method, payoffs, weights, cell_weights)
    if table.demands is None:
        return _method(table, _problem(table, payoffs, weights), method, cell_weights)
    found = table.made.get(key)
    if found is None:
        found = _method(table, _problem(table, payoffs, weights), method, cell_weights)
        table.made.clear()
        table.made[key] = found
    return found


def _method(table: CountIndex, problem: Problem, method: Method, cell_weights: str) -> MethodCells:
    """Cells that the method itself gives data and population."""
    if method is Method.SAFE_HARBOR:
        data, floors = table.data.codes, [axis.floor for axis in table.safe_harbor]
        levels = np.column_stack([levels[data[:, axis]] for axis, levels in enumerate(floors)])
        return MethodCells(levels, _safe_harbor_cells(table, data), _safe_harbor_cells(table, table.population.codes))
    if table.budget is not None and (method in PARTITION_RULES or method in PER_RECORD):
        return _budgeted(table, problem, method, cell_weights, table.budget)
    division = None
    if method in PARTITION_RULES:
        rule, division = divided(table, problem, PARTITION_RULES[method], cell_weights)
    else:
        rule = _levels_rule(table, problem, method)
    levels = rule(table.data.codes)
    cells = problem.canonical(cells_at(table.data.codes, levels, table.hierarchies))
    own = problem.canonical(cells_at(table.population.codes, rule(table.population.codes), table.hierarchies))
    return MethodCells(levels, cells, own, division)


def _budgeted(table: CountIndex, problem: Problem, method: Method, cell_weights: str, budget: Budget) -> MethodCells:
    """Cells that a method gives data and population within a budget over the whole file."""
    check_trees("a budget over the whole file rests on hierarchies that are trees", table.hierarchies)
    found = _ruled(table, problem, method, cell_weights, budget)
    cells, own = (
        problem.canonical(cells_at(tuples.codes, levels, table.hierarchies))
        for tuples, levels in ((table.data, found.levels), (table.population, found.own_levels))
    )
    return MethodCells(
        found.levels, cells, own, withheld=found.withheld, released=~found.own_withheld, budget=found.outcome
    )


def _ruled(table: CountIndex, problem: Problem, method: Method, cell_weights: str, budget: Budget) -> Ruled:
    if method in PARTITION_RULES:
        if not cells_fit(table):
            raise StageFailed(
                "the cells are too many to divide them within a budget",
                where="policy.generalization.budget",
                expected="a table whose cells can be counted",
                got="one for the wide partition, which keeps no budget",
                fix="allow more memory_limit_mb, use fewer quasi-identifiers, or play basic or no-attack",
            )
        weighed = Weighed(table.population, table.data, table.records, by_records=cell_weights == "data")
        return ruled_partition(problem, weighed, budget, PARTITION_RULES[method], table.memory_limit)
    if budget.least_records is not None:
        raise StageFailed(
            "a strategy for each record keeps no least records of a cell",
            where="policy.generalization.budget.least_records",
            expected="a partition",
            got=f"the method {method.value}",
            fix="play a partition, or remove the limit",
        )
    floors = None
    if method is Method.SH_FRIENDLY:
        floors = safe_harbor_floor(table, table.data.codes), safe_harbor_floor(table, table.population.codes)
    return ruled_records(problem, table.population, table.data, budget, rule_of(method), floors=floors)


def rule_of(method: Method) -> Rule:
    """Strategies that a per-record method may choose."""
    return Rule.NO_ATTACK if method is Method.NO_ATTACK else Rule.BASIC


def safe_harbor_floor(table: CountIndex, codes: Codes) -> Codes:
    """Least levels that Safe Harbor allows leaf codes."""
    return np.column_stack([axis.floor[codes[:, place]] for place, axis in enumerate(table.safe_harbor)])


def _levels_rule(table: CountIndex, problem: Problem, method: Method) -> LevelsRule:
    if method is Method.K_ANONYMITY:
        if table.demands is None:
            raise StageFailed(
                "the method k-anonymity has no terms",
                where="policy.generalization.k_anonymity",
                expected="at least k",
                got="nothing",
                fix="add “k_anonymity: {k: 5}” under policy.generalization",
            )
        return np.zeros_like
    if method is Method.COMMON:
        chosen = common_strategy(problem, table.data)
        return lambda codes: np.broadcast_to(chosen, codes.shape)
    rule, floored = rule_of(method), method is Method.SH_FRIENDLY
    return lambda codes: _per_record(problem, codes, rule, safe_harbor_floor(table, codes) if floored else None)


def _per_record(problem: Problem, codes: Codes, rule: Rule, floor: Codes | None) -> Codes:
    nodes, _ = solve(problem, codes, rule, floor)
    if (nodes < 0).any():
        raise all_attacked("some records have no strategy that nobody would attack", problem.payoffs)
    levels: Codes = problem.lattice.nodes[nodes]
    return levels


def _kept(table: CountIndex, problem: Problem, cells: Codes) -> Floats:
    """Share of information kept, groups that only Safe Harbor has included."""
    lost = np.zeros(len(cells))
    for axis, (losses, extra) in enumerate(zip(problem.loss.by_axis, table.safe_harbor, strict=True)):
        own = problem.loss.weights[axis] * np.log(extra.extra_sizes)
        lost += np.concatenate([losses, own])[cells[:, axis]]
    kept: Floats = 1.0 - lost / problem.loss.maximum
    return kept


def information_kept(table: CountIndex, payoffs: Follower, weights: Floats, cells: Codes) -> Floats:
    """Share of information that each of some cells keeps, 0 to 1; shape (n_cells,)."""
    return _kept(table, _problem(table, payoffs, weights), cells)


def _safe_harbor_cells(table: CountIndex, codes: Codes) -> Codes:
    return np.column_stack([axis.positions[codes[:, number]] for number, axis in enumerate(table.safe_harbor)])


def effective_people(
    table: CountIndex, released: Codes, own: Codes, people: Counts, listed: Counts | None
) -> tuple[Counts, Counts | None]:
    """People whose own cell it is that is released: of the population, and of the register.

    Parameters
    ----------
    table : CountIndex
    released : array of shape (n_tuples, n_attributes)
        Released cell of each data tuple.
    own : array of shape (n_population_tuples, n_attributes)
        Cell that the rule gives each population tuple.
    people, listed : arrays of shape (n_population_tuples,)
        People of each population tuple who count, and those of them in the register; None without one.
    """
    numbers, owned = cell_numbers(released, table.axis_sizes), cell_numbers(own, table.axis_sizes)
    named = None if listed is None else effective_sizes(numbers, owned, listed)
    return effective_sizes(numbers, owned, people), named
