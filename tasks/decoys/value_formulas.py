"""Formulas that numbers follow in real records: a total of its parts, a body mass index, an age between two dates.

A formula may fail in few records: whoever compares then knows nearly as much as if it never failed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.classes import Flags, Floats
from tasks.decoys.value_grid import ValueKind, decimals_of

Column = NDArray[np.number]
Columns = Mapping[str, Column]
"""Columns of records by name: integers are codes of values, floats are numbers with NaN where missing."""
Kinds = Mapping[str, ValueKind]
"""Kind of value of columns of floats; numbers where nothing is said."""

LEAST_RECORDS = 20
"""Records in which something has to hold before it is held to be no accident."""
EXCEPTIONS = 0.01
"""Share of the real records that may break what the others keep to."""
DIGITS = 7
"""Decimals of a coefficient that are looked at."""
_COLUMN_DIGITS = 12
"""Decimals of a column that are looked at: small values have many."""
_MOST_OVER = 12
"""Columns of numbers of which products of two over a third are looked at."""
_ACTIVE = 0.3
"""Share of its unit that a column's rounding leaves open at least; where less is, another column is the rounded one."""
_TIMES, _OVER = " \u00d7\x1f ", " \u00f7\x1f "

Rounding = Literal["nearest", "down", "up"]
_WRITTEN: dict[Rounding, Callable[[Floats], Floats]] = {
    "nearest": lambda values: np.floor(values + 0.5),
    "down": np.floor,
    "up": np.ceil,
}


def derived(columns: Columns, kinds: Kinds) -> dict[str, Floats]:
    """Numbers that dates stand for: year and month of each, and completed years and months between each two."""
    found: dict[str, Floats] = {}
    dates = [name for name in columns if kinds.get(name) is ValueKind.DATE and columns[name].dtype.kind == "f"]
    calendar = {}
    for name in dates:
        days = columns[name].astype(np.float64)
        known = ~np.isnan(days)
        stamps = np.nan_to_num(days).astype(np.int64).astype("datetime64[D]")
        months = stamps.astype("datetime64[M]").astype(np.int64)
        day = (stamps - stamps.astype("datetime64[M]")).astype(np.int64)
        calendar[name] = months, day, known
        found[f"year of {name}"] = np.where(known, months // 12 + 1970.0, np.nan)
        found[f"month of {name}"] = np.where(known, months % 12 + 1.0, np.nan)
    for one in dates:
        for other in dates:
            if one != other and np.nansum(columns[other] - columns[one]) > 0:
                (first, day, known), (last, later, also) = calendar[one], calendar[other]
                whole = last - first - (later < day)
                found[f"months from {one} to {other}"] = np.where(known & also, whole, np.nan)
                found[f"years from {one} to {other}"] = np.where(known & also, whole // 12, np.nan)
    return found


def combined(numbers: Mapping[str, Floats]) -> dict[str, Floats]:
    """Products and ratios of each two columns of numbers; of not too many also products of two over a third."""
    found = {}
    with np.errstate(all="ignore"):
        for one, other in permutations(numbers, 2):
            if one < other:
                found[one + _TIMES + other] = numbers[one] * numbers[other]
            found[one + _OVER + other] = numbers[one] / numbers[other]
        for one, other, third in permutations(numbers, 3) if len(numbers) <= _MOST_OVER else ():
            if one < other:
                found[one + _TIMES + other + _OVER + third] = numbers[one] * numbers[other] / numbers[third]
    return {name: np.where(np.isfinite(values), values, np.nan) for name, values in found.items()}


@dataclass(frozen=True, eq=False)
class Formula:
    """A column of numbers that follows from others."""

    name: str
    weights: Mapping[str, float]
    """Coefficient, or exponent, of each column that it follows from, derived ones included."""
    product: bool
    kinds: Kinds = field(repr=False)
    unit: float
    """Smallest step of the column; 0 where it has too many decimals to tell."""
    code: str | None = None
    """Column whose codes have constants of their own."""
    codes: Column = field(default_factory=lambda: np.zeros(1), repr=False)
    """Codes of that column, growing."""
    constants: Floats = field(default_factory=lambda: np.zeros(1), repr=False)
    """Constant of all records, or of each code; added, or multiplied in a product."""
    rounding: Rounding | None = None
    left: Floats = field(default_factory=lambda: np.zeros(1), repr=False)
    """Residuals of real values, growing; only their ends where the rounding is known."""
    noise: float = 0.0
    missing_is_nothing: bool = False
    """Whether a part that is missing counts as 0."""
    bounds: tuple[float, float] = (-np.inf, np.inf)
    """Least and largest real value."""
    capped: bool = False
    """Whether what lies beyond them becomes one of them."""

    @property
    def follows(self) -> bool:
        """Whether nothing but rounding is open, and the column is no part of a sum or the divisor of a product."""
        return self.fills and self.rounding is not None and (self.product or min(self.weights.values()) > 0)

    @property
    def fills(self) -> bool:
        """Whether the column is the one that is rounded, so that every value which follows keeps to the formula."""
        open_ = width(self)
        return open_ <= 2 * self.noise or open_ > _ACTIVE * self.unit

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that it follows from, as they stand in the file."""
        names = [part for name in self.weights for part in sources(name, self.kinds)]
        return tuple(dict.fromkeys([*names, *([self.code] if self.code else [])]))

    def plain(self, columns: Columns) -> Floats:
        """The formula's value of each record before rounding, NaN where it has none."""
        every = inputs_of(columns, self.kinds, self.weights)
        constants = self.constants[:1]
        if self.code is not None:
            place = np.minimum(np.searchsorted(self.codes, columns[self.code]), len(self.codes) - 1)
            constants = np.where(self.codes[place] == columns[self.code], self.constants[place], np.nan)
        values = np.full(len(columns[self.name]), 1.0 if self.product else 0.0)
        with np.errstate(all="ignore"):
            for name, weight in self.weights.items():
                part = every[name].astype(np.float64)
                part = np.nan_to_num(part) if self.missing_is_nothing else part
                values = values * part**weight if self.product else values + weight * part
            values = values * constants if self.product else values + constants
        values = np.where(np.isfinite(values), values, np.nan)
        return np.clip(values, *self.bounds) if self.capped else values

    def residual(self, columns: Columns) -> Floats:
        """Difference of each record's value from the formula's, NaN where something is missing."""
        return np.asarray(columns[self.name].astype(np.float64) - self.plain(columns))

    def broken(self, columns: Columns) -> Flags:
        """Whether each record breaks it, or its value lies outside the real ones; not where something is missing."""
        own, left = columns[self.name], self.residual(columns)
        outside = (own < self.bounds[0] - self.noise) | (own > self.bounds[1] + self.noise)
        wrong = (left < self.left[0] - self.noise) | (left > self.left[-1] + self.noise)
        return np.asarray(wrong | (outside & ~np.isnan(left)))

    def fill(self, columns: Columns, generator: np.random.Generator) -> Column:
        """The column's values as they follow; as they are where something is missing."""
        own, plain = columns[self.name], self.plain(columns)
        if self.rounding is None:
            plain = plain + generator.choice(self.left, len(plain))
        if self.unit:
            written = _WRITTEN[self.rounding or "nearest"](plain / self.unit + _SHIFT[self.rounding]) / (1 / self.unit)
            plain = np.round(written, max(0, round(-np.log10(self.unit)) + 2)) + 0.0
        return np.asarray(np.where(np.isnan(own) | np.isnan(plain), own, plain))


_SHIFT: dict[Rounding | None, float] = {"down": 1e-7, "up": -1e-7, "nearest": 1e-7, None: 0.0}
"""Share of a unit that keeps floats just below a whole number from being rounded the wrong way."""


def inputs_of(columns: Columns, kinds: Kinds, names: Iterable[str]) -> dict[str, Column]:
    """The columns that some names stand for."""
    found, dated = {}, dict[str, Floats]()
    for name in names:
        parts = _parts(name)
        if name in columns:
            found[name] = columns[name]
        elif len(parts) > 1:
            found[name] = combined({part: columns[part].astype(np.float64) for part in parts})[name]
        else:
            dated = dated or derived(columns, kinds)
            found[name] = dated[name]
    return found


def _parts(name: str) -> list[str]:
    """The columns of a product or ratio, or the name alone."""
    return name.replace(_OVER, _TIMES).split(_TIMES)


def sources(name: str, kinds: Kinds) -> list[str]:
    """The file's columns that a name stands for."""
    if len(_parts(name)) > 1:
        return _parts(name)
    if name in kinds or not name.startswith(("year", "month")):
        return [name]
    if " of " in name:
        return [name.split(" of ", 1)[1]]
    one, other = name.split(" from ", 1)[1].split(" to ", 1)
    return [one, other]


def width(found: Formula) -> float:
    """Range of the residuals of a formula."""
    return float(found.left[-1] - found.left[0])


def rounding_of(left: Floats, unit: float, noise: float) -> Rounding | None:
    """The rounding that explains what is left; None where none does."""
    low, high = float(left[0]), float(left[-1])
    edge = 2 * noise + 1e-6 * unit
    if -unit / 2 - edge <= low and high <= unit / 2 + edge:
        return "nearest"
    if -unit - edge <= low and high <= edge:
        return "down"
    return "up" if -edge <= low and high <= unit + edge else None


def near(weight: float, digits: int) -> float:
    """The nearest number of so many decimals, or the reciprocal of one where that is nearer."""
    plain = round(weight, digits)
    inverse = round(1 / weight, digits) if weight else 0.0
    return 1 / inverse if inverse and (not plain or abs(1 / inverse - weight) < abs(plain - weight)) else plain


def roundest(low: float, high: float) -> float:
    """The number of the fewest decimals between two."""
    for digits in range(-6, 12):
        for step in (10.0, 5.0, 1.0):
            scale = step * 10.0 ** (-digits - 1)
            middle = np.round((low + high) / 2 / scale) * scale
            if low <= middle <= high:
                return float(np.round(middle, max(digits + 1, 0)))
    return (low + high) / 2


def unit_of(values: Floats) -> float:
    """Smallest step of the known values; 0 where they have too many decimals."""
    decimals = decimals_of(values)
    return 0.0 if decimals is None or decimals > _COLUMN_DIGITS else 10.0**-decimals


def varies(values: Column) -> bool:
    """Whether the known values differ."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool((known != known[0]).any())
