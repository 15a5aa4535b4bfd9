"""Items of persons' values in one column, and in series of columns among which the values of a person are spread.

Where most have one value, such as 0 or none, to have another one is an item too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.candidate.class_values import LEAST_WEIGHT, Bools, OrderedValues, Ranks
from tasks.candidate.several_values import disclosed_of_several
from tasks.microdata.cell_items import CellItems
from tasks.microdata.coded import CodedColumn
from tasks.request.column_names import series_of
from tasks.request.model import MissingReading

_USUAL = 0.5
"""Least share of the rows with a value that have the usual one."""
_SHARED = 0.5
"""Least share of the items in a series of columns that other columns of it have too."""


@dataclass(frozen=True)
class ItemValues:
    """Items of the values of one column or of a series (``tasks.microdata.cell_items``)."""

    columns: tuple[str, ...]
    owners: Ranks
    """Record or person that has each item."""
    values: OrderedValues

    def disclosed(self, classes: Ranks, tests: int) -> Bools:
        """Whether the class of each record or person discloses an item of it, shape (n_records,)."""
        return disclosed_of_several(classes, self.owners, self.values, tests).disclosed


def item_values(
    columns: Mapping[str, CodedColumn], rows: Mapping[str, NDArray[np.intp]], owners: Mapping[str, Ranks]
) -> tuple[ItemValues, ...]:
    """Items of some rows of each column; ``owners`` has the record or person of each row.

    The columns of a series have their items together if at least half of them occur in several of the columns.
    """
    having = {name: one.items for name, one in columns.items() if one.items is not None}
    found = {name: _held(columns[name], one, rows[name], owners[name]) for name, one in having.items()}
    alone = (
        ItemValues((name,), held, _ordered(found[name][1], having[name].weights))
        for name, (held, _) in found.items()
        if having[name].say_more
    )
    others = (_unusual(name, one, rows[name], owners[name]) for name, one in columns.items())
    return (*alone, *_of_series(having, found), *(one for one in others if one is not None))


def _unusual(name: str, column: CodedColumn, rows: NDArray[np.intp], owners: Ranks) -> ItemValues | None:
    """To have a sensitive value, but not the usual one; None where none is usual, or there is but one other value."""
    codes, telling = column.codes[rows], column.weights >= LEAST_WEIGHT
    held = np.bincount(codes, minlength=len(telling))[: column.missing]
    usual = held.argmax() if len(held) else 0
    if not held.sum() or held[usual] < _USUAL * held.sum():
        return None
    telling[usual] = False
    if (held[telling[:-1]] > 0).sum() < 2:
        return None
    telling[column.missing] = True
    other = telling[codes]
    ranks, one = np.where(codes[other] == column.missing, -1, 0), np.ones(1)
    return ItemValues((name,), owners[other], _ordered(ranks, one, MissingReading.ANY_VALUE))


def _of_series(having: Mapping[str, CellItems], found: Mapping[str, tuple[Ranks, Ranks]]) -> Iterator[ItemValues]:
    for names in series_of(having):
        keys, number = np.unique(np.concatenate([having[name].keys for name in names]), return_inverse=True)
        weights = np.zeros(len(keys))
        np.maximum.at(weights, number, np.concatenate([having[name].weights for name in names]))
        numbers = dict(
            zip(names, np.split(number, np.cumsum([len(having[name].keys) for name in names])[:-1]), strict=True)
        )
        held = [numbers[name][found[name][1]] for name in names]
        columns = np.sum([np.bincount(one, minlength=len(keys)) > 0 for one in held], axis=0)
        items = np.concatenate(held)
        if (columns[items] > 1).sum() >= _SHARED * len(items) > 0:
            yield ItemValues(names, np.concatenate([found[name][0] for name in names]), _ordered(items, weights))


def _held(column: CodedColumn, items: CellItems, rows: NDArray[np.intp], owners: Ranks) -> tuple[Ranks, Ranks]:
    """The owner and the number of each item of the values in some rows."""
    codes, with_items = column.codes[rows], items.pairs[:, 0]
    first = np.searchsorted(with_items, codes)
    many = np.searchsorted(with_items, codes, side="right") - first
    row = np.repeat(np.arange(len(rows)), many)
    within = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    return owners[row], items.pairs[np.repeat(first, many) + within, 1]


def _ordered(
    items: Ranks, weights: NDArray[np.float64], missing: MissingReading = MissingReading.OWN_GROUP
) -> OrderedValues:
    return OrderedValues(items, np.arange(1, len(weights) + 1), weights >= LEAST_WEIGHT, None, missing)
