"""Rules between columns that hold in all real records, and whose breach would reveal a decoy.

Orders (an admission before its discharge), sums (days of stay that lead from one date to the other), values that are
missing only together, and pairs of values that some record has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.generalized_release import Flags, Floats
from tasks.decoys.value_grid import ValueKind, decimals_of, weekdays

Column = NDArray[np.number]
Columns = Mapping[str, Column]
Kinds = Mapping[str, ValueKind]

LEAST_RECORDS = 20
"""Records in which something has to hold before it is held to be no accident."""
_TIGHT = 0.25
"""Share of a column's standard deviation below which its distance from another column is drawn in its place."""
_HEAD = 64
"""Records on which sums are looked for before all records are asked."""
_NOISE = 1e-9
"""Share of the largest number by which floats may miss a sum."""


def kind_of(name: str, kinds: Kinds) -> ValueKind:
    """Kind of a column of floats; a number where nothing is said."""
    return kinds.get(name, ValueKind.NUMBER)


class Rule(Protocol):
    """A rule that holds in all real records."""

    def broken(self, columns: Columns) -> Flags:
        """Whether each record breaks it."""


@dataclass(frozen=True)
class Order:
    """Two columns of which one is never below the other."""

    lesser: str
    greater: str
    strict: bool
    """Whether the two are never equal either."""

    def broken(self, columns: Columns) -> Flags:
        """Whether each record breaks it; not where either is missing."""
        lesser, greater = columns[self.lesser], columns[self.greater]
        return np.asarray(lesser >= greater if self.strict else lesser > greater)


def orders(columns: Columns, kinds: Kinds) -> tuple[Order, ...]:
    """Orders of numbers, and of dates, whose ranges overlap; others hold of all values between real ones."""
    found = []
    for one, other in combinations(_floats(columns), 2):
        if kind_of(one, kinds) is not kind_of(other, kinds):
            continue
        both = ~np.isnan(columns[one]) & ~np.isnan(columns[other])
        first, second = columns[one][both], columns[other][both]
        if len(first) < LEAST_RECORDS or max(first.min(), second.min()) > min(first.max(), second.max()):
            continue
        if (first <= second).all():
            found.append(Order(one, other, bool((first < second).all())))
        elif (second <= first).all():
            found.append(Order(other, one, bool((second < first).all())))
    return tuple(found)


@dataclass(frozen=True)
class Sum:
    """A column that follows from two columns before it: it, or one of them, is the sum of the other two."""

    name: str
    plus: tuple[str, ...]
    minus: tuple[str, ...]
    decimals: int | None
    low: float
    """Least value of the column; a record whose sum is less breaks the rule."""
    high: float

    def fill(self, columns: Mapping[str, Column], rows: NDArray[np.intp]) -> Column:
        """The column's values in some rows: what follows, or as they are where something is missing."""
        own = columns[self.name][rows]
        total = np.sum([columns[name][rows] for name in self.plus], axis=0)
        total = total - np.sum([columns[name][rows] for name in self.minus], axis=0)
        exact = total if self.decimals is None else np.round(total, self.decimals) + 0.0
        filled: Column = np.where(np.isnan(own) | np.isnan(exact), own, exact)
        return filled

    def broken(self, columns: Columns) -> Flags:
        """Whether each record's sum lies outside the column's range."""
        return np.asarray((columns[self.name] < self.low) | (columns[self.name] > self.high))


def sums(columns: Columns, kinds: Kinds) -> dict[str, Sum]:
    """Sums of numbers, and of a date and days, by the last of their three columns; one for each."""
    names = [name for name in _floats(columns) if kind_of(name, kinds) is not ValueKind.LISTED]
    found: dict[str, Sum] = {}
    if len(names) < 3:
        return found
    matrix = np.column_stack([columns[name].astype(np.float64) for name in names])
    known = ~np.isnan(matrix)
    noise = _NOISE * max(float(np.abs(matrix[known]).max(initial=0.0)), 1.0)
    dates = [kind_of(name, kinds) is ValueKind.DATE for name in names]
    for one, other in combinations(range(len(names)), 2):
        total = matrix[:, one] + matrix[:, other]
        missed = np.abs(matrix[:_HEAD] - total[:_HEAD, None]) > noise
        for whole in np.flatnonzero(~missed.any(axis=0)).tolist():
            if whole in (one, other) or dates[one] + dates[other] != dates[whole]:
                continue
            last = max(one, other, whole)
            complete = known[:, [one, other, whole]].all(axis=1)
            holds = (np.abs(matrix[complete, whole] - total[complete]) <= noise).all()
            if names[last] in found or complete.sum() < LEAST_RECORDS or not holds:
                continue
            if not (matrix[complete, one].any() and matrix[complete, other].any()):
                continue
            parts = tuple(names[place] for place in (one, other) if place != last)
            plus, minus = (parts, ()) if last == whole else ((names[whole],), parts)
            own = matrix[known[:, last], last]
            found[names[last]] = Sum(names[last], plus, minus, decimals_of(own), float(own.min()), float(own.max()))
    return found


@dataclass(frozen=True)
class MissingTogether:
    """Columns with missing values, and which two are missing, or known, together."""

    names: tuple[str, ...]
    seen: Flags
    """By column, column, whether the first is missing, and the second: whether a record is so."""

    @classmethod
    def of(cls, columns: Columns) -> "MissingTogether":
        """Patterns that all records show; any pattern counts as seen where records are few."""
        names = tuple(name for name in _floats(columns) if np.isnan(columns[name]).any())
        few = len(next(iter(columns.values()))) < LEAST_RECORDS
        missing = _missing(columns, names)
        sides = np.stack([~missing, missing], axis=2).astype(np.float32)
        seen = np.einsum("ras,rbt->abst", sides, sides, optimize=True) > 0
        return cls(names, np.ones_like(seen) if few else seen)

    def broken(self, columns: Columns) -> Flags:
        """Whether each record has two columns missing or known as no real record has."""
        missing = _missing(columns, self.names).astype(np.intp)
        place = np.arange(len(self.names))
        shown = self.seen[place[:, None], place, missing[:, :, None], missing[:, None, :]]
        return np.asarray(~shown.all(axis=(1, 2)))


def _missing(columns: Columns, names: Sequence[str]) -> Flags:
    number = len(next(iter(columns.values())))
    return np.column_stack([np.zeros((number, 0), dtype=bool), *[np.isnan(columns[name]) for name in names]])


@dataclass(frozen=True)
class SeenPairs:
    """Pairs of values that real records have together.

    Of columns whose values are not taken from real records it is their weekday that counts, and that they are missing.
    """

    taken: frozenset[str]
    kinds: Kinds
    names: tuple[tuple[str, str], ...]
    seen: tuple[NDArray[np.int64], ...]
    """Numbers of the pairs of each two columns, growing."""
    values: Columns = field(repr=False)
    """Values of each column, growing, NaN last."""

    @classmethod
    def of(cls, columns: Columns, taken: frozenset[str], kinds: Kinds) -> "SeenPairs":
        """The pairs of all records."""
        codes = {name: _told(name, column, taken, kinds) for name, column in columns.items()}
        values = {name: np.unique(column) for name, column in codes.items()}
        values = {name: column for name, column in values.items() if name in taken or len(column) > 1}
        names = tuple(combinations(values, 2))
        numbers = {name: np.unique(codes[name], return_inverse=True)[1].astype(np.int64) for name in values}
        seen = tuple(np.unique(numbers[one] * len(values[other]) + numbers[other]) for one, other in names)
        return cls(taken, kinds, names, seen, values)

    def broken(self, columns: Columns) -> Flags:
        """Whether each record has a pair, or a weekday, that no real one has."""
        found = np.zeros(len(next(iter(columns.values()))), dtype=bool)
        numbers = {}
        for name, values in self.values.items():
            told = _told(name, columns[name], self.taken, self.kinds)
            numbers[name] = np.minimum(np.searchsorted(values, told), len(values) - 1)
            found |= (values[numbers[name]] != told) & ~np.isnan(told)
        for (one, other), pairs in zip(self.names, self.seen, strict=True):
            found |= ~np.isin(numbers[one] * len(self.values[other]) + numbers[other], pairs)
        return found


def _told(name: str, column: Column, taken: frozenset[str], kinds: Kinds) -> Column:
    if name in taken:
        return column
    missing = np.isnan(column)
    if kind_of(name, kinds) is not ValueKind.DATE:
        return missing.astype(np.int64)
    return np.where(missing, -1, weekdays(np.where(missing, 0.0, column)))


def differences(columns: Columns, leader: str, name: str) -> Floats:
    """Difference of a column from another, NaN where either is missing."""
    more: Floats = columns[name].astype(np.float64) - columns[leader].astype(np.float64)
    return more


def leader_of(columns: Columns, name: str, kinds: Kinds) -> str | None:
    """The column before it whose distance from it varies least, where that is far less than the column itself."""
    kind, best, found = kind_of(name, kinds), np.inf, None
    for other in _floats(columns):
        if other == name:
            break
        if kind_of(other, kinds) is not kind or kind is ValueKind.LISTED:
            continue
        apart = differences(columns, other, name)
        both = ~np.isnan(apart)
        if both.sum() < LEAST_RECORDS:
            continue
        spread = float(apart[both].std())
        if spread < min(best, _TIGHT * float(columns[name][both].std())):
            best, found = spread, other
    return found


def _floats(columns: Columns) -> list[str]:
    return [name for name, column in columns.items() if column.dtype.kind == "f"]
