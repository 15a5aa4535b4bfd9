"""Values of the other columns for decoy records: plausible together and with the class, and no person's own.

Each column is drawn in turn from a tree learned on the real records, given the class and the columns before it: a decoy
falls into a leaf and takes the value of a real record there (sequential CART synthesis: Reiter 2005; Nowok, Raab &
Dibben 2016). So values occur as often as among real records that are alike, alone and together. A numeric column whose
values are mostly different would carry a real record's value into a decoy, where a search finds it twice; it is drawn
between neighbouring values of the leaf instead, as round as one of them and on the column's own grid
(``tasks.decoys.value_grid``). Where a column keeps close to one before it, as discharges do to admissions, their
distance is what is drawn.

A decoy whose values agree with a real record's in all columns is drawn again. Where the columns have few values,
vectors are common and no person's own; with ``common_from`` those are allowed that so many real records share, without
which the absence of common vectors would give decoys away.

Two values that no real record has together can be impossible together, and a reader sees that easily. A decoy with such
a pair is drawn again as well, a limited number of times; so is one that breaks what holds in all real records
(``tasks.decoys.value_rules``): what follows from other columns is drawn after them and filled in.
"""

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tasks.core.errors import ParameterError
from tasks.decoys.classes import Floats, Rows
from tasks.decoys.value_formulas import LEAST_RECORDS, Column, Columns, Formula, Kinds
from tasks.decoys.value_grid import ValueGrid, ValueKind, monthly, weekdays
from tasks.decoys.value_rules import (
    Rules,
    SeenPairs,
    as_paired,
    differences,
    find_rules,
    kind_of,
    leader_of,
    missing_of,
)

_LEAF = 5
"""Real records that a leaf holds at least."""
_FEWER = 0.5
"""Different distances, as a share of a column's different values, below which they are drawn even of a column whose
values recur."""
_TRAINING = 20_000
"""Real records that a tree learns from at most."""
_DRAWS = 100
"""Times that a record is drawn before the columns are held to have nothing to offer but copies."""
_PAIRED_DRAWS = 20
"""Number of these draws in which a pair of values that no real record has counts as well."""
_MENDED_DRAWS = 25
"""Draws after which values that are never together are replaced by some that are."""
_UNLIKE_DRAWS = 60
"""Draws in which missing values unlike all real records' count."""
_NUMBERS: Kinds = MappingProxyType({})


def draw_values(
    columns: Columns,
    context: Floats,
    decoy_context: Floats,
    generator: np.random.Generator,
    *,
    common_from: int | None = None,
    kinds: Kinds = _NUMBERS,
    rules: Rules | None = None,
) -> dict[str, Column]:
    """Draw the values of decoy records, named and typed as the real columns.

    The columns, at least one, are those beside the quasi-identifiers, of all original records (no decoy copies a
    suppressed one either), in the order in which they are drawn: integers are codes (a missing value has its own),
    floats numbers (NaN is missing), or by `kinds` dates as whole days since 1970 or values out of a list. The contexts,
    finite and of shape (n_records, n_features) and (n_decoys, n_features), are what values may depend on: the place of
    each record's class. A vector may be a decoy's too if `common_from` real records, from 2, share it; never where not
    given. No decoy breaks any of the `rules` that real records keep to, found here where not given. A ParameterError
    says that some decoy is a copy, or breaks a rule, however often it is drawn.
    """
    sample = np.sort(generator.permutation(len(context))[:_TRAINING])
    rules = rules or find_rules(columns, kinds, {})
    follow = {fill.name: fill for fill in rules.fills}
    ordered = {name: columns[name] for name in (*(name for name in columns if name not in follow), *follow)}
    computed = frozenset(name for name, fill in follow.items() if isinstance(fill, Formula))
    models = _learned(ordered, context, sample, kinds, computed, generator=generator)
    real = Counter(_vectors(columns))
    taken = frozenset(model.name for model in models if model.takes)
    pairs, missing = SeenPairs.of(as_paired(columns, taken, kinds)), SeenPairs.of(missing_of(columns))
    drawn = {name: np.empty(len(decoy_context), dtype=column.dtype) for name, column in columns.items()}
    pending = np.arange(len(decoy_context))
    for number in range(_DRAWS):
        if not len(pending):
            return drawn
        features = [decoy_context[pending]]
        for model in models:
            values = drawn[model.name][pending] = model.draw(np.column_stack(features), drawn, pending, generator)
            if model.name in follow:
                known = {name: column[pending] for name, column in {**rules.given, **drawn}.items()}
                values = drawn[model.name][pending] = follow[model.name].fill(known, generator)
            features += _seen_as(values, model.kind, model.values)
        if number >= _MENDED_DRAWS:
            known = {name: column[pending] for name, column in {**rules.given, **drawn}.items()}
            for name, column in rules.mended(known, generator).items():
                if name in drawn:
                    drawn[name][pending] = column
        now = {name: column[pending] for name, column in drawn.items()}
        shared = np.array([real[vector] for vector in _vectors(now)])
        again = (shared > 0) & (shared < (common_from or np.inf))
        if number < _PAIRED_DRAWS:
            again |= pairs.broken(as_paired(now, taken, kinds))
        if number < _UNLIKE_DRAWS and len(context) >= LEAST_RECORDS and missing.values:
            again |= missing.broken(missing_of(now))
        breaks = rules.broken({name: column[pending] for name, column in rules.given.items()} | now)
        pending, ruled = pending[again | breaks], int(np.count_nonzero(breaks))
    if not len(pending):
        return drawn
    if 2 * ruled > len(pending):
        raise ParameterError(
            "decoys cannot satisfy the relations that hold in all real records",
            where=f"{len(columns)} columns",
            expected=f"in {_DRAWS} draws a vector of values for each decoy that fits its class and the other columns",
            got=f"none for {ruled} of {len(decoy_context)} decoy records",
            fix="ask for fewer decoy classes, or leave out a column that follows from others",
        )
    copied = "at all" if common_from is None else f"that fewer than {common_from} real records share"
    raise ParameterError(
        "decoys would copy the other values of real records",
        where=f"{len(columns)} columns",
        expected=f"in {_DRAWS} draws a vector of values for each decoy that copies no real record's {copied}",
        got=f"none for {len(pending)} of {len(decoy_context)} decoy records",
        fix="allow vectors that several real records share (common_from, or a smaller one), or draw more columns",
    )


def _vectors(columns: Columns) -> list[bytes]:
    """All values of each record as one key; equal for equal values, NaN among them."""
    matrix = np.column_stack([column.astype(np.float64) for column in columns.values()]) + 0.0
    matrix[np.isnan(matrix)] = np.nan
    return [row.tobytes() for row in matrix]


class _Leaves:
    """A tree learned on targets, with the training records by leaf and the column's own values, the anchors."""

    def __init__(
        self, features: Floats, targets: Column, anchors: Column, *, between: bool, generator: np.random.Generator
    ) -> None:
        kind = DecisionTreeRegressor if targets.dtype.kind == "f" else DecisionTreeClassifier
        self._tree = kind(min_samples_leaf=min(_LEAF, len(targets)), random_state=int(generator.integers(2**31)))
        leaf = self._tree.fit(features.astype(np.float32), _filled(targets)).apply(features.astype(np.float32))
        # By leaf; where values are drawn between, growing within a leaf, NaN last.
        order = np.lexsort((targets, leaf)) if between else np.argsort(leaf, kind="stable")
        self._leaf, self._targets, self._anchors = leaf[order], targets[order].astype(np.float64), anchors[order]
        self.between, self._known = between, np.append(0, np.cumsum(~np.isnan(self._targets)))

    def drawn(self, features: Floats, generator: np.random.Generator) -> tuple[Floats, Floats, Column]:
        """Two neighbouring targets of each record's leaf, the same where one is taken, and the value of one of both."""
        leaf = self._tree.apply(features.astype(np.float32))
        start, stop = np.searchsorted(self._leaf, leaf), np.searchsorted(self._leaf, leaf, side="right")
        counted = generator.random(len(leaf)) * (stop - start)
        exact = start + np.floor(counted)
        if self.between:
            # A missing value counts as one place, the last of its leaf.
            known = self._known[stop] - self._known[start]
            exact = np.where(counted >= known, stop - 1, start + counted / np.maximum(known, 1) * (known - 1))
        lower, upper = np.floor(exact).astype(np.intp), np.ceil(exact).astype(np.intp)
        anchor = np.where(generator.random(len(leaf)) < 0.5, lower, upper)
        return self._targets[lower], self._targets[upper], self._anchors[anchor]


@dataclass(frozen=True)
class _ColumnModel:
    """Model that draws the values of one column."""

    name: str
    kind: ValueKind
    values: Column
    alone: _Leaves | None
    """For records without a leader or whose leader is missing; None where none is."""
    following: _Leaves | None
    leader: str | None
    """Column before it whose distance from it is drawn."""
    grid: ValueGrid | None
    bounds: tuple[float, float, float, float]
    """Least and largest value, least and largest distance from the leader."""
    computed: bool
    """Whether a formula puts values in place of those drawn."""

    @property
    def takes(self) -> bool:
        """Whether all its values are real ones."""
        return not self.computed and self.leader is None and self.alone is not None and not self.alone.between

    def draw(self, features: Floats, drawn: dict[str, Column], rows: Rows, generator: np.random.Generator) -> Column:
        """Draw the values of some of the records, of which the columns before are drawn."""
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
        drawn[self.name][rows] = found
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


def _learned(
    columns: Columns,
    context: Floats,
    sample: Rows,
    kinds: Kinds,
    computed: frozenset[str],
    *,
    generator: np.random.Generator,
) -> list[_ColumnModel]:
    """A model for each column, from the context and the columns before it in a sample of the records."""
    features, models = [context[sample]], list[_ColumnModel]()
    for name, column in columns.items():
        kind, values = kind_of(name, kinds), column[sample]
        taken = kind is ValueKind.LISTED or (kind is ValueKind.DATE and monthly(column.astype(np.float64)))
        # Of a column that is computed only what is missing counts.
        taken |= name in computed
        between = column.dtype.kind == "f" and not taken and _mostly_different(values)
        leader, unled = None if taken else leader_of(columns, name, kinds), np.full(len(values), np.nan)
        apart = unled if leader is None else differences(columns, leader, name)[sample]
        if not between and _different(apart) > _FEWER * _different(values):
            leader, apart = None, unled
        followed = np.zeros(len(values), dtype=bool) if leader is None else ~np.isnan(columns[leader][sample])
        matrix, alone, following = np.column_stack(features), None, None
        if not followed.all():
            own, rows = values[~followed], matrix[~followed]
            alone = _Leaves(rows, own, own, between=between, generator=generator)
        if followed.any():
            far, own, rows = apart[followed], values[followed], matrix[followed]
            following = _Leaves(rows, far, own, between=_mostly_different(far), generator=generator)
        grid = ValueGrid.of(column.astype(np.float64), kind) if between or leader is not None else None
        bounds = (*_ends(column), *_ends(apart))
        models.append(_ColumnModel(name, kind, column, alone, following, leader, grid, bounds, name in computed))
        features += _seen_as(values, kind, values)
    return models


def _ends(values: Column) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def _seen_as(values: Column, kind: ValueKind, like: Column) -> list[Floats]:
    """Features that later columns are learned from: the values, and the weekdays of dates, −1 where missing."""
    is_date = kind is ValueKind.DATE and values.dtype.kind == "f"
    return [_filled(values, like), *([weekdays(values.astype(np.float64))] if is_date else [])]


def _filled(values: Column, like: Column | None = None) -> Floats:
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
