"""Orders in which cells are tried: by their value, or all cells of one strategy after those of another."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Protocol

import numpy as np

from tasks.generalization.kanonymity.classes import Bools, Floats, Ints
from tasks.generalization.remainder.problem import RemainderProblem

STEP = 0.005
"""Values nearer than this are equal, and of equal cells the more general one comes first: it leaves fewer behind."""
_PAIRS = 2**24
"""Values of cells that are sorted at most; where there are more, strategies are tried one by one by their mean loss."""
_ASKED = 2**23
"""Rows times strategies up to which cells without enough people are left out beforehand."""
_COMPACTED, _KEPT = 0.7, 0.9
"""Rows left, as a share of those there are, below which those that are done are taken out."""


class CellOrder(Protocol):
    """Cells one strategy after the other, each with its rows."""

    def __call__(self, done: Bools) -> Iterator[tuple[int, Ints, float]]:
        """Strategies with rows in whole cells, all those that are not ``done`` when their turn comes and some that are.

        The last is the share of information that these cells keep, infinite where it differs between them.
        """


def orders_of(problem: RemainderProblem, strategies: Ints) -> Callable[[Floats], CellOrder]:
    """Order by value, to which a share of a strategy's mean loss in each attribute is added; by mean loss if too many.

    The function returned takes that share of each attribute.
    """
    profile, member = problem.profiles
    if len(member) * len(strategies) > _PAIRS:
        return lambda _: by_mean_loss(problem, strategies)
    asked = len(problem.codes) * len(strategies) <= _ASKED
    live = np.full((len(member), len(strategies)), not asked)
    kept = np.empty(live.shape)
    for number, strategy in enumerate(strategies.tolist()):
        kept[:, number] = problem.kept(problem.codes[member], strategy)
        if asked:
            live[profile[_large(problem, strategy)], number] = True
    return lambda bias: _by_value(problem, strategies, kept, live, bias)


def _large(problem: RemainderProblem, strategy: int) -> Ints:
    """Rows whose cell has enough people."""
    rows, cell, many = problem.cells(np.arange(len(problem.codes)), strategy)
    return rows[(np.bincount(cell, problem.counts[rows], many) >= problem.least)[cell]]


def by_mean_loss(problem: RemainderProblem, strategies: Ints) -> CellOrder:
    """Strategies in the order of their mean loss, each with everybody."""
    general = problem.lattice.nodes[strategies].sum(axis=1)
    order = strategies[np.lexsort((strategies, -general, problem.mean_loss[strategies]))]

    def events(done: Bools) -> Iterator[tuple[int, Ints, float]]:
        rows = np.flatnonzero(~done)
        for strategy in order.tolist():
            yield strategy, rows, np.inf
            if len(done) - np.count_nonzero(done) < _KEPT * len(rows):
                rows = rows[~done[rows]]

    return events


def _by_value(problem: RemainderProblem, strategies: Ints, kept: Floats, live: Bools, bias: Floats) -> CellOrder:
    profile, member = problem.profiles
    who, which = np.nonzero(live)
    value = kept[who, which] + np.round(problem.mean_losses[strategies] @ bias, 9)[which]
    bucket = np.floor(value / STEP + 1e-9).astype(np.int64)
    general = problem.lattice.nodes[strategies].sum(axis=1)
    rank = (bucket.max(initial=0) - bucket) * (general.max() + 1) + (general.max() - general)[which]
    rank = rank * len(strategies) + which
    numbered = np.sort(rank * len(rank) + np.arange(len(rank)))  # quicker than sorting places
    rank, order = np.divmod(numbered, max(len(rank), 1))
    who, which = who[order], which[order]
    bounds_of_cells = np.append(np.flatnonzero(np.diff(rank, prepend=-1)), len(which))

    def events(done: Bools) -> Iterator[tuple[int, Ints, float]]:
        rows, bounds = _by_profile(np.flatnonzero(~done), profile, len(member))
        left = len(rows)
        for start, end in pairwise(bounds_of_cells.tolist()):
            if left < _COMPACTED * len(rows):
                rows, bounds = _by_profile(rows[~done[rows]], profile, len(member))
            own = who[start:end]
            found = rows.take(_runs(bounds[own], bounds[own + 1] - bounds[own]))
            found = found[~done.take(found)]
            if len(found):
                yield int(strategies[which[start]]), found, float(kept[own[0], which[start]])
                left -= int(np.count_nonzero(done[found]))

    return events


def _by_profile(rows: Ints, profile: Ints, number: int) -> tuple[Ints, Ints]:
    """Rows sorted by profile, and the first of each profile."""
    rows = rows[np.argsort(profile[rows], kind="stable")]
    return rows, np.searchsorted(profile[rows], np.arange(number + 1))


def _runs(starts: Ints, sizes: Ints) -> Ints:
    """The numbers of some runs, one run after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
