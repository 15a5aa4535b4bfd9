"""The search for formulas that numbers follow in real records (``tasks.decoys.value_formulas``).

For each column of numbers: a linear relation of any number of columns by trimmed least squares (Rousseeuw & Van
Driessen 2006), a product of powers by the same on logarithms, and a sum of a few products and ratios by orthogonal
matching pursuit, with one constant or one for each code of a column, such as a product's price. Columns without effect
are left out one by one; coefficients are then the roundest that fit, and so is the rounding: to the nearest, down, up,
or within what rounded parts leave open.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from tasks.decoys.classes import Flags, Floats, Rows
from tasks.decoys.value_formulas import (
    DIGITS,
    EXCEPTIONS,
    LEAST_RECORDS,
    Columns,
    Formula,
    Kinds,
    combined,
    derived,
    inputs_of,
    near,
    roundest,
    rounding_of,
    sources,
    unit_of,
    varies,
    width,
)
from tasks.decoys.value_grid import ValueKind

_SAMPLE = 600
"""Records that a formula is searched in; all are asked of what is found."""
_SHARP = 0.25
"""Share of a column's standard deviation that a formula leaves open at most."""
_NOISE = 1e-9
"""Share of the largest number by which floats may miss."""
_POWER = 4
"""Largest exponent."""
_POWER_DIGITS = 3
_OPEN = 4
"""Units of a column that the rounding of others may leave open to either side."""
_MASS = 0.02
"""Share of the records from which on a least or largest value is a cap."""
_FEW_NUMBERS = 30
"""Different numbers of a column that count as codes."""
_MOSTLY = 0.9
"""Share of a column's records in which another is known that it can follow from."""
_MOST_MIXED = 25
"""Columns whose products and ratios are tried."""
_TERMS = 4
_NEARLY = 0.02
"""Share of its deviation that terms may leave of a column before rounding is looked at."""
_STEPS = 4
_MOST_CODES = 0.2
"""Codes of a column, as a share of the records, that may have constants of their own."""


def formulas(columns: Columns, kinds: Kinds) -> list[Formula]:
    """The formulas that real records keep to, one for each column that has any, and one with missing parts as 0.

    The last columns come first. Of a sum that is the whole; what follows exactly is no input of another formula.
    """
    search, found = _FormulaSearch(columns, kinds), list[Formula]()
    for _ in range(2):  # what follows from others may have hidden a formula the first time
        for name in reversed(search.names):
            if name not in {one.name for one in found}:
                for one in search.of(name):
                    found.append(one)
                    if one.follows:
                        search.followed.add(name)
    return found


class _FormulaSearch:
    """The columns of numbers as a search sees them."""

    def __init__(self, columns: Columns, kinds: Kinds) -> None:
        self.columns, self.kinds = columns, {name: kinds.get(name, ValueKind.NUMBER) for name in columns}
        self.names = [name for name, column in columns.items() if column.dtype.kind == "f" and varies(column)]
        dated = {name: values for name, values in derived(columns, self.kinds).items() if varies(values)}
        self.numbers = {name: columns[name].astype(np.float64) for name in self.names} | dated
        self.followed = set[str]()
        self.units = {name: unit_of(values) if name in columns else 0.0 for name, values in self.numbers.items()}
        most = max(_MOST_CODES * len(next(iter(columns.values()), ())), 1)
        self.codes = [
            name
            for name, column in columns.items()
            if 1 < len(np.unique(column)) <= (most if column.dtype.kind in "iu" else _FEW_NUMBERS)
        ]

    @cached_property
    def pool(self) -> tuple[dict[str, Floats], Rows]:
        """Columns of numbers with their products and ratios, in some records."""
        records = len(next(iter(self.numbers.values())))
        rows = np.sort(np.random.default_rng(records).permutation(records)[: 2 * _SAMPLE])
        names = [name for name in self.names if self.kinds[name] is not ValueKind.DATE][:_MOST_MIXED]
        plain = {name: self.numbers[name][rows] for name in names}
        return {**plain, **combined(plain)}, rows

    def of(self, name: str) -> Iterator[Formula]:
        """The linear formula of a column, else its product; else those with constants by code."""
        barred = {name, *self.followed}
        own = self.names if self.kinds[name] is ValueKind.DATE else self.numbers
        others = [other for other in own if barred.isdisjoint(sources(other, self.kinds))]
        some = False
        for code in (None, *(code for code in self.codes if code != name and code not in self.followed)):
            for product in (False, True):
                found = self._found(name, others, code, product=product)
                if found is not None:
                    some = True
                    yield found
                    if found.follows:
                        return
            if not some and code is None:
                found = self._mixed(name, [other for other in others if other in self.columns])
                if found is not None:
                    yield found
                    return
            if some:
                break
        if any(np.isnan(self.numbers[other]).any() for other in others):
            found = self._found(name, others, None, product=False, missing_is_nothing=True)
            if found is not None:
                yield found

    def capped(self, name: str) -> Flags:
        """Whether a column's value is its least or largest one, where many records have that."""
        own = self.numbers[name]
        ends = [own == end for end in (np.nanmin(own), np.nanmax(own))]
        return np.asarray(np.any([end & (end.mean() > _MASS) for end in ends], axis=0))

    def _mixed(self, name: str, others: list[str]) -> Formula | None:
        """The formula of a few products, ratios and columns, chosen one by one (orthogonal matching pursuit)."""
        pool, sample = self.pool
        allowed = {other: values for other, values in pool.items() if set(sources(other, self.kinds)) <= set(others)}
        known = ~np.isnan(self.numbers[name][sample])
        usable = [other for other, values in allowed.items() if (~np.isnan(values))[known].mean() > _MOSTLY]
        if not usable:
            return None
        whole = np.column_stack([pool[other] for other in usable])
        fit = known & ~np.isnan(whole).any(axis=1)
        rows = sample[fit]
        if len(rows) < 5 * LEAST_RECORDS:
            return None
        matrix = whole[fit] - whole[fit].mean(axis=0)
        lengths = np.sqrt(np.square(matrix).sum(axis=0))
        own = self.numbers[name][rows] - self.numbers[name][rows].mean()
        left, chosen = own, list[int]()
        for _ in range(_TERMS):
            likeness = np.abs(left @ matrix) / np.where(lengths > 0, lengths, np.inf)
            likeness[chosen] = 0
            chosen.append(int(np.argmax(likeness)))
            part = matrix[:, chosen] / lengths[chosen]
            left = own - part @ np.linalg.lstsq(part, own, rcond=1e-10)[0]
            if left.std() < _NEARLY * own.std():
                picked = [usable[place] for place in chosen]
                others = [other for other in picked if other not in self.numbers]
                extra = {
                    other: part.astype(np.float64)
                    for other, part in inputs_of(self.columns, self.kinds, others).items()
                }
                self.numbers |= extra
                self.units |= dict.fromkeys(extra, 0.0)
                found = _Trial(self, name, None, rows, product=False, missing_is_nothing=False).fewest(picked)
                for other in extra:
                    del self.numbers[other], self.units[other]
                if found is not None:
                    return found
        return None

    def _found(
        self, name: str, others: list[str], code: str | None, *, product: bool, missing_is_nothing: bool = False
    ) -> Formula | None:
        """The formula with the fewest columns that a column keeps to, or none."""
        own = self.numbers[name]
        known = ~np.isnan(own) if not product else own > 0
        if code is None:
            known &= ~self.capped(name)
        if np.count_nonzero(known) < LEAST_RECORDS:
            return None
        usable, rows = [], known
        for other in others:
            values = self.numbers[other]
            fits = np.full(len(values), True) if missing_is_nothing else values > 0 if product else ~np.isnan(values)
            dated = other not in self.columns or self.kinds[other] is ValueKind.DATE
            if not (product and dated) and fits[known].mean() > _MOSTLY and varies(values[known & fits]):
                usable.append(other)
                rows = rows & fits
        if not usable or np.count_nonzero(rows) < LEAST_RECORDS + 2 * len(usable):
            return None
        trial = _Trial(self, name, code, np.flatnonzero(rows), product=product, missing_is_nothing=missing_is_nothing)
        return trial.fewest(usable)


class _Trial:
    """One column and some records in which a formula of it is searched."""

    def __init__(
        self,
        search: _FormulaSearch,
        name: str,
        code: str | None,
        rows: Rows,
        *,
        product: bool,
        missing_is_nothing: bool,
        whole: bool = False,
    ) -> None:
        self.search, self.name, self.code, self.product, self.nothing = search, name, code, product, missing_is_nothing
        self.every, self.whole = rows, whole or len(rows) <= _SAMPLE
        if not self.whole:
            rows = np.sort(np.random.default_rng(len(rows)).permutation(rows)[:_SAMPLE])
        groups = np.zeros(len(rows), dtype=np.intp)
        if code is not None:
            _, groups = np.unique(search.columns[code][rows], return_inverse=True)
        self.rows, self.groups = rows, groups
        self.own = self._seen(name)
        self.spread = float(self._centred(self.own[:, None]).std())

    def _seen(self, name: str) -> Floats:
        values = self.search.numbers[name][self.rows]
        values = np.nan_to_num(values) if self.nothing else values
        return np.log(values) if self.product else values

    def _centred(self, matrix: Floats, weights: Floats | None = None) -> Floats:
        """Columns less their mean, or the mean of each code."""
        weights = np.ones(len(matrix)) if weights is None else weights
        sums = np.stack([np.bincount(self.groups, weights=column * weights) for column in matrix.T], axis=1)
        number = np.bincount(self.groups, weights=weights)
        return np.asarray(matrix - (sums / np.maximum(number, 1e-300)[:, None])[self.groups])

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
        keep, sure = np.full(len(matrix), True), np.ones(len(matrix))
        for _ in range(_STEPS):
            weights = keep * np.square(sure)
            plain, own = self._centred(matrix, weights), self._centred(self.own[:, None], weights)[:, 0]
            weighed = (plain[keep] / scale) * sure[keep, None], own[keep] * sure[keep]
            solved = np.linalg.lstsq(*weighed, rcond=1e-10)[0] / scale
            left = own - plain @ solved
            middle = float(np.median(left[keep])) if not self.product else 0.0
            allowed = self._allowed(names, solved)
            # In a product the rounding leaves more open where values are small.
            sure = np.min(allowed) / allowed
            if np.quantile(np.abs(left - middle), 0.5) > 40 * np.median(allowed) + _SHARP * self.spread:
                return None
            order = np.argsort(np.abs(left - middle) / allowed, kind="stable")
            keep = np.zeros(len(matrix), dtype=bool)
            keep[order[: len(order) - int(2 * EXCEPTIONS * len(order))]] = True
        kept = left[keep]
        middle = float(kept.max() + kept.min()) / 2 if not self.product else 0.0
        fits = bool((np.abs(kept - middle) <= 1.1 * allowed[keep]).all())
        return solved if fits and np.ptp(kept) <= _SHARP * max(self.spread, 1e-300) else None

    def _allowed(self, names: list[str], weights: Floats) -> Floats:
        """Deviation that the rounding of the column and of those it follows from allows, by record."""
        units, search = self.search.units, self.search
        noise = _NOISE * max(float(np.abs(self.own).max()), 1.0)
        open_ = np.zeros(len(self.rows))
        for name, weight in zip([self.name, *names], [1.0, *weights.tolist()], strict=True):
            part = abs(weight) * units[name] / 2
            open_ += part / search.numbers[name][self.rows] if self.product else part
        most = _OPEN * units[self.name] / (search.numbers[self.name][self.rows] if self.product else 1)
        return np.asarray(np.minimum(open_, most) + noise)

    def _round(self, weights: dict[str, float]) -> Formula | None:
        """The formula with the roundest weights that all but a few records keep to, and its rounding."""
        found: Formula | None = None
        for digits in range(DIGITS + 1):
            if self.product:
                tried = {name: float(np.round(weight, digits)) for name, weight in weights.items()}
                if digits > _POWER_DIGITS or any(abs(weight) > _POWER for weight in tried.values()):
                    break
            else:
                tried = {name: near(weight, digits) for name, weight in weights.items()}
            made = self._settled(tried) if all(tried.values()) else None
            if made is not None and (found is None or width(made) < 0.999 * width(found) - made.noise):
                found = made
                if made.rounding is not None:
                    break
        if found is None and self.product and not self.whole and self.code is None:
            # Exponents that are no simple numbers are learned more exactly from all records.
            every = _Trial(self.search, self.name, None, self.every, product=True, missing_is_nothing=False, whole=True)
            names = list(weights)
            again = every._fit(every._centred(np.column_stack([every._seen(name) for name in names])), names)
            return None if again is None else every._round(dict(zip(names, again.tolist(), strict=True)))
        return found or self._settled(weights)

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
            codes, groups = np.unique(search.columns[self.code], return_inverse=True)
            bare = replace(bare, codes=codes, constants=np.full(len(codes), bare.constants[0]))
        plain = bare.plain(search.columns)
        known = ~np.isnan(own) & ~np.isnan(plain)
        if self.product:
            known &= plain != 0
        capped = search.capped(self.name) if self.code is None else np.zeros(len(own), dtype=bool)
        known &= ~capped
        constants = np.full(len(bare.constants), np.nan)
        for group in np.unique(groups[known]).tolist():
            rows = known & (groups == group)
            constants[group] = self._constant(own[rows], plain[rows], unit, noise)
        made = replace(bare, constants=constants)
        beyond = np.abs(made.residual(search.columns)[capped]) > 2 * unit + noise
        made = replace(made, capped=bool(beyond.any()))
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
        made = replace(made, left=inside, rounding=rounding_of(inside, unit, noise))
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
            room = unit + sum(abs(weight) * self.search.units[name] for name, weight in weights.items())
            return 1.2 * min(room, 2 * _OPEN * unit)
        relative = sum(
            abs(weight) * self.search.units[name] / max(float(np.nanmedian(self.search.numbers[name])), 1e-300)
            for name, weight in weights.items()
        )
        return min(2.4 * unit + 6 * relative * float(np.abs(own).max(initial=0.0)), 2.4 * _OPEN * unit)

    def _constant(self, own: Floats, plain: Floats, unit: float, noise: float) -> float:
        """The roundest constant among those that fit most of some records."""
        if self.product:
            ratio, room = own / plain, (unit / 2 + noise) / np.abs(plain)
            middle = float(np.median(ratio))
            kept = np.abs(ratio - middle) <= 2 * room + 1e-9 * abs(middle)
            low, high = (ratio - room)[kept].max(initial=-np.inf), (ratio + room)[kept].min(initial=np.inf)
            return roundest(low, high) if low <= high and np.isfinite(high - low) else middle
        apart = np.sort(own - plain)
        few = int(EXCEPTIONS * len(apart))
        starts, ends = apart[: few + 1], apart[len(apart) - few - 1 :]
        best = int(np.argmin(ends - starts))
        low, high = float(starts[best]), float(ends[best])
        if high - low <= unit + 2 * noise and (high < noise or low > -noise) and abs(low + high) < 2.2 * unit:
            # Nothing is added where rounding up or down explains it.
            return 0.0
        ends_ = (high - unit / 2, low + unit / 2) if high - low <= unit else (low, high)
        return roundest(min(ends_) - noise, max(ends_) + noise)
