"""The nodes that may still be optimal, and which of them to count next."""

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.kanonymity.classes import Floats, Levels

_TIE = 1e-12
"""Costs nearer than this, relative to the cost, are equal."""
_RANKED_SHARE = 0.05
"""Share of the open nodes that may be settled before the rest is ranked anew."""


class Frontier:
    """Open nodes of a lattice with bounds on their costs.

    A node is picked for what it settles in the worse case: the open nodes below it if it is not allowed, those that
    cannot cost less if it is. So the search halves what is open, as a binary search along a path does.
    """

    def __init__(self, floor: Floats, *, ranked: bool) -> None:
        self._bounds = floor.copy()
        self._open = np.ones(floor.shape, dtype=np.bool_)
        self._ranked = ranked
        self._queue: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._open.any())

    def close(self, levels: Levels) -> None:
        """Settle one node."""
        self._open[levels] = False

    def close_below(self, levels: Levels) -> None:
        """Settle a node and all more specific ones."""
        self._open[_down(levels)] = False

    def raise_below(self, levels: Levels, bounds: Floats | float) -> None:
        """Raise the bounds of a node and all more specific ones."""
        part = self._bounds[_down(levels)]
        np.maximum(part, bounds, out=part)

    def raise_above(self, levels: Levels, bound: float) -> None:
        """Raise the bounds of a node and all more general ones."""
        part = self._bounds[tuple(slice(level, None) for level in levels)]
        np.maximum(part, bound, out=part)

    def close_over(self, cost: float) -> None:
        """Settle all nodes that cost more than ``cost``."""
        self._open &= self._bounds <= beyond(cost)

    def pick(self) -> Levels:
        """An open node that settles most in the worse case; there must be one."""
        while True:
            if not self._queue:
                self._queue = self._ranking()
            levels = tuple(int(level) for level in np.unravel_index(self._queue.pop(), self._open.shape))
            if self._open[levels]:
                return levels

    def _ranking(self) -> list[int]:
        """Nodes to pick one after another, the last first, before anything is ranked anew."""
        nodes = np.flatnonzero(self._open)
        settled = self._settled(nodes)
        most = settled.max()
        number = max(int(_RANKED_SHARE * len(nodes) / most), 1)
        chosen = np.argpartition(settled, len(nodes) - number)[-number:]
        return [int(node) for node in nodes[chosen[np.argsort(settled[chosen], kind="stable")]]]

    def _settled(self, nodes: NDArray[np.intp]) -> NDArray[np.number]:
        """Open nodes that each node settles in the worse case."""
        refused = _sums(self._open, below=True)[nodes]
        if not self._ranked:
            return np.minimum(refused, _sums(self._open, below=False)[nodes])
        bounds = self._bounds.ravel()[nodes]
        order = np.argsort(bounds)
        at_least = np.empty(len(bounds), dtype=np.int64)
        at_least[order] = len(bounds) - np.searchsorted(bounds[order], bounds[order])
        return np.minimum(refused, at_least)


def beyond(cost: float) -> float:
    """The least cost that is more than ``cost`` and not a tie with it."""
    return cost + _TIE * max(abs(cost), 1.0)


def _down(levels: Levels) -> tuple[slice, ...]:
    return tuple(slice(level + 1) for level in levels)


def _sums(marks: NDArray[np.bool_], *, below: bool) -> NDArray[np.int32]:
    """Marked nodes at or below each node, or at or above it."""
    ascending = (slice(None, None, 1 if below else -1),) * marks.ndim
    sums = marks[ascending].astype(np.int32)
    for axis in range(marks.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    return sums[ascending].ravel()
