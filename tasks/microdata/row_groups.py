"""A Parquet file a piece at a time: some successive row groups, as text, so that memory does not grow with the file."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.core.errors import DataError
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import FilePart, code_part
from tasks.microdata.read import as_frame, as_text, check_columns, no_records, unreadable_parquet
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
        raise unreadable_parquet(path, error) from None
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
        raise unreadable_parquet(path, error) from None
    return as_frame(as_text(table, path, names), names, missing)


@dataclass(frozen=True)
class PartCoder:
    """What to code of a Parquet file, piece by piece, wherever that is done."""

    path: Path
    names: tuple[str, ...]
    """Columns to read."""
    by_record: tuple[str, ...]
    """Those of them that are wanted record by record, besides the quasi-identifiers."""
    missing: tuple[str, ...]
    """Texts that mean “no value”."""
    hierarchies: Mapping[str, Hierarchy]

    def code(self, piece: Piece) -> FilePart | None:
        """The records of a piece; None where one has a quasi-identifier missing or outside its hierarchy."""
        try:
            frame = read_piece(self.path, piece.groups, self.names, self.missing)
            return code_part(frame, self.hierarchies, self.by_record, self.path.name)
        except DataError:
            return None

    def is_whole(self, part: FilePart, piece: Piece) -> bool:
        """Whether a part has all the records of its piece, and everything that is wanted of them."""
        held = [part.tuple_of_record, *(part.columns[name].codes for name in self.by_record if name in part.columns)]
        complete = len(held) == 1 + len(self.by_record) and part.counts.sum() == piece.rows
        return complete and all(len(one) == piece.rows for one in held)


def count_distinct(path: Path, cut: Sequence[Piece], name: str, missing: Sequence[str]) -> int:
    """Distinct values of one column, missing ones left out.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    texts = [read_piece(path, piece.groups, [name], missing)[name] for piece in cut]
    return int(pd.concat(texts).nunique())


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
        raise unreadable_parquet(path, error) from None
    return hasher.hexdigest()


def _byte_range(group: pq.RowGroupMetaData) -> tuple[int, int]:
    columns = [group.column(place) for place in range(group.num_columns)]
    ranges = [
        (
            min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset),
            column.total_compressed_size,
        )
        for column in columns
    ]
    return min(start for start, _ in ranges), max(start + size for start, size in ranges)
