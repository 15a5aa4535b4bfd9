"""The people that a partition divides, tuple by tuple, and the weight of each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats, Follower
from tasks.generalization.problem import Problem
from tasks.generalization.wide_partition.axes import Axis
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples

LARGEST_TABLE = 2**24
"""Largest group size for which the follower is evaluated size by size; larger sizes take the best of all."""


@dataclass(frozen=True)
class Members:
    """Distinct tuples with people and weights; a tuple without people weighs what its records do."""

    codes: Codes
    """Leaf codes, shape (n_tuples, n_attributes)."""
    people: Counts
    weights: Counts
    """Factor of each tuple's payoff: its people or its records."""

    def __len__(self) -> int:
        return len(self.people)

    @classmethod
    def of(cls, population: Tuples, weighted: Tuples) -> "Members":
        """Everybody of the population, and everybody who is weighted."""
        if weighted is population:
            return cls(population.codes, population.counts, population.counts)
        keys, first = np.unique(np.concatenate([population.keys, weighted.keys]), return_index=True)
        people, weights = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.int64)
        people[np.searchsorted(keys, population.keys)] = population.counts
        weights[np.searchsorted(keys, weighted.keys)] = weighted.counts
        return cls(np.concatenate([population.codes, weighted.codes])[first], people, weights)


@dataclass(frozen=True)
class Division:
    """The game that a division of the members solves: the members, how groups divide, and what cells pay."""

    problem: Problem
    members: Members
    rule: Rule
    axes: tuple[Axis, ...]
    least: int
    """Least group size that the rule may release; 1 where every size may be."""

    @classmethod
    def of(cls, problem: Problem, members: Members, rule: Rule) -> "Division":
        """The division of these members under a rule."""
        axes = tuple(Axis.of(hierarchy) for hierarchy in problem.hierarchies)
        return cls(problem, members, rule, axes, _least(problem, members, rule))

    def value(self, cells: Codes, people: Counts, weights: Counts) -> Floats:
        """Weighted payoff of releasing each cell as it is; −inf where the rule forbids it, 0 where nobody is."""
        return self.paid(self.problem.loss.kept(cells), people, weights)

    def paid(self, kept: Floats, people: Counts, weights: Counts) -> Floats:
        """Weighted payoff of cells that keep a share of the information."""
        payoffs = self.problem.payoffs
        value = payoffs.publisher(payoffs.benefit * kept, people) * weights
        if self.rule is Rule.NO_ATTACK:
            value[payoffs.attacked(people)] = -np.inf
        value[people == 0] = 0.0
        return value

    def hopeless(self, people: Counts) -> NDArray[np.bool_]:
        """Groups that no division can release: some people, but too few."""
        few: NDArray[np.bool_] = (people > 0) & (people < self.least)
        return few

    @cached_property
    def added(self) -> Floats:
        """Amount that a group of n people, n = 0, 1, …, adds to its released value; −inf where the rule forbids it.

        Rests on the payoff being the released value less what the group size costs, as every follower has it.
        """
        payoffs = self.problem.payoffs
        sizes = np.arange(table_size(payoffs, int(self.members.people.sum())) + 1)
        added: Floats = payoffs.publisher(np.zeros(len(sizes)), sizes)
        if self.rule is Rule.NO_ATTACK:
            added[payoffs.attacked(sizes)] = -np.inf
        added[0] = -np.inf
        return added

    @property
    def larger_is_better(self) -> bool:
        """Whether no group adds less than a smaller one."""
        return bool((self.added[1:] >= self.added[:-1]).all())

    @cached_property
    def caps(self) -> Floats:
        """Most that a group of at most n people adds; the last holds beyond."""
        return caps(self.added, int(self.members.people.sum()))


def table_size(payoffs: Follower, people: int) -> int:
    """Largest group size that the follower is asked for among so many people; a safe one stands for all larger."""
    safe = payoffs.safe_group
    return int(min(np.ceil(safe) if np.isfinite(safe) else np.inf, people, LARGEST_TABLE))


def caps(added: Floats, people: int) -> Floats:
    """Most that a group of at most n people adds, from what each size adds; the last holds beyond."""
    most: Floats = np.maximum.accumulate(added)
    return np.append(most, 0.0) if len(most) <= people else most


def _least(problem: Problem, members: Members, rule: Rule) -> int:
    if rule is Rule.BASIC:
        return 1
    sizes = np.arange(1, table_size(problem.payoffs, int(members.people.sum())) + 1)
    safe = np.flatnonzero(~problem.payoffs.attacked(sizes))
    return int(sizes[safe[0]]) if len(safe) else len(sizes) + 1
