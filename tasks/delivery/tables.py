"""One file for each table of a copy, made of the one file that was scored, and proof that their keys refer.

A copy of several tables is written, read back and scored as one file whose rows have the attributes of their person and
of the rows that they are within. Each delivered file has the rows and the columns of its own table, in the same order.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tasks.delivery.formula_marks import marked
from tasks.delivery.parquet_file import is_parquet
from tasks.delivery.released_file import read_columns, write_released
from tasks.request.model import DeliveryFormat, ReleaseRequest

FOLDER = "tables"
"""Folder of a delivery with the files of all tables but the dataset."""
TableFiles = Mapping[str | None, pa.Buffer]
"""Clear file of each table, that of the dataset under None."""


def delivered_columns(request: ReleaseRequest, table: str | None) -> dict[str, str]:
    """Names of the columns of a table's delivered file, by the names of the attributes."""
    names = (name for name in request.columns_in(table) if request.attributes[name].role.delivered)
    return {name: request.own_name(name) for name in names}


def table_files(
    content: pa.Buffer, of_row: NDArray[np.integer], request: ReleaseRequest
) -> dict[str | None, pa.Buffer]:
    """The file of each table, of the clear file of all; `of_row` has the number of the table of each of its rows.

    StageFailed says that the file cannot be read or written.
    """
    form, whole = DeliveryFormat.CSV, None
    if is_parquet(content):
        form, whole = DeliveryFormat.PARQUET, pq.read_table(pa.BufferReader(content))
    files: dict[str | None, pa.Buffer] = {}
    for number, table in enumerate((None, *request.tables)):
        columns = delivered_columns(request, table)
        rows = pa.array(of_row == number)
        part = (read_columns(content, list(columns)) if whole is None else whole.select(list(columns))).filter(rows)
        names = columns.values() if form is DeliveryFormat.PARQUET else map(marked, columns.values())
        stream = pa.BufferOutputStream()
        write_released(part.rename_columns(list(names)).combine_chunks(), stream, form)
        files[table] = stream.getvalue()
    return files


def reference_faults(files: TableFiles, request: ReleaseRequest) -> Iterator[str]:
    """Tables of a copy with rows whose keys refer to no row, or to one of another person; counted in their files.

    Keys that are withheld refer to nothing. StageFailed says that a file cannot be read.
    """
    person = request.person_id if request.person_id in request.pseudonyms else None
    people = None if person is None else pd.Index(_column(files[None], person, request)).unique()
    for table in request.tables:
        own, outer = request.key_of(table), request.parent_key(table)
        if people is not None and not _column(files[table], str(person), request).isin(people).all():
            yield f"rows of {table} are of no person of the dataset"
        if own in request.pseudonyms and not _column(files[table], str(own), request).is_unique:
            yield f"rows of {table} do not have keys of their own"
        elif outer in request.pseudonyms:
            yield from _within_faults(files, table, str(outer), request)


def _within_faults(files: TableFiles, table: str, key: str, request: ReleaseRequest) -> Iterator[str]:
    around = str(request.tables[table].within)
    inner, outer = (_column(files[one], key, request) for one in (table, around))
    place = pd.Index(outer.unique()).get_indexer(pd.Index(inner))
    if ((place < 0) & inner.notna().to_numpy()).any():
        yield f"rows of {table} are within no row of {around}"
    elif request.person_id in request.pseudonyms:
        own, other = (_column(files[one], request.person_id, request).to_numpy() for one in (table, around))
        first = np.flatnonzero(~outer.duplicated())
        inside = place >= 0
        if (own[inside] != other[first[place[inside]]]).any():
            yield f"rows of {table} are within rows of other persons"


def _column(file: pa.Buffer, name: str, request: ReleaseRequest) -> pd.Series:
    own = request.own_name(name)
    return pd.Series(read_columns(file, [own])[own].to_pandas())
