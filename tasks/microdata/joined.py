"""Joining the tables of a request into one frame of rows, their keys checked (``tasks.microdata.tables``)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from tasks.core.errors import DataError, row_positions
from tasks.microdata.tables import TABLE, Rows
from tasks.request.model import ReleaseRequest

_TEXT = pd.StringDtype("pyarrow")


def joined(tables: Mapping[str | None, pd.DataFrame], request: ReleaseRequest) -> pd.DataFrame:
    """The rows of the dataset, under None, and of the tables, as one frame.

    Raises
    ------
    DataError
        If rows of a table name no person of the dataset, no row of the table that they are within or one of another
        person, or if a key is missing or names two rows.
    """
    people = _first_rows(tables[None], request)
    sources: dict[str | None, dict[str | None, Rows]] = {None: {None: np.arange(len(tables[None]))}}
    for table in request.tables:
        _check_key(tables[table], table, request)
        rows = _of_people(tables[table], table, people, request)
        sources[table] = {None: rows, table: np.arange(len(rows))}
        outer = request.tables[table].within
        if outer is not None:
            place = _within(tables, table, outer, request)
            _check_persons(rows, sources[outer][None], place, table, request)
            sources[table] |= {
                one: np.where(place < 0, -1, of_outer[place])
                for one, of_outer in sources[outer].items()
                if one is not None
            }
    columns: dict[str, object] = {}
    for name, attribute in request.attributes.items():
        owner = request.table_of(name)
        # An attribute of rows of the dataset says nothing of rows of other tables.
        alone = owner is None and attribute.of == "row"
        pieces = [
            pa.nulls(len(tables[table]), pa.large_string())
            if owner not in around or (alone and table is not None)
            else _taken(tables[owner][name], around[owner])
            for table, around in sources.items()
        ]
        columns[name] = pd.array(pa.chunked_array(pieces), dtype=_TEXT)
    numbers = [np.full(len(tables[table]), number, dtype=np.int8) for number, table in enumerate(sources)]
    return pd.DataFrame({**columns, TABLE: np.concatenate(numbers)}, copy=False)


def _taken(cells: pd.Series, rows: Rows) -> pa.Array:
    """Cells of some rows, missing for −1."""
    texts = pa.array(cells.array, type=pa.large_string())
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts  # chunks are joined cell by cell
    return whole.take(pa.array(rows, mask=rows < 0))


def _first_rows(dataset: pd.DataFrame, request: ReleaseRequest) -> pd.Series:
    """Position of the first row of each person of the dataset, by name."""
    names = dataset[request.person_id]
    nobody = np.flatnonzero(names.isna())
    if len(nobody):
        raise _Fault(None, request.person_id, nobody, request).error("rows name no person", "the name of a person")
    first = np.flatnonzero(~names.duplicated())
    return pd.Series(first, index=pd.Index(names.iloc[first]))


def _of_people(frame: pd.DataFrame, table: str, people: pd.Series, request: ReleaseRequest) -> Rows:
    """First row in the dataset of the person of each row of a table."""
    place = people.index.get_indexer(pd.Index(frame[request.person_id]))
    nobody = np.flatnonzero(place < 0)
    if len(nobody):
        what = "rows name no person of the dataset"
        raise _Fault(table, request.person_id, nobody, request).error(what, "a person who has a row in the dataset")
    return people.to_numpy()[place]


def _check_key(frame: pd.DataFrame, table: str, request: ReleaseRequest) -> None:
    key = request.key_of(table)
    if key is None:
        return
    wrong = np.flatnonzero(frame[key].isna() | frame[key].duplicated(keep=False))
    if len(wrong):
        what = "the key of a table does not name each row once"
        raise _Fault(table, key, wrong, request).error(what, "a value in every row, each in one row")


def _within(tables: Mapping[str | None, pd.DataFrame], table: str, outer: str, request: ReleaseRequest) -> Rows:
    """Position of the row of the outer table that each row is within, −1 where the row names none."""
    key = str(request.parent_key(table))
    named = tables[table][key]
    place: Rows = pd.Index(tables[outer][key]).get_indexer(pd.Index(named))
    lost = np.flatnonzero((place < 0) & named.notna().to_numpy())
    if len(lost):
        what = f"rows name a row of {outer} that does not exist"
        raise _Fault(table, key, lost, request).error(what, f"the key of a row of {outer}, or none")
    return place


def _check_persons(own: Rows, outer: Rows, place: Rows, table: str, request: ReleaseRequest) -> None:
    others = np.flatnonzero((place >= 0) & (own != outer[place]))
    if len(others):
        key, what = str(request.parent_key(table)), "rows are within a row of another person"
        raise _Fault(table, key, others, request).error(what, "a row of the same person")


@dataclass(frozen=True)
class _Fault:
    """Rows of a table whose cells of a column refer to nothing."""

    table: str | None
    column: str
    rows: Rows
    request: ReleaseRequest

    def error(self, what: str, expected: str) -> DataError:
        """The error, with the number of the rows and their positions in the table's file."""
        path = self.request.table_paths[self.table]
        return DataError(
            what,
            where=f"{path}, column {self.request.own_name(self.column)}, {row_positions(self.rows)}",
            expected=expected,
            got=f"{len(self.rows)} other {'row' if len(self.rows) == 1 else 'rows'}",
            fix="complete or correct the tables, or leave these rows out",
        )
