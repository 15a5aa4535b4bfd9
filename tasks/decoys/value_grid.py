"""The grid that a column's numbers or dates lie on, and values drawn on it that are as round as real ones.

People write round numbers: a salary of 52,000, a weight of 71.5, a date that is a working day. A value drawn anywhere
between two real ones breaks such habits and is easily recognised. So each value is drawn like one of its two
neighbours, the anchor: as round as that, or on the same weekday.

Numbers are compared as whole multiples of the column's smallest decimal place, dates as whole days. Where all dates
share one day of the month, or all are the last of theirs, nothing is drawn between them: decoys take real ones.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.classes import Flags, Floats

Units = NDArray[np.int64]
Span = tuple[Units, Units]
"""Units between which each value has to lie, ends included."""

WEEK = 7
_DECIMALS = 15
"""Decimals that are distinguished: a decoy written with more than real records have is easily recognised."""
_EXACT = 2.0**53
"""Whole numbers below it are exact as floats."""
_TRIES = 20
"""Draws of a value before its anchor stands for it."""
_ROUND = np.array(sorted({digit * 10**power for power in range(16) for digit in (1, 5, 25)}), dtype=np.int64)
"""Steps in which people count, growing: 1, 5, 10, 25, 50, 100, 250, …"""
_NOISE = 1e-6
"""Share of a unit by which a float may miss a whole number."""
_AWAY = (0, 1, -1, 2, -2, 3, -3)
"""Steps from the nearest value in which another of the same habit is looked for."""
_THURSDAY = 3
"""1970-01-01 was one."""
_LEAST_MONTHS = 3
"""Different months from which on a day that all dates share is a habit."""


class ValueKind(StrEnum):
    """Kind of value that the floats of a column stand for."""

    NUMBER = "number"
    DATE = "date"
    """Days since 1970-01-01."""
    LISTED = "listed"
    """Values out of a list: nothing lies between them."""


@dataclass(frozen=True, eq=False)
class ValueGrid:
    """Possible values of a column: an origin and whole multiples of a step from it."""

    is_date: bool
    decimals: int
    """Decimals that values have at most; 0 for dates."""
    step: int = 1
    """Largest step that leads from any value to any other, in units, from 1."""
    known: Units = field(repr=False, default_factory=lambda: np.zeros(1, dtype=np.int64))
    """Values of the column, in units, growing."""
    shared: Units = field(repr=False, default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Values that several records have."""

    @classmethod
    def of(cls, values: Floats, kind: ValueKind = ValueKind.NUMBER) -> "ValueGrid | None":
        """The grid of a column; None where its values have too many decimals to distinguish, or none is known.

        Values are finite, NaN where missing; dates are whole days.
        """
        known, records = np.unique(values[~np.isnan(values)], return_counts=True)
        decimals = decimals_of(known)
        if not len(known) or decimals is None or np.abs(known).max() * 10.0**decimals >= _EXACT:
            return None
        is_date = kind is ValueKind.DATE
        units = cls(is_date, decimals).units(known)
        step = int(np.gcd.reduce(np.diff(units))) if len(units) > 1 else 1
        return cls(is_date, decimals, max(step, 1), units, units[records > 1])

    def units(self, values: Floats) -> Units:
        """Values in units, the nearest where they are off the grid's unit."""
        return np.rint(values * 10.0**self.decimals).astype(np.int64)

    def values(self, units: Units) -> Floats:
        """Units as values."""
        # Division by a power of ten, unlike multiplication by its inverse, gives the float that the text is read as.
        return np.asarray(units / 10.0**self.decimals + 0.0)

    def on(self, values: Floats) -> Flags:
        """Whether each known value lies on the grid."""
        units = self.units(values)
        return np.asarray((self.values(units) == values) & ((units - self.known[0]) % self.step == 0))

    def recurs(self, values: Floats) -> Flags:
        """Whether several real records have each value, so that it is no person's own."""
        return np.isin(self.units(values), self.shared)

    def draw(
        self,
        ends: tuple[Floats, Floats],
        anchors: Floats,
        generator: np.random.Generator,
        bounds: tuple[Floats, Floats] | None = None,
    ) -> Floats:
        """Draw values on the grid between two numbers each, as round as their anchors or on the same weekday.

        The ends, and values that real records have, are drawn only where nothing else fits. Where nothing on the grid
        lies between, a value may lie outside within the bounds, if there are any: the nearest of the anchor's habit,
        else the nearest of the grid; the nearest of all where neither is within them.
        """
        origin, inner = self.units(anchors), self._span(*ends)
        steps = self._steps(origin)
        drawn = self._nearest(origin, steps, inner, inner if bounds is None else self._span(*bounds))
        pending = np.ones(len(origin), dtype=bool)
        for margin, unused in ((1, True), (1, False), (0, False)):
            least, most = -((origin - inner[0] - margin) // steps), (inner[1] - margin - origin) // steps
            for _ in range(_TRIES):
                rows = np.flatnonzero(pending & (most >= least))
                if not len(rows):
                    break
                picked = generator.integers(least[rows], most[rows], endpoint=True)
                found = origin[rows] + picked * steps[rows]
                good = self._fits(found, origin[rows])
                if unused:
                    good &= ~np.isin(found, self.known)
                drawn[rows[good]], pending[rows[good]] = found[good], False
        return self.values(drawn)

    def _span(self, low: Floats, high: Floats) -> Span:
        """Least units that are no less than the one, and largest that are no more than the other."""
        scale = 10.0**self.decimals
        return np.ceil(low * scale - _NOISE).astype(np.int64), np.floor(high * scale + _NOISE).astype(np.int64)

    def _steps(self, anchors: Units) -> Units:
        """Step that keeps the habit of each anchor and the grid as well."""
        own = np.full(len(anchors), WEEK) if self.is_date else human_steps(anchors)
        # A common multiple that is out of reach leaves the anchor alone, as no other value is within.
        shared = np.gcd(own, self.step)
        far = own / shared * self.step >= _EXACT
        return np.where(far, int(_EXACT), own // shared * np.where(far, 1, self.step))

    def _fits(self, units: Units, anchors: Units) -> Flags:
        """Whether values have the habit of their anchors, no more and no less."""
        return np.asarray(self.is_date | (human_steps(units) == human_steps(anchors)))

    def _nearest(self, origin: Units, steps: Units, inner: Span, outer: Span) -> Units:
        """The origin where it is between; else the nearest that fits it within limits; else the nearest on the grid."""
        middle = inner[0] + (inner[1] - inner[0]) // 2
        middle = np.where((origin >= inner[0]) & (origin <= inner[1]), origin, middle)
        near = origin + np.rint((middle - origin) / self.step).astype(np.int64) * self.step
        moved = near + self.step * ((near < outer[0]).astype(np.int64) - (near > outer[1]))
        drawn = np.where((moved >= outer[0]) & (moved <= outer[1]), moved, near)
        closest = origin + np.rint((middle - origin) / steps).astype(np.int64) * steps
        open_ = np.ones(len(origin), dtype=bool)
        for away in _AWAY:
            other = closest + away * steps
            good = open_ & (other >= outer[0]) & (other <= outer[1]) & self._fits(other, origin)
            drawn, open_ = np.where(good, other, drawn), open_ & ~good
        return drawn


def decimals_of(values: Floats) -> int | None:
    """Decimals that all values have at most; None where they are more than are distinguished."""
    finite = values[np.isfinite(values)]
    return next((count for count in range(_DECIMALS + 1) if (np.round(finite, count) == finite).all()), None)


def human_steps(units: Units) -> Units:
    """Largest step of 1, 5, 10, 25, 50, 100, 250, … that divides each number; the largest of all for 0."""
    steps = np.ones(len(units), dtype=np.int64)
    for step in _ROUND:
        steps[units % step == 0] = step
    return steps


def weekdays(days: Floats) -> Floats:
    """Day of the week of dates, 0 for Mondays; −1 where missing."""
    return np.asarray(np.where(np.isnan(days), -1.0, (np.rint(np.nan_to_num(days)) + _THURSDAY) % WEEK))


def monthly(values: Floats) -> bool:
    """Whether dates of several months are all of one day of the month, or all the last of theirs; NaN where missing."""
    days = np.unique(values[~np.isnan(values)]).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    firsts, lasts = months.astype("datetime64[D]"), (months + 1).astype("datetime64[D]")
    share_one = any(len(np.unique(days - ends)) == 1 for ends in (firsts, lasts))
    return share_one and len(np.unique(months)) >= _LEAST_MONTHS
