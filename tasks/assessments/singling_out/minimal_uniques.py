"""Minimal sample uniques: exact search for the smallest sets of columns by which a record is alone in a file.

A record is singled out by a set of columns if no other record has the same values there. The set is one of its minimal
sample uniques (MSU) if no smaller part of it singles the record out. All of them up to a size are those that SUDA2
finds (Manning, Haglin & Keane 2008); the search goes through the sets of columns rather than through the values.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError

MAXIMUM_SETS = 2**18
"""More sets of columns than these are refused: 15 columns have 1,940 of up to four, 67 have 50,183 of up to three."""
_BINS_PER_RECORD = 8
"""Classes are counted in bins where these are at most so many a record, and by sorting otherwise."""

Columns = tuple[int, ...]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class SearchedSet:
    """A set of columns, and the records that are alone in it."""

    columns: Columns
    """Positions of the columns, ascending."""
    rows: Rows
    """Records of which the set is a minimal sample unique, ascending."""
    unique: int
    """Records that are alone by the set, also those that a part of it singles out."""


def minimal_uniques(codes: NDArray[np.integer], largest: int) -> Iterator[SearchedSet]:
    """Sets of up to ``largest`` columns with the records of which each is a minimal sample unique.

    Sets that hold a part by which every record is alone are left out: they are nobody's minimal sample unique.

    ``codes``, of shape (n_records, n_columns), are from 0; equal codes are equal values. Raises ParameterError if there
    are more such sets than ``MAXIMUM_SETS``.

    Notes
    -----
    Minimal sample uniques as Manning, Haglin & Keane 2008 define them. A child of a set adds a column of a later
    position, and only records that are not alone yet are split further: the others are alone in every child, and equal
    to none of the rest. Children are searched from the last column to the first, so that every part of a set is known
    before the set itself.
    """
    n_columns = codes.shape[1]
    check_sets(n_columns, largest)
    distinct = [np.count_nonzero(np.bincount(column)) for column in codes.T]
    # Columns with most values first: these tell most records apart before the many sets of the last level are reached.
    order = sorted(range(n_columns), key=lambda place: -distinct[place])
    search = _UniquesSearch([codes[:, place] for place in order], largest)
    for found in search.below((), np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64), 1):
        yield SearchedSet(tuple(sorted(order[place] for place in found.columns)), found.rows, found.unique)


def check_sets(n_columns: int, largest: int) -> None:
    """Raise ``ParameterError`` if so many columns have more sets of up to ``largest`` than can be searched."""
    sets = sum(math.comb(n_columns, size) for size in range(1, largest + 1))
    if sets > MAXIMUM_SETS:
        raise ParameterError(
            "there are too many sets of columns that may single out a record",
            where="policy.singling_out.columns",
            expected=f"at most {MAXIMUM_SETS:,} sets of columns",
            got=f"{sets:,} sets of up to {largest} of {n_columns} columns",
            fix="lower the number of columns, withhold columns, or state known_probability: 0 for those that nobody "
            "can know",
        )


class _UniquesSearch:
    """A walk down the tree of sets, with the records that are alone by each set seen so far, in bits."""

    def __init__(self, columns: list[NDArray[np.integer]], largest: int) -> None:
        self._columns, self._largest = columns, largest
        self._widths = [int(column.max(initial=0)) + 1 for column in columns]
        self._records = len(columns[0]) if columns else 0
        self._alone: dict[Columns, NDArray[np.uint8]] = {}
        self._everybody = np.full((self._records + 7) // 8, 255, dtype=np.uint8)

    def below(self, parent: Columns, rows: Rows, classes: NDArray[np.int64], n_classes: int) -> Iterator[SearchedSet]:
        """Sets that add columns to a parent, of which only ``rows`` are not alone; these in ``n_classes`` classes."""
        settled = self._records - len(rows)
        for place in range(len(self._columns) - 1, parent[-1] if parent else -1, -1):
            columns = (*parent, place)
            values = self._columns[place] if len(rows) == self._records else self._columns[place][rows]
            keys, bins = classes * self._widths[place] + values, n_classes * self._widths[place]
            if bins > _BINS_PER_RECORD * len(keys) + 1024:
                found, keys = np.unique(keys, return_inverse=True)
                bins = len(found)
            sizes = np.bincount(keys, minlength=bins)
            single = sizes[keys] == 1
            alone = rows[single]
            yield SearchedSet(columns, self._minimal(columns, alone), settled + len(alone))
            if len(columns) < self._largest:
                self._keep(columns, parent, alone)
                if len(alone) < len(rows) and place < len(self._columns) - 1:
                    number = np.cumsum(sizes > 1) - 1
                    shared = ~single
                    yield from self.below(columns, rows[shared], number[keys[shared]], int(number[-1]) + 1)

    def _minimal(self, columns: Columns, alone: Rows) -> Rows:
        """Records alone by a set that no part of the set singles out; its parent does not."""
        kept = alone
        for place in range(len(columns) - 1 if len(columns) > 1 else 0):
            part = self._alone.get(columns[:place] + columns[place + 1 :], self._everybody)
            kept = kept[part[kept >> 3] >> (kept & 7).astype(np.uint8) & 1 == 0]
        return kept

    def _keep(self, columns: Columns, parent: Columns, alone: Rows) -> None:
        flags = np.zeros(self._records, dtype=np.bool_)
        flags[alone] = True
        packed = np.packbits(flags, bitorder="little")
        self._alone[columns] = packed | self._alone[parent] if parent else packed
