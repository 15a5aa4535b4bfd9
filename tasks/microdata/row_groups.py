"""A Parquet file a piece at a time: some successive row groups, as text, so that memory does not grow with the file."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.core.errors import DataError
from tasks.microdata.read import as_frame, as_text, check_columns, no_records
from tasks.request.model import ReleaseRequest

ROWS_A_PIECE = 1_000_000
_HASH_BYTES = 1024 * 1024
_FOOTER_LENGTH = 8
"""Bytes at the end of a Parquet file: the length of its footer and the mark."""


@dataclass(frozen=True)
class Piece:
    """Some successive row groups."""

    groups: tuple[int, ...]
    rows: int
    start: int
    end: int
    """The bytes they take up, the end left out."""


def pieces(path: Path, request: ReleaseRequest, rows: int = ROWS_A_PIECE) -> tuple[Piece, ...]:
    """Cut a Parquet file into pieces of about so many records, and check its columns.

    Raises
    ------
    DataError
        If the file cannot be read, has no records, or its columns are not those of the request.
    """
    try:
        file = pq.ParquetFile(path)
        metadata, names = file.metadata, file.schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    check_columns(names, tuple(request.attributes), path, request.dataset.delimiter)
    if metadata.num_rows == 0:
        raise no_records(path)
    found: list[Piece] = []
    groups, held = list[int](), 0
    for number in range(metadata.num_row_groups):
        groups.append(number)
        held += metadata.row_group(number).num_rows
        if held >= rows or number == metadata.num_row_groups - 1:
            ranges = [_byte_range(metadata.row_group(group)) for group in groups]
            found.append(Piece(tuple(groups), held, min(start for start, _ in ranges), max(end for _, end in ranges)))
            groups, held = [], 0
    return tuple(found)


def read_piece(path: Path, groups: Sequence[int], names: Sequence[str], missing: Sequence[str]) -> pd.DataFrame:
    """Some columns of some row groups as text, missing cells as NA.

    Raises
    ------
    DataError
        If they cannot be read.
    """
    try:
        table = pq.ParquetFile(path).read_row_groups(list(groups), columns=list(names))
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    return as_frame(as_text(table, names, path, DataError), names, missing)


def count_distinct(path: Path, cut: Sequence[Piece], name: str, missing: Sequence[str]) -> int:
    """Distinct values of one column, missing ones left out.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    texts = [pa.array(read_piece(path, piece.groups, [name], missing)[name], from_pandas=True) for piece in cut]
    chunks = [chunk for text in texts for chunk in (text.chunks if isinstance(text, pa.ChunkedArray) else [text])]
    return int(pc.count_distinct(pa.chunked_array(chunks, type=pa.large_string()), mode="only_valid").as_py())


def piece_sha256(path: Path, piece: Piece) -> str:
    """SHA-256 of a piece's bytes and of the file's footer, which says what they mean.

    Raises
    ------
    DataError
        If they cannot be read.
    """
    hasher = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            stream.seek(-_FOOTER_LENGTH, 2)
            footer = int.from_bytes(stream.read(4), "little") + _FOOTER_LENGTH
            stream.seek(-footer, 2)
            hasher.update(stream.read(footer))
            stream.seek(piece.start)
            left = piece.end - piece.start
            while left > 0 and (content := stream.read(min(left, _HASH_BYTES))):
                hasher.update(content)
                left -= len(content)
    except OSError as error:
        raise _unreadable(path, error) from None
    return hasher.hexdigest()


def _byte_range(group: pq.RowGroupMetaData) -> tuple[int, int]:
    starts, ends = [], []
    for place in range(group.num_columns):
        column = group.column(place)
        offsets = [column.data_page_offset]
        if column.has_dictionary_page and column.dictionary_page_offset:
            offsets.append(column.dictionary_page_offset)
        starts.append(min(offsets))
        ends.append(min(offsets) + column.total_compressed_size)
    return min(starts), max(ends)


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(
        "the file cannot be read as Parquet",
        where=path.name,
        expected="an undamaged Parquet file",
        got=type(error).__name__,
        fix="export it again",
    )
