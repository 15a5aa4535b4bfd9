"""A recursive partition under a budget over the whole file.

The relaxation asks for the best partition at given prices, which is exact: at prices μ a released cell pays weight · U
− Σ μ · records · use; a withheld one pays nothing and uses the limit on suppression. Its optimum mixes a few
partitions, which agree on some splits from the top down; below, each region can be taken from any of them, so the
regions are a knapsack again, and everybody in a released cell is still released as that cell.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.budget.knapsack import Options, allocate, relax
from tasks.generalization.budget.limits import (
    BudgetedLevels,
    Limit,
    Plan,
    in_words,
    limits_of,
    not_kept,
    usage_of,
    usage_of_suppression,
    within,
)
from tasks.generalization.budget.records import strategies
from tasks.generalization.budget.relaxation import Answer, relax_by
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.partition import RELEASE, WITHHOLD, Choice, Partition, partition, walk
from tasks.generalization.game.payoffs import Floats
from tasks.generalization.game.problem import Problem
from tasks.generalization.kanonymity.classes import Bools
from tasks.microdata.cell_layers import CellLayers, Layer
from tasks.microdata.cube import DenseCube, SparseCube, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples, radix_strides
from tasks.request.model import BudgetPolicy

_NEAR = 1e-5
"""Share of what the budget costs that the relaxation's bound may be off: each question to it is a whole partition."""
_ROUNDS = 60
_SAMPLE = 4_000
_FACTORS = (1.0, 1.2, 0.9)


@dataclass(frozen=True)
class Weighed:
    """The population and the file, and over which of them the payoff of a partition is summed."""

    population: Tuples
    data: Tuples
    layers: CellLayers
    """Cells with their people and records."""
    by_records: bool = False
    """Whether the weight of a cell is its records; else it is its people."""

    @property
    def tuples(self) -> Tuples:
        """Tuples that the payoff is summed over."""
        return self.data if self.by_records else self.population

    def cube(self, problem: Problem) -> DenseCube | SparseCube:
        """The same, counted in every cell."""
        return self.layers.records if self.by_records else problem.people


@dataclass(frozen=True, eq=False)
class MixedPartition:
    """Partitions that agree from the top down to some regions, and for each region the one that is taken there.

    ``regions`` are the numbers of the regions' cells, growing; ``taken`` is the partition in each.
    """

    hierarchies: tuple[Hierarchy, ...]
    parts: tuple[Partition, ...]
    regions: Counts
    taken: Counts

    def walk(self, codes: Codes) -> tuple[Codes, Bools]:
        """Levels at which leaf codes are released, and whether they are withheld instead."""
        numbers = _region(self.parts, self.hierarchies, codes)
        place = np.minimum(np.searchsorted(self.regions, numbers), len(self.regions) - 1)
        which = np.where(self.regions[place] == numbers, self.taken[place], 0)
        levels, withheld = np.empty_like(codes), np.zeros(len(codes), dtype=np.bool_)
        for part, one in enumerate(self.parts):
            rows = np.flatnonzero(which == part)
            levels[rows], withheld[rows] = one.walk(codes[rows])
        return levels, withheld


def _region(parts: tuple[Partition, ...], hierarchies: tuple[Hierarchy, ...], codes: Codes) -> Counts:
    """Number of the first cell on the way down about which the partitions disagree, or of the last."""
    strides = radix_strides([hierarchy.axis_length for hierarchy in hierarchies])
    return cells_at(codes, walk(parts, codes)[0], hierarchies) @ strides


@dataclass(frozen=True, eq=False)
class PartitionPlan(Plan):
    """A partition within a budget."""

    chosen: MixedPartition


def plan_partition(
    problem: Problem, weighed: Weighed, budget: BudgetPolicy, rule: GameRule = GameRule.BASIC
) -> PartitionPlan:
    """The recursive partition that pays most within a budget over the file.

    Raises StageFailed if no partition keeps the budget, or none was found.
    """
    limits = limits_of(budget, problem.hierarchies, weighed.data.total)
    cells = _PricedCells(problem, weighed, budget, limits, rule)
    free = cells.best(np.zeros(len(limits)))
    if not np.isfinite(free.total):
        raise _forbidden(budget, limits)

    def best_partition(prices: Floats, paid: bool) -> Answer:
        found = free if paid and not prices.any() else cells.best(prices, paid=paid)
        used = cells.usage(found).sum(axis=1)
        counted = paid and isinstance(problem.people, DenseCube)
        payoff = found.total + float(prices @ used) if counted else float(cells.payoffs(found).sum())
        value = free.total - found.total if paid else -found.total
        return Answer(found, max(free.total - payoff, 0.0), used, value)

    guesses = _guesses(problem, weighed, budget, rule)
    relaxation = relax_by(best_partition, limits, _NEAR, _ROUNDS, guesses)
    for parts in (relaxation.mixture, (relaxation.feasible,)):
        chosen = None if parts[0] is None else _mixed(cells, parts, limits)
        if chosen is None:
            continue
        payoff, used = float(cells.payoffs(chosen).sum()), cells.usage(chosen).sum(axis=1)
        if within(used, np.array([limit.capacity for limit in limits])):
            break
    else:
        got = "none, though mixtures of partitions would keep them"
        raise not_kept("a partition within the limits", got, "no partition was found that keeps the budget")
    try:
        alone = partition(problem, weighed.cube(problem), rule, layers=weighed.layers).total
    except StageFailed:
        alone = -np.inf
    bound = max(free.total - relaxation.regret, payoff)
    return PartitionPlan(limits, used, relaxation.prices, payoff, bound, alone, chosen=chosen)


def budgeted_partition(problem: Problem, weighed: Weighed, budget: BudgetPolicy, rule: GameRule) -> BudgetedLevels:
    """A partition within the budget, for the data and the population; parameters and errors of ``plan_partition``."""
    plan = plan_partition(problem, weighed, budget, rule)
    levels, withheld = plan.chosen.walk(weighed.data.codes)
    own_levels, own_withheld = plan.chosen.walk(weighed.population.codes)
    outcome = plan.outcome(weighed.data.total, weighed.tuples.total)
    return BudgetedLevels(levels, own_levels, withheld, own_withheld, outcome)


@dataclass(eq=False)
class _PricedCells:
    """The cells of one problem under one budget, at any prices of its limits."""

    problem: Problem
    weighed: Weighed
    budget: BudgetPolicy
    limits: tuple[Limit, ...]
    rule: GameRule
    _terms: dict[int, tuple[Floats, Floats, Floats, Bools]] = field(default_factory=dict)
    """By layer: payoff of each cell if released, minus infinity where that is forbidden; its records' use of each
    limit; its records; and whether it may be withheld. They do not depend on prices."""

    def best(self, prices: Floats, *, paid: bool = True) -> Partition:
        """The partition worth most at some prices; its total is minus infinity where none is allowed.

        Where not ``paid``, the use of the limits alone counts.
        """
        withheld = float(usage_of_suppression(self.limits) @ prices)

        def worth(number: int, layer: Layer) -> tuple[Floats, Choice]:
            if number not in self._terms:
                self._terms[number] = self._cell_terms(layer)
            payoff, usage, records, withholdable = self._terms[number]
            value = payoff.copy() if paid else np.where(np.isfinite(payoff), 0.0, -np.inf)
            for price, used in zip(prices, usage, strict=True):
                if price > 0:
                    value -= price * used
            choice = np.full(value.shape, RELEASE, dtype=np.int8)
            if self.budget.suppression is not None:
                alone = np.where(withholdable, -withheld * records, -np.inf)
                choice[alone > value] = WITHHOLD
                value = np.maximum(value, alone)
            return value, choice

        weighed = self.weighed
        return partition(self.problem, weighed.cube(self.problem), self.rule, worth, weighed.layers)

    def _cell_terms(self, layer: Layer) -> tuple[Floats, Floats, Floats, Bools]:
        """Terms of some cells; those below the least sizes are forbidden, unless nobody at all is counted there."""
        problem, budget, follower = self.problem, self.budget, self.problem.payoffs
        cells, people, records = layer.cells, layer.people, layer.records
        weights = records if self.weighed.by_records else people
        payoff = follower.publisher(follower.benefit * problem.loss.kept(cells), people) * weights
        if self.rule is GameRule.NO_ATTACK:
            payoff[follower.attacked(people)] = -np.inf
        payoff[people == 0] = 0.0
        payoff[(people < (budget.least_people or 0)) & ((people > 0) | (records > 0))] = -np.inf
        payoff[(records < (budget.least_records or 0)) & (records > 0)] = -np.inf
        most = np.array([limit.capacity + limit.slack for limit in self.limits])[:, None]
        usage = usage_of(self.limits, follower, problem.hierarchies, cells, people) * records
        payoff[(usage > most).any(axis=0)] = -np.inf
        alone = usage_of_suppression(self.limits)[:, None] * records <= most
        return payoff, usage, records.astype(np.float64), np.asarray(alone.all(axis=0))

    def payoffs(self, part: Partition | MixedPartition) -> Floats:
        """Payoff of each weighed tuple; nothing where nobody is in its cell."""
        tuples = self.weighed.tuples
        levels, withheld = part.walk(tuples.codes)
        value, people = self.problem.evaluate(tuples.codes, levels)
        payoff = self.problem.payoffs.publisher(value, people) * tuples.counts
        payoff[withheld | (people == 0)] = 0.0
        return payoff

    def usage(self, part: Partition | MixedPartition) -> Floats:
        """Use of each limit by the records of each data tuple, shape (n_limits, n_tuples)."""
        data, problem = self.weighed.data, self.problem
        levels, withheld = part.walk(data.codes)
        cells = cells_at(data.codes, levels, problem.hierarchies)
        used = usage_of(self.limits, problem.payoffs, problem.hierarchies, cells, problem.people.count(cells))
        used[:, withheld] = usage_of_suppression(self.limits)[:, None]
        return np.asarray(used * data.counts)


def _guesses(problem: Problem, weighed: Weighed, budget: BudgetPolicy, rule: GameRule) -> Iterator[Floats]:
    """Prices about those of the partition: what the limits are worth to a sample of records, each for itself."""
    data = weighed.data
    some = np.arange(0, len(data), max(1, len(data) // _SAMPLE))
    sample = Tuples(data.codes[some], data.counts[some], data.keys[some])
    limits = limits_of(budget, problem.hierarchies, data.total)
    share = sample.total / data.total
    try:
        options = strategies(problem, sample, budget, limits, rule).times(sample.counts)
        found = relax(options, tuple(replace(limit, capacity=limit.capacity * share) for limit in limits))
    except StageFailed:
        return
    prices = found.prices * (weighed.tuples.total / data.total)
    if prices.any():
        yield from (prices * factor for factor in _FACTORS)


def _mixed(cells: _PricedCells, parts: tuple[Partition, ...], limits: tuple[Limit, ...]) -> MixedPartition | None:
    """The best choice of a partition for each region; None where the regions leave none within the limits."""
    hierarchies, weighed = cells.problem.hierarchies, cells.weighed
    by_tuple, by_record = (_region(parts, hierarchies, tuples.codes) for tuples in (weighed.tuples, weighed.data))
    regions, place = np.unique(np.concatenate([by_tuple, by_record]), return_inverse=True)
    of_tuple, of_record = place[: len(by_tuple)], place[len(by_tuple) :]
    payoffs, usage = np.empty((len(regions), len(parts))), np.empty((len(limits), len(regions), len(parts)))
    for number, part in enumerate(parts):
        payoffs[:, number] = np.bincount(of_tuple, cells.payoffs(part), len(regions))
        for row, used in zip(usage, cells.usage(part), strict=True):
            row[:, number] = np.bincount(of_record, used, len(regions))
    starts = np.arange(0, payoffs.size, len(parts))
    label = np.tile(np.arange(len(parts)), len(regions))
    try:
        found = allocate(Options(payoffs.ravel(), usage.reshape(len(limits), payoffs.size), starts, label), limits)
    except StageFailed:
        return None
    return MixedPartition(hierarchies, parts, regions, label[found.options])


def _forbidden(budget: BudgetPolicy, limits: tuple[Limit, ...]) -> StageFailed:
    sizes = ((budget.least_people, "people"), (budget.least_records, "records"))
    least = [f"at least {number:,} {what} in a cell" for number, what in sizes if number is not None]
    wanted = ", ".join([*([in_words(limits)] if limits else []), *least])
    what = "no partition keeps the budget: some records can be in no cell that is allowed"
    return not_kept(wanted or "cells within the rule", "none such, not even one cell of everybody", what)
