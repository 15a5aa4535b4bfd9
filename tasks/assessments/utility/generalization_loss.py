"""Information loss of generalization and suppression, by the literature's measures, comparable across tools.

All measures work on distinct tuples with counts. A suppressed record counts as released with every attribute withheld.
They measure the file, not the game: ``tasks.generalization.game.payoffs`` has the loss that strategies are chosen by.

=======================  =========================================================  ==============================
measure                  definition, N records                                      source
=======================  =========================================================  ==============================
loss                     mean of (|g| − 1) / (|D| − 1), g the released group of     Iyengar 2002, LM; ARX's Loss
                         leaves in the domain D
non-uniform entropy      Σ log₂ (f(g) / f(v)) / Σ log₂ (N / f(v)), f the records    De Waal & Willenborg 1999;
                         of the original file in g, or with the value v             Gionis & Tassa 2007
certainty penalty        mean of |g| / |D|, 0 for a single leaf                     Xu et al. 2006; Ghinita et al.
                                                                                    2007, GCP over all attributes
discernibility           Σ size² over classes, N for each suppressed record         Bayardo & Agrawal 2005
average class size       N over the number of classes                               LeFevre et al. 2006
=======================  =========================================================  ==============================

The first three are 0 when every value is released as collected and 1 when all is withheld. Discernibility runs from the
figure of the original file to N²; its share puts it on 0 to 1 as ARX does.

ARX (version 3, ``MetricMDNMLoss``, ``QualityModelColumnOrientedLoss``) takes the share |g| / |D| and moves its minimum
1 / |D| to 0, which is the definition above; over m attributes it takes the geometric mean Π (1 + x)^(1/m) − 1, which is
``FileLoss.loss``. Suppressed records are one more class of the average, as in ARX's ``MetricSDAECS``.

Departures. Where every record is recoded alike, the entropy is De Waal & Willenborg's and ARX's. Where records are
generalized each by itself, ARX counts frequencies among the records at a level or above only, so that to generalize one
more record can lower its figure; here they are counted in the original file (Gionis & Tassa), and generalizing further
never lowers it. Numeric attributes are released through hierarchies too, so their penalty counts leaves, not a range.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.utility.facts import AttributeLoss, FileLoss
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.suppression import class_sizes
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Released:
    """A generalized file beside its original, in distinct tuples."""

    names: tuple[str, ...]
    """Names of the quasi-identifiers."""
    groupings: tuple[Codes, ...]
    """Axis position of each leaf's group under each way to group the attribute, a hierarchy's levels and any other;
    one array of shape (n_leaves, n_groupings) an attribute. A position stands for the same leaves in all of them."""
    leaves: Codes
    """Original leaf codes, each tuple once; shape (n_tuples, n_attributes)."""
    cells: Codes
    """Released group in axis positions, equal groups at equal positions; shape (n_tuples, n_attributes)."""
    records: Counts
    """Records of each tuple, from 1; shape (n_tuples,)."""
    kept: NDArray[np.bool_]
    """Whether each tuple's records are released; shape (n_tuples,)."""


@dataclass(frozen=True)
class GeneralizationLoss:
    """Loss of a generalized file, by attribute and overall.

    Attributes
    ----------
    records
        Of the original file.
    suppressed
        Records that are not released.
    """

    attributes: tuple[AttributeLoss, ...]
    file: FileLoss
    records: int
    suppressed: int


def released(table: CountIndex, generalization: Generalization, kept: NDArray[np.bool_]) -> Released:
    """The file that a generalization releases.

    ``kept``, of shape (n_tuples,), says whether each tuple's records are released, as of
    ``tasks.candidate.groups.released_tuples``.
    """
    return Released(
        names=tuple(hierarchy.name for hierarchy in table.hierarchies),
        groupings=tuple(
            np.column_stack([hierarchy.positions, axis.positions])
            for hierarchy, axis in zip(table.hierarchies, table.safe_harbor, strict=True)
        ),
        leaves=table.data.codes,
        cells=generalization.cells,
        records=table.data.counts,
        kept=kept,
    )


def generalization_loss(file: Released, weights: Floats | None = None) -> GeneralizationLoss:
    """All measures of what a generalized file loses.

    ``weights``, of shape (n_attributes,), are those of the attributes in the means of entropy and certainty penalty,
    from 0; all 1 where not given or all 0.

    Notes
    -----
    A figure that no attribute has is 0: there is nothing to lose.
    """
    attributes = tuple(_attribute_loss(file, axis) for axis in range(len(file.names)))
    weighing = np.ones(len(attributes)) if weights is None or not weights.any() else weights
    total, withheld = int(file.records.sum()), int(file.records[~file.kept].sum())
    axis_sizes = [int(grouping.max()) + 1 for grouping in file.groupings]
    kept = file.records[file.kept]
    sizes = class_sizes(cell_numbers(file.cells[file.kept], axis_sizes), kept)
    classes = round(float((kept / sizes).sum()))
    discernibility = float(kept @ sizes) + float(withheld) * total
    least, most = float(file.records @ file.records), float(total) * total
    grown = [1 + one.loss for one in attributes if one.loss is not None]
    return GeneralizationLoss(
        attributes=attributes,
        file=FileLoss(
            loss=float(np.prod(grown) ** (1 / len(grown)) - 1) if grown else 0.0,
            entropy=_mean([one.entropy for one in attributes], weighing),
            certainty_penalty=_mean([one.certainty_penalty for one in attributes], weighing),
            discernibility=discernibility,
            discernibility_share=(discernibility - least) / (most - least) if most > least else None,
            average_class_size=total / (classes + (withheld > 0)),
            original_class_size=total / len(file.records),
        ),
        records=total,
        suppressed=withheld,
    )


def _attribute_loss(file: Released, axis: int) -> AttributeLoss:
    grouping, leaves, records = file.groupings[axis], file.leaves[:, axis], file.records
    n_leaves, total = len(grouping), float(records.sum())
    sizes = np.where(file.kept, _held(grouping, np.ones(n_leaves))[file.cells[:, axis]], n_leaves)
    frequencies = np.bincount(leaves, weights=records, minlength=n_leaves)
    alike = np.where(file.kept, _held(grouping, frequencies)[file.cells[:, axis]], total)
    entropy = float(records @ np.log2(total / frequencies[leaves]))
    lost = float(records @ np.log2(alike / frequencies[leaves]))
    return AttributeLoss(
        name=file.names[axis],
        loss=float(records @ (sizes - 1)) / (total * (n_leaves - 1)) if n_leaves > 1 else None,
        entropy=lost / entropy if entropy > 0 else None,
        certainty_penalty=float(records @ (sizes * (sizes > 1))) / (total * n_leaves) if n_leaves > 1 else None,
    )


def _held(grouping: Codes, weights: NDArray[np.number]) -> Floats:
    """Sum of the leaves' weights in the group at each axis position."""
    held = np.zeros(int(grouping.max()) + 1)
    for positions in grouping.T:
        np.maximum(held, np.bincount(positions, weights=weights, minlength=len(held)), out=held)
    return held


def _mean(values: Sequence[float | None], weights: Floats) -> float:
    present = [(value, weight) for value, weight in zip(values, weights.tolist(), strict=True) if value is not None]
    total = sum(weight for _, weight in present)
    return float(sum(value * weight for value, weight in present) / total) if total > 0 else 0.0
