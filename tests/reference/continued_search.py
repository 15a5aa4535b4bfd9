"""The lattice search of Wan et al. 2015 carried on until nothing is left, which is optimal."""

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game.payoffs import TIE, Floats
from tasks.generalization.game.problem import Problem
from tasks.microdata.hierarchy import Codes, check_trees


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
