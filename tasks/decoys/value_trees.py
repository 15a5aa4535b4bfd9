"""Trees that the values of decoys are drawn from, one for each column, learned on the real records.

A decoy falls into a leaf and gets the value of a real record there, or one between two neighbouring values of the leaf.
Where a column keeps close to one before it, as discharges do to admissions, their distance is what is drawn.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tasks.decoys.classes import Flags, Floats, Rows
from tasks.decoys.value_grid import ValueGrid, ValueKind, weekdays
from tasks.decoys.value_rules import Column, Columns, Kinds, Sum, differences, kind_of, leader_of, sums

_LEAF = 5
"""Real records that a leaf holds at least."""
_FEWER = 0.5
"""Different distances, as a share of a column's different values, below which they are drawn even of a column whose
values recur."""


class Leaves:
    """A tree with the training records by leaf.

    Parameters
    ----------
    features : array of shape (n_records, n_features)
    targets, anchors : arrays of shape (n_records,)
        What is learned, and the column's own values.
    between : bool
        Whether values are drawn between neighbouring targets.
    generator : numpy.random.Generator
    """

    def __init__(
        self, features: Floats, targets: Column, anchors: Column, *, between: bool, generator: np.random.Generator
    ) -> None:
        kind = DecisionTreeRegressor if targets.dtype.kind == "f" else DecisionTreeClassifier
        self._tree = kind(min_samples_leaf=min(_LEAF, len(targets)), random_state=int(generator.integers(2**31)))
        matrix = features.astype(np.float32)
        self._tree.fit(matrix, filled(targets))
        leaf = self._tree.apply(matrix)
        # By leaf; where values are drawn between, growing within a leaf, NaN last.
        order = np.lexsort((targets, leaf)) if between else np.argsort(leaf, kind="stable")
        self._leaves, starts = np.unique(leaf[order], return_index=True)
        self._starts = np.append(starts, len(order))
        self._targets, self._anchors, self.between = targets[order].astype(np.float64), anchors[order], between
        self._known = np.add.reduceat((~np.isnan(self._targets)).astype(np.intp), starts)

    def drawn(self, features: Floats, generator: np.random.Generator) -> tuple[Floats, Floats, Column]:
        """Two neighbouring targets of each record's leaf, the same where one is taken, and the value of one of both."""
        leaf = np.searchsorted(self._leaves, self._tree.apply(features.astype(np.float32)))
        start, stop = self._starts[leaf], self._starts[leaf + 1]
        counted = generator.random(len(leaf)) * (stop - start)
        exact = start + np.floor(counted)
        if self.between:
            # A missing value counts as one place, the last of its leaf.
            known = self._known[leaf]
            exact = np.where(counted >= known, stop - 1, start + counted / np.maximum(known, 1) * (known - 1))
        lower, upper = np.floor(exact).astype(np.intp), np.ceil(exact).astype(np.intp)
        anchor = np.where(generator.random(len(leaf)) < 0.5, lower, upper)
        return self._targets[lower], self._targets[upper], self._anchors[anchor]


@dataclass(frozen=True)
class ColumnModel:
    """How one column's values are drawn."""

    name: str
    kind: ValueKind
    values: Column
    """All real values."""
    alone: Leaves | None
    """For records without a leader or whose leader is missing; None where none is."""
    following: Leaves | None
    leader: str | None
    """Column before it whose distance from it is drawn."""
    grid: ValueGrid | None
    bounds: tuple[float, float, float, float]
    """Least and largest value, least and largest distance from the leader."""
    total: Sum | None

    @property
    def takes(self) -> bool:
        """Whether all its values are real ones."""
        return self.total is None and self.leader is None and self.alone is not None and not self.alone.between

    def draw(self, features: Floats, drawn: Columns, rows: Rows, generator: np.random.Generator) -> Column:
        """Values of some of the records, of which the columns before are drawn."""
        found = np.empty(len(rows), dtype=self.values.dtype)
        leads = np.full(len(rows), np.nan) if self.leader is None else drawn[self.leader][rows].astype(np.float64)
        followed = ~np.isnan(leads)
        if self.following is not None and followed.any():
            low, high, anchor = self.following.drawn(features[followed], generator)
            base = leads[followed]
            least, most, nearest, farthest = self.bounds
            bounds = np.maximum(base + nearest, least), np.minimum(base + farthest, most)
            found[followed] = self._placed((low + base, high + base), anchor, generator, bounds)
        if self.alone is not None and not followed.all():
            low, high, anchor = self.alone.drawn(features[~followed], generator)
            found[~followed] = self._placed((low, high), anchor, generator) if self.alone.between else anchor
        return found

    def _placed(
        self,
        ends: tuple[Floats, Floats],
        anchors: Column,
        generator: np.random.Generator,
        bounds: tuple[Floats, Floats] | None = None,
    ) -> Floats:
        placed = np.full(len(anchors), np.nan)
        known = ~np.isnan(ends[0])
        low, high, real = ends[0][known], ends[1][known], anchors[known].astype(np.float64)
        if bounds is not None:
            bounds = bounds[0][known], bounds[1][known]
            low, high = np.clip(low, *bounds), np.clip(high, *bounds)
        if self.grid is None:
            placed[known] = low + generator.random(len(low)) * (high - low)
            return placed
        drawn = self.grid.draw((low, high), real, generator, bounds)
        # Where values recur, those of decoys do; beside a leader the anchor is another record's, and far.
        placed[known] = np.where(self.grid.recurs(real), real, drawn) if bounds is None else drawn
        return placed


def learned(
    columns: Columns, context: Floats, sample: Rows, kinds: Kinds, generator: np.random.Generator
) -> list[ColumnModel]:
    """A model for each column, from the context and the columns before it.

    Parameters
    ----------
    columns : mapping of str to array of shape (n_records,)
    context : array of shape (n_records, n_features)
    sample : array of int
        Records that trees learn from.
    kinds : mapping of str to ValueKind
        Of columns of floats that are not numbers.
    generator : numpy.random.Generator
    """
    features, models, totals = [context[sample]], [], sums(columns, kinds)
    for name, column in columns.items():
        kind, values = kind_of(name, kinds), column[sample]
        between = column.dtype.kind == "f" and kind is not ValueKind.LISTED and _mostly_different(values)
        leader, apart = _led(columns, name, sample, kinds, between=between)
        followed = np.zeros(len(values), dtype=bool) if leader is None else ~np.isnan(columns[leader][sample])
        matrix = np.column_stack(features)

        def grown(
            rows: Flags, targets: Column, matrix: Floats = matrix, values: Column = values, *, between: bool
        ) -> Leaves | None:
            if not rows.any():
                return None
            return Leaves(matrix[rows], targets[rows], values[rows], between=between, generator=generator)

        alone = grown(~followed, values, between=between)
        models.append(
            ColumnModel(
                name,
                kind,
                column,
                alone=alone,
                following=grown(followed, apart, between=_mostly_different(apart[followed])),
                leader=leader,
                grid=ValueGrid.of(column.astype(np.float64), kind) if between or leader is not None else None,
                bounds=(*_ends(column), *_ends(apart)),
                total=totals.get(name),
            )
        )
        features += seen_as(values, kind, values)
    return models


def _led(columns: Columns, name: str, sample: Rows, kinds: Kinds, *, between: bool) -> tuple[str | None, Floats]:
    """The column whose distance is drawn, if there is one, and the distances of the sample."""
    leader = leader_of(columns, name, kinds) if columns[name].dtype.kind == "f" else None
    if leader is not None:
        apart = differences(columns, leader, name)[sample]
        if between or _different(apart) <= _FEWER * _different(columns[name][sample]):
            return leader, apart
    return None, np.full(len(sample), np.nan)


def _ends(values: Column) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def seen_as(values: Column, kind: ValueKind, like: Column) -> list[Floats]:
    """Features that later columns are learned from: the values, and the weekdays of dates, −1 where missing."""
    if kind is not ValueKind.DATE or values.dtype.kind != "f":
        return [filled(values, like)]
    return [filled(values, like), weekdays(values.astype(np.float64))]


def filled(values: Column, like: Column | None = None) -> Floats:
    """Numbers with NaN as a number below all others of the column, as a tree needs them."""
    numbers = values.astype(np.float64)
    missing = np.isnan(numbers)
    if missing.any():
        known = numbers if like is None else like.astype(np.float64)
        known = known[np.isfinite(known)]
        numbers[missing] = known.min() - max(np.ptp(known), 1.0) if len(known) else -1.0
    return numbers


def _different(values: Column) -> int:
    return len(np.unique(values[~np.isnan(values)]))


def _mostly_different(values: Column) -> bool:
    """Whether more than half of the known values differ."""
    return bool(_different(values) > np.count_nonzero(~np.isnan(values)) / 2)
