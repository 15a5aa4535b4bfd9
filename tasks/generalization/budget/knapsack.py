"""A multiple-choice knapsack: each group takes one of its options, which pay and use up limits.

Groups are the records of a distinct tuple, or the regions of a partition. An optimal vertex of the relaxation's mixture
is repaired where it exceeds a limit, then filled up greedily.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.generalization.budget.limits import SLACK, Limit, in_words, not_kept
from tasks.generalization.budget.relaxation import Answer, Relaxation, least_cost, relax_by
from tasks.generalization.game.payoffs import Floats
from tasks.microdata.tuples import Counts

Places = NDArray[np.intp]

_WHOLE = 1e-6
_MOVES = 20_000


@dataclass(frozen=True, eq=False)
class Options:
    """Options of all groups one after the other; every group has at least one.

    Of each option: the publisher's ``payoffs``; its ``usage`` of each limit, at least 0, shape (n_limits, n_options);
    and its ``label``. ``starts`` has the first option of each group.
    """

    payoffs: Floats
    usage: Floats
    starts: Places
    label: Counts

    @cached_property
    def group(self) -> Places:
        """Group of each option."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.payoffs)))

    @cached_property
    def regret(self) -> Floats:
        """Payoff lost at each option against the best of its group."""
        return np.maximum.reduceat(self.payoffs, self.starts)[self.group] - self.payoffs

    def chosen(self, worth: Floats) -> Places:
        """Option of each group with the greatest worth, the first among equals."""
        best = np.maximum.reduceat(worth, self.starts)
        places = np.where(worth == best[self.group], np.arange(len(worth)), len(worth))
        return np.minimum.reduceat(places, self.starts)

    def subset(self, which: NDArray[np.bool_]) -> tuple["Options", Places]:
        """The options of a mask, and the groups that have any."""
        places = np.flatnonzero(which)
        groups, starts = np.unique(self.group[places], return_index=True)
        return Options(self.payoffs[places], self.usage[:, places], starts, self.label[places]), groups

    def times(self, units: Counts) -> "Options":
        """These options with groups of several equal units, all of which take the group's option."""
        times = units[self.group]
        return Options(self.payoffs * times, self.usage * times, self.starts, self.label)


@dataclass(frozen=True, eq=False)
class Allocation:
    """The option of each group.

    No assignment within the limits pays more than the ``bound``. Of each limit, ``prices`` has the payoff that one more
    of it is worth in the relaxation, ``used`` its use.
    """

    options: Places
    payoff: float
    bound: float
    prices: Floats
    used: Floats


def relax(options: Options, limits: tuple[Limit, ...]) -> Relaxation:
    """Solve the relaxation of a knapsack; errors as of ``relax_by``."""

    def best_options(prices: Floats, paid: bool) -> Answer:
        cost = prices @ options.usage
        if paid:
            cost = cost + options.regret
        chosen = options.chosen(-cost)
        used = options.usage[:, chosen].sum(axis=1)
        return Answer(chosen, float(options.regret[chosen].sum()), used, float(cost[chosen].sum()))

    return relax_by(best_options, limits)


def allocate(options: Options, limits: tuple[Limit, ...], weights: Counts | None = None) -> Allocation:
    """Give each group the option with which the payoff is greatest within the limits.

    ``weights`` are the records of each group, for messages. Raises StageFailed if the limits cannot be kept, or no
    assignment that keeps them was found.
    """
    capacity = np.array([limit.capacity for limit in limits])
    most = np.array([limit.capacity + limit.slack for limit in limits])
    affordable = np.logical_and.reduce(options.usage <= most[:, None], axis=0)
    possible, groups = options.subset(affordable)
    if len(groups) < len(options.starts):
        records = np.ones(len(options.starts), dtype=np.int64) if weights is None else weights
        missing = int(records.sum() - records[groups].sum())
        raise not_kept(in_words(limits), f"more for each of {missing:,} records alone, whatever is played")
    relaxation = relax(possible, limits)
    chosen = _rounded(possible, capacity, relaxation)
    if not _repair(possible, capacity, chosen):
        got = "none, though mixtures of strategies would keep them"
        what = "no release of the whole file was found that keeps the budget"
        raise not_kept("an assignment of every record to a strategy within the limits", got, what)
    _spend_rest(possible, capacity, relaxation, chosen)
    payoff = float(possible.payoffs[chosen].sum())
    bound = float(np.maximum.reduceat(possible.payoffs, possible.starts).sum()) - relaxation.regret
    used = possible.usage[:, chosen].sum(axis=1)
    places = np.flatnonzero(affordable)[chosen]
    return Allocation(places, payoff, max(bound, payoff), relaxation.prices, used)


def _shares(options: Options, capacity: Floats) -> Floats:
    """Use in shares of the capacities."""
    return options.usage / np.where(capacity > 0, capacity, 1.0)[:, None]


def _rounded(options: Options, capacity: Floats, relaxation: Relaxation) -> Places:
    """Options near the relaxation's optimum, which may exceed the limits.

    Groups about which the mixed assignments disagree take the vertex's option, or that which uses least where it
    splits.
    """
    columns = np.column_stack(relaxation.mixture)
    chosen: Places = columns[:, 0].copy()
    split = (columns != chosen[:, None]).any(axis=1)
    if split.any():
        mixed = np.zeros(len(options.payoffs), dtype=np.bool_)
        mixed[columns[split]] = True
        part, groups = options.subset(mixed)
        left = np.maximum(capacity - options.usage[:, chosen[~split]].sum(axis=1), 0.0)
        n_options = len(part.payoffs)
        vertex = least_cost(
            part.regret,
            _shares(part, left),
            np.where(left > 0, 1.0, 0.0) + SLACK,
            scipy.sparse.csr_array((np.ones(n_options), (part.group, np.arange(n_options)))),
            np.ones(len(groups)),
        )
        safest = part.chosen(-_shares(part, capacity).sum(axis=0))
        if vertex is not None:
            whole = vertex[0] + _WHOLE >= 1
            safest[part.group[whole]] = np.flatnonzero(whole)
        chosen[groups] = np.flatnonzero(mixed)[safest]
    return chosen


def _repair(options: Options, capacity: Floats, chosen: Places) -> bool:
    """Move groups until the limits are kept, at the least loss for each gain; returns whether they are kept."""
    shares = _shares(options, capacity)
    ceiling = (capacity + SLACK * np.maximum(capacity, 1.0)) / np.where(capacity > 0, capacity, 1.0)
    for _ in range(_MOVES):
        over = shares[:, chosen].sum(axis=1) - ceiling
        excess = np.maximum(over, 0.0)
        if not excess.any():
            return True
        before = chosen[options.group]
        change = shares - shares[:, before]
        won = excess.sum() - np.maximum(over[:, None] + change, 0.0).sum(axis=0)
        if not (won > 1e-15).any():
            return False
        lost = np.maximum(options.payoffs[before] - options.payoffs, 0.0)
        ratio = np.where(won > 1e-15, won / (lost + 1e-9 * (1.0 + np.abs(options.payoffs[before]))), -1.0)
        move = int(np.argmax(ratio))
        chosen[options.group[move]] = move
    return False


def _spend_rest(options: Options, capacity: Floats, relaxation: Relaxation, chosen: Places) -> None:
    """Spend what is left of the limits: again and again the move that gains most and fits.

    Options whose reduced regret exceeds the gap are left out (reduced-cost fixing, Savelsbergh 1994).
    """
    gap = float(options.regret[chosen].sum()) - relaxation.regret
    reduced = options.regret + relaxation.prices @ options.usage
    least = np.minimum.reduceat(reduced, options.starts)[options.group]
    core = np.flatnonzero(reduced - least <= gap * (1 + 1e-9) + 1e-9)
    left = capacity - options.usage[:, chosen].sum(axis=1)
    for _ in range(_MOVES):
        before = chosen[options.group[core]]
        change = options.usage[:, core] - options.usage[:, before]
        fits = ((change <= 0) | (change * (1 - SLACK) <= left[:, None])).all(axis=0)
        gain = np.where(fits, options.payoffs[core] - options.payoffs[before], 0.0)
        if not gain.max(initial=0.0) > 0:
            return
        move = int(np.argmax(gain))
        chosen[options.group[core[move]]] = core[move]
        left -= change[:, move]
