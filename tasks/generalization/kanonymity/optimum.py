"""Optimal k-anonymity: the node of the lattice that loses least among all that suppress no more than is allowed.

All records are recoded alike (full-domain generalization), and the classes that violate a constraint are suppressed.

Source: predictive tagging as in El Emam et al., *A Globally Optimal k-Anonymity Method for the De-Identification of
Health Data* (OLA), JAMIA 2009, and Kohlmayer et al., *Flash*, PASSAT 2012. Departures: the next node is the one that
settles most in the worse case, in place of a binary search along paths, and bounds on the metric (``costs``) take the
place of its monotonicity, which suppression breaks. The optimum is exact for every metric and constraint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import StageFailed
from tasks.core.seed import one_thread
from tasks.generalization.constraints.constraint import Constraint, refused
from tasks.generalization.kanonymity.checks import checked_codes, checked_heights, checked_k, checked_limit
from tasks.generalization.kanonymity.classes import Floats, Ints, Levels, tally
from tasks.generalization.kanonymity.costs import Cost, cost_of
from tasks.generalization.kanonymity.metrics import Metric, Reference, reference
from tasks.generalization.kanonymity.suppressed_classes import Judge, NodeVerdict, judge
from tasks.microdata.hierarchy import Hierarchy

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


@dataclass(frozen=True)
class Optimum:
    """The optimal node and what it releases."""

    levels: Levels
    """Level of each attribute, 0 as collected. Of nodes that lose the same, the one that suppresses fewest records; of
    those the first in lexicographic order (where all records are suppressed at all of them: one of them)."""
    metric: Metric
    value: float
    """Loss of the node by the metric, suppressed records included: 0 to 1, or squared records for
    discernibility."""
    suppressed: NDArray[np.bool_]
    """Whether each record is suppressed, shape (n_records,)."""
    classes: Ints
    """Class of each record from 0, −1 for a suppressed one; shape (n_records,)."""
    class_sizes: Ints
    """Records of each class, shape (n_classes,)."""
    nodes_evaluated: int
    nodes_total: int

    @property
    def suppressed_records(self) -> int:
        """Records that are suppressed."""
        return int(np.count_nonzero(self.suppressed))


def search(
    codes: ArrayLike,
    hierarchies: Sequence[Hierarchy],
    k: int,
    suppression_limit: float,
    metric: str | Metric,
    *,
    constraints: Sequence[Constraint] = (),
    whole: Reference | None = None,
) -> Optimum:
    """The full-domain generalization that loses least among those that are k-anonymous after suppression.

    ``codes`` are leaf codes, shape (n_records, n_attributes); ``k`` is 1 to n_records; ``suppression_limit`` is a share
    of the records, rounded down to records, to which those of classes that violate a constraint count too. ``metric``
    is the name of a ``Metric``. ``whole`` has the cost of records where that does not follow from the hierarchies:
    leaves that stand for groups of values have lost something already.

    Raises ParameterError if a parameter is outside its range or does not fit the others, StageFailed if no node
    suppresses so little.
    """
    given = checked_codes(codes, hierarchies)
    least, limit = checked_k(k, len(given)), checked_limit(suppression_limit, len(given))
    if metric not in set(Metric):
        raise refused("there is no such metric", "metric", ", ".join(Metric), "another name")
    chosen = Metric(metric)
    table = tally(given, hierarchies)
    whole = reference(chosen, given, hierarchies) if whole is None else whole
    judged = judge(table, hierarchies, least, constraints)
    heights = checked_heights(hierarchies)
    levels, cost, verdict, evaluated = minimise(cost_of(table, whole, least), judged, heights, limit)
    kept = np.flatnonzero(~verdict.withheld)
    number = np.full(len(verdict.classes), -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    classes = number[table.class_of_tuple(levels)][table.tuple_of_record]
    return Optimum(
        levels=levels,
        metric=chosen,
        value=whole.value(cost),
        suppressed=classes < 0,
        classes=classes,
        class_sizes=verdict.classes.records[kept].astype(np.int64),
        nodes_evaluated=evaluated,
        nodes_total=prod(heights),
    )


def minimise(cost: Cost, judged: Judge, heights: Levels, limit: int) -> tuple[Levels, float, NodeVerdict, int]:
    """The node that costs least within the limit, its cost and verdict, and the number of nodes evaluated.

    Raises StageFailed if every node suppresses more than ``limit`` records. On one thread: many small sums are slower
    when they are shared out, and equal costs would depend on how many share.
    """
    frontier = Frontier(cost.floor(heights), ranked=cost.ranked)
    allowed: list[tuple[float, int, Levels]] = []
    best = np.inf
    levels, evaluated = tuple(height - 1 for height in heights), 0
    with one_thread():
        while frontier:
            if evaluated:
                levels = frontier.pick()
            verdict, evaluated = judged.verdict(levels, limit), evaluated + 1
            frontier.close(levels)
            _settle(frontier, cost, levels, verdict, limit)
            if verdict.records <= limit:
                own = cost.cost(levels, verdict.classes, verdict.withheld)
                allowed.append((own, verdict.records, levels))
                best = min(best, own)
            frontier.close_over(best)
    if not allowed:
        raise StageFailed(
            "no generalization satisfies the constraints within the suppression limit",
            where="k-anonymity",
            expected=f"at most {limit} records in classes that violate a constraint",
            got="more at every node of the lattice",
            fix="allow more suppression, ask for smaller classes or less of the sensitive values, or release more data",
        )
    _, levels, own = min((records, node, own) for own, records, node in allowed if own <= beyond(best))
    return levels, own, judged.verdict(levels, limit), evaluated


def _settle(frontier: Frontier, cost: Cost, levels: Levels, verdict: NodeVerdict, limit: int) -> None:
    """Close nodes and raise bounds by what a node implies for those below and above it."""
    unmet = verdict.firm_records > limit or (limit == 0 and verdict.records > 0)
    if unmet or verdict.firm.all():
        frontier.close_below(levels)
    elif verdict.firm_records:
        frontier.raise_below(levels, cost.below(levels, verdict.classes, verdict.firm))
    if not cost.ranked:
        frontier.raise_above(levels, cost.above(verdict.classes))
