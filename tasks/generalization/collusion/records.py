"""Best representations of each record for several recipients who may collude: exact, record by record.

What a hand sees is at most as general as each of its copies, which bounds what a strategy can bring: its own worth, and
the best that the hand can cost and the others can have at and above some strategy below it. Strategies that keep too
little to reach the best shared representation whatever the others have are left out unseen; then those whose bound is
below what is known to be had, and so are combinations as they grow. What is left is tried in full.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import TIE, Floats
from tasks.generalization.problem import Problem, allowed_nodes, by_profile
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes, check_trees

_CELLS_A_PASS = 500_000
_MOST_COMBINATIONS = 4_000_000
_FEW_COMBINATIONS = 64
"""Of a tuple: so many are tried at once."""
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
    """Some tuples with what every strategy that keeps enough to be worth trying brings; others bring −inf."""

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
        self._colluders, self._lattice, self._incumbent = colluders, problem.lattice, incumbent
        kept = _kept(problem, codes)
        open_ = kept >= self._least_kept()[:, None]
        if allowed is not None:
            open_ &= allowed
        rows, nodes = np.nonzero(open_)
        people = problem.people.count(cells_at(codes[rows], problem.lattice.nodes[nodes], problem.hierarchies))

        def everywhere(values: Floats) -> Floats:
            found = np.full(kept.shape, -np.inf)
            found[rows, nodes] = values
            return found

        costs = [
            (hand, everywhere(colluders.charged(hand, probability, people, rule)))
            for hand, probability in colluders.hands
        ]
        self._costs = [(hand, cost) for hand, cost in costs if len(hand) > 1]
        self._alone = [
            everywhere(weight * member.benefit * kept[open_])
            + sum((cost for hand, cost in costs if hand == (place,)), start=np.zeros(1))
            for place, (weight, member) in enumerate(zip(colluders.weights, colluders.members, strict=True))
        ]
        """What each recipient's copy is worth by itself: its value, and its losses where he is alone."""

    def _least_kept(self) -> Floats:
        """Share of information that a copy must keep at least for any combination to pay as much as can be had.

        The others' copies are taken to keep all of it. What lies between copies in the lattice keeps more than they do.
        """
        benefits = [w * one.benefit for w, one in zip(self._colluders.weights, self._colluders.members, strict=True)]
        slack = np.where(np.isfinite(self._incumbent), sum(benefits) - self._incumbent, np.inf)
        least: Floats = 1.0 - (slack + TIE) / min(benefits) - _ROUNDING
        return least

    def best(self) -> tuple[Nodes, Floats] | None:
        """Best nodes and payoffs; None if there is too much to try."""
        n_tuples = len(self._incumbent)
        tops = np.stack([alone.max(axis=1) for alone in self._alone])
        rows = np.flatnonzero(np.isfinite(tops).all(axis=0))
        own = np.stack([alone.argmax(axis=1) for alone in self._alone])
        least = np.maximum(self._incumbent, self._pays(np.arange(n_tuples), own)) - TIE
        possible, least = self._possible(tops, least, rows)
        chosen, sums = np.empty((0, len(rows)), dtype=np.intp), np.zeros(len(rows))
        for member, (alone, open_) in enumerate(zip(self._alone, possible, strict=True)):
            tuples, strategies = np.nonzero(open_)
            at, new = _extended(rows, tuples, n_tuples)
            if at is None:
                return None
            rows, chosen = rows[at], np.vstack([chosen[:, at], strategies[new]])
            sums = sums[at] + alone[rows, strategies[new]] + self._together(rows, chosen)
            worth = np.isfinite(sums) & (sums + tops[member + 1 :].sum(axis=0)[rows] >= least[rows])
            rows, sums, chosen = rows[worth], sums[worth], chosen[:, worth]
        return self._chosen(rows, chosen, sums, n_tuples)

    def _possible(self, tops: Floats, least: Floats, rows: NDArray[np.intp]) -> tuple[list[NDArray[np.bool_]], Floats]:
        """Whether each strategy of each tuple can be part of what pays most, by recipient; and what that pays at least.

        The others at their best are a bound that is soon reckoned. Where it leaves many combinations, another is.
        """
        playable = np.zeros(len(least), dtype=np.bool_)
        playable[rows] = True
        rest = [tops[:, playable].sum(axis=0) - top for top in tops[:, playable]]
        left, combinations_left = [], np.ones(len(least))
        for alone, others in zip(self._alone, rest, strict=True):
            open_ = np.zeros(alone.shape, dtype=np.bool_)
            open_[playable] = np.isfinite(alone[playable]) & (
                alone[playable] + others[:, None] >= least[playable, None]
            )
            combinations_left *= open_.sum(axis=1)
            left.append(open_)
        hard = np.flatnonzero(combinations_left > _FEW_COMBINATIONS)
        if len(hard) and self._costs:
            above = [_extreme(alone[hard], self._lattice.heights, general=True) for alone in self._alone]
            least = least.copy()
            least[hard] = np.maximum(least[hard], self._around_one_cell(hard, above) - TIE)
            for member, open_ in enumerate(left):
                bounds = self._bounds(member, hard, above, tops)
                open_[hard] = np.isfinite(bounds) & (bounds >= least[hard, None])
        return left, least

    def _bounds(self, member: int, rows: NDArray[np.intp], above: Sequence[Floats], tops: Floats) -> Floats:
        """What no combination with each strategy for one recipient pays more than; shape (n_rows, n_nodes).

        What a hand sees is at most as general as each of its copies. So with strategy g it costs as at some h ≤ g, and
        its others have the best of what is at least as general as h.
        """
        bounds, counted = self._alone[member][rows], {member}
        for hand, cost in self._costs:
            if member in hand:
                others = set(hand) - counted
                counted |= others
                together = sum((above[one] for one in others), start=cost[rows])
                bounds += _extreme(together, self._lattice.heights, general=False)
        rest = [one for one in range(len(tops)) if one not in counted]
        bounds += tops[rest][:, rows].sum(axis=0)[:, None]
        return bounds

    def _around_one_cell(self, rows: NDArray[np.intp], above: Sequence[Floats]) -> Floats:
        """What the best copies pay around the cell at which they are best if every hand sees it and no other."""
        seen = sum((cost[rows] for _, cost in self._costs), start=sum(above, start=np.zeros(1))).argmax(axis=1)
        nodes = self._lattice.nodes
        general = np.all(nodes[None] >= nodes[seen][:, None], axis=2)
        return self._pays(rows, np.stack([np.where(general, one[rows], -np.inf).argmax(axis=1) for one in self._alone]))

    def _pays(self, rows: NDArray[np.intp], chosen: Nodes) -> Floats:
        total = np.zeros(len(rows))
        for member, alone in enumerate(self._alone):
            total += alone[rows, chosen[member]] + self._together(rows, chosen[: member + 1])
        return total

    def _together(self, rows: NDArray[np.intp], chosen: Nodes) -> Floats:
        """What the hands of several cost that the last recipient of each combination completes."""
        total = np.zeros(len(rows))
        for hand, cost in self._costs:
            if hand[-1] == len(chosen) - 1:
                least = self._lattice.nodes[chosen[list(hand)]].min(axis=0)
                total += cost[rows, self._lattice.number(least)]
        return total

    @staticmethod
    def _chosen(rows: NDArray[np.intp], chosen: Nodes, payoffs: Floats, n_tuples: int) -> tuple[Nodes, Floats]:
        best = np.full(n_tuples, -np.inf)
        np.maximum.at(best, rows, payoffs)
        equal = np.flatnonzero(payoffs >= best[rows] - TIE)
        found, first = np.unique(rows[equal], return_index=True)
        nodes = np.full((n_tuples, len(chosen)), -1, dtype=np.intp)
        nodes[found] = chosen[:, equal[first]].T
        return nodes, best


def _extreme(values: Floats, heights: tuple[int, ...], *, general: bool) -> Floats:
    """Greatest value among the strategies at least as general as each, or at most; shape (n_tuples, n_nodes)."""
    found = values.reshape(len(values), *heights)
    for axis in range(1, found.ndim):
        turned = np.flip(found, axis) if general else found
        turned = np.maximum.accumulate(turned, axis=axis)
        found = np.flip(turned, axis) if general else turned
    extreme: Floats = found.reshape(values.shape)
    return extreme


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
