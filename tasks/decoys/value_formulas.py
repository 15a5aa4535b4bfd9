"""Formulas that numbers follow in real records: a total of its parts, a body mass index, an age between two dates.

Searched for each column of numbers: a linear relation of any number of columns by trimmed least squares (Rousseeuw &
Van Driessen 2006), and a product of powers by the same on logarithms, with one constant or one for each code of a
column, such as a product's price. Columns without effect are left out one by one; coefficients are then the roundest
that fit, and so is the rounding: to the nearest, down, up, or within what rounded parts leave open.

A formula may fail in few records: whoever compares then knows nearly as much as if it never failed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.classes import Flags, Floats, Rows
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
_SAMPLE = 600
"""Records that a formula is searched in; all are asked of what is found."""
_SHARP = 0.25
"""Share of a column's standard deviation that a formula leaves open at most."""
_NOISE = 1e-9
"""Share of the largest number by which floats may miss."""
_POWER = 4
"""Largest exponent."""
_DIGITS = 7
_STEPS = 4
_MOST_CODES = 0.2
"""Codes of a column, as a share of the records, that may have constants of their own."""

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
            if one != other and np.nanmean(columns[other] - columns[one]) > 0:
                (first, day, known), (last, later, also) = calendar[one], calendar[other]
                whole = last - first - (later < day)
                found[f"months from {one} to {other}"] = np.where(known & also, whole, np.nan)
                found[f"years from {one} to {other}"] = np.where(known & also, whole // 12, np.nan)
    return found


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
    constants: Floats = field(default_factory=lambda: np.zeros(1), repr=False)
    """Constant of all records, or of each code, NaN for one without; added, or multiplied in a product."""
    rounding: Rounding | None = None
    left: Floats = field(default_factory=lambda: np.zeros(1), repr=False)
    """What the formula leaves of real values, growing; only its ends where the rounding is known."""
    noise: float = 0.0
    missing_is_nothing: bool = False
    """Whether a part that is missing counts as 0."""
    bounds: tuple[float, float] = (-np.inf, np.inf)
    """Least and largest real value."""

    @property
    def follows(self) -> bool:
        """Whether nothing but rounding is open, and the column is no part of a sum or the divisor of a product."""
        return self.rounding is not None and (self.product or min(self.weights.values()) > 0)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that it follows from, as they stand in the file."""
        names = [part for name in self.weights for part in _sources(name, self.kinds)]
        return tuple(dict.fromkeys([*names, *([self.code] if self.code else [])]))

    def plain(self, columns: Columns) -> Floats:
        """The formula's value of each record before rounding, NaN where it has none."""
        every = {**columns, **derived(columns, self.kinds)} if set(self.weights) - set(columns) else columns
        constants = self.constants[:1] if self.code is None else _at(self.constants, columns[self.code])
        values = np.full(len(columns[self.name]), 1.0 if self.product else 0.0)
        with np.errstate(all="ignore"):
            for name, weight in self.weights.items():
                part = every[name].astype(np.float64)
                part = np.nan_to_num(part) if self.missing_is_nothing else part
                values = values * part**weight if self.product else values + weight * part
            values = values * constants if self.product else values + constants
        return np.where(np.isfinite(values), values, np.nan)

    def residual(self, columns: Columns) -> Floats:
        """What the formula leaves of each record's value, NaN where something is missing."""
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
            written = _WRITTEN[self.rounding or "nearest"](plain / self.unit + _shift(self.rounding)) / (1 / self.unit)
            plain = np.round(written, max(0, round(-np.log10(self.unit)) + 2)) + 0.0
        return np.asarray(np.where(np.isnan(own) | np.isnan(plain), own, plain))


def _shift(rounding: Rounding | None) -> float:
    """Share of a unit that keeps floats just below a whole number from being rounded the wrong way."""
    return {"down": 1e-7, "up": -1e-7, "nearest": 1e-7, None: 0.0}[rounding]


def _sources(name: str, kinds: Kinds) -> list[str]:
    """The file's columns that a name stands for."""
    if name in kinds or not name.startswith(("year", "month")):
        return [name]
    if " of " in name:
        return [name.split(" of ", 1)[1]]
    one, other = name.split(" from ", 1)[1].split(" to ", 1)
    return [one, other]


def _at(constants: Floats, codes: Column) -> Floats:
    place = codes.astype(np.int64)
    return np.where((place >= 0) & (place < len(constants)), constants[np.clip(place, 0, len(constants) - 1)], np.nan)


def formulas(columns: Columns, kinds: Kinds) -> list[Formula]:
    """The formulas that real records keep to, one for each column that has any, and one with missing parts as 0.

    The last columns come first. Of a sum that is the whole; what follows exactly is no input of another formula.
    """
    search, found = _Search(columns, kinds), list[Formula]()
    for name in reversed(search.names):
        for one in search.of(name):
            found.append(one)
            if one.follows:
                search.followed.add(name)
    return found


class _Search:
    """The columns of numbers as a search sees them."""

    def __init__(self, columns: Columns, kinds: Kinds) -> None:
        self.columns, self.kinds = columns, {name: kinds.get(name, ValueKind.NUMBER) for name in columns}
        self.names = [name for name, column in columns.items() if column.dtype.kind == "f" and varies(column)]
        dated = {name: values for name, values in derived(columns, self.kinds).items() if varies(values)}
        self.numbers = {name: columns[name].astype(np.float64) for name in self.names} | dated
        self.followed = set[str]()
        self.units = {name: _unit(values) if name in columns else 0.0 for name, values in self.numbers.items()}
        most = max(_MOST_CODES * len(next(iter(columns.values()), ())), 1)
        self.codes = [
            name
            for name, column in columns.items()
            if column.dtype.kind in "iu" and 1 < len(np.unique(column)) <= most and column.min() >= 0
        ]

    def of(self, name: str) -> Iterator[Formula]:
        """The linear formula of a column, else its product; else those with constants by code."""
        barred = {name, *self.followed}
        own = self.names if self.kinds[name] is ValueKind.DATE else self.numbers
        others = [other for other in own if barred.isdisjoint(_sources(other, self.kinds))]
        for code in (None, *self.codes):
            for product in (False, True):
                found = self._found(name, others, code, product=product)
                if found is not None:
                    yield found
                    return
        if any(np.isnan(self.numbers[other]).any() for other in others):
            found = self._found(name, others, None, product=False, missing_is_nothing=True)
            if found is not None:
                yield found

    def _found(
        self, name: str, others: list[str], code: str | None, *, product: bool, missing_is_nothing: bool = False
    ) -> Formula | None:
        """The formula with the fewest columns that a column keeps to, or none."""
        own = self.numbers[name]
        known = ~np.isnan(own) if not product else own > 0
        if np.count_nonzero(known) < LEAST_RECORDS:
            return None
        usable, rows = [], known
        for other in others:
            values = self.numbers[other]
            fits = np.full(len(values), True) if missing_is_nothing else values > 0 if product else ~np.isnan(values)
            dated = other not in self.columns or self.kinds[other] is ValueKind.DATE
            if not (product and dated) and fits[known].mean() >= 0.9 and varies(values[known & fits]):
                usable.append(other)
                rows = rows & fits
        if not usable or np.count_nonzero(rows) < LEAST_RECORDS + 2 * len(usable):
            return None
        trial = _Trial(self, name, code, np.flatnonzero(rows), product=product, missing_is_nothing=missing_is_nothing)
        return trial.fewest(usable)


class _Trial:
    """One column and some records in which a formula of it is searched."""

    def __init__(
        self, search: _Search, name: str, code: str | None, rows: Rows, *, product: bool, missing_is_nothing: bool
    ) -> None:
        self.search, self.name, self.code, self.product, self.nothing = search, name, code, product, missing_is_nothing
        if len(rows) > _SAMPLE:
            rows = np.sort(np.random.default_rng(len(rows)).permutation(rows)[:_SAMPLE])
        groups = np.zeros(len(rows), dtype=np.intp)
        if code is not None:
            _, groups = np.unique(search.columns[code][rows], return_inverse=True)
        self.rows, self.groups = rows, groups
        self.own = self._seen(name)
        self.centred = self._centred(self.own[:, None])[:, 0]
        self.spread = float(self.centred.std())

    def _seen(self, name: str) -> Floats:
        values = self.search.numbers[name][self.rows]
        values = np.nan_to_num(values) if self.nothing else values
        return np.log(values) if self.product else values

    def _centred(self, matrix: Floats) -> Floats:
        sums = np.stack([np.bincount(self.groups, weights=column) for column in matrix.T], axis=1)
        return np.asarray(matrix - (sums / np.bincount(self.groups)[:, None])[self.groups])

    def fewest(self, usable: list[str]) -> Formula | None:
        """The formula of the fewest columns."""
        freedom = len(self.rows) - int(self.groups.max()) - 1 - 2 * len(usable)
        if self.spread == 0 or freedom < LEAST_RECORDS:
            return None
        matrix = self._centred(np.column_stack([self._seen(name) for name in usable]))
        varying = matrix.std(axis=0) > _NOISE * np.maximum(np.abs(matrix).max(axis=0), 1)
        names, matrix = [name for name, keep in zip(usable, varying, strict=True) if keep], matrix[:, varying]
        weights = self._fit(matrix, names)
        if weights is None:
            return None
        while len(names) > 1:
            effect = np.abs(weights) * matrix.std(axis=0)
            for place in np.argsort(effect).tolist():
                fewer = np.delete(matrix, place, axis=1)
                left_out = self._fit(fewer, names[:place] + names[place + 1 :])
                if left_out is not None:
                    names, matrix, weights = names[:place] + names[place + 1 :], fewer, left_out
                    break
            else:
                break
        return self._round(dict(zip(names, weights.tolist(), strict=True)))

    def _fit(self, matrix: Floats, names: list[str]) -> Floats | None:
        """Weights by trimmed least squares, None where what they leave is more than rounding."""
        if not names:
            return None
        scale = matrix.std(axis=0)
        keep = np.full(len(matrix), True)
        for _ in range(_STEPS):
            solved = np.linalg.lstsq(matrix[keep] / scale, self.centred[keep], rcond=1e-10)[0] / scale
            left = self.centred - matrix @ solved
            middle = float(np.median(left[keep]))
            allowed = self._allowed(names, solved)
            if np.quantile(np.abs(left - middle), 0.5) > 40 * np.median(allowed) + _SHARP * self.spread:
                return None
            order = np.argsort(np.abs(left - middle) / allowed, kind="stable")
            keep = np.zeros(len(matrix), dtype=bool)
            keep[order[: len(order) - int(2 * EXCEPTIONS * len(order))]] = True
        kept = left[keep]
        middle = float(kept.max() + kept.min()) / 2
        fits = bool((np.abs(kept - middle) <= 1.1 * allowed[keep]).all())
        return solved if fits and np.ptp(kept) <= _SHARP * max(self.spread, 1e-300) else None

    def _allowed(self, names: list[str], weights: Floats) -> Floats:
        """What the rounding of the column and of those it follows from leaves open, by record."""
        units, search = self.search.units, self.search
        noise = _NOISE * max(float(np.abs(self.own).max()), 1.0)
        open_ = np.full(len(self.rows), units[self.name] / 2)
        if self.product:
            open_ = open_ / search.numbers[self.name][self.rows]
        for name, weight in zip(names, weights.tolist(), strict=True):
            part = abs(weight) * units[name] / 2
            open_ = open_ + (part / search.numbers[name][self.rows] if self.product else part)
        return np.asarray(open_ + noise)

    def _round(self, weights: dict[str, float]) -> Formula | None:
        """The formula with the roundest weights that all but a few records keep to, and its rounding."""
        found: Formula | None = None
        for digits in range(_DIGITS + 1):
            if self.product:
                tried = {name: float(np.round(2 * weight) / 2) for name, weight in weights.items()}
                if digits or not all(0 < abs(weight) <= _POWER for weight in tried.values()):
                    break
            else:
                tried = {name: _near(weight, digits) for name, weight in weights.items()}
            made = self._settled(tried) if all(tried.values()) else None
            if made is not None and (found is None or _width(made) < 0.999 * _width(found) - made.noise):
                found = made
                if made.rounding is not None:
                    break
        if found is None and not self.product:
            found = self._settled(weights)
        return found

    def _settled(self, weights: dict[str, float]) -> Formula | None:
        """A formula of these weights, with constants and what it leaves, if all but a few real records keep to it."""
        search, own = self.search, self.search.numbers[self.name]
        noise = _NOISE * max(float(np.nanmax(np.abs(own))), 1.0)
        unit = search.units[self.name]
        bare = Formula(self.name, weights, self.product, search.kinds, unit, missing_is_nothing=self.nothing)
        bare = replace(bare, noise=noise, constants=np.ones(1) if self.product else np.zeros(1))
        bare = replace(bare, bounds=(float(np.nanmin(own)), float(np.nanmax(own))), code=self.code)
        groups = np.zeros(len(own), dtype=np.int64)
        if self.code is not None:
            groups = search.columns[self.code].astype(np.int64)
            bare = replace(bare, constants=np.full(int(groups.max()) + 1, bare.constants[0]))
        plain = bare.plain(search.columns)
        known = ~np.isnan(own) & ~np.isnan(plain)
        if self.product:
            known &= plain != 0
        constants = np.full(len(bare.constants), np.nan)
        for group in np.unique(groups[known]).tolist():
            rows = known & (groups == group)
            constants[group] = self._constant(own[rows], plain[rows], unit, noise)
        made = replace(bare, constants=constants)
        left = made.residual(search.columns)
        telling = ~np.isnan(left)
        if np.count_nonzero(telling) < LEAST_RECORDS:
            return None
        kept = np.sort(left[telling])
        few = int(EXCEPTIONS * len(kept))
        # The shortest interval that holds all but the few; all of them where the rest is no wider.
        starts = kept[: few + 1]
        ends = kept[len(kept) - few - 1 :]
        best = int(np.argmin(ends - starts))
        low, high = float(starts[best]), float(ends[best])
        full = kept[-1] - kept[0] <= 1.5 * (high - low) + 2 * noise
        inside = kept if full else kept[(kept >= low) & (kept <= high)]
        made = replace(made, left=inside, rounding=_rounding(inside, unit, noise))
        # What is most often the same value proves nothing: the others have to keep to it as well.
        _, inverse, count = np.unique(own[telling], return_inverse=True, return_counts=True)
        others = telling.copy()
        others[np.flatnonzero(telling)[inverse == int(np.argmax(count))]] = False
        number = np.count_nonzero(others)
        width, spread = float(inside[-1] - inside[0]), float(own[others].std()) if number else 0.0
        wrong = np.count_nonzero(made.broken(search.columns) & others)
        limit = self._limit(weights, own[others], unit)
        if number < LEAST_RECORDS or wrong > 2 * EXCEPTIONS * number or width > min(_SHARP * spread, limit) + 2 * noise:
            return None
        return made

    def _limit(self, weights: dict[str, float], own: Floats, unit: float) -> float:
        """Width that rounding explains."""
        if not self.product:
            return 1.2 * (unit + sum(abs(weight) * self.search.units[name] for name, weight in weights.items()))
        relative = sum(
            abs(weight) * self.search.units[name] / max(float(np.nanmedian(self.search.numbers[name])), 1e-300)
            for name, weight in weights.items()
        )
        return 2.4 * unit + 6 * relative * float(np.abs(own).max(initial=0.0))

    def _constant(self, own: Floats, plain: Floats, unit: float, noise: float) -> float:
        """The roundest constant among those that fit most of some records."""
        if self.product:
            ratio, room = own / plain, (unit / 2 + noise) / np.abs(plain)
            middle = float(np.median(ratio))
            kept = np.abs(ratio - middle) <= 2 * room + 1e-9 * abs(middle)
            low, high = (ratio - room)[kept].max(initial=-np.inf), (ratio + room)[kept].min(initial=np.inf)
            return _roundest(low, high) if low <= high and np.isfinite(high - low) else middle
        apart = np.sort(own - plain)
        few = int(EXCEPTIONS * len(apart))
        starts, ends = apart[: few + 1], apart[len(apart) - few - 1 :]
        best = int(np.argmin(ends - starts))
        low, high = float(starts[best]), float(ends[best])
        if high - low <= unit + 2 * noise and (high < noise or low > -noise) and abs(low + high) < 2.2 * unit:
            # Nothing is added where rounding up or down explains it.
            return 0.0
        ends_ = (high - unit / 2, low + unit / 2) if high - low <= unit else (low, high)
        return _roundest(min(ends_) - noise, max(ends_) + noise)


def _width(found: Formula) -> float:
    return float(found.left[-1] - found.left[0])


def _rounding(left: Floats, unit: float, noise: float) -> Rounding | None:
    """The rounding that explains what is left; None where none does."""
    low, high = float(left[0]), float(left[-1])
    edge = 2 * noise + 1e-6 * unit
    if -unit / 2 - edge <= low and high <= unit / 2 + edge:
        return "nearest"
    if -unit - edge <= low and high <= edge:
        return "down"
    return "up" if -edge <= low and high <= unit + edge else None


def _near(weight: float, digits: int) -> float:
    """The nearest number of so many decimals, or the reciprocal of one where that is nearer."""
    plain = round(weight, digits)
    inverse = round(1 / weight, digits) if weight else 0.0
    return 1 / inverse if inverse and (not plain or abs(1 / inverse - weight) < abs(plain - weight)) else plain


def _roundest(low: float, high: float) -> float:
    """The number of the fewest decimals between two."""
    for digits in range(-6, 12):
        for step in (10.0, 5.0, 1.0):
            scale = step * 10.0 ** (-digits - 1)
            middle = np.round((low + high) / 2 / scale) * scale
            if low <= middle <= high:
                return float(np.round(middle, max(digits + 1, 0)))
    return (low + high) / 2


def _unit(values: Floats) -> float:
    """Smallest step of the known values; 0 where they have too many decimals."""
    decimals = decimals_of(values)
    return 0.0 if decimals is None or decimals > _DIGITS else 10.0**-decimals


def varies(values: Column) -> bool:
    """Whether the known values differ."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool((known != known[0]).any())
