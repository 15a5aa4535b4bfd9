"""Backward induction search (BIS): try every strategy of every tuple.

Source: Wan et al. 2015, Algorithm 1. The gate uses ``exact.solve``, which finds the same payoffs.
"""

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.exact import Rule
from tasks.generalization.game import TIE, Floats
from tasks.generalization.problem import Problem, allowed_nodes
from tasks.microdata.hierarchy import Codes

_PAYOFFS_A_PASS = 2**24


def backward_induction(
    problem: Problem, codes: Codes, rule: Rule = Rule.BASIC, floor: Codes | None = None
) -> tuple[NDArray[np.intp], Floats]:
    """Best strategy of each tuple by exhaustive search; parameters and results as of ``exact.solve``."""
    chosen = np.empty(len(codes), dtype=np.intp)
    best = np.empty(len(codes))
    step = max(_PAYOFFS_A_PASS // len(problem.lattice), 1)
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        payoffs = payoff_matrix(problem, codes[rows], rule)
        allowed = allowed_nodes(problem.lattice, None if floor is None else floor[rows])
        if allowed is not None:
            payoffs[~allowed] = -np.inf
        best[rows] = payoffs.max(axis=1)
        first = np.argmax(payoffs >= best[rows, None] - TIE, axis=1)
        chosen[rows] = np.where(np.isfinite(best[rows]), first, -1)
    return chosen, best


def payoff_matrix(problem: Problem, codes: Codes, rule: Rule = Rule.BASIC) -> Floats:
    """Publisher's payoff of every strategy, shape (n_tuples, n_nodes); −inf where the rule forbids one."""
    payoffs = np.empty((len(codes), len(problem.lattice)))
    for node, levels in enumerate(problem.lattice.nodes):
        value, people = problem.evaluate(codes, levels)
        payoffs[:, node] = problem.payoffs.publisher(value, people)
        if rule is Rule.NO_ATTACK:
            payoffs[problem.payoffs.attacked(people), node] = -np.inf
    return payoffs
