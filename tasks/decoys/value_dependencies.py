"""Columns that depend on others in real records: by a table, by thresholds of a number, or by what is never together.

Columns are seen as categories: codes, values that recur, what is missing, and one category for all other numbers. A
date counts by its weekday, month and year too.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.classes import Flags, Floats
from tasks.decoys.value_formulas import EXCEPTIONS, LEAST_RECORDS, Column, Columns, Kinds
from tasks.decoys.value_grid import ValueKind, weekdays

Numbers = NDArray[np.int64]

_SAMPLE = 2_000
"""Records in which tables of two columns are looked for first."""
_FEW = 0.2
"""Different values, as a share of the records, below which each is a category; of others those that many have."""
_SPARSE = 0.2
"""Runs of a column along a growing number, as a share of those by chance, below which it has thresholds there."""
_BY_CHANCE = 10
"""Records expected by chance from which on their absence is none."""
_CALENDAR = ("weekday of ", "month of ", "year of ")


@dataclass(frozen=True, eq=False)
class Categories:
    """Categories of each column's values, as real records have them."""

    values: dict[str, Column] = field(repr=False)
    """Values that are categories of their own, growing."""

    @classmethod
    def of(cls, columns: Columns, kinds: Kinds) -> "Categories":
        """The categories of all columns that have several."""
        found: dict[str, Column] = {}
        dated = [one for one, own in columns.items() if kinds.get(one) is ValueKind.DATE and own.dtype.kind == "f"]
        parts = {part + one: _seen(part + one, columns) for one in dated for part in _CALENDAR}
        for name, column in {**columns, **parts}.items():
            known = column[~np.isnan(column)]
            distinct, records = np.unique(known, return_counts=True)
            many = column.dtype.kind == "f" and len(distinct) > max(_FEW * len(known), 1)
            own = distinct[records >= LEAST_RECORDS] if many else distinct
            if len(own) + (len(known) < len(column)) + (len(own) < len(distinct)) > 1:
                found[name] = own
        return cls(found)

    def numbers(self, columns: Columns, names: Iterable[str]) -> dict[str, Numbers]:
        """Category of each record by column: the place of its value, then one for others, then one for none."""
        found = {}
        for name in names:
            own, column = self.values[name], _seen(name, columns)
            place = np.searchsorted(own, column)
            held = own[np.minimum(place, len(own) - 1)] == column if len(own) else np.zeros(len(column), dtype=bool)
            found[name] = np.where(np.isnan(column), len(own) + 1, np.where(held, place, len(own))).astype(np.int64)
        return found

    def size(self, name: str) -> int:
        """Number of categories of a column."""
        return len(self.values[name]) + 2


def source(name: str) -> str:
    """The file's column that a category is one of."""
    return next((name.removeprefix(part) for part in _CALENDAR if name.startswith(part)), name)


def _seen(name: str, columns: Columns) -> Column:
    """A column, or the part of a date."""
    if name in columns:
        return columns[name]
    own = columns[source(name)].astype(np.float64)
    if name.startswith(_CALENDAR[0]):
        return weekdays(own)
    months = np.nan_to_num(own).astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return np.where(np.isnan(own), np.nan, months % 12 if name.startswith(_CALENDAR[1]) else months // 12)


@dataclass(frozen=True, eq=False)
class Dependency:
    """A column whose category follows from those of one or two others."""

    name: str
    on: tuple[str, ...]
    categories: Categories = field(repr=False)
    keys: Numbers = field(repr=False)
    """Combinations of categories that real records have, growing."""
    follows: Numbers = field(repr=False)
    """Category of the column for each."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that it follows from."""
        return tuple(map(source, self.on))

    def expected(self, columns: Columns) -> Numbers:
        """Category of each record as it follows, −1 where it does not."""
        numbers = self.categories.numbers(columns, self.on)
        key = _key(numbers, self.on, self.categories)
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where(self.keys[place] == key, self.follows[place], -1)

    def broken(self, columns: Columns) -> Flags:
        """Whether each record has another category; not where no real record has the combination."""
        expected = self.expected(columns)
        return np.asarray((expected >= 0) & (self.categories.numbers(columns, [self.name])[self.name] != expected))

    def fill(self, columns: Columns, _: np.random.Generator) -> Column:
        """The column's values as they follow, as they are where they do not or several are possible."""
        own, expected, values = columns[self.name].copy(), self.expected(columns), self.categories.values[self.name]
        known = (expected >= 0) & (expected < len(values))
        own[known] = values[expected[known]]
        if own.dtype.kind == "f":
            own[expected == len(values) + 1] = np.nan
        return np.asarray(own)


@dataclass(frozen=True, eq=False)
class Threshold:
    """A column whose category follows from the place of a number between thresholds."""

    name: str
    number: str
    categories: Categories = field(repr=False)
    places: Floats = field(repr=False)
    """Real values of the number, growing."""
    first: Numbers = field(repr=False)
    """Category of the first record with each value, and of the last."""
    last: Numbers = field(repr=False)

    @property
    def clean(self) -> bool:
        """Whether no number has several categories, and few change back."""
        changes = np.count_nonzero(self.last[:-1] != self.first[1:])
        return bool((self.first == self.last).all() and changes <= 2 * len(np.unique(self.first)))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that it follows from."""
        return (self.number,)

    def _around(self, columns: Columns) -> tuple[Numbers, Numbers, Flags, Flags]:
        """Categories below and above each number, whether it is known, and whether it is a real one."""
        own = columns[self.number].astype(np.float64)
        place = np.minimum(np.searchsorted(self.places, own), len(self.places) - 1)
        real = self.places[place] == own
        below = np.where(real, self.first[place], self.last[np.maximum(place - 1, 0)])
        return below, np.where(real, self.last[place], self.first[place]), ~np.isnan(own), real

    def broken(self, columns: Columns) -> Flags:
        """Whether each record has a category of neither side, or lies where the threshold is not known."""
        below, above, known, real = self._around(columns)
        own = self.categories.numbers(columns, [self.name])[self.name]
        return np.asarray(known & (((own != below) & (own != above)) | ((below != above) & ~real)))

    def fill(self, columns: Columns, _: np.random.Generator) -> Column:
        """The column's values as they follow, as they are at a threshold."""
        own, values = columns[self.name].copy(), self.categories.values[self.name]
        below, above, known, _real = self._around(columns)
        sure = known & (below == above) & (below < len(values))
        own[sure] = values[below[sure]]
        return np.asarray(own)


@dataclass(frozen=True, eq=False)
class NeverTogether:
    """Categories of two columns that no real record has together, where that is no accident."""

    pair: tuple[str, str]
    categories: Categories = field(repr=False)
    seen: Numbers = field(repr=False)
    """Pairs that real records have, growing."""
    telling: tuple[Flags, Flags] = field(repr=False)
    """Categories of either column of which fewer than one in a hundred further records would have a pair not seen."""

    def broken(self, columns: Columns) -> Flags:
        """Whether each record has such a pair."""
        numbers = self.categories.numbers(columns, self.pair)
        one, other = (numbers[name] for name in self.pair)
        unseen = ~np.isin(one * self.categories.size(self.pair[1]) + other, self.seen)
        # A category beyond those that any real record has is told by no pair.
        first, second = (
            flags[np.minimum(number, len(flags) - 1)] & (number < len(flags))
            for flags, number in zip(self.telling, (one, other), strict=True)
        )
        return np.asarray(unseen & (first | second))

    def mended(
        self, columns: Columns, drawn: Collection[str], generator: np.random.Generator
    ) -> tuple[str, Column] | None:
        """One of the two columns, if any is drawn, with values that are seen together in place of broken ones."""
        wrong = self.broken(columns)
        change = next((name for name in self.pair[::-1] if name in drawn), None)
        if change is None or not wrong.any():
            return None
        size, values, own = self.categories.size(self.pair[1]), self.categories.values[change], columns[change].copy()
        parts = dict(zip(self.pair, (self.seen // size, self.seen % size), strict=True))
        other = self.pair[0] if change == self.pair[1] else self.pair[1]
        held = self.categories.numbers(columns, [other])[other]
        for row in np.flatnonzero(wrong).tolist():
            possible = parts[change][(parts[other] == held[row]) & (parts[change] < len(values))]
            if len(possible):
                own[row] = values[generator.choice(possible)]
        return change, own


def _key(numbers: dict[str, Numbers], names: Sequence[str], categories: Categories) -> Numbers:
    """One number for each combination of categories."""
    key = numbers[names[0]]
    for name in names[1:]:
        key = key * categories.size(name) + numbers[name]
    return key


def dependencies(columns: Columns, kinds: Kinds, given: Columns) -> Iterator[Dependency | Threshold | NeverTogether]:
    """All that real records keep to; nothing of given columns alone, which are not drawn."""
    categories = Categories.of({**given, **columns}, kinds)
    numbers = categories.numbers({**given, **columns}, categories.values)
    records = len(next(iter(numbers.values()), ()))
    if records < LEAST_RECORDS:
        return
    names = list(numbers)
    drawn = [name for name in names if name in columns]
    few = [name for name in names if categories.size(name) <= max(_FEW * records, 3)]
    rows = np.random.default_rng(records).permutation(records)[:_SAMPLE]
    sampled = {name: number[rows] for name, number in numbers.items()}
    found = set[tuple[tuple[str, ...], str]]()
    wide = [(name,) for name in names] + [pair for pair in combinations(few, 2) if source(pair[0]) != source(pair[1])]
    for on in wide:
        # Numbers that are no category of their own determine nothing.
        outside = np.any([sampled[name] == len(categories.values[name]) for name in on], axis=0)
        keys = _key(sampled, on, categories)
        for name in drawn:
            known = any(((part,), name) in found for part in on)
            if source(name) in map(source, on) or known or not _depends(keys, sampled[name], outside, 3 * EXCEPTIONS):
                continue
            outside_all = np.any([numbers[part] == len(categories.values[part]) for part in on], axis=0)
            every = _key(numbers, on, categories)
            if _depends(every, numbers[name], outside_all, EXCEPTIONS):
                found.add((on, name))
                yield Dependency(name, on, categories, *_majority(every[~outside_all], numbers[name][~outside_all]))
    for number in (name for name, column in columns.items() if column.dtype.kind == "f"):
        values = columns[number].astype(np.float64)
        for name in drawn:
            if source(name) != number and name in few:
                threshold = _threshold(number, name, values, numbers[name])
                if threshold is not None:
                    yield Threshold(name, number, categories, *threshold)
    for one, other in combinations(names, 2):
        if (one in drawn or other in drawn) and source(one) != source(other):
            seen, count = np.unique(numbers[one] * categories.size(other) + numbers[other], return_counts=True)
            parts = seen // categories.size(other), seen % categories.size(other)
            first, second = _telling(*parts, count), _telling(*parts[::-1], count)
            if first.any() or second.any():
                yield NeverTogether((one, other), categories, seen, (first, second))


def _telling(part: Numbers, other: Numbers, count: Numbers) -> Flags:
    """Categories that are never with some others, of which by chance they would be with several.

    Few of their records have a pair that is seen once (Good 1953), so that few further ones would have one not seen.
    """
    records, once = np.bincount(part, weights=count), np.bincount(part, weights=count == 1)
    shares = np.bincount(other, weights=count) / count.sum()
    unseen = records * (1 - np.bincount(part, weights=shares[other]))
    return np.asarray((unseen >= _BY_CHANCE) & (once <= EXCEPTIONS * records))


def _majority(keys: Numbers, own: Numbers) -> tuple[Numbers, Numbers]:
    """Keys, growing, of which all records but a few have one category, and that category."""
    width = int(own.max()) + 1
    pairs, count = np.unique(keys * width + own, return_counts=True)
    _, of_key = np.unique(pairs // width, return_inverse=True)
    held = count >= (1 - EXCEPTIONS) * np.bincount(of_key, weights=count)[of_key]
    return pairs[held] // width, pairs[held] % width


def _depends(keys: Numbers, own: Numbers, outside: Flags, exceptions: float) -> bool:
    """Whether records of one key have one category, but for a share of those that have not the most frequent one."""
    keys, own = keys[~outside], own[~outside]
    if len(own) < LEAST_RECORDS:
        return False
    _, group, size = np.unique(keys, return_inverse=True, return_counts=True)
    common = int(np.argmax(np.bincount(own)))
    telling = np.count_nonzero((size[group] > 1) & (own != common))
    if telling < LEAST_RECORDS:
        return False
    width = int(own.max()) + 1
    pair, count = np.unique(group * width + own, return_counts=True)
    most = np.maximum.reduceat(count, np.flatnonzero(np.diff(pair // width, prepend=-1)))
    return bool(len(own) - most.sum() <= exceptions * telling)


def _threshold(number: str, name: str, values: Floats, own: Numbers) -> tuple[Floats, Numbers, Numbers] | None:
    """Real numbers with the first and last category of each, if categories change far less often than by chance."""
    known = ~np.isnan(values)
    order = np.lexsort((own[known], values[known]))
    places, along = values[known][order], own[known][order]
    if len(along) < LEAST_RECORDS or number == name:
        return None
    shares = np.bincount(along) / len(along)
    # Of equal numbers those of several categories count as changes, in the order of the records.
    mixed = own[known][np.argsort(values[known], kind="stable")]
    runs, used = int(np.count_nonzero(np.diff(mixed))), int(np.count_nonzero(shares))
    chance = len(along) * float(1 - np.square(shares).sum())
    if used < 2 or runs > min(2 * used + 2 * EXCEPTIONS * len(along), _SPARSE * chance):
        return None
    distinct, start = np.unique(places, return_index=True)
    return distinct, along[start], along[np.append(start[1:] - 1, len(along) - 1)]
