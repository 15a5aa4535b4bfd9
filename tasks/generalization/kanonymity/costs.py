"""Costs of lattice nodes, and the least that nodes not yet counted can cost.

With suppression no metric is monotone: a more general node may cost less because it suppresses less. Bounds are:

* Without suppression, precision, non-uniform entropy and Loss grow with every level, and a suppressed record never
costs less than a released one.
* Records that firm constraints suppress at a node are suppressed at every more specific one (``constraints``), where
each costs at least as much more than a released record as it does here.
* Classes only merge towards more general nodes, and N, the cost of a suppressed record in discernibility, is at least
the size of any class: Σ size² bounds the discernibility of a node and of all more general ones, and no record costs
less than k.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.generalization.kanonymity.classes import Bools, Classes, Floats, Levels, Tally
from tasks.generalization.kanonymity.metrics import Metric, Reference


@dataclass(frozen=True)
class AdditiveCost:
    """Precision, non-uniform entropy and Loss: means over records, attribute by attribute; bounds are from below."""

    tally: Tally
    whole: Reference
    ranked = True
    """Whether ``floor`` distinguishes nodes before anything is counted."""

    @cached_property
    def released(self) -> list[Floats]:
        """Cost of each attribute that counts at each of its levels, nothing suppressed."""
        codes, records = self.tally.codes(self.tally.tuples), self.tally.tuples.records
        return [
            np.bincount(codes[:, axis], weights=records, minlength=len(costs.released)) @ costs.released
            for axis, costs in self.whole.used
        ]

    def floor(self, heights: Levels) -> Floats:
        """Cost of every node without suppression; an array with one axis an attribute."""
        return self._grid(heights, np.zeros(len(self.whole.used)))

    def cost(self, levels: Levels, classes: Classes, withheld: Bools) -> float:
        """Cost without suppression, and what the suppressed records cost more."""
        means = [mean[levels[axis]] for mean, (axis, _) in zip(self.released, self.whole.used, strict=True)]
        return self.whole.cost(np.array(means) + self._more(levels, classes, withheld))

    def below(self, levels: Levels, classes: Classes, firm: Bools) -> Floats:
        """Bound on a node and all more specific ones: what classes that firm constraints suppress cost more here."""
        return self._grid(tuple(level + 1 for level in levels), self._more(levels, classes, firm))

    def above(self, classes: Classes) -> float:  # noqa: ARG002
        """No bound beyond the floor: −∞."""
        return -np.inf

    @cached_property
    def _more_of_half(self) -> list[tuple[bool, Floats]]:
        """Whether each attribute that counts is of the left half, and its ``more`` by level and half tuple."""
        middle, tables = len(self.tally.left.hierarchies), []
        for axis, costs in self.whole.used:
            left = axis < middle
            codes = self.tally.left.codes[:, axis] if left else self.tally.right.codes[:, axis - middle]
            tables.append((left, np.ascontiguousarray(costs.more[codes].T)))
        return tables

    def _more(self, levels: Levels, classes: Classes, withheld: Bools) -> Floats:
        out = np.flatnonzero(withheld)
        left, right, records = classes.left[out], classes.right[out], classes.records[out]
        return np.array(
            [
                records @ more[levels[axis]].take(left if on_left else right)
                for (axis, _), (on_left, more) in zip(self.whole.used, self._more_of_half, strict=True)
            ]
        )

    def _grid(self, heights: Levels, more: Floats) -> Floats:
        product = self.whole.metric is Metric.LOSS
        grid = np.full((1,) * len(heights), float(product))
        for (axis, _), mean, extra in zip(self.whole.used, self.released, more, strict=True):
            shape = [-1 if other == axis else 1 for other in range(len(heights))]
            column = (mean[: heights[axis]] + extra).reshape(shape)
            grid = grid * (1 + column) if product else grid + column
        return np.broadcast_to(grid, heights)


@dataclass(frozen=True)
class DiscernibilityCost:
    """Squared sizes of the classes, and N for each suppressed record."""

    tally: Tally
    whole: Reference
    k: int
    ranked = False

    @cached_property
    def n_records(self) -> float:
        """Records in the tally."""
        return float(self.tally.tuples.records.sum())

    def floor(self, heights: Levels) -> Floats:
        """At least k for each record."""
        return np.full(heights, self.n_records * self.k)

    def cost(self, levels: Levels, classes: Classes, withheld: Bools) -> float:  # noqa: ARG002
        """Σ size², and N for each suppressed record."""
        kept = classes.records[~withheld]
        return float(kept @ kept) + self.whole.n_records * float(classes.records[withheld].sum())

    def below(self, levels: Levels, classes: Classes, firm: Bools) -> float:  # noqa: ARG002
        """N for each of these suppressed records, k for the others."""
        out = float(classes.records[firm].sum())
        return out * self.whole.n_records + (self.n_records - out) * self.k

    def above(self, classes: Classes) -> float:
        """Bound on a node and all more general ones: the size of each record's class here, and at least k."""
        return float(classes.records @ np.maximum(classes.records, self.k))


Cost = AdditiveCost | DiscernibilityCost


def cost_of(tally: Tally, whole: Reference, k: int) -> Cost:
    """Costs of the nodes that generalize the records of a tally, at least k in a class."""
    if whole.metric is Metric.DISCERNIBILITY:
        return DiscernibilityCost(tally, whole, k)
    return AdditiveCost(tally, whole)
