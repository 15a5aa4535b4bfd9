"""Features of single values, apart from their size, by which a reader distinguishes decoys from real records.

Of numbers, how round they are and whether they lie on the real column's grid; of dates, the weekday; of both, how far
they are from another column that is never below, or never above; of all columns, whether some other record of
the file has the same value.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.classes import Floats, Rows
from tasks.decoys.value_grid import Unit, ValueGrid, ValueKind, human_steps, weekdays
from tasks.decoys.value_rules import Columns, Kinds, differences, kind_of, orders

_MISSING = -1.0
_LEAST = 5
"""Records that have to differ from the rest in a feature: as many as a leaf of the trees holds."""


@dataclass(frozen=True)
class Noticed:
    """Features of single values by name, each of shape (n_records,)."""

    numbers: dict[str, Floats] = field(default_factory=dict, repr=False)
    """Features as a tree takes them, numbers whose order has a meaning; finite."""
    codes: dict[str, NDArray[np.int64]] = field(default_factory=dict, repr=False)
    """The same as categories, for a classifier that is linear."""

    def add(self, name: str, feature: Floats) -> None:
        """A further feature, its values as categories too."""
        self.numbers[name] = feature
        self.codes[name] = np.unique(feature, return_inverse=True)[1].astype(np.int64)

    def at(self, rows: Rows) -> tuple[dict[str, Floats], dict[str, NDArray[np.int64]]]:
        """Features of some records, without those that all but a few share, which no classifier can learn from."""
        return (
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
    found = Noticed()
    both = {name: np.concatenate([decoys[name], column]) for name, column in real.items()}
    for name, column in both.items():
        _, inverse, number = np.unique(column, return_inverse=True, return_counts=True)
        found.add(f"recurs {name}", (number[inverse] > 1).astype(np.float64))
        if column.dtype.kind != "f":
            continue
        kind, values = kind_of(name, kinds), column.astype(np.float64)
        if kind is ValueKind.DATE:
            found.add(f"weekday of {name}", weekdays(values))
        # Values that all stand among the real ones are as round as those; it is new values that can be off.
        among = np.isin(decoys[name], real[name]) | np.isnan(decoys[name])
        grid = None if among.all() else ValueGrid.of(real[name].astype(np.float64), kind)
        if grid is not None:
            known = ~np.isnan(values)
            on = np.full(len(values), _MISSING)
            on[known] = grid.on(values[known])
            found.add(f"grid of {name}", on)
            if grid.unit is Unit.DECIMAL:
                units = grid.units(values[known])
                roundness = np.full(len(values), _MISSING)
                exact = grid.values(units) == values[known]
                roundness[known] = np.where(exact, np.log10(human_steps(units)), _MISSING / 2)
                found.add(f"roundness of {name}", roundness)
    for order in orders(real, kinds):
        name = f"{order.greater} above {order.lesser}"
        apart = differences(both, order.lesser, order.greater)
        found.codes[name] = order.broken(both).astype(np.int64)
        found.numbers[name] = np.where(np.isnan(apart), np.nanmin(apart, initial=0.0) - 1.0, apart)
    return found


def _varies(feature: Floats | NDArray[np.int64]) -> bool:
    return bool(len(feature) - np.unique(feature, return_counts=True)[1].max() >= _LEAST)
