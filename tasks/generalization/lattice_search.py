"""Lattice-based search (LBS): walk down the lattice from the most specific strategy.

Source: Wan et al. 2015, Algorithm 2, a heuristic; the gate uses ``exact.solve``. Children are charged L·π even where
nobody would attack them, as printed; the halting rule is the text's (stop where every child is worse), because the
printed loop would not end.
"""

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.game import Floats, Payoffs
from tasks.generalization.problem import Problem
from tasks.microdata.hierarchy import Codes


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
