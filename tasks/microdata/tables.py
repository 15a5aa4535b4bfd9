"""Rows of several tables of the same persons in one frame: which table each row is of, and which row it is within.

A row has the attributes of its person, of the row that it is within, and its own; all others are absent, which is no
missing value: whoever counts the values of a column takes the column's own rows alone.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.request.model import ReleaseRequest

TABLE = ""
"""Column of a joined frame with the number of the table of each row; no attribute has this name."""
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class RowTables:
    """Tables of the rows of a frame; arrays of shape (n_rows,)."""

    of_row: NDArray[np.int8]
    """Number of the table of each row, 0 for the dataset (``ReleaseRequest.number_of``)."""
    within: NDArray[np.int32]
    """Position of the row that each row is within, −1 where it is of the person alone."""

    def only(self, rows: Rows) -> "RowTables":
        """Tables of some rows; a row that is within none of these is of the person alone."""
        place = np.full(len(self.of_row) + 1, -1, dtype=np.int32)  # the last for rows within none
        place[rows] = np.arange(len(rows), dtype=np.int32)
        return RowTables(self.of_row[rows], place[self.within[rows]])

    def known(self, request: ReleaseRequest) -> NDArray[np.bool_]:
        """Rows that others may know: those of tables with an attribute of rows that others may know."""
        return np.isin(self.of_row, [request.number_of(name) for name in request.known_events])

    def with_inner(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Some rows and all rows within them, at any depth."""
        found = chosen.copy()
        while (inner := found[self.within] & (self.within >= 0) & ~found).any():
            found |= inner
        return found


def own_rows(frame: pd.DataFrame, request: ReleaseRequest, name: str) -> slice:
    """Rows of a frame that are of the table of an attribute; all of them where there is one table."""
    if not request.tables:
        return slice(None)
    of_row = frame[TABLE].to_numpy()
    number = request.number_of(name)
    return slice(int(np.searchsorted(of_row, number)), int(np.searchsorted(of_row, number, side="right")))


def row_tables(frame: pd.DataFrame, request: ReleaseRequest) -> RowTables | None:
    """Tables of the rows of a frame as ``joined`` makes it; None where there is one table."""
    if not request.tables:
        return None
    of_row = frame[TABLE].to_numpy()
    within = np.full(len(frame), -1, dtype=np.int32)
    for table in request.tables:
        key = request.parent_key(table)
        if key is not None:
            outer, inner = own_rows(frame, request, key), np.flatnonzero(of_row == request.table_number(table))
            place = pd.Index(frame[key].iloc[outer]).get_indexer(frame[key].iloc[inner])
            within[inner] = np.where(place < 0, -1, place + outer.start)
    return RowTables(of_row, within)
