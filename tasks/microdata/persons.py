"""The person table of a file with several rows per person: one record a person; and whose row each is.

Everything that is counted, generalized and assessed is a record of the person table. An attribute of people has one
value in all rows of a person, which validation checks; the table has that of the person's first row.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, row_positions
from tasks.core.plural import plural
from tasks.request.model import ReleaseRequest


@dataclass(frozen=True)
class Persons:
    """Persons of a file, numbered from 0 in the order of their first rows."""

    of_row: NDArray[np.int32]
    """Person of each row, shape (n_rows,)."""

    @cached_property
    def first_rows(self) -> NDArray[np.intp]:
        """Position of each person's first row, ascending; shape (n_persons,)."""
        seen = np.maximum.accumulate(self.of_row)
        return np.flatnonzero(np.diff(seen, prepend=-1))

    def __len__(self) -> int:
        return len(self.first_rows)


def persons_of(frame: pd.DataFrame, request: ReleaseRequest) -> Persons | None:
    """Persons of microdata as ``read_microdata`` gives them; None where each row is a record of its own.

    Raises
    ------
    DataError
        If a row names no person.
    """
    name = request.dataset.person
    if name is None:
        return None
    codes, _ = pd.factorize(frame[name])
    nobody = np.flatnonzero(codes < 0)
    if len(nobody):
        raise DataError(
            "rows name no person",
            where=f"{request.dataset.path}, column {name}, {row_positions(nobody)}",
            expected="the name of a person in every row",
            got=f"{plural(len(nobody), 'row')} without",
            fix="complete the column, or leave these rows out",
        )
    return Persons(codes.astype(np.int32))


def records_of(frame: pd.DataFrame, persons: Persons | None) -> pd.DataFrame:
    """The records of microdata: the first row of each person, or the rows themselves."""
    if persons is None or len(persons) == len(frame):
        return frame
    return frame.iloc[persons.first_rows].reset_index(drop=True)


def differing_rows(cells: pd.Series, persons: Persons) -> NDArray[np.intp]:
    """The first row whose value is not that of the person's first row, for each person with different values.

    A missing value is different from all others.
    """
    codes, _ = pd.factorize(cells)
    rows = np.flatnonzero(codes != codes[persons.first_rows][persons.of_row])
    _, first = np.unique(persons.of_row[rows], return_index=True)
    return np.sort(rows[first])


def distinct_values(
    persons: NDArray[np.integer], values: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Persons and values of rows, each pair once, ascending; values from 0.

    By sorting, which takes a tenth of the time of NumPy's hashes for millions of rows.
    """
    span = int(values.max(initial=0)) + 1
    keys = np.sort(persons.astype(np.int64) * span + values)
    new = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    person, value = np.divmod(keys[new], span)
    return person, value
