"""Features of single values, apart from their size, by which a reader distinguishes decoys from real records.

Of numbers, how round they are and whether they lie on the real column's grid; of dates, the weekday; of both, how far
they are from another column that is never below, or never above; of all columns, whether some other record of
the file has the same value.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.generalized_release import Flags, Floats
from tasks.decoys.value_grid import Unit, ValueGrid, ValueKind, human_steps, weekdays
from tasks.decoys.value_rules import Column, Columns, Kinds, differences, kind_of, orders

_MISSING = -1.0
_LEAST = 5
"""Records that have to differ from the rest in a feature: as many as a leaf of the trees holds."""


@dataclass(frozen=True)
class Noticed:
    """Features of single values by name, each of shape (n_records,)."""

    numbers: dict[str, Floats] = field(repr=False)
    """Features as a tree takes them, numbers whose order has a meaning; finite."""
    codes: dict[str, NDArray[np.int64]] = field(repr=False)
    """The same as categories, for a classifier that is linear."""

    def at(self, rows: NDArray[np.intp]) -> "Noticed":
        """Features of some records, without those that all but a few share, which no classifier can learn from."""
        return Noticed(
            {name: feature[rows] for name, feature in self.numbers.items() if _varies(feature[rows])},
            {name: feature[rows] for name, feature in self.codes.items() if _varies(feature[rows])},
        )


def noticed(real: Columns, decoys: Columns, kinds: Kinds) -> Noticed:
    """Features of the decoys' records and then of the real ones.

    Parameters
    ----------
    real : mapping of str to array of shape (n_real_records,)
        Integers are codes, floats are numbers, NaN where missing.
    decoys : mapping of str to array of shape (n_decoy_records,)
    kinds : mapping of str to ValueKind
        Of columns of floats that are not numbers.
    """
    numbers: dict[str, Floats] = {}
    codes: dict[str, NDArray[np.int64]] = {}
    both = {name: np.concatenate([decoys[name], column]) for name, column in real.items()}
    for name, column in both.items():
        recurs = _recurs(column)
        numbers[f"recurs {name}"], codes[f"recurs {name}"] = recurs.astype(np.float64), recurs.astype(np.int64)
        if column.dtype.kind != "f":
            continue
        kind = kind_of(name, kinds)
        if kind is ValueKind.DATE:
            days = np.where(np.isnan(column), _MISSING, weekdays(np.nan_to_num(column)))
            numbers[f"weekday of {name}"], codes[f"weekday of {name}"] = days, days.astype(np.int64)
        # Values that all stand among the real ones are as round as those; it is new values that can be off.
        known = np.isin(decoys[name], real[name]) | np.isnan(decoys[name])
        grid = None if known.all() else ValueGrid.of(real[name].astype(np.float64), kind)
        if grid is not None:
            on, roundness = _seen_on(grid, column.astype(np.float64))
            numbers[f"grid of {name}"], codes[f"grid of {name}"] = on, on.astype(np.int64)
            if kind is not ValueKind.DATE:
                numbers[f"roundness of {name}"] = roundness
                codes[f"roundness of {name}"] = np.unique(roundness, return_inverse=True)[1].astype(np.int64)
    for order in orders(real, kinds):
        name = f"{order.greater} above {order.lesser}"
        apart = differences(both, order.lesser, order.greater)
        broken = order.broken(both)
        codes[name] = broken.astype(np.int64)
        numbers[name] = np.where(np.isnan(apart), _lowest(apart) - 1.0, apart)
    return Noticed(numbers, codes)


def _seen_on(grid: ValueGrid, column: Floats) -> tuple[Floats, Floats]:
    """Whether each value is on the grid, and the power of ten of the step in which it is round; −1 where missing."""
    known = ~np.isnan(column)
    on, roundness = np.full(len(column), _MISSING), np.full(len(column), _MISSING)
    values = column[known]
    on[known] = grid.on(values)
    if grid.unit is Unit.DECIMAL:
        units = grid.units(values)
        roundness[known] = np.where(grid.values(units) == values, np.log10(human_steps(units)), _MISSING / 2)
    return on, roundness


def _recurs(column: Column) -> Flags:
    """Whether some other record has the same value; NaN is one value."""
    _, inverse, number = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray(number[inverse] > 1)


def _lowest(values: Floats) -> float:
    return float(np.nanmin(values)) if not np.isnan(values).all() else 0.0


def _varies(feature: Floats | NDArray[np.int64]) -> bool:
    return bool(len(feature) - np.unique(feature, return_counts=True)[1].max() >= _LEAST)
