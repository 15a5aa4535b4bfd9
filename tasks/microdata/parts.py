"""A file in parts: each is coded on its own, here or on a cluster, and the codes are put together as if it were one.

What comes out does not depend on how the file was cut: tuples are sorted by their keys, and the values of a column
numbered by their first appearance in the file. A Parquet file is read a piece of some successive row groups at a time,
so that memory does not grow with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tasks.core.errors import DataError, StageFailed
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parquet import CELL_BYTES, check_size, read_parquet, unreadable_parquet
from tasks.microdata.read import check_columns, is_parquet, no_records, text_frame
from tasks.microdata.tuples import Tuples, distinct_tuples, encode
from tasks.microdata.workers import done, other_records
from tasks.request.model import ReleaseRequest

ROWS_A_PIECE = 1_000_000


@dataclass(frozen=True)
class FilePart:
    """Some successive records of a file in integer form."""

    tuples: Tuples
    tuple_of_record: NDArray[np.int32]
    """Tuple of each record, shape (n_records,)."""
    levels: dict[str, pd.Index]
    """Distinct values of each column that may leave, besides the quasi-identifiers, in order of appearance."""
    codes: dict[str, NDArray[np.signedinteger]]
    """Position in its levels of each record's value, −1 where missing, of the columns wanted record by record."""


def code_part(
    frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], by_record: Sequence[str], where: str
) -> FilePart:
    """Code some successive records: quasi-identifiers and other columns that may leave, as text, missing cells as NA.

    Values of the columns ``by_record`` are wanted record by record; of the others only which there are.

    Raises
    ------
    DataError
        If a quasi-identifier is missing or outside its hierarchy. Rows are named by their position in the part.
    """
    tuples, tuple_of_record = distinct_tuples(encode(frame, hierarchies, where), list(hierarchies.values()))
    found = {str(name): pd.factorize(frame[name]) for name in frame.columns if name not in hierarchies}
    return FilePart(
        tuples,
        tuple_of_record.astype(np.int32),
        {name: pd.Index(levels) for name, (_, levels) in found.items()},
        {name: found[name][0].astype(np.min_scalar_type(-max(len(found[name][1]), 1))) for name in by_record},
    )


def joined_tuples(parts: Sequence[FilePart], hierarchies: Sequence[Hierarchy]) -> Tuples:
    """Distinct tuples of all parts, their counts added up."""
    codes = np.concatenate([part.tuples.codes for part in parts])
    return distinct_tuples(codes, hierarchies, np.concatenate([part.tuples.counts for part in parts]))[0]


def joined_records(parts: Sequence[FilePart], tuples: Tuples) -> NDArray[np.int32]:
    """Tuple of each record of the file.

    Raises
    ------
    StageFailed
        If the parts have other records than the tuples count, as where the file changes while it is read.
    """
    places = [tuples.find(part.tuples.keys).astype(np.int32)[part.tuple_of_record] for part in parts]
    records = np.concatenate(places)
    if (records < 0).any() or not np.array_equal(np.bincount(records, minlength=len(tuples)), tuples.counts):
        raise StageFailed(
            "the records of the file do not add up to its counts",
            where="counting",
            expected="each combination of values as often among the records as it was counted",
            got="another number of some of them",
            fix="make sure that nothing writes to the file, and run the release again",
        )
    return records


def joined_column(parts: Sequence[FilePart], name: str) -> tuple[NDArray[np.int64], pd.Index]:
    """Codes of a column by record, none where it is not wanted by record, and its distinct values."""
    codes, levels = pd.factorize(parts[0].levels[name].append([part.levels[name] for part in parts[1:]]))
    places = np.split(codes, np.cumsum([len(part.levels[name]) for part in parts])[:-1])
    held = zip(parts, places, strict=True)
    own = [np.append(place, -1)[part.codes[name]] for part, place in held if name in part.codes]
    return np.concatenate(own or [codes[:0]]), pd.Index(levels)


@dataclass(frozen=True)
class Piece:
    """Some successive row groups of a Parquet file."""

    groups: tuple[int, ...]
    rows: int


def is_plain_parquet(path: Path, request: ReleaseRequest) -> bool:
    """Whether a dataset is Parquet whose cells are as they are read."""
    return is_parquet(path) and request.dataset.format is None and request.dataset.is_plain


def in_pieces(path: Path, request: ReleaseRequest) -> bool:
    """Whether a dataset is read a piece at a time: such Parquet with one row a person."""
    return request.dataset.person is None and is_plain_parquet(path, request)


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
    check_columns(names, tuple(request.attributes), request, path)
    if metadata.num_rows == 0:
        raise no_records(path)
    check_size(path, metadata.num_rows, metadata.num_rows * CELL_BYTES)
    cut: list[Piece] = []
    for group in range(metadata.num_row_groups):
        held = metadata.row_group(group).num_rows
        if cut and cut[-1].rows < rows:
            cut[-1] = Piece((*cut[-1].groups, group), cut[-1].rows + held)
        else:
            cut.append(Piece((group,), held))
    return tuple(cut)


def read_piece(path: Path, groups: Sequence[int], names: Sequence[str], missing: Sequence[str]) -> pd.DataFrame:
    """Some columns of some row groups as text, missing cells as NA.

    Raises
    ------
    DataError
        If they cannot be read, or do not fit in memory.
    """
    return text_frame(read_parquet(path, names, groups), path, names, missing)


@dataclass(frozen=True)
class PartCoder:
    """Terms for coding a Parquet file piece by piece, on any machine."""

    path: Path
    names: tuple[str, ...]
    """Columns to read."""
    by_record: tuple[str, ...]
    """Columns that are wanted record by record, besides the quasi-identifiers."""
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
        held = [part.tuple_of_record, *part.codes.values()]
        complete = part.tuples.total == piece.rows and part.codes.keys() == set(self.by_record)
        return complete and all(len(one) == piece.rows for one in held)

    def code_all(self, cut: Sequence[Piece], dask: str | None) -> tuple[list[FilePart], Tuples] | None:
        """A part of each piece, coded by the workers of a cluster where there is one, and the tuples of all.

        None where a quasi-identifier is missing or outside its hierarchy. Raises as ``done``, and StageCrashed if a
        part has other records than its piece.
        """
        found = done([partial(self.code, piece) for piece in cut], self.path, dask)
        coded = [part for part in found if part is not None]
        if len(coded) < len(cut):
            return None
        if not all(map(self.is_whole, coded, cut)):
            raise other_records(self.path)
        return coded, joined_tuples(coded, list(self.hierarchies.values()))
