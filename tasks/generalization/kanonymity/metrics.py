"""Information loss of a generalized file, by the metric that the search minimises.

Every metric is a loss: 0 is the file as collected (for discernibility, Σ size² of its distinct records), and a
suppressed record counts as released with every attribute withheld. All but precision are measures of
``tasks.assessments.utility.generalization_loss`` too; N records, m attributes.

====================  ========================================================  ======================================
metric                definition                                                source
====================  ========================================================  ======================================
precision             mean of level / (levels − 1), 1 for a suppressed record;  Sweeney 2002, 1 − Prec
                      mean over the attributes
non-uniform entropy   Σ log₂ (f(g) / f(v)) / Σ log₂ (N / f(v)); mean over the   De Waal & Willenborg 1999;
                      attributes                                                Gionis & Tassa 2007
discernibility        Σ size² over classes, N for each suppressed record        Bayardo & Agrawal 2005
loss                  mean x of (|g| − 1) / (|D| − 1), 1 for a suppressed       Iyengar 2002; ARX's Loss
                      record; Π (1 + x)^(1/m) − 1
====================  ========================================================  ======================================

Attributes in which nothing can be lost (a domain of one value; for entropy, one value in the file) are left out.

A file's *cost* is the metric in a form that is quick to compare: the sum of the attributes' means, the product of the
means plus 1, or the squared records.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.constraints.constraint import refused
from tasks.generalization.kanonymity.classes import Floats, Ints
from tasks.microdata.hierarchy import Codes, Hierarchy


class Metric(StrEnum):
    """Metric that the search minimises."""

    PRECISION = "precision"
    NON_UNIFORM_ENTROPY = "non-uniform entropy"
    DISCERNIBILITY = "discernibility"
    LOSS = "loss"


def metric_named(name: str) -> Metric:
    """The metric with a name; ParameterError if there is none."""
    if name not in set(Metric):
        raise refused("there is no such metric", "metric", ", ".join(Metric), "another name")
    return Metric(name)


@dataclass(frozen=True)
class AxisCost:
    """Cost of records in one attribute; 1 in total for a file with everything withheld."""

    released: Floats
    """Cost of a record by leaf and level, shape (n_leaves, n_levels); never falls with the level."""
    more: Floats
    """Extra cost of a suppressed record; never grows with the level."""


@dataclass(frozen=True)
class Reference:
    """Reference figures of a metric over the whole file, whichever of its records are generalized."""

    metric: Metric
    axes: tuple[AxisCost | None, ...]
    """Costs of each attribute, None where nothing can be lost in it; empty for discernibility."""
    n_records: int

    @cached_property
    def used(self) -> tuple[tuple[int, AxisCost], ...]:
        """Attributes that count, with their costs."""
        return tuple((number, costs) for number, costs in enumerate(self.axes) if costs is not None)

    def released(self, codes: Ints, levels: Codes, class_sizes: Ints) -> Floats:
        """Cost of released records, by attribute that counts; for discernibility one number.

        ``codes`` and ``levels`` are of shape (n_released, n_attributes), ``class_sizes`` of shape (n_classes,).
        """
        if self.metric is Metric.DISCERNIBILITY:
            return np.array([np.square(class_sizes, dtype=np.float64).sum()])
        return np.array([costs.released[codes[:, i], levels[:, i]].sum() for i, costs in self.used])

    def withheld(self, codes: Ints) -> Floats:
        """Cost of suppressed records, in the form of ``released``."""
        if self.metric is Metric.DISCERNIBILITY:
            return np.array([float(self.n_records) * len(codes)])
        return np.array([(costs.released + costs.more)[codes[:, i], 0].sum() for i, costs in self.used])

    def cost(self, parts: Floats) -> float:
        """Cost of a file from its parts, by attribute that counts."""
        return float(np.prod(1 + parts)) if self.metric is Metric.LOSS else float(parts.sum())

    def value(self, cost: float) -> float:
        """The metric of a cost; 0 where no attribute counts."""
        if self.metric is Metric.DISCERNIBILITY:
            return cost
        if not self.used:
            return 0.0
        number = len(self.used)
        return float(cost ** (1 / number) - 1) if self.metric is Metric.LOSS else cost / number


def reference(metric: Metric, codes: Ints, hierarchies: Sequence[Hierarchy]) -> Reference:
    """Reference of a metric over all records of a file, leaf codes of shape (n_records, n_attributes)."""
    axes: list[AxisCost | None] = []
    for column, tree in zip(codes.T, hierarchies, strict=True) if metric is not Metric.DISCERNIBILITY else ():
        values = np.bincount(column, minlength=tree.n_leaves).astype(np.float64)
        held = np.column_stack([np.bincount(groups, weights=values)[groups] for groups in tree.groups.T])
        levels = np.broadcast_to(np.arange(tree.n_levels), held.shape)
        own = np.log2(np.maximum(values, 1))
        axes.append(axis_cost(metric, values, levels, tree.sizes[tree.positions], held, own))
    return Reference(metric, tuple(axes), len(codes))


def axis_cost(  # noqa: PLR0917
    metric: Metric, values: Floats, levels: NDArray[np.integer], sizes: Ints, held: Floats, own: Floats
) -> AxisCost | None:
    """Costs of one attribute by a metric other than discernibility; those of leaves that the file does not have are 0.

    ``values`` are the records of each leaf; ``levels``, ``sizes`` and ``held``, of shape (n_leaves, n_levels), its
    group's level, domain values and records of the file at each level; ``own`` the mean log₂ f(v) of its records.
    """
    if metric is not Metric.NON_UNIFORM_ENTROPY:
        lost = levels if metric is Metric.PRECISION else sizes - 1
        share = lost / max(lost[0, -1], 1)
        return AxisCost(share / values.sum(), (1 - share) / values.sum()) if lost[0, -1] else None
    occurs = values[:, None] > 0
    released = np.where(occurs, np.log2(np.maximum(held, 1)) - own[:, None], 0.0)
    more = np.where(occurs, np.log2(values.sum() / np.maximum(held, 1)), 0.0)
    entropy = float(values @ (released[:, 0] + more[:, 0]))
    return AxisCost(released / entropy, more / entropy) if entropy > 0 else None
