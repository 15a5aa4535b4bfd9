"""One file for each table of a copy, made of the one file that was scored, and proof that their keys refer.

A copy of several tables is written, read back and scored as one file whose rows have the attributes of their person and
of the rows that they are within. Each delivered file has the rows and the columns of its own table, in the same order.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tasks.delivery.formula_marks import marked
from tasks.delivery.parquet_file import is_parquet
from tasks.delivery.released_file import read_columns, write_released
from tasks.request.model import DeliveryFormat, ReleaseRequest

FOLDER = "tables"
"""Folder of a delivery with the files of all tables but the dataset."""
Keys = Mapping[str, pa.Array]


def delivered_columns(request: ReleaseRequest, table: str | None) -> dict[str, str]:
    """Names of the columns of a table's delivered file, by the names of the attributes."""
    names = (name for name in request.columns_in(table) if request.attributes[name].role.delivered)
    return {name: request.own_name(name) for name in names}


def table_files(
    content: pa.Buffer, of_row: NDArray[np.integer], request: ReleaseRequest
) -> Iterator[tuple[str | None, pa.Buffer]]:
    """The file of each table, one after the other, of the clear file of all.

    `of_row` has the number of the table of each of its rows. StageFailed says that the file cannot be read or written.
    """
    form = DeliveryFormat.PARQUET if is_parquet(content) else DeliveryFormat.CSV
    for number, table in enumerate((None, *request.tables)):
        columns = delivered_columns(request, table)
        rows = pa.array(of_row == number)
        if form is DeliveryFormat.PARQUET:
            whole = pq.read_table(pa.BufferReader(content), columns=list(columns))
            part = whole.filter(rows).rename_columns(list(columns.values())).combine_chunks()
        else:
            whole = read_columns(content, list(columns))
            part = whole.filter(rows).rename_columns(list(map(marked, columns.values())))
        del whole  # of large copies it takes more memory than the file
        stream = pa.BufferOutputStream()
        write_released(part, stream, form)
        del part
        yield table, stream.getvalue()


def reference_faults(keys: Mapping[str | None, Keys], request: ReleaseRequest) -> Iterator[str]:
    """Tables of a copy with rows whose keys refer to no row, or to one of another person; `keys` as ``keys_in`` gives.

    Keys that are withheld refer to nothing.
    """
    person = request.person_id if request.person_id in request.pseudonyms else None
    for table, terms in request.tables.items():
        own, outer = request.key_of(table), request.parent_key(table)
        if person is not None:
            known = pc.is_in(keys[table][person], value_set=keys[None][person])
            if not pc.all(known, min_count=0).as_py():
                yield f"rows of {table} are of no person of the dataset"
        if own in request.pseudonyms and len(pc.unique(keys[table][own])) < len(keys[table][own]):
            yield f"rows of {table} do not have keys of their own"
        elif outer in request.pseudonyms:
            yield from _within_faults(keys[table], keys[terms.within], str(outer), person, (table, str(terms.within)))


def _within_faults(inner: Keys, outer: Keys, key: str, person: str | None, tables: tuple[str, str]) -> Iterator[str]:
    table, around = tables
    place = pc.index_in(inner[key], value_set=outer[key], skip_nulls=True)
    inside = pc.is_valid(place)
    if pc.any(pc.and_not(pc.is_valid(inner[key]), inside)).as_py():
        yield f"rows of {table} are within no row of {around}"
    elif person is not None:
        others = pc.not_equal(inner[person].filter(inside), outer[person].take(place.drop_null()))
        if pc.any(others.fill_null(True)).as_py():
            yield f"rows of {table} are within rows of other persons"


def keys_in(file: pa.Buffer, table: str | None, request: ReleaseRequest) -> Keys:
    """Keys in the file of a table, by their names in the request; StageFailed says that it cannot be read."""
    wanted = {request.person_id, *request.table_keys}
    names = {name: own for name, own in delivered_columns(request, table).items() if name in wanted}
    if not names:  # Arrow takes no name for every name
        return {}
    found = read_columns(file, list(names.values()))
    return {name: found[own].combine_chunks() for name, own in names.items()}
