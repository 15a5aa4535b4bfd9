"""Sensitivity of the attributes that an adversary never knows, row by row."""

from collections.abc import Iterable
from functools import reduce

import numpy as np

from tasks.assessments.combined.coded_table import CodedTable, Floats, Integers

_MAXIMUM_CELLS = 4096


class Consequence:
    """Σ W(A)·W(r(A)) over some attributes.

    Attributes of few values are looked up together, by their combination of values.

    Parameters
    ----------
    table : CodedTable
    attributes : iterable of int
    """

    def __init__(self, table: CodedTable, attributes: Iterable[int]) -> None:
        self._table = table
        self._constant = 0.0
        self._by_record: list[int] = []
        groups: list[tuple[list[int], int]] = []
        for attribute in attributes:
            own = table.sensitivities[attribute]
            if own.by_record:
                self._by_record.append(attribute)
            elif np.ptp(own.weights) == 0:
                self._constant += float(own.weights[0])
            else:
                _place(groups, attribute, table.cardinalities[attribute])
        self._groups = [
            (members, reduce(np.add.outer, (table.sensitivities[member].weights for member in members)).ravel())
            for members, _ in groups
        ]

    def at(self, rows: slice | Integers) -> Floats:
        """The sum for some rows."""
        total = np.full(self._table.number(rows), self._constant)
        for attribute in self._by_record:
            total += self._table.sensitivity(attribute, rows)
        for members, sums in self._groups:
            if len(members) == 1:
                total += self._table.sensitivity(members[0], rows)
            else:
                total += np.take(sums, self._table.cells(members, rows))
        return total


def _place(groups: list[tuple[list[int], int]], attribute: int, cardinality: int) -> None:
    for number, (members, cells) in enumerate(groups):
        if cells * cardinality <= _MAXIMUM_CELLS:
            members.append(attribute)
            groups[number] = (members, cells * cardinality)
            return
    groups.append(([attribute], cardinality))
