"""The released file: outbound columns, generalized, in an order that says nothing; and reading it back.

Direct identifiers are left out or replaced by pseudonyms; text is redacted; suppressed records are left out. Rows
are put in an order drawn from a key, so that neither the order of collection nor the record id can be learned. In CSV,
text that a spreadsheet would run as a formula is marked (``tasks.delivery.formula_marks``): names of columns,
generalized cells, and the cells of text columns. Parquet (``tasks.delivery.parquet_file``) keeps text as it is.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.delivery.formula_marks import as_collected, harmless, marked
from tasks.delivery.parquet_file import (
    Source,
    is_parquet,
    read_parquet_coded,
    read_parquet_text,
    spelling,
    typed,
    write_parquet,
    written_out,
    written_schema,
)
from tasks.delivery.pseudonym_columns import pseudonym_column
from tasks.microdata.coded import Events
from tasks.microdata.coded_frame import coded_texts
from tasks.microdata.hierarchy import Codes
from tasks.microdata.withheld import Factorized
from tasks.pseudonyms.pseudonyms import Pseudonyms
from tasks.request.model import DeliveryFormat, ReleaseRequest, ValueType

_BLOCK_BYTES = 64 * 1024 * 1024


def keyed_order(n_rows: int, seed: bytes) -> NDArray[np.intp]:
    """A permutation of rows that only the holder of the seed, at least 16 secret bytes, can repeat."""
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(seed)))
    return generator.permutation(n_rows)


def released_rows(leaves: NDArray[np.bool_], seed: bytes, n_decoys: int = 0) -> NDArray[np.intp]:
    """Position in the microdata of each row of the released file, −1 for a decoy; see ``delivered_table``.

    `leaves` says of each row of the microdata whether it does.
    """
    kept = np.concatenate([np.flatnonzero(leaves), np.full(n_decoys, -1, dtype=np.intp)])
    return kept[keyed_order(len(kept), seed)]


def first_of_persons(rows: NDArray[np.intp], events: Events | None) -> NDArray[np.intp]:
    """Record of each row of a released file, −1 for a decoy and for all rows of a person but the first in the file.

    `rows` are positions in the microdata, −1 for a decoy; where each row is a record, they are returned as they are.
    """
    if events is None:
        return rows
    real = np.flatnonzero(rows >= 0)
    persons, first = np.unique(events.of_row[rows[real]], return_index=True)
    found = np.full(len(rows), -1, dtype=np.intp)
    found[real[first]] = persons
    return found


def alike_within_persons(path: Source, rows: NDArray[np.intp], candidate: Candidate) -> bool:
    """Whether all rows of a person in a released file have the same attributes of the person.

    `rows` are positions in the microdata. StageFailed says that the file cannot be read.
    """
    events = candidate.prepared.events
    if events is None:
        return True
    persons, first = np.unique(events.of_row[rows], return_index=True)
    of_row = first[np.searchsorted(persons, events.of_row[rows])]
    found = read_columns(path, candidate.request.outbound)
    codes = (pd.factorize(found[name].to_pandas())[0] for name in candidate.request.outbound)
    return found.num_rows == len(rows) and all(bool((one == one[of_row]).all()) for one in codes)


def delivered_table(
    candidate: Candidate,
    seed: bytes,
    form: DeliveryFormat,
    decoys: Sequence[Mapping[str, str | None]] = (),
    pseudonyms: Mapping[str, Pseudonyms] = MappingProxyType({}),
) -> pa.Table:
    """The delivered columns of a candidate's released rows, generalized, and of decoys, all in one order.

    Every order of all rows is equally likely, whichever are decoys and whosever they are. For CSV all columns are text,
    and some cells marked. Columns are dictionaries, each value once and a small number for each cell.
    """
    request, frame, masked = candidate.request, candidate.rows_as_text, candidate.masked
    every = released_rows(candidate.leaves, seed, len(decoys))
    rows, events = every[every >= 0], candidate.prepared.events
    tuples = candidate.prepared.tuple_of_row[rows]
    records = rows if events is None else events.of_row[rows]
    axis_of = {name: axis for axis, name in enumerate(request.quasi_identifiers)}
    columns: dict[str, pa.Array] = {}
    for name in request.delivered:
        if name in request.pseudonyms:
            columns[name] = pseudonym_column(frame[name], every, [decoy[name] for decoy in decoys], pseudonyms[name])
            continue
        if name in axis_of:
            levels = pa.array(candidate.index.axis_labels[axis_of[name]], type=pa.large_string())
            codes = candidate.generalization.cells[tuples, axis_of[name]]
        else:
            is_masked = name in masked.names
            texts, places = (masked.text(name), records) if is_masked else (candidate.released_text(name), rows)
            cells = coded_texts(texts)
            levels, codes = cells.dictionary, cells.indices.fill_null(-1).to_numpy()[places]
        own = pa.array([decoy[name] for decoy in decoys], type=pa.large_string())
        values = pa.concat_arrays([levels, own])
        whole = np.empty(len(every), dtype=np.min_scalar_type(-max(len(values), 1)))
        whole[every >= 0], whole[every < 0] = codes, np.arange(len(levels), len(values))
        if form is DeliveryFormat.CSV and is_marked(name, request):
            values = harmless(values)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(whole, mask=whole < 0), values)
    released = pa.table(columns)
    if form is DeliveryFormat.PARQUET:
        return typed(released, request)
    return released.rename_columns([marked(name) for name in released.column_names])


def is_marked(name: str, request: ReleaseRequest) -> bool:
    """Whether the cells of a column are marked in CSV: those of generalized and of text columns; numbers are not."""
    return name in request.quasi_identifiers or request.attributes[name].delivered_type is ValueType.TEXT


def write_released(released: pa.Table, stream: IO[bytes] | pa.NativeFile, form: DeliveryFormat) -> None:
    """Write the released file; StageFailed where the library refuses it."""
    try:
        if form is DeliveryFormat.PARQUET:
            write_parquet(released, stream)
        else:
            options = pacsv.WriteOptions(quoting_style="needed")
            with pacsv.CSVWriter(stream, written_schema(released), write_options=options) as writer:
                for part in written_out(released):
                    writer.write_table(part)
    except pa.ArrowException as error:
        raise StageFailed(
            "the released file cannot be written",
            where=form.value,
            expected="a table of text, numbers and days",
            got=type(error).__name__,
            fix="nothing is released; report this message if it comes back",
        ) from None


def read_cells(path: Source, names: Sequence[str], axis_labels: Sequence[Sequence[str]]) -> Codes:
    """Axis positions of the rows of a released file, read back from its bytes; shape (n_rows, n_names).

    `axis_labels` are the labels of each position of each axis. StageFailed says that the file cannot be read, or a
    label is none of these.
    """
    released, (recovered, _) = coded_columns(path, names), as_read(path)
    columns = []
    for axis, name in enumerate(names):
        codes, labels = released[name]
        positions = positions_of(map(recovered, labels), axis_labels[axis])
        if (positions < 0).any():
            raise _not_as_written(path, f"unknown labels in column {name}")
        columns.append(positions[codes])
    return np.column_stack(columns)


def positions_of(labels: Iterable[str], axis: Sequence[str]) -> Codes:
    """First position of each label on an axis; −1 for one that it does not have."""
    position_of = {label: place for place, label in reversed(list(enumerate(axis)))}
    return np.array([position_of.get(label, -1) for label in labels], dtype=np.int32)


def read_numbers(source: Source, names: Sequence[str]) -> NDArray[np.float64]:
    """Numeric columns of a released file, read back from its bytes; NaN where missing, shape (n_rows, n_names).

    StageFailed says that the file cannot be read.
    """
    columns = []
    for codes, texts in coded_columns(source, names).values():
        numbers = pd.to_numeric(pd.Series(texts), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        columns.append(np.append(numbers, np.nan)[codes])
    return np.column_stack(columns)


def coded_columns(path: Source, names: Sequence[str]) -> dict[str, Factorized]:
    """Some columns of a released file: number of each cell, −1 where missing, and the texts in order of appearance.

    StageFailed says that the file cannot be read.
    """
    if not names:  # Arrow takes no name for every name
        return {}
    try:
        if is_parquet(path):
            return {name: _numbered(read_parquet_coded(path, name)) for name in names}
    except (pa.ArrowException, OSError) as error:
        raise _not_as_written(path, type(error).__name__) from None
    released = read_columns(path, names)
    return {name: _numbered(released[name].dictionary_encode()) for name in names}


def _numbered(column: pa.ChunkedArray) -> Factorized:
    """A column of dictionaries of text, numbered by first appearance."""
    if column.num_chunks == 0:
        return np.empty(0, dtype=np.int64), pd.Index([], dtype="str")
    texts = pa.concat_arrays([chunk.dictionary for chunk in column.chunks]).dictionary_encode()
    ends = np.cumsum([len(chunk.dictionary) for chunk in column.chunks])[:-1]
    places = np.split(texts.indices.fill_null(-1).to_numpy(), ends)
    own = zip(column.chunks, places, strict=True)
    codes = np.concatenate([np.append(place, -1)[chunk.indices.fill_null(-1).to_numpy()] for chunk, place in own])
    found, used = by_appearance(codes)
    return found, pd.Index(texts.dictionary.take(pa.array(used)).to_pandas())


def by_appearance(codes: NDArray[np.signedinteger]) -> tuple[NDArray[np.int64], NDArray[np.signedinteger]]:
    """Codes numbered anew in order of appearance, −1 for a missing value, and the code that each number had."""
    numbers, used = pd.factorize(codes)
    missing = np.flatnonzero(used < 0)
    if not len(missing):
        return numbers, used
    place = np.arange(len(used))
    place[missing], place[missing[0] + 1 :] = -1, place[missing[0] + 1 :] - 1
    return place[numbers], np.delete(used, missing)


def read_columns(path: Source, names: Sequence[str]) -> pa.Table:
    """Some columns of a released file as text, read back from its bytes; StageFailed where it cannot be read.

    In CSV, an empty cell without quotes is a missing value; marks stay on cells.
    """
    written = [marked(name) for name in names]
    try:
        if is_parquet(path):
            return read_parquet_text(path, names)
        return pacsv.read_csv(
            path if isinstance(path, Path) else pa.BufferReader(path),
            read_options=pacsv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                include_columns=written,
                column_types=dict.fromkeys(written, pa.large_string()),
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=False,
            ),
        ).rename_columns(list(names))
    except (pa.ArrowException, OSError) as error:
        raise _not_as_written(path, type(error).__name__) from None


def as_read(path: Source) -> tuple[Callable[[str], str], Callable[[str, str], str]]:
    """Conversions for comparing a released file with the texts as collected; StageFailed where it cannot be read.

    The first function leads from a text cell of the file to the text as it was collected, the second from a column and
    a value as collected to the text that is read back, marks aside.
    """
    try:
        return (str, spelling(path)) if is_parquet(path) else (as_collected, lambda _name, text: text)
    except (pa.ArrowException, OSError) as error:
        raise _not_as_written(path, type(error).__name__) from None


def _not_as_written(path: Source, got: str) -> StageFailed:
    return StageFailed(
        "the released file is not what was written",
        where=path.name if isinstance(path, Path) else "in memory, before it is encrypted",
        expected="the labels of the hierarchies in every quasi-identifier",
        got=got,
        fix="do not release it; check the disk and run the release again",
    )


def decoys_as_sealed(
    path: Source, decoys: Sequence[Mapping[str, str | None]], real: NDArray[np.bool_], request: ReleaseRequest
) -> bool:
    """Whether the other rows of a released file are the decoys of the manifest, in any order and nothing else.

    Pseudonyms are left out: the last check knows them by row. `real` says of each row whether it is a record of the
    data. StageFailed says that the file cannot be read.
    """
    names = request.released
    if not decoys:
        return bool(real.all()) and read_columns(path, request.delivered[:1]).num_rows == len(real)
    found = read_columns(path, names)
    if found.num_rows != len(real):
        return False
    texts = {name for name in names if is_marked(name, request)}
    rows = found.filter(pa.array(~real)).to_pylist()
    recovered, spelled = as_read(path)
    read = Counter(
        tuple(recovered(row[name]) if row[name] and name in texts else row[name] for name in names) for row in rows
    )
    return read == Counter(
        tuple(None if decoy[name] is None else spelled(name, str(decoy[name])) for name in names) for decoy in decoys
    )
