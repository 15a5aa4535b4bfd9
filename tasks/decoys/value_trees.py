"""Trees that the values of decoys are drawn from, one for each column, learned on the real records.

A decoy falls into a leaf and gets the value of a real record there, or one between two neighbouring values of the leaf.
Where a column keeps close to one before it, as discharges do to admissions, their distance is what is drawn.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tasks.decoys.generalized_release import Flags, Floats
from tasks.decoys.value_grid import Bounds, ValueGrid, ValueKind, decimals_of, weekdays
from tasks.decoys.value_rules import Column, Columns, Kinds, Sum, differences, kind_of, leader_of, sums

_LEAF = 5
"""Real records that a leaf holds at least."""
_FEWER = 0.5
"""Different distances, as a share of a column's different values, below which they are drawn even of a column whose
values recur."""


@dataclass(frozen=True)
class Leaves:
    """A tree with the training records by leaf."""

    tree: DecisionTreeClassifier | DecisionTreeRegressor
    leaves: NDArray[np.intp]
    """Leaves, growing."""
    starts: NDArray[np.intp]
    """First record of each leaf; one more at the end."""
    targets: Column
    """Learned targets, ordered by leaf; ascending within a leaf, NaN last, where values are drawn between."""
    anchors: Column
    """The column's own values in the same order."""
    known: NDArray[np.intp]
    """Records of each leaf whose target is not NaN."""
    between: bool

    @classmethod
    def grown(
        cls, features: Floats, targets: Column, anchors: Column, *, between: bool, generator: np.random.Generator
    ) -> "Leaves":
        """Learn a tree; all arrays have one row a record."""
        kind = DecisionTreeRegressor if targets.dtype.kind == "f" else DecisionTreeClassifier
        tree = kind(min_samples_leaf=min(_LEAF, len(targets)), random_state=int(generator.integers(2**31)))
        matrix = features.astype(np.float32)
        tree.fit(matrix, filled(targets))
        leaf = tree.apply(matrix)
        order = np.lexsort((targets, leaf)) if between else np.argsort(leaf, kind="stable")
        leaves, starts = np.unique(leaf[order], return_index=True)
        known = np.add.reduceat((~np.isnan(targets[order])).astype(np.intp), starts)
        return cls(tree, leaves, np.append(starts, len(order)), targets[order], anchors[order], known, between)

    def drawn(self, features: Floats, generator: np.random.Generator) -> tuple[Floats, Floats, Column]:
        """Two neighbouring targets of each record's leaf, the same where one is taken, and the value of one of both."""
        leaf = np.searchsorted(self.leaves, self.tree.apply(features.astype(np.float32)))
        start, stop = self.starts[leaf], self.starts[leaf + 1]
        counted = generator.random(len(leaf)) * (stop - start)
        if not self.between:
            place = start + np.floor(counted).astype(np.intp)
            target = self.targets[place].astype(np.float64)
            return target, target, self.anchors[place]
        known = self.known[leaf]
        missing = counted >= known
        # A missing value counts as one place, the last of its leaf.
        exact = np.where(missing, stop - 1, start + counted / np.maximum(known, 1) * (known - 1))
        lower = np.floor(exact).astype(np.intp)
        upper = np.where(exact > lower, lower + 1, lower)
        anchor = np.where(generator.random(len(leaf)) < 0.5, lower, upper)
        return self.targets[lower].astype(np.float64), self.targets[upper].astype(np.float64), self.anchors[anchor]


@dataclass(frozen=True)
class Model:
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
    decimals: int | None
    bounds: tuple[float, float, float, float]
    """Least and largest value, least and largest distance from the leader."""
    total: Sum | None

    @property
    def takes(self) -> bool:
        """Whether all its values are real ones."""
        return self.total is None and self.leader is None and self.alone is not None and not self.alone.between

    def draw(self, features: Floats, drawn: Columns, rows: NDArray[np.intp], generator: np.random.Generator) -> Column:
        """Values of some of the records, of which the columns before are drawn."""
        found = np.empty(len(rows), dtype=self.values.dtype)
        leads = drawn[self.leader][rows].astype(np.float64) if self.leader is not None else np.full(len(rows), np.nan)
        followed = ~np.isnan(leads)
        if self.following is not None and followed.any():
            low, high, anchor = self.following.drawn(features[followed], generator)
            base = leads[followed]
            least, most, nearest, farthest = self.bounds
            bounds = Bounds(np.maximum(base + nearest, least), np.minimum(base + farthest, most))
            found[followed] = self._placed((low + base, high + base), anchor, generator, bounds)
        if self.alone is not None and not followed.all():
            low, high, anchor = self.alone.drawn(features[~followed], generator)
            found[~followed] = self._placed((low, high), anchor, generator) if self.alone.between else anchor
        return found

    def _placed(
        self, ends: tuple[Floats, Floats], anchors: Column, generator: np.random.Generator, bounds: Bounds | None = None
    ) -> Floats:
        placed = np.full(len(anchors), np.nan)
        known = ~np.isnan(ends[0])
        low, high, real = ends[0][known], ends[1][known], anchors[known].astype(np.float64)
        if bounds is not None:
            bounds = Bounds(bounds.low[known], bounds.high[known])
            low, high = (np.clip(end, bounds.low, bounds.high) for end in (low, high))
        if self.grid is not None:
            drawn = self.grid.draw(low, high, real, generator, bounds)
            # Where values recur, those of decoys do; beside a leader the anchor is another record's, and far.
            placed[known] = np.where(self.grid.recurs(real), real, drawn) if bounds is None else drawn
            return placed
        value = low + generator.random(len(low)) * (high - low)
        placed[known] = value if self.decimals is None else np.round(value, self.decimals) + 0.0
        return placed


def learned(
    columns: Columns, context: Floats, sample: NDArray[np.intp], kinds: Kinds, generator: np.random.Generator
) -> list[Model]:
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
        matrix, total = np.column_stack(features), totals.get(name)
        models.append(_model(columns, name, matrix, sample, kinds, total=total, generator=generator))
        features += seen_as(column[sample], models[-1].kind)
    return models


def _model(
    columns: Columns,
    name: str,
    features: Floats,
    sample: NDArray[np.intp],
    kinds: Kinds,
    *,
    total: Sum | None,
    generator: np.random.Generator,
) -> Model:
    column, kind = columns[name], kind_of(name, kinds)
    values, real = column[sample], column.dtype.kind == "f"
    between = real and kind is not ValueKind.LISTED and _mostly_different(values)
    leader = leader_of(columns, name, kinds) if real else None
    apart = np.full(len(values), np.nan) if leader is None else differences(columns, leader, name)[sample]
    if leader is not None and not between and _different(apart) > _FEWER * _different(values):
        leader = None
    followed = np.zeros(len(values), dtype=bool) if leader is None else ~np.isnan(columns[leader][sample])

    def grown(rows: Flags, targets: Column, *, mixed: bool) -> Leaves | None:
        if not rows.any():
            return None
        return Leaves.grown(features[rows], targets[rows], values[rows], between=mixed, generator=generator)

    known = column[~np.isnan(column)].astype(np.float64)
    gaps = apart[~np.isnan(apart)]
    ends = [(float(part.min()), float(part.max())) if len(part) else (np.nan, np.nan) for part in (known, gaps)]
    placed = between or leader is not None
    return Model(
        name,
        kind,
        column,
        alone=grown(~followed, values, mixed=between),
        following=grown(followed, apart, mixed=_mostly_different(apart[followed])) if followed.any() else None,
        leader=leader,
        grid=ValueGrid.of(column.astype(np.float64), kind) if placed else None,
        decimals=decimals_of(known) if placed else None,
        bounds=(*ends[0], *ends[1]),
        total=total,
    )


def seen_as(values: Column, kind: ValueKind, like: Column | None = None) -> list[Floats]:
    """Features that later columns are learned from: the values, and the weekdays of dates, −1 where missing."""
    if kind is not ValueKind.DATE or values.dtype.kind != "f":
        return [filled(values, like)]
    missing = np.isnan(values)
    days = np.where(missing, -1.0, weekdays(np.where(missing, 0.0, values)))
    return [filled(values, like), days]


def filled(values: Column, like: Column | None = None) -> Floats:
    """Numbers with NaN as a number below all others of the column, as a tree needs them."""
    numbers = values.astype(np.float64)
    missing = np.isnan(numbers)
    if missing.any():
        known = numbers if like is None else like.astype(np.float64)
        known = known[np.isfinite(known)]
        lowest, spread = (known.min(), np.ptp(known)) if len(known) else (0.0, 0.0)
        numbers[missing] = lowest - max(spread, 1.0)
    return numbers


def _different(values: Column) -> int:
    return len(np.unique(values[~np.isnan(values)]))


def _mostly_different(values: Column) -> bool:
    """Whether more than half of the known values differ."""
    return bool(_different(values) > np.count_nonzero(~np.isnan(values)) / 2)
