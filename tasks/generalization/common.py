"""One common strategy for the whole file: the levels that pay most in sum over its records."""

import numpy as np

from tasks.generalization.game import TIE
from tasks.generalization.problem import Problem
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples


def common_strategy(problem: Problem, data: Tuples) -> Codes:
    """Levels that maximise the sum of the publisher's payoffs; the first in lexicographic order among equals.

    Returns
    -------
    array of shape (n_attributes,)
    """
    totals = np.empty(len(problem.lattice))
    for node, levels in enumerate(problem.lattice.nodes):
        value, people = problem.evaluate(data.codes, levels)
        totals[node] = data.counts @ problem.payoffs.publisher(value, people)
    best = int(np.argmax(totals >= totals.max() - TIE * data.total))
    chosen: Codes = problem.lattice.nodes[best]
    return chosen
