"""Best representations of each record for several recipients who may collude: exact, record by record.

Best-first over pairs, triples, … of strategies is not needed: what a recipient's copy brings by itself bounds what it
can bring at all, as a hand of several only costs. Strategies that keep too little to reach the best shared
representation whatever the others have are left out unseen, then those whose bound, with the best bounds of the others,
is below it or below what the own optima pay under collusion, and so are combinations as they grow; what is left is
tried in full.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import TIE, Floats
from tasks.generalization.problem import Problem, allowed_nodes, by_profile
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

_CELLS_A_PASS = 2_000_000
_MOST_COMBINATIONS = 4_000_000
_ROUNDING = 1e-9
"""Of shares of information kept, as sums of logarithms come out."""

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
    """
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
        found = _Search(problem, codes[rows], colluders, rule, incumbent=incumbent[rows], allowed=allowed).best()
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
    """Some tuples with value and group size of every strategy that keeps enough to be worth trying."""

    def __init__(
        self,
        problem: Problem,
        codes: Codes,
        colluders: Colluders,
        rule: Rule,
        *,
        incumbent: Floats,
        allowed: NDArray[np.bool_] | None,
    ) -> None:
        self._colluders, self._rule, self._lattice = colluders, rule, problem.lattice
        self._incumbent = incumbent
        kept = _kept(problem, codes)
        open_ = kept >= self._least_kept()[:, None]
        if allowed is not None:
            open_ &= allowed
        self._rows, self._nodes = np.nonzero(open_)
        cells = cells_at(codes[self._rows], problem.lattice.nodes[self._nodes], problem.hierarchies)
        self._people: Counts = problem.people.count(cells)
        self._place = np.full(kept.shape, -1, dtype=np.int32)
        self._place[self._rows, self._nodes] = np.arange(len(self._rows))
        self._alone = [self._own(member, kept[open_]) for member in range(len(colluders.members))]

    def _least_kept(self) -> Floats:
        """Share of information that a copy must keep at least for any combination to pay as much as can be had.

        The others' copies are taken to keep all of it. What lies between copies in the lattice keeps more than they do.
        """
        benefits = [w * one.benefit for w, one in zip(self._colluders.weights, self._colluders.members, strict=True)]
        slack = np.where(np.isfinite(self._incumbent), sum(benefits) - self._incumbent, np.inf)
        least: Floats = 1.0 - (slack + TIE) / max(benefits) - _ROUNDING
        return least

    def _own(self, member: int, kept: Floats) -> Floats:
        """What a recipient's copy is worth by itself: its value, and its losses where he is alone."""
        worth: Floats = self._colluders.weights[member] * self._colluders.members[member].benefit * kept
        for hand, probability in self._colluders.hands:
            if hand == (member,):
                worth = worth + self._colluders.charged(hand, probability, self._people, self._rule)
        return worth

    def best(self) -> tuple[Nodes, Floats] | None:
        """Best nodes and payoffs; None if there is too much to try."""
        n_tuples = len(self._incumbent)
        tops = np.full((len(self._alone), n_tuples), -np.inf)
        for top, bounds in zip(tops, self._alone, strict=True):
            np.maximum.at(top, self._rows, bounds)
        playable = np.isfinite(tops).all(axis=0)
        rows = np.flatnonzero(playable)
        least = np.maximum(self._incumbent, self._own_optima(tops, rows)) - TIE
        tops = np.where(playable, tops, 0.0)
        chosen, sums = np.empty((0, len(rows)), dtype=np.intp), np.zeros(len(rows))
        for member, bounds in enumerate(self._alone):
            others = (tops.sum(axis=0) - tops[member])[self._rows]
            possible = playable[self._rows] & np.isfinite(bounds) & (bounds + others >= least[self._rows])
            tried = np.flatnonzero(possible)
            at, new = _extended(rows, self._rows[tried], n_tuples)
            if at is None:
                return None
            new = tried[new]
            rows, chosen = rows[at], np.vstack([chosen[:, at], self._nodes[new]])
            sums = sums[at] + bounds[new] + self._together(rows, chosen)
            open_ = np.isfinite(sums) & (sums + tops[member + 1 :].sum(axis=0)[rows] >= least[rows])
            rows, sums, chosen = rows[open_], sums[open_], chosen[:, open_]
        return self._chosen(rows, chosen, sums, n_tuples)

    def _own_optima(self, tops: Floats, rows: NDArray[np.intp]) -> Floats:
        """What the copies pay that are best where nobody colludes; −inf but for some rows."""
        chosen = np.empty((0, len(rows)), dtype=np.intp)
        found, sums = np.full(len(self._incumbent), -np.inf), np.zeros(len(rows))
        for top, bounds in zip(tops, self._alone, strict=True):
            best = np.flatnonzero(bounds == top[self._rows])
            _, first = np.unique(self._rows[best], return_index=True)
            node = np.zeros(len(found), dtype=np.intp)
            node[self._rows[best[first]]] = self._nodes[best[first]]
            chosen = np.vstack([chosen, node[rows]])
            sums += top[rows] + self._together(rows, chosen)
        found[rows] = sums
        return found

    def _together(self, rows: NDArray[np.intp], chosen: Nodes) -> Floats:
        """What the hands of several cost that the last recipient of each combination completes."""
        cost = np.zeros(len(rows))
        for hand, probability in self._colluders.hands:
            if len(hand) > 1 and hand[-1] == len(chosen) - 1:
                least = self._lattice.nodes[chosen[list(hand)]].min(axis=0)
                people = self._people[self._place[rows, self._lattice.number(least)]]
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


def _kept(problem: Problem, codes: Codes) -> Floats:
    """Share of information that every strategy keeps of each tuple; shape (n_tuples, n_nodes)."""
    kept = np.empty((len(codes), len(problem.lattice)))
    for rows, profile, by_node in by_profile(problem, codes, None):
        kept[rows] = by_node[profile]
    return kept


def _extended(
    rows: NDArray[np.intp], tuples: NDArray[np.intp], n_tuples: int
) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    """Each combination with each possible strategy of its tuple, in order; None if there are too many.

    Parameters
    ----------
    rows : array of shape (n_combinations,)
        Tuple of each combination.
    tuples : array of shape (n_strategies,)
        Tuple of each possible strategy, ascending.
    n_tuples : int

    Returns
    -------
    at, strategies : arrays of shape (n_extended,)
        Combination that is extended, and the place of the strategy it is extended with.
    """
    of_tuple = np.bincount(tuples, minlength=n_tuples)
    first, number = (np.cumsum(of_tuple) - of_tuple)[rows], of_tuple[rows]
    if number.sum() > _MOST_COMBINATIONS:
        return None, first
    at = np.repeat(np.arange(len(rows)), number)
    return at, np.arange(len(at)) - np.repeat(np.cumsum(number) - number, number) + first[at]
