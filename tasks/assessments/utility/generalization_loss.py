"""Information loss of generalization and suppression, by the literature's measures, comparable across tools.

All measures work on distinct tuples with counts. A suppressed record counts as released with every attribute withheld.
They measure the file, not the game: ``tasks.generalization.game`` has the loss that strategies are chosen by.

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
average class size       N over the number of classes; divided by k: C_AVG          LeFevre et al. 2006
=======================  =========================================================  ==============================

The first three are 0 when every value is released as collected and 1 when all is withheld. The last two run from the
figure of the original file to N² and N; ``Ranged.share`` puts them on 0 to 1 as ARX does.

ARX (version 3, ``MetricMDNMLoss``, ``QualityModelColumnOrientedLoss``) takes the share |g| / |D| and moves its minimum
1 / |D| to 0, which is the definition above; over m attributes it takes the geometric mean Π (1 + x)^(1/m) − 1, which is
``GeneralizationLoss.loss``. Suppressed records are one more class of the average, as in ARX's ``MetricSDAECS``.

Departures. Where every record is recoded alike, the entropy is De Waal & Willenborg's and ARX's. Where records are
generalized each by itself, ARX counts frequencies among the records at a level or above only, so that to generalize one
more record can lower its figure; here they are counted in the original file (Gionis & Tassa), and generalizing further
never lowers it. Numeric attributes are released through hierarchies too, so their penalty counts leaves, not a range.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.assessments.utility.checks import Floats, checked_counts, refused
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.suppression import class_sizes
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts


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
class AttributeLoss:
    """Loss of one attribute; each 0 (as collected) to 1 (withheld), None where there is nothing to lose."""

    name: str
    loss: float | None
    """None where the domain has one value only."""
    non_uniform_entropy: float | None
    """None where all records have the same value."""
    certainty_penalty: float | None
    """None where the domain has one value only."""


@dataclass(frozen=True)
class Ranged:
    """A figure with the range that it can have on the file."""

    value: float
    least: float
    """Of the original file."""
    most: float
    """Of a file with everything withheld."""

    @property
    def share(self) -> float | None:
        """Place in the range, 0 to 1; None where the range is one point."""
        return (self.value - self.least) / (self.most - self.least) if self.most > self.least else None


@dataclass(frozen=True)
class GeneralizationLoss:
    """Loss of a generalized file, by attribute and overall; None where no attribute has the figure."""

    attributes: tuple[AttributeLoss, ...]
    loss: float | None
    """Geometric mean of the attributes' losses plus 1, less 1, as ARX has it; unweighted, 0 to 1."""
    mean_loss: float | None
    """Weighted mean of the attributes' losses, 0 to 1."""
    non_uniform_entropy: float | None
    """Weighted mean over the attributes, 0 to 1."""
    certainty_penalty: float | None
    """Generalized certainty penalty: weighted mean over the attributes, 0 to 1."""
    discernibility: Ranged
    """In squared records."""
    class_size: Ranged
    """Average class size, in records; all suppressed records are one class."""
    class_size_over_minimum: float
    """Average class size over k, LeFevre's C_AVG; 1 is the best that a file of classes of k can do."""
    classes: int
    """Classes of the released records."""
    records: int
    """Of the original file."""
    suppressed_records: int


def released(table: CountIndex, played: Generalization, kept: NDArray[np.bool_]) -> Released:
    """The file that a generalization releases.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
    kept : array of shape (n_tuples,)
        Whether each tuple's records are released, as of ``tasks.candidate.released.released_tuples``.
    """
    return Released(
        names=tuple(hierarchy.name for hierarchy in table.hierarchies),
        groupings=tuple(
            np.column_stack([hierarchy.positions, axis.positions])
            for hierarchy, axis in zip(table.hierarchies, table.safe_harbor, strict=True)
        ),
        leaves=table.data.codes,
        cells=played.cells,
        records=table.data.counts,
        kept=kept,
    )


def generalization_loss(
    file: Released, *, weights: ArrayLike | None = None, minimum_class_size: int = 1
) -> GeneralizationLoss:
    """All measures of what a generalized file loses.

    Parameters
    ----------
    file : Released
    weights : array_like of shape (n_attributes,), optional
        Weight of each attribute in the weighted means, from 0; all 1 where not given.
    minimum_class_size : int
        The k that class sizes are compared with, from 1.

    Raises
    ------
    ParameterError
        If the arrays do not fit one another, a count is below 1, a tuple is released as a group that does not hold it,
        all weights are 0 or one is negative, or the minimum class size is below 1.
    """
    _check(file)
    weighing = _checked_weights(weights, len(file.names))
    if minimum_class_size < 1:
        raise refused(
            "the minimum class size is outside its range", "minimum_class_size", "from 1", str(minimum_class_size)
        )
    attributes = tuple(_attribute_loss(file, axis) for axis in range(len(file.names)))
    losses = [attribute.loss for attribute in attributes]
    total = int(file.records.sum())
    withheld = int(file.records[~file.kept].sum())
    sizes = class_sizes(cell_numbers(file.cells[file.kept], _axis_sizes(file)), file.records[file.kept])
    classes = round(float((file.records[file.kept] / sizes).sum()))
    average = total / (classes + (withheld > 0))
    return GeneralizationLoss(
        attributes=attributes,
        loss=_geometric_mean(losses),
        mean_loss=_mean(losses, weighing),
        non_uniform_entropy=_mean([attribute.non_uniform_entropy for attribute in attributes], weighing),
        certainty_penalty=_mean([attribute.certainty_penalty for attribute in attributes], weighing),
        discernibility=Ranged(
            value=float(file.records[file.kept] @ sizes) + float(withheld) * total,
            least=float(file.records @ file.records),
            most=float(total) * total,
        ),
        class_size=Ranged(value=average, least=total / len(file.records), most=float(total)),
        class_size_over_minimum=average / minimum_class_size,
        classes=classes,
        records=total,
        suppressed_records=withheld,
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
        non_uniform_entropy=lost / entropy if entropy > 0 else None,
        certainty_penalty=float(records @ (sizes * (sizes > 1))) / (total * n_leaves) if n_leaves > 1 else None,
    )


def _held(grouping: Codes, weights: NDArray[np.number]) -> Floats:
    """Sum of the leaves' weights in the group at each axis position."""
    held = np.zeros(int(grouping.max()) + 1)
    for positions in grouping.T:
        np.maximum(held, np.bincount(positions, weights=weights, minlength=len(held)), out=held)
    return held


def _axis_sizes(file: Released) -> list[int]:
    return [int(grouping.max()) + 1 for grouping in file.groupings]


def _geometric_mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.prod([1 + value for value in present]) ** (1 / len(present)) - 1) if present else None


def _mean(values: Sequence[float | None], weights: Floats) -> float | None:
    present = [(value, weight) for value, weight in zip(values, weights.tolist(), strict=True) if value is not None]
    total = sum(weight for _, weight in present)
    return sum(value * weight for value, weight in present) / total if total > 0 else None


def _checked_weights(weights: ArrayLike | None, n_attributes: int) -> Floats:
    if weights is None:
        return np.ones(n_attributes)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_attributes,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise refused(
            "the weights cannot be used",
            "weights",
            f"{n_attributes} finite numbers from 0, not all 0",
            f"an array of shape {given.shape}, or other numbers",
        )
    return given


def _check(file: Released) -> None:
    records = checked_counts(file.records, "records", smallest=1)
    shape = (len(records), len(file.names))
    if file.leaves.shape != shape or file.cells.shape != shape or len(file.groupings) != shape[1] or shape[1] == 0:
        raise refused(
            "the released file does not fit its original",
            "leaves, cells and groupings",
            f"{shape[0]} tuples of {shape[1]} attributes, from 1",
            f"{file.leaves.shape}, {file.cells.shape} and {len(file.groupings)}",
        )
    if file.kept.shape != records.shape or file.kept.dtype != np.bool_:
        raise refused("what is kept does not fit the file", "kept", f"{len(records)} yes or no", f"{file.kept.shape}")
    for name, grouping, leaves, cells in zip(file.names, file.groupings, file.leaves.T, file.cells.T, strict=True):
        inside = (leaves >= 0) & (leaves < len(grouping))
        within = inside & (grouping[np.where(inside, leaves, 0)] == cells[:, None]).any(axis=1)
        if not within[file.kept].all() or not inside.all():
            raise refused(
                "a tuple is released as a group that does not hold it",
                name,
                "a group of the tuple's own value",
                f"{int(np.count_nonzero(~within))} tuples of which that does not hold",
            )
