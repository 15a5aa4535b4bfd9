"""Exact fast solver of the per-record game: best-first over the released value.

No strategy can pay more than its value v, so strategies are tried in falling order of v, and a tuple is finished as
soon as the next v is below what it already has. Two to four strategies a tuple are enough in practice.
"""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game import TIE, Floats
from tasks.generalization.problem import Problem, by_profile
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes

_DECIMALS = 9


class Rule(Enum):
    """Strategies available to the publisher."""

    BASIC = "basic"
    NO_ATTACK = "no-attack"


def solve(
    problem: Problem, codes: Codes, rule: Rule = Rule.BASIC, floor: Codes | None = None
) -> tuple[NDArray[np.intp], Floats]:
    """Best strategy of each tuple and its payoff; parameters and results as of ``search``."""
    return search(problem, codes, rule, floor)[:2]


def search(
    problem: Problem, codes: Codes, rule: Rule = Rule.BASIC, floor: Codes | None = None
) -> tuple[NDArray[np.intp], Floats, NDArray[np.int64]]:
    """Best strategy of each tuple, and how many strategies that took.

    Parameters
    ----------
    problem : Problem
    codes : array of shape (n_tuples, n_attributes)
        Leaf codes of distinct tuples.
    rule : Rule
        ``NO_ATTACK`` allows only strategies nobody attacks.
    floor : array of shape (n_tuples, n_attributes), optional
        Least level of each attribute (SH-Friendly).

    Returns
    -------
    nodes : array of shape (n_tuples,)
        Lattice node of the best strategy, the first in lexicographic order among equals; −1 where none is allowed.
    payoffs : array of shape (n_tuples,)
        Publisher's payoff; −inf where none is allowed.
    searched : array of shape (n_tuples,)
        Strategies whose payoff was computed.
    """
    nodes = np.empty(len(codes), dtype=np.intp)
    payoffs = np.empty(len(codes))
    searched = np.empty(len(codes), dtype=np.int64)
    for rows, profile, kept in by_profile(problem, codes, floor):
        values = problem.payoffs.benefit * kept
        nodes[rows], payoffs[rows], searched[rows] = _best_first(problem, codes[rows], profile, values, rule)
    return nodes, payoffs, searched


def _best_first(
    problem: Problem, codes: Codes, profile: NDArray[np.intp], values: Floats, rule: Rule
) -> tuple[NDArray[np.intp], Floats, NDArray[np.int64]]:
    order = np.argsort(-np.round(values, _DECIMALS), axis=1, kind="stable")
    falling = np.take_along_axis(values, order, axis=1)
    best = np.full(len(codes), -np.inf)
    chosen = np.full(len(codes), -1, dtype=np.intp)
    searched = np.zeros(len(codes), dtype=np.int64)
    active = np.arange(len(codes))
    for rank in range(len(problem.lattice)):
        bound = falling[profile[active], rank]
        open_ = (bound >= best[active] - TIE) & np.isfinite(bound)
        active, bound = active[open_], bound[open_]
        if len(active) == 0:
            break
        searched[active] += 1
        node = order[profile[active], rank]
        people = problem.people.count(cells_at(codes[active], problem.lattice.nodes[node], problem.hierarchies))
        payoff = problem.payoffs.publisher(bound, people)
        if rule is Rule.NO_ATTACK:
            payoff = np.where(problem.payoffs.attacked(people), -np.inf, payoff)
        better = payoff > best[active] + TIE
        equal = ~better & (payoff >= best[active] - TIE) & (node < chosen[active])
        chosen[active] = np.where(better | equal, node, chosen[active])
        best[active] = np.maximum(payoff, best[active])
    return chosen, best, searched
