"""A recursive partition under a budget over the whole file.

The relaxation asks for the best partition at given prices (``priced``), which is exact. Its optimum mixes a few
partitions. These agree on some splits from the top down; below, each region can be taken from any of them, whatever the
others take, and everybody in a released cell is still released as that cell. So the regions are a knapsack again, which
``allocate`` solves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.budget.allocate import Allocation, allocate
from tasks.generalization.budget.options import Options
from tasks.generalization.budget.priced import PricedCells
from tasks.generalization.budget.records import Spent, spent_of
from tasks.generalization.budget.relaxation import Answer, relax, relax_by
from tasks.generalization.budget.rounding import within
from tasks.generalization.budget.strategies import strategies
from tasks.generalization.budget.terms import Budget, Limit, limits_of, usage_of, usage_of_suppression
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.partition import Partition, partition
from tasks.generalization.problem import Problem
from tasks.microdata.cube import DenseCube, SparseCube, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples, distinct_tuples, radix_strides

_NEAR = 1e-5
"""Share of what the budget costs that the relaxation's bound may be off: each question to it is a whole partition."""
_KEPT = 2**30
"""Default number of bytes that may be stored from one price to the next."""
_ROUNDS = 60
_SAMPLE = 4_000
_FACTORS = (1.0, 1.2, 0.9)

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Weighed:
    """The population and the file, and over which of them the payoff of a partition is summed."""

    population: Tuples
    data: Tuples
    records: DenseCube | SparseCube
    """Records in every cell, counted in the same form as the people."""
    by_records: bool = False
    """Whether a cell weighs as many as it has records; else as many as it has people."""

    @property
    def tuples(self) -> Tuples:
        """Tuples that the payoff is summed over."""
        return self.data if self.by_records else self.population

    def cube(self, problem: Problem) -> DenseCube | SparseCube:
        """The same, counted in every cell."""
        return self.records if self.by_records else problem.people


@dataclass(frozen=True, eq=False)
class PartitionPlan:
    """A partition within a budget, with what proves how good it is."""

    chosen: "MixedPartition"
    limits: tuple[Limit, ...]
    payoff: float
    """Sum of the publisher's payoffs over what the partition is weighed by."""
    bound: float
    """No partition within the budget pays more."""
    without_budget: float
    """Payoff of the best partition under the rule alone."""
    used: Floats
    """Use of each limit by the records of the file."""
    prices: Floats

    @property
    def gap(self) -> float:
        """Largest amount by which a better partition could pay more."""
        return max(self.bound - self.payoff, 0.0)

    @property
    def spent(self) -> tuple[Spent, ...]:
        """Each limit with its use and its price."""
        return spent_of(self.limits, self.used, self.prices)


@dataclass(frozen=True, eq=False)
class MixedPartition:
    """Partitions that agree from the top down to some regions, and for each region the one that is taken there."""

    hierarchies: tuple[Hierarchy, ...]
    parts: tuple[Partition, ...]
    regions: Counts
    """Numbers of the regions' cells, growing."""
    taken: Counts
    """Partition taken in each region."""

    def walk(self, codes: Codes) -> tuple[Codes, Bools]:
        """Levels at which leaf codes are released, and whether they are withheld instead."""
        numbers = cell_number(self.hierarchies, codes, common_levels(self.parts, self.hierarchies, codes))
        place = np.minimum(np.searchsorted(self.regions, numbers), len(self.regions) - 1)
        which = np.where(self.regions[place] == numbers, self.taken[place], 0)
        levels, withheld = np.empty_like(codes), np.zeros(len(codes), dtype=np.bool_)
        for part, one in enumerate(self.parts):
            rows = np.flatnonzero(which == part)
            levels[rows], withheld[rows] = one.walk(codes[rows])
        return levels, withheld


def common_levels(parts: tuple[Partition, ...], hierarchies: tuple[Hierarchy, ...], codes: Codes) -> Codes:
    """Levels of the first cell on the way down about which the partitions disagree, or of the last."""
    levels = np.tile(np.array([h.n_levels - 1 for h in hierarchies], dtype=np.int32), (len(codes), 1))
    active = np.arange(len(codes))
    while len(active):
        cells = cells_at(codes[active], levels[active], hierarchies)
        choices = np.stack([part.choices.at(cells, levels[active]) for part in parts])
        split = (choices == choices[0]).all(axis=0) & (choices[0] >= 0)
        active = active[split]
        levels[active, choices[0, split]] -= 1
    return levels


def cell_number(hierarchies: tuple[Hierarchy, ...], codes: Codes, levels: Codes) -> Counts:
    """One number for each cell of each node."""
    strides = radix_strides([hierarchy.axis_length for hierarchy in hierarchies])
    numbers: Counts = cells_at(codes, levels, hierarchies).astype(np.int64) @ strides
    return numbers


def plan_partition(
    problem: Problem,
    weighed: Weighed,
    budget: Budget,
    rule: Rule = Rule.BASIC,
    *,
    memory_limit: int = _KEPT,
) -> PartitionPlan:
    """The recursive partition that pays most within a budget over the file.

    Parameters
    ----------
    problem : Problem
    weighed : Weighed
    budget : Budget
    rule : Rule
        ``NO_ATTACK`` releases only cells that nobody attacks.
    memory_limit : int
        Bytes of what cells pay and use that may be kept from one price to the next. It changes the time, not the plan.

    Raises
    ------
    StageFailed
        If no partition keeps the budget, or none was found.
    """
    problem, weighed = _reaching_records(problem, weighed)
    limits = limits_of(budget, problem.hierarchies, weighed.data.total)
    capacity = np.array([limit.capacity for limit in limits])
    cells = PricedCells(problem, weighed.records, weighed.cube(problem), budget, rule, tuple(capacity), memory_limit)
    measure = _Measure(problem, weighed, budget)
    free = cells.best(np.zeros(len(limits)))
    if not np.isfinite(free.total):
        raise _forbidden(budget, limits)
    guesses = _guesses(problem, weighed, budget, rule)
    relaxation = relax_by(_oracle(cells, measure, free), limits, _NEAR, _ROUNDS, guesses)
    bound = free.total - relaxation.regret
    chosen = _mixed(measure, tuple(part for _, part in relaxation.mixture), limits)
    if chosen is None and relaxation.feasible is not None:
        chosen = _alone(measure, relaxation.feasible)
    payoff, used = (-np.inf, capacity) if chosen is None else measure.of(chosen)
    if chosen is None or not within(used, capacity):
        raise StageFailed(
            "no partition was found that keeps the budget",
            where="policy.generalization.budget",
            expected="a partition within the limits",
            got="none, though mixtures of partitions would keep them",
            fix="widen a limit, or allow suppression",
        )
    _check_least(problem, weighed.data, budget, chosen)
    alone = _alone_total(problem, weighed, rule)
    return PartitionPlan(chosen, limits, payoff, max(bound, payoff), alone, used, relaxation.prices)


def _reaching_records(problem: Problem, weighed: Weighed) -> tuple[Problem, Weighed]:
    """Counts also of the cells that records alone are in, which a sparse cube leaves out: they use the limits too."""
    people, records, data = problem.people, weighed.records, weighed.data
    if isinstance(people, DenseCube) or isinstance(records, DenseCube):
        return problem, weighed
    if (weighed.population.find(data.keys) >= 0).all():
        return problem, weighed
    everybody, _ = distinct_tuples(np.concatenate([weighed.population.codes, data.codes]), problem.hierarchies)
    counted, own = (SparseCube(cube.people, everybody, problem.hierarchies) for cube in (people, records))
    return replace(problem, people=counted), replace(weighed, records=own)


@dataclass(frozen=True, eq=False)
class _Measure:
    """Payoff of partitions over the weighed tuples, and their use of the limits over the data."""

    problem: Problem
    weighed: Weighed
    budget: Budget

    def of(self, part: "Partition | MixedPartition") -> tuple[float, Floats]:
        """Payoff and use, in sum."""
        return float(self.payoffs(part).sum()), self.usage(part).sum(axis=1)

    def payoffs(self, part: "Partition | MixedPartition") -> Floats:
        """Payoff of each weighed tuple; nothing where nobody is in its cell."""
        tuples = self.weighed.tuples
        levels, withheld = part.walk(tuples.codes)
        value, people = self.problem.evaluate(tuples.codes, levels)
        payoff = self.problem.payoffs.publisher(value, people) * tuples.counts
        payoff[withheld | (people == 0)] = 0.0
        return payoff

    def usage(self, part: "Partition | MixedPartition") -> Floats:
        """Use of each limit by the records of each data tuple, shape (n_limits, n_tuples)."""
        data, follower = self.weighed.data, self.problem.payoffs
        levels, withheld = part.walk(data.codes)
        cells = cells_at(data.codes, levels, self.problem.hierarchies)
        people = self.problem.people.count(cells)
        attacked = follower.attacked(people).astype(np.float64)
        used = usage_of(self.budget, self.problem.loss, follower.reidentified(people), attacked, cells)
        if withheld.any():
            used[:, withheld] = usage_of_suppression(self.budget)[:, None]
        times: Floats = used * data.counts
        return times


def _oracle(cells: PricedCells, measure: _Measure, free: Partition) -> Callable[[Floats, bool], Answer[Partition]]:
    def best_partition(prices: Floats, paid: bool) -> Answer[Partition]:
        found = free if paid and not prices.any() else cells.best(prices, paid=paid)
        used = measure.usage(found).sum(axis=1)
        counted = paid and isinstance(cells.weights, DenseCube)
        payoff = found.total + float(prices @ used) if counted else float(measure.payoffs(found).sum())
        value = free.total - found.total if paid else -found.total
        return Answer(found, max(free.total - payoff, 0.0), used, value)

    return best_partition


def _guesses(problem: Problem, weighed: Weighed, budget: Budget, rule: Rule) -> list[Floats]:
    """Prices about those of the partition: what the limits are worth to a sample of records, each for itself."""
    data = weighed.data
    some = np.arange(0, len(data), max(1, len(data) // _SAMPLE))
    sample = Tuples(data.codes[some], data.counts[some], data.keys[some])
    limits = limits_of(budget, problem.hierarchies, data.total)
    share = sample.total / data.total
    try:
        options = strategies(problem, sample, replace(budget, least_records=None), rule)
        found = relax(options, tuple(Limit(limit.name, limit.capacity * share) for limit in limits))
    except StageFailed:
        return []
    prices = found.prices * (weighed.tuples.total / data.total)
    return [prices * factor for factor in _FACTORS] if prices.any() else []


def _mixed(measure: _Measure, parts: tuple[Partition, ...], limits: tuple[Limit, ...]) -> MixedPartition | None:
    """The best choice of a partition for each region; None where the regions leave none within the limits."""
    hierarchies, weighed = measure.problem.hierarchies, measure.weighed
    by_tuple, by_record = (
        cell_number(hierarchies, codes, common_levels(parts, hierarchies, codes))
        for codes in (weighed.tuples.codes, weighed.data.codes)
    )
    regions, place = np.unique(np.concatenate([by_tuple, by_record]), return_inverse=True)
    of_tuple, of_record = place[: len(by_tuple)], place[len(by_tuple) :]
    payoffs = np.stack(
        [np.bincount(of_tuple, measure.payoffs(part), len(regions)).astype(np.float64) for part in parts]
    )
    usage = np.zeros((len(limits), len(regions), len(parts)))
    for number, part in enumerate(parts):
        for row, used in zip(usage, measure.usage(part), strict=True):
            row[:, number] = np.bincount(of_record, used, len(regions))
    n_parts = len(parts)
    options = Options(
        payoffs.T.ravel(),
        usage.reshape(len(limits), n_parts * len(regions)),
        np.arange(0, n_parts * len(regions), n_parts),
        np.ones(len(regions), dtype=np.int64),
        np.tile(np.arange(n_parts), len(regions)),
    )
    try:
        allocation: Allocation = allocate(options, limits)
    except StageFailed:
        return None
    taken = options.chosen(allocation.units.astype(np.float64))
    return MixedPartition(hierarchies, parts, regions, options.label[taken])


def _alone(measure: _Measure, part: Partition) -> MixedPartition:
    hierarchies = measure.problem.hierarchies
    nowhere = np.array([-1], dtype=np.int64)
    return MixedPartition(hierarchies, (part,), nowhere, np.zeros(1, dtype=np.int64))


def _alone_total(problem: Problem, weighed: Weighed, rule: Rule) -> float:
    try:
        return partition(problem, weighed.cube(problem), rule).total
    except StageFailed:
        return -np.inf


def _check_least(problem: Problem, data: Tuples, budget: Budget, chosen: MixedPartition) -> None:
    """Records of nobody in the population may be in cells that were not counted."""
    levels, withheld = chosen.walk(data.codes)
    cells = problem.canonical(cells_at(data.codes, levels, problem.hierarchies))[~withheld]
    _, cell = np.unique(cells, axis=0, return_inverse=True)
    sizes = np.bincount(cell.ravel(), data.counts[~withheld])[cell.ravel()]
    few = sizes < (budget.least_records or 0)
    few |= problem.people.count(cells) < (budget.least_people or 0)
    if few.any():
        raise StageFailed(
            "the file has records of nobody in the population, in cells that the policy does not allow",
            where="policy.generalization.budget",
            expected="somebody in the population for each record",
            got=f"cells with too few people or records for {int(data.counts[~withheld][few].sum()):,} records",
            fix="use a population that covers the file",
        )


def _forbidden(budget: Budget, limits: tuple[Limit, ...]) -> StageFailed:
    wanted = [f"{limit.name} at most {limit.capacity:g}" for limit in limits]
    wanted += [
        f"at least {least:,} {what} in a cell"
        for least, what in ((budget.least_people, "people"), (budget.least_records, "records"))
        if least is not None
    ]
    return StageFailed(
        "no partition keeps the budget: some records can be in no cell that is allowed",
        where="policy.generalization.budget",
        expected=", ".join(wanted) if wanted else "cells within the rule",
        got="none such, not even one cell of everybody",
        fix="use a larger population, allow suppression, or widen a limit",
    )
