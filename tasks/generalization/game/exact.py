"""Exact fast solver of the per-record game: best-first over the released value.

No strategy can pay more than its value v, so strategies are tried in falling order of v, and a tuple is finished as
soon as the next v is below what it already has: after two to four strategies in practice.
"""

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game.payoffs import TIE, Floats
from tasks.generalization.game.problem import Problem, by_profile
from tasks.microdata.cube import NodeCounts
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

_DECIMALS = 9
_BLOCK = 2**14
"""Tuples at a time, so that they stay in the processor's cache."""

Charge = Callable[[Counts], Floats]
Search = tuple[NDArray[np.intp], Floats, NDArray[np.int64]]
"""Node, payoff and number of strategies evaluated of each tuple; −1 and −inf where no strategy is allowed."""


class GameRule(Enum):
    """Strategies available to the publisher."""

    BASIC = "basic"
    NO_ATTACK = "no-attack"


def solve(
    problem: Problem,
    codes: Codes,
    rule: GameRule = GameRule.BASIC,
    floor: Codes | None = None,
    charge: Charge | None = None,
) -> tuple[NDArray[np.intp], Floats]:
    """Best strategy of each tuple and its payoff; parameters and results as of ``search``."""
    return search(problem, codes, rule, floor, charge)[:2]


def search(
    problem: Problem,
    codes: Codes,
    rule: GameRule = GameRule.BASIC,
    floor: Codes | None = None,
    charge: Charge | None = None,
) -> Search:
    """Best strategy of each tuple of leaf codes, shape (n_tuples, n_attributes), and how many strategies that took.

    ``NO_ATTACK`` allows only strategies nobody attacks; ``floor``, of the codes' shape, is the least level of each
    attribute (SH-Friendly); ``charge`` is taken off the payoff at each group size, infinite where a group is not
    allowed.

    Returns the lattice node (the first in lexicographic order among equals), the publisher's payoff, and the strategies
    whose payoff was computed; node −1 and payoff −inf where none is allowed.
    """
    chosen = np.full(len(codes), -1, dtype=np.intp)
    best = np.full(len(codes), -np.inf)
    searched = np.zeros(len(codes), dtype=np.int64)
    counts = NodeCounts(problem.people, problem.lattice, problem.hierarchies)
    for rows, profiles, kept in by_profile(problem, codes, floor):
        values = problem.payoffs.benefit * kept
        order = np.argsort(-np.round(values, _DECIMALS), axis=1, kind="stable")
        nodes, falling = (np.ascontiguousarray(side.T) for side in (order, np.take_along_axis(values, order, axis=1)))
        for start in range(0, len(rows), _BLOCK):
            active, profile = rows[start : start + _BLOCK], profiles[start : start + _BLOCK]
            own, payoff, node = counts.leaves(codes[active]), best[active], chosen[active]
            for rank in range(len(problem.lattice)):
                bound = falling[rank].take(profile)
                possible = bound >= payoff - TIE
                if floor is not None:
                    possible &= np.isfinite(bound)
                if not possible.all():
                    done = active[~possible]
                    chosen[done], best[done], searched[done] = node[~possible], payoff[~possible], rank
                    active, profile, bound, payoff, node = (
                        each[possible] for each in (active, profile, bound, payoff, node)
                    )
                    own = own[:, possible]
                if len(active) == 0:
                    break
                tried = nodes[rank].take(profile)
                people = counts.count(own, tried)
                if rule is GameRule.NO_ATTACK:  # what nobody attacks pays its value
                    found = np.where(problem.payoffs.attacked(people), -np.inf, bound)
                else:
                    found = problem.payoffs.publisher(bound, people)
                if charge is not None:
                    found = found - charge(people)
                near = np.flatnonzero((found >= payoff - TIE) & (found > -np.inf))
                better = found[near] > payoff[near] + TIE
                first = tried[near] < node[near]
                node[near] = np.where(better | first, tried[near], node[near])
                payoff[near] = np.maximum(found[near], payoff[near])
            chosen[active], best[active], searched[active] = node, payoff, len(problem.lattice)
    return chosen, best, searched
