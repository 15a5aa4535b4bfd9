"""One common strategy for the whole file: the levels that pay most in sum over its records.

No strategy pays more than the value that it releases, so strategies are tried in falling order of that, and the search
ends as soon as the next releases less than the best one pays.
"""

from dataclasses import replace

import numpy as np

from tasks.generalization.game import TIE, Floats
from tasks.generalization.problem import Problem
from tasks.microdata.cube import SparseCube
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples


def common_strategy(problem: Problem, data: Tuples) -> Codes:
    """Levels that maximise the sum of the publisher's payoffs; the first in lexicographic order among equals.

    Returns
    -------
    array of shape (n_attributes,)
    """
    released = _released(problem, data)
    totals = np.full(len(released), -np.inf)
    near = TIE * data.total
    for node in np.argsort(-released, kind="stable"):
        if released[node] < totals.max() - 2 * near:
            break
        value, people = _uncached(problem).evaluate(data.codes, problem.lattice.nodes[node])
        totals[node] = data.counts @ problem.payoffs.publisher(value, people)
    best = int(np.argmax(totals >= totals.max() - near))
    chosen: Codes = problem.lattice.nodes[best]
    return chosen


def _released(problem: Problem, data: Tuples) -> Floats:
    """Released value of the whole file at each node: what it would pay if nobody attacked; shape (n_nodes,)."""
    lost = np.zeros(len(problem.lattice))
    for axis, (tree, losses) in enumerate(zip(problem.hierarchies, problem.loss.by_axis, strict=True)):
        leaves = np.bincount(data.codes[:, axis], weights=data.counts, minlength=tree.n_leaves)
        lost += (leaves @ losses[tree.positions])[problem.lattice.nodes[:, axis]]
    value: Floats = problem.payoffs.benefit * (data.total - lost / problem.loss.maximum)
    return value


def _uncached(problem: Problem) -> Problem:
    """The problem with a sparse cube that keeps nothing: a node is asked for once, and there may be very many."""
    people = problem.people
    return replace(problem, people=replace(people, _nodes={})) if isinstance(people, SparseCube) else problem
