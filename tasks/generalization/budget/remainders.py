"""Remainder classes within a budget over the whole file.

Nobody is attacked, so that limits on risk are kept by themselves, and classes of too few people or records are never
made (``RemainderProblem.enough``). A floor on what an attribute keeps has a price on what is lost of it, found by
bisection. Everybody pays that price alike: were the file's records alone to pay it, an intruder who knows the rule
could tell by a class who in it is not in the file. The bound is the Lagrangian's at a price that records alone pay: no
classes pay more than everybody in the best cell at that price, and what the floors leave room for.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.budget.limits import (
    SUPPRESSED,
    BudgetedLevels,
    Limit,
    Plan,
    in_words,
    limits_of,
    lost_share,
    not_kept,
    within,
)
from tasks.generalization.budget.partitions import Weighed, plan_partition
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.payoffs import Floats
from tasks.generalization.game.problem import Problem
from tasks.generalization.kanonymity.classes import Ints
from tasks.generalization.remainder.bound import best_cells
from tasks.generalization.remainder.find import find, find_briefly
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem, remainder_problem
from tasks.microdata.tuples import distinct_tuples
from tasks.request.model import BudgetPolicy

_HIGHEST = 7.0
"""Binary logarithm of the highest price: all of an attribute beside all that is released."""
_FIRST, _LATER = (-14.0, 6), (-4.0, 4)
"""Greatest decrease of prices, as a binary logarithm, and number of times that it is halved."""


def budgeted_remainder(
    problem: Problem, weighed: Weighed, budget: BudgetPolicy, *, divisible: bool, quick: bool = False
) -> BudgetedLevels:
    """Remainder classes within a budget, for data and population, or the best partition within it if that pays more.

    ``divisible`` tells whether cells can be counted for a partition. ``quick`` takes the classes of a first pass, if
    they keep the budget, and proves no bound: it is what they pay. Raises StageFailed if no classes keep the budget,
    or none were found.
    """
    population, data = weighed.population, weighed.data
    codes, people = np.concatenate([population.codes, data.codes]), np.append(population.counts, 0 * data.counts)
    rows, row = distinct_tuples(codes, problem.hierarchies, people)
    of_population, of_data = np.split(row, [len(population)])
    limits = limits_of(budget, problem.hierarchies, data.total)
    alone = remainder_problem(problem, rows)
    search = _Search(alone, np.bincount(of_data, data.counts, len(rows)).astype(np.float64), limits, budget, quick)
    node, prices = search.classes()
    quick = quick and node is not None
    whole = search.partition(problem, weighed) if divisible and not quick else None
    if node is None and whole is None:
        raise search.impossible()
    node, benefit = max((one for one in (node, whole) if one is not None), key=alone.worth), problem.payoffs.benefit
    payoff = benefit * alone.worth(node)
    without, bound = payoff, payoff
    if not quick:
        without, bound = benefit * alone.worth(search.free), benefit * search.bound(node, prices)
    plan = Plan(limits, search.used(node), benefit * search.per_record(prices), payoff, max(bound, payoff), without)
    out = node == UNPLACED
    levels = alone.lattice.nodes[np.where(out, alone.top, node)]
    outcome = plan.outcome(data.total, population.total)
    return BudgetedLevels(levels[of_data], levels[of_population], out[of_data], out[of_population], outcome)


@dataclass(frozen=True, eq=False)
class _Search:
    """Classes of the population, and of records that match nobody in it, within a budget."""

    alone: RemainderProblem
    """The search without the budget."""
    records: Floats
    """Records of each row."""
    limits: tuple[Limit, ...]
    budget: BudgetPolicy
    quick: bool = False
    """Whether classes are those of a first pass."""

    @cached_property
    def free(self) -> Ints:
        """Classes without the budget."""
        return self._found(self.alone, 0)

    def _found(self, problem: RemainderProblem, left_out: float) -> Ints:
        return find_briefly(problem, left_out) if self.quick else find(problem, left_out=left_out).node

    @property
    def left_out(self) -> float:
        """Number of records that may be left out; negative, for nobody at all, without a limit in the budget."""
        return -1.0 if self.budget.suppression is None else self.budget.suppression * float(self.records.sum())

    @cached_property
    def limited(self) -> RemainderProblem:
        """With the least people and records of a class; StageFailed where there are fewer in all."""
        least = self.budget.least_people or 1, self.budget.least_records or 1
        few = least[0] > self.alone.counts.sum() or least[1] > self.records.sum()
        if few and self.left_out < self.records.sum():
            sizes = " and ".join(
                f"{one:,} {of}" for one, of in zip(least, ("people", "records"), strict=True) if one > 1
            )
            raise not_kept(f"classes of {sizes}", "fewer in all", "no classes keep the budget")
        filed = self.records if least[1] > 1 else None
        return replace(self.alone, least=max(self.alone.least, least[0]), records=filed, least_records=least[1])

    @cached_property
    def floors(self) -> dict[int, tuple[int, Floats]]:
        """Attribute of each limit, and the share of it that is lost, by leaf and level."""
        trees, axes = self.alone.hierarchies, enumerate(limit.axis for limit in self.limits)
        return {
            place: (axis, lost_share(trees[axis])[trees[axis].positions]) for place, axis in axes if axis is not None
        }

    def used(self, node: Ints) -> Floats:
        """Use of each limit by the records of the file."""
        used, out, levels = np.zeros(len(self.limits)), node == UNPLACED, self.alone.lattice.nodes[node]
        for place, limit in enumerate(self.limits):
            if limit.name == SUPPRESSED:
                used[place] = self.records[out].sum()
        for place, (axis, share) in self.floors.items():
            used[place] = self.records @ np.where(out, 1.0, share[self.alone.codes[:, axis], levels[:, axis]])
        return used

    def over(self, place: int, used: float) -> bool:
        """Whether a use exceeds a limit, rounding apart."""
        return not within(np.array(used), np.array(self.limits[place].capacity))

    def classes(self) -> tuple[Ints | None, Floats]:
        """The best classes met that keep all limits, if any, and the last prices of the floors that kept them.

        All prices are halved together between some that keep the floors and some that do not, then each by itself, and
        once more together.
        """
        prices, floors = np.zeros(len(self.limits)), list(self.floors)
        node = self._at(prices)
        if not self._broken(node):
            return node, prices
        prices[floors] = 2.0**_HIGHEST
        if not floors or self._broken(node := self._at(prices)):
            return None, prices
        alone = [([one], _LATER) for one in floors] + [(floors, _LATER)]
        for which, (least, steps) in [(floors, _FIRST), *(alone if len(floors) > 1 else [])]:
            base, low, high = prices, least, 0.0
            for _ in range(steps):
                tried, middle = base.copy(), (low + high) / 2
                tried[which] *= 2.0**middle
                if self._broken(other := self._at(tried)):
                    low = middle
                else:
                    high, prices, node = middle, tried, max(node, other, key=self.alone.worth)
        return node, prices

    def _broken(self, node: Ints) -> bool:
        return any(self.over(place, used) for place, used in enumerate(self.used(node).tolist()))

    def _at(self, prices: Floats) -> Ints:
        """Classes at prices of the floors."""
        problem = self.limited
        if prices.any():
            problem = replace(problem, lost=tuple(self._priced(prices)))
        elif problem.records is None and problem.least == self.alone.least:
            return self.free
        return self._found(problem, self.left_out)

    def _priced(self, prices: Floats) -> list[Floats]:
        lost = list(self.alone.lost)
        for place, (axis, share) in self.floors.items():
            lost[axis] = lost[axis] + prices[place] * share
        most = sum(one.max() for one in lost)
        return [one / most for one in lost]

    def per_record(self, prices: Floats) -> Floats:
        """Worth of one more record's worth of each attribute, at prices that everybody pays."""
        return np.asarray(prices * (self.alone.counts.sum() / self.records.sum()))

    def bound(self, node: Ints, prices: Floats) -> float:
        """No classes within the limits are worth more; ``node`` has classes that are known."""
        return min(self._dual(node, one) for one in (np.zeros(len(prices)), self.per_record(prices)))

    def _dual(self, node: Ints, prices: Floats) -> float:
        """The Lagrangian's value where records alone pay for what they lose of each attribute with a floor."""
        capacity = np.array([limit.capacity for limit in self.limits])
        lost, factors = list(self.alone.lost), np.ones(self.alone.codes.shape)
        for place, (axis, share) in self.floors.items():
            lost[axis], factors[:, axis] = share, lost[axis].max() + prices[place] * self._records_a_person
        best = best_cells(replace(self.limited, lost=tuple(lost), factors=factors), node)
        return float(self.alone.counts @ (1.0 - best.lost) + prices @ capacity)

    @cached_property
    def _records_a_person(self) -> Floats:
        """Records a person in each row; 0 in rows without people, which only widens a bound."""
        return np.divide(self.records, self.alone.counts, out=np.zeros(len(self.records)), where=self.alone.counts > 0)

    def partition(self, problem: Problem, weighed: Weighed) -> Ints | None:
        """The best partition within the budget; None where none was found."""
        try:
            levels, out = plan_partition(problem, weighed, self.budget, GameRule.NO_ATTACK).chosen.walk(
                self.alone.codes
            )
        except StageFailed:
            return None
        return np.where(out, UNPLACED, self.alone.lattice.number(levels))

    def impossible(self) -> StageFailed:
        """The error of floors that no classes keep, each by itself, or that none were found to keep."""
        unkept, nowhere = [], np.full(len(self.records), UNPLACED)
        for place, (axis, share) in self.floors.items():
            lost, factors = [0.0 * one for one in self.alone.lost], np.ones(self.alone.codes.shape)
            lost[axis], factors[:, axis] = share, self._records_a_person
            best = best_cells(replace(self.limited, lost=tuple(lost), factors=factors), nowhere)
            if self.over(place, float(self.alone.counts @ best.lost)):
                unkept.append(self.limits[place])
        if unkept:
            return not_kept(in_words(unkept), "more, whatever the classes")
        return not_kept(
            in_words(self.limits), "more in all classes tried", "no classes were found that keep the budget"
        )
