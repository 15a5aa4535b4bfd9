"""Rules between columns that hold in all real records, and whose breach would reveal a decoy.

Orders (an admission before its discharge), sums (days of stay that lead from one date to the other), and pairs of
values that some record has: of values that are taken from real records, of weekdays, and of what is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.classes import Flags, Floats, Rows
from tasks.decoys.value_grid import ValueKind, decimals_of, weekdays

Column = NDArray[np.number]
Columns = Mapping[str, Column]
"""Columns of records by name: integers are codes of values, floats are numbers with NaN where missing."""
Kinds = Mapping[str, ValueKind]
"""Kind of value of columns of floats; numbers where nothing is said."""

LEAST_RECORDS = 20
"""Records in which something has to hold before it is held to be no accident."""
_TIGHT = 0.25
"""Share of a column's standard deviation below which its distance from another column is drawn in its place."""
_HEAD = 64
"""Records on which sums are looked for before all records are asked."""
_NOISE = 1e-9
"""Share of the largest number by which floats may miss a sum."""


def kind_of(name: str, kinds: Kinds) -> ValueKind:
    """Kind of a column of floats."""
    return kinds.get(name, ValueKind.NUMBER)


def numbers_of(columns: Columns) -> list[str]:
    """Names of the columns of floats."""
    return [name for name, column in columns.items() if column.dtype.kind == "f"]


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
    for one, other in combinations(numbers_of(columns), 2):
        both = ~np.isnan(columns[one]) & ~np.isnan(columns[other])
        first, second = columns[one][both], columns[other][both]
        alike = kind_of(one, kinds) is kind_of(other, kinds) and len(first) >= LEAST_RECORDS
        if alike and max(first.min(), second.min()) <= min(first.max(), second.max()):
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

    def fill(self, columns: Columns, rows: Rows) -> Column:
        """The column's values in some rows: what follows, or as they are where something is missing."""
        own = columns[self.name][rows]
        total = sum(columns[name][rows] for name in self.plus) - sum(columns[name][rows] for name in self.minus)
        exact = total if self.decimals is None else np.round(total, self.decimals) + 0.0
        return np.asarray(np.where(np.isnan(own) | np.isnan(exact), own, exact))

    def broken(self, columns: Columns) -> Flags:
        """Whether each record's sum lies outside the column's range."""
        return np.asarray((columns[self.name] < self.low) | (columns[self.name] > self.high))


def sums(columns: Columns, kinds: Kinds) -> dict[str, Sum]:
    """Sums of numbers, and of a date and days, by the last of their three columns; one for each."""
    names = [name for name in numbers_of(columns) if kind_of(name, kinds) is not ValueKind.LISTED]
    found: dict[str, Sum] = {}
    matrix = np.column_stack([columns[name].astype(np.float64) for name in names]) if names else np.empty((0, 0))
    known = ~np.isnan(matrix)
    noise = _NOISE * max(float(np.abs(matrix[known]).max(initial=0.0)), 1.0)
    dates = [kind_of(name, kinds) is ValueKind.DATE for name in names]
    for one, other in combinations(range(len(names)), 2):
        total = matrix[:, one] + matrix[:, other]
        missed = np.abs(matrix[:_HEAD] - total[:_HEAD, None]) > noise
        for whole in np.flatnonzero(~missed.any(axis=0)).tolist():
            last = max(one, other, whole)
            complete = known[:, [one, other, whole]].all(axis=1)
            if (
                whole not in (one, other)
                and names[last] not in found
                and dates[one] + dates[other] == dates[whole]
                and complete.sum() >= LEAST_RECORDS
                and (np.abs(matrix[complete, whole] - total[complete]) <= noise).all()
                and matrix[complete, one].any()
                and matrix[complete, other].any()
            ):
                parts = tuple(names[place] for place in (one, other) if place != last)
                plus, minus = (parts, ()) if last == whole else ((names[whole],), parts)
                own = matrix[known[:, last], last]
                found[names[last]] = Sum(names[last], plus, minus, decimals_of(own), float(own.min()), float(own.max()))
    return found


@dataclass(frozen=True)
class SeenPairs:
    """Pairs of values, each of another column, that real records have together."""

    values: Columns = field(repr=False)
    """Values of each column that has several, growing."""
    seen: Mapping[tuple[str, str], NDArray[np.int64]] = field(repr=False)
    """Numbers of the pairs of each two columns, growing."""

    @classmethod
    def of(cls, columns: Columns) -> "SeenPairs":
        """The pairs of all records."""
        values, numbers = {}, {}
        for name, column in columns.items():
            distinct, number = np.unique(column, return_inverse=True)
            if len(distinct) > 1 or column.dtype.kind != "b":
                values[name], numbers[name] = distinct, number.astype(np.int64)
        seen = {
            (one, other): np.unique(numbers[one] * len(values[other]) + numbers[other])
            for one, other in combinations(values, 2)
        }
        return cls(values, seen)

    def broken(self, columns: Columns) -> Flags:
        """Whether each record has a value, or a pair, that no real one has."""
        found, numbers = np.zeros(len(next(iter(columns.values()))), dtype=bool), {}
        for name, values in self.values.items():
            numbers[name] = np.minimum(np.searchsorted(values, columns[name]), len(values) - 1)
            found |= (values[numbers[name]] != columns[name]) & (columns[name] == columns[name])
        for (one, other), pairs in self.seen.items():
            found |= ~np.isin(numbers[one] * len(self.values[other]) + numbers[other], pairs)
        return found


def as_paired(columns: Columns, taken: frozenset[str], kinds: Kinds) -> dict[str, Column]:
    """Columns as their pairs count: values taken from real records; of others the weekday, or whether they miss."""
    return {
        name: column
        if name in taken
        else weekdays(column.astype(np.float64))
        if kind_of(name, kinds) is ValueKind.DATE
        else np.isnan(column)
        for name, column in columns.items()
    }


def missing_of(columns: Columns) -> dict[str, Column]:
    """Whether each number is missing."""
    return {name: np.isnan(columns[name]) for name in numbers_of(columns)}


def differences(columns: Columns, leader: str, name: str) -> Floats:
    """Difference of a column from another, NaN where either is missing."""
    return np.asarray(columns[name].astype(np.float64) - columns[leader].astype(np.float64))


def leader_of(columns: Columns, name: str, kinds: Kinds) -> str | None:
    """The column before it whose distance from it varies least, where that is far less than the column itself."""
    kind, names = kind_of(name, kinds), numbers_of(columns)
    if name not in names or kind is ValueKind.LISTED:
        return None
    spreads = {}
    for other in names[: names.index(name)]:
        apart = differences(columns, other, name)
        both = ~np.isnan(apart)
        if kind_of(other, kinds) is kind and both.sum() >= LEAST_RECORDS:
            spread = float(apart[both].std())
            if spread < _TIGHT * float(columns[name][both].std()):
                spreads[other] = spread
    return min(spreads, key=lambda other: spreads[other], default=None)
