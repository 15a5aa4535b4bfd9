"""Payoff and use of the cells of a partition, and the best partition at given prices of the limits.

At prices μ a released cell pays weight · U − Σ μ · records · use; a withheld one pays nothing and uses the limit on
suppression. The least sizes forbid cells: one of fewer people than ``least_people`` (unless it has neither people nor
records), and one with fewer records than ``least_records`` but some.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.budget.terms import SLACK, Budget, lost_shares, usage_of_suppression
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.partition import RELEASE, WITHHOLD, NodeCells, Partition, kept_by, partition
from tasks.generalization.problem import Problem
from tasks.microdata.cube import DenseCube, SparseCube
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts


@dataclass(frozen=True)
class CellTerms:
    """Payoff and use of each cell of a node, in the shape of its counts."""

    payoff: Floats
    """Weight times payoff if released; minus infinity where that is forbidden."""
    usage: tuple[Floats, ...]
    """Records times use of each limit if released."""
    records: Floats
    """Records of each cell."""
    withheld: NDArray[np.bool_]
    """Whether the cell may be withheld."""

    @property
    def size(self) -> int:
        """Bytes that these take."""
        return sum(own.nbytes for own in (self.payoff, *self.usage, self.records, self.withheld))


@dataclass(eq=False)
class PricedCells:
    """The cells of one problem under one budget, at any prices."""

    problem: Problem
    records: DenseCube | SparseCube
    weights: DenseCube | SparseCube
    budget: Budget
    rule: Rule
    capacity: tuple[float, ...]
    """Of each limit; cells that use more by themselves are forbidden."""
    room: int
    """Bytes that may be stored from one price to the next; results that do not fit are computed each time."""
    _known: dict[tuple[int, ...], CellTerms] = field(default_factory=dict)

    def best(self, prices: Floats, *, paid: bool = True) -> Partition:
        """The partition that is worth most at some prices; its total is minus infinity where none is allowed.

        Parameters
        ----------
        prices : array of shape (n_limits,)
        paid : bool
            Whether the payoff counts, or the use of the limits alone.
        """
        withheld = usage_of_suppression(self.budget) @ prices

        def worth(cells: NodeCells) -> tuple[Floats, NDArray[np.int8]]:
            terms = self._terms(cells)
            value = terms.payoff.copy() if paid else np.where(np.isfinite(terms.payoff), 0.0, -np.inf)
            for price, used in zip(prices, terms.usage, strict=True):
                if price > 0:
                    value -= price * used
            choice = np.full(value.shape, RELEASE, dtype=np.int8)
            if self.budget.suppression is not None:
                alone = np.where(terms.withheld, -withheld * terms.records, -np.inf)
                choice[alone > value] = WITHHOLD
                value = np.maximum(value, alone)
            return value, choice

        return partition(self.problem, self.weights, self.rule, worth)

    def _terms(self, cells: NodeCells) -> CellTerms:
        found = self._known.get(cells.levels)
        if found is None:
            found = self.terms(cells.positions, cells.people, cells.weights, cells.of(self.records))
            if found.size <= self.room:
                self._known[cells.levels] = found
                self.room -= found.size
        return found

    def terms(self, positions: tuple[Codes, ...], people: Counts, weights: Counts, records: Counts) -> CellTerms:
        """Payoff of cells and their use of the limits if they are released.

        Parameters
        ----------
        positions : tuple of arrays
            Axis positions of the cells, which together broadcast to the shape of the counts.
        people, weights, records : arrays of one shape
            Counts of each cell.
        """
        problem, budget = self.problem, self.budget
        follower, empty = problem.payoffs, people == 0
        attacked = follower.attacked(people)
        payoff = follower.publisher(follower.benefit * kept_by(positions, problem.loss), people) * weights
        if self.rule is Rule.NO_ATTACK:
            payoff[attacked] = -np.inf
        payoff[empty] = 0.0
        if budget.least_people is not None:
            payoff[(people < budget.least_people) & ((people > 0) | (records > 0))] = -np.inf
        if budget.least_records is not None:
            payoff[(records < budget.least_records) & (records > 0)] = -np.inf
        usage: list[Floats] = []
        counted = records.astype(np.float64)
        if budget.reidentifications is not None:
            usage.append(counted * follower.reidentified(people))
        if budget.attacked_share is not None:
            usage.append(counted * attacked.astype(np.float64))
        if budget.suppression is not None:
            usage.append(np.zeros(people.shape))
        usage.extend(counted * share[positions[axis]] for axis, share in lost_shares(budget, problem.loss))
        for used, capacity in zip(usage, self.capacity, strict=True):
            payoff[used > capacity + _slack(capacity)] = -np.inf
        withheld = np.full(people.shape, budget.suppression is not None)
        for used, capacity in zip(usage_of_suppression(budget), self.capacity, strict=True):
            withheld &= used * counted <= capacity + _slack(capacity)
        return CellTerms(payoff, tuple(usage), counted, withheld)


def _slack(capacity: float) -> float:
    return SLACK * max(capacity, 1.0) if capacity > 0 else 0.0
