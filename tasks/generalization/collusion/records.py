"""Best representations of each record for several recipients who may collude: exact, record by record.

Best-first over pairs, triples, … of strategies is not needed: what a recipient's copy brings by itself bounds what it
can bring at all, as a hand of several only costs. Strategies whose bound, with the best bounds of the others, is below
the best shared representation are left out, and so are combinations as they grow; what is left is tried in full.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import TIE, Floats
from tasks.generalization.problem import Problem, allowed_nodes
from tasks.microdata.hierarchy import Codes, check_trees
from tasks.microdata.tuples import Counts

_CELLS_A_PASS = 2_000_000
_MOST_COMBINATIONS = 4_000_000

Nodes = NDArray[np.intp]


def solve_separately(
    problem: Problem, codes: Codes, colluders: Colluders, rule: Rule = Rule.BASIC, floor: Codes | None = None
) -> tuple[Nodes, Floats]:
    """Best strategies of each tuple, one a recipient.

    Parameters
    ----------
    problem : Problem
        Its own follower is not asked.
    codes : array of shape (n_tuples, n_attributes)
        Leaf codes of distinct tuples.
    colluders : Colluders
    rule : Rule
        ``NO_ATTACK`` allows only strategies at which no hand that may come together attacks.
    floor : array of shape (n_tuples, n_attributes), optional
        Least level of each attribute, for all copies.

    Returns
    -------
    nodes : array of shape (n_tuples, n_recipients)
        Lattice nodes, the first in lexicographic order among equals; −1 where none are allowed.
    payoffs : array of shape (n_tuples,)
        Publisher's payoff, over all recipients; −inf where no strategies are allowed.

    Raises
    ------
    ParameterError
        If a record leaves more combinations than can be tried.
    HierarchyError
        If levels cross: the people of two copies' groups are then those of no level.
    """
    check_trees("what two copies have in common is read off hierarchies that are trees", problem.hierarchies)
    shared, incumbent = solve(replace(problem, payoffs=colluders.shared), codes, rule, floor)
    if colluders.as_one(rule):
        return np.tile(shared[:, None], len(colluders.members)), incumbent
    nodes = np.full((len(codes), len(colluders.members)), -1, dtype=np.intp)
    payoffs = np.full(len(codes), -np.inf)
    step = max(1, _CELLS_A_PASS // len(problem.lattice))
    waiting = [slice(start, min(start + step, len(codes))) for start in range(0, len(codes), step)]
    while waiting:
        rows = waiting.pop()
        allowed = allowed_nodes(problem.lattice, None if floor is None else floor[rows])
        search = _Search(problem, codes[rows], colluders, rule, allowed)
        found = search.best(incumbent[rows])
        if found is not None:
            nodes[rows], payoffs[rows] = found
        elif rows.stop - rows.start > 1:
            middle = (rows.start + rows.stop) // 2
            waiting += [slice(rows.start, middle), slice(middle, rows.stop)]
        else:
            raise ParameterError(
                "a record leaves too many combinations of strategies to try",
                where="recipients",
                expected=f"at most {_MOST_COMBINATIONS:,} combinations worth trying",
                got="more",
                fix="give some recipients one representation, or take fewer recipients together",
            )
    return nodes, payoffs


class _Search:
    """Some tuples with every strategy's value and group size."""

    def __init__(
        self, problem: Problem, codes: Codes, colluders: Colluders, rule: Rule, allowed: NDArray[np.bool_] | None
    ) -> None:
        self._colluders, self._rule, self._lattice = colluders, rule, problem.lattice
        kept = np.empty((len(codes), len(problem.lattice)))
        self._people: Counts = np.empty(kept.shape, dtype=np.int64)
        for node, levels in enumerate(problem.lattice.nodes):
            value, self._people[:, node] = problem.evaluate(codes, levels)
            kept[:, node] = value / problem.payoffs.benefit
        self._alone = [self._own(member, kept) for member in range(len(colluders.members))]
        if allowed is not None:
            for bounds in self._alone:
                bounds[~allowed] = -np.inf

    def _own(self, member: int, kept: Floats) -> Floats:
        """What a recipient's copy is worth by itself: its value, and its losses where he is alone."""
        worth: Floats = self._colluders.weights[member] * self._colluders.members[member].benefit * kept
        for hand, probability in self._colluders.hands:
            if hand == (member,):
                worth = worth + self._colluders.charged(hand, probability, self._people, self._rule)
        return worth

    def best(self, incumbent: Floats) -> tuple[Nodes, Floats] | None:
        """Best nodes and payoffs, given a payoff that can be had; None if there is too much to try."""
        tops = np.stack([bounds.max(axis=1) for bounds in self._alone])
        playable = np.isfinite(tops).all(axis=0)
        tops, least = np.where(playable, tops, 0.0), incumbent - TIE
        rows = np.flatnonzero(playable)
        chosen, sums = np.empty((0, len(rows)), dtype=np.intp), np.zeros(len(rows))
        for member, bounds in enumerate(self._alone):
            others = tops.sum(axis=0) - tops[member]
            possible = playable[:, None] & np.isfinite(bounds) & (bounds + others[:, None] >= least[:, None])
            at, new = _extended(rows, possible)
            if at is None:
                return None
            rows, chosen = rows[at], np.vstack([chosen[:, at], new])
            sums = sums[at] + bounds[rows, new] + self._together(rows, chosen)
            open_ = np.isfinite(sums) & (sums + tops[member + 1 :].sum(axis=0)[rows] >= least[rows])
            rows, sums, chosen = rows[open_], sums[open_], chosen[:, open_]
        return self._chosen(rows, chosen, sums, len(incumbent))

    def _together(self, rows: NDArray[np.intp], chosen: Nodes) -> Floats:
        """What the hands of several cost that the last recipient of each combination completes."""
        cost = np.zeros(len(rows))
        for hand, probability in self._colluders.hands:
            if len(hand) > 1 and hand[-1] == len(chosen) - 1:
                least = self._lattice.nodes[chosen[list(hand)]].min(axis=0)
                people = self._people[rows, self._lattice.number(least)]
                cost += self._colluders.charged(hand, probability, people, self._rule)
        return cost

    @staticmethod
    def _chosen(rows: NDArray[np.intp], chosen: Nodes, payoffs: Floats, n_tuples: int) -> tuple[Nodes, Floats]:
        best = np.full(n_tuples, -np.inf)
        np.maximum.at(best, rows, payoffs)
        equal = np.flatnonzero(payoffs >= best[rows] - TIE)
        found, first = np.unique(rows[equal], return_index=True)
        nodes = np.full((n_tuples, len(chosen)), -1, dtype=np.intp)
        nodes[found] = chosen[:, equal[first]].T
        return nodes, best


def _extended(rows: NDArray[np.intp], possible: NDArray[np.bool_]) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    """Each combination with each possible strategy of its tuple, in order; None if there are too many.

    Parameters
    ----------
    rows : array of shape (n_combinations,)
        Tuple of each combination.
    possible : array of shape (n_tuples, n_nodes)

    Returns
    -------
    at, strategies : arrays of shape (n_extended,)
        Combination that is extended, and the strategy it is extended with.
    """
    tuples, strategies = np.nonzero(possible)
    first, number = np.searchsorted(tuples, np.arange(len(possible))), possible.sum(axis=1)[rows]
    if number.sum() > _MOST_COMBINATIONS:
        return None, strategies
    at = np.repeat(np.arange(len(rows)), number)
    place = np.arange(len(at)) - np.repeat(np.cumsum(number) - number, number) + first[rows[at]]
    return at, strategies[place]
