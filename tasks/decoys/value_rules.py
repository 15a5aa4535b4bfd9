"""Rules between columns that hold in all real records, and whose breach would reveal a decoy.

Formulas (``tasks.decoys.value_formulas``), orders (an admission before its discharge), columns that depend on others (a
district on its ZIP code, a class on a number's threshold), and pairs of values that some record has: of values that are
taken from real records, of weekdays, and of what is missing. Released groups of quasi-identifiers take part.

A dependency, or a pair that is never seen, is a rule where a breach would be telling: by the share of values that are
seen once (Good 1953), less than one in a hundred further records would break it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.classes import Flags, Floats
from tasks.decoys.formula_search import formulas
from tasks.decoys.value_dependencies import Dependency, NeverTogether, Threshold, dependencies
from tasks.decoys.value_formulas import LEAST_RECORDS, Column, Columns, Formula, Kinds
from tasks.decoys.value_grid import ValueKind, weekdays

_TIGHT = 0.25
"""Share of a column's standard deviation below which its distance from another column is drawn in its place."""


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


Fill = Formula | Dependency | Threshold
"""A rule by which one column, ``name``, follows from others, ``inputs``."""
ValueRule = Fill | NeverTogether | Order
"""Something that holds in all real records, or in all but a few: ``broken`` tells of each record."""


@dataclass(frozen=True)
class Rules:
    """Rules that real records keep. A decoy that broke one would be recognized with certainty."""

    every: tuple[ValueRule, ...]
    fills: tuple[Fill, ...]
    """Rules that fill in columns, at most one a column, each after those of its inputs."""
    given: Columns = field(default_factory=dict, repr=False)
    """Released groups of the decoys, which are not drawn."""

    def mended(self, columns: dict[str, Column], generator: np.random.Generator) -> dict[str, Column]:
        """Drawn records, their groups among them, with values that are seen together, and what follows from those."""
        drawn = [name for name in columns if name not in self.given and name not in {fill.name for fill in self.fills}]
        for rule in self.every:
            changed = rule.mended(columns, drawn, generator) if isinstance(rule, NeverTogether) else None
            columns = columns | dict([changed]) if changed else columns
        for fill in self.fills:
            columns = columns | {fill.name: fill.fill(columns, generator)}
        return columns

    def broken(self, columns: Columns) -> Flags:
        """Whether each record breaks some rule."""
        found = np.zeros(len(next(iter(columns.values()))), dtype=bool)
        for rule in self.every:
            found |= rule.broken(columns)
        return found


def find_rules(columns: Columns, kinds: Kinds, given: Columns) -> Rules:
    """All rules that real records keep to; `given` has their released groups as codes, named unlike any column."""
    exact, open_ = list[Formula](), list[Formula]()
    for formula in formulas(columns, kinds):
        (exact if formula.rounding else open_).append(formula)
    place = {name: number for number, name in enumerate(columns)}
    exact.sort(key=lambda one: not one.follows)
    sharp = [one for one in exact if one.fills]
    others = list(dependencies(columns, kinds, given))
    tables = sorted((one for one in others if isinstance(one, Dependency)), key=lambda one: -place.get(one.name, -1))
    steps = [one for one in others if isinstance(one, Threshold) and one.clean]
    fills = list[Fill]()
    plain = [one for one in open_ if kind_of(one.name, kinds) is ValueKind.NUMBER]
    usable: list[Fill] = [*sharp, *tables, *steps, *plain]
    for one in usable:
        # Neither filled already, nor does one of its inputs follow from it.
        circular = any(two.name in one.inputs and one.name in _before(two, fills) for two in fills)
        if one.name in columns and not circular and one.name not in {two.name for two in fills}:
            fills.append(one)
    sets = [{one.name, *one.inputs} for one in fills]
    kept = [one for one in open_ if one in fills or {one.name, *one.inputs} not in sets]
    order = sorted(fills, key=lambda one: len(_before(one, fills)))
    return Rules((*exact, *kept, *others, *orders(columns, kinds)), tuple(order))


def _before(one: Fill, fills: Sequence[Fill]) -> set[str]:
    """All columns that one follows from, through others as well."""
    found, new = set[str](), set(one.inputs)
    while new:
        found |= new
        new = {part for other in fills if other.name in new for part in other.inputs} - found
    return found


def kind_of(name: str, kinds: Kinds) -> ValueKind:
    """Kind of a column of floats."""
    return kinds.get(name, ValueKind.NUMBER)


def numbers_of(columns: Columns) -> list[str]:
    """Names of the columns of floats."""
    return [name for name, column in columns.items() if column.dtype.kind == "f"]


def orders(columns: Columns, kinds: Kinds) -> tuple[Order, ...]:
    """Orders of numbers, and of dates, whose ranges overlap; others hold of all values between real ones."""
    found = []
    for one, other in combinations(numbers_of(columns), 2):
        both = ~np.isnan(columns[one]) & ~np.isnan(columns[other])
        first, second = columns[one][both], columns[other][both]
        dated = [kind_of(name, kinds) is ValueKind.DATE for name in (one, other)]
        alike = dated[0] is dated[1] and len(first) >= LEAST_RECORDS
        if alike and max(first.min(), second.min()) <= min(first.max(), second.max()):
            if (first <= second).all():
                found.append(Order(one, other, bool((first < second).all())))
            elif (second <= first).all():
                found.append(Order(other, one, bool((second < first).all())))
    return tuple(found)


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
