"""Lattice-based search (LBS): walk down the lattice from the most specific strategy.

Source: Wan et al. 2015, Algorithm 2. Kept to reproduce the paper's figures; the gate plays ``exact.solve``.

Two readings. *As printed*: children are charged L·π even where nobody would attack them; the halting rule is the
text's (stop where every child is worse), because the printed loop would not end. *Continued*: what is not searched or
pruned goes on being searched, most valuable first, until nothing is left; this is optimal.
"""

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.generalization.game import TIE, Floats, Payoffs
from tasks.generalization.problem import Problem
from tasks.microdata.hierarchy import Codes, check_trees


def lattice_search(problem: Problem, codes: Codes) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Strategy of each tuple by Algorithm 2 with the text's halting rule.

    Returns
    -------
    nodes : array of shape (n_tuples,)
        Lattice node reached.
    searched : array of shape (n_tuples,)
        Nodes whose payoff was computed.
    """
    levels = np.zeros_like(codes)
    searched = np.ones(len(codes), dtype=np.int64)
    value, people = problem.evaluate(codes, levels)
    charged = _charged(problem, value, people)
    active = np.flatnonzero(problem.payoffs.attacked(people))
    while len(active):
        best = charged[active]
        best_levels = levels[active]
        best_people = people[active]
        for axis, height in enumerate(problem.lattice.heights):
            child = levels[active].copy()
            child[:, axis] += 1
            possible = np.flatnonzero(child[:, axis] < height)
            child_value, child_people = problem.evaluate(codes[active[possible]], child[possible])
            child_charged = _charged(problem, child_value, child_people)
            searched[active[possible]] += 1
            better = child_charged >= best[possible]
            rows = possible[better]
            best[rows] = child_charged[better]
            best_levels[rows] = child[rows]
            best_people[rows] = child_people[better]
        moved = (best_levels != levels[active]).any(axis=1)
        levels[active], charged[active], people[active] = best_levels, best, best_people
        active = active[moved & problem.payoffs.attacked(best_people)]
    return problem.lattice.number(levels), searched


def _charged(problem: Problem, value: Floats, people: NDArray[np.int64]) -> Floats:
    """Payoff as Algorithm 2 compares it: v − L·π, attacked or not."""
    if not isinstance(problem.payoffs, Payoffs):
        raise ParameterError(
            "Algorithm 2 compares what a single attempt costs",
            where="payoffs",
            expected="the stakes of a single attempt",
            got=type(problem.payoffs).__name__,
            fix="use the exact solver",
        )
    return value - problem.payoffs.loss / np.maximum(people, 1)


def continued_search(problem: Problem, codes: Codes) -> tuple[NDArray[np.intp], Floats, NDArray[np.int64]]:
    """Optimal strategy of each tuple: the lattice walked downwards with pruning until nothing is left.

    A node is searched only if one of its parents was searched, attacked, and worth as much as the best payoff so far;
    below an unattacked node nothing can pay more.

    Returns
    -------
    nodes, payoffs, searched : arrays of shape (n_tuples,)

    Raises
    ------
    HierarchyError
        If levels cross: a more general node then need not release less.
    """
    check_trees("the search leaves out what is more general than an unattacked node", problem.hierarchies)
    lattice = problem.lattice
    best = np.full(len(codes), -np.inf)
    chosen = np.zeros(len(codes), dtype=np.intp)
    searched = np.zeros(len(codes), dtype=np.int64)
    open_ = np.zeros((len(codes), len(lattice)), dtype=bool)
    open_[:, 0] = True
    rank = lattice.nodes.sum(axis=1)
    for node in np.lexsort((np.arange(len(lattice)), rank)):
        rows = np.flatnonzero(open_[:, node])
        value, people = problem.evaluate(codes[rows], np.broadcast_to(lattice.nodes[node], codes[rows].shape))
        payoff = problem.payoffs.publisher(value, people)
        searched[rows] += 1
        better = payoff > best[rows] + TIE
        equal = ~better & (payoff >= best[rows] - TIE) & (node < chosen[rows])
        chosen[rows[better | equal]] = node
        best[rows] = np.maximum(best[rows], payoff)
        expand = rows[problem.payoffs.attacked(people) & (value >= best[rows] - TIE)]
        for axis, height in enumerate(lattice.heights):
            if lattice.nodes[node, axis] + 1 < height:
                child = lattice.nodes[node].copy()
                child[axis] += 1
                open_[expand, lattice.number(child[None, :])[0]] = True
    return chosen, best, searched
