"""A file in parts: each is coded on its own, wherever it lies, and the codes are put together as if it were one.

What comes out does not depend on how the file was cut: tuples are sorted by their keys, and the values of a column
numbered by their first appearance in the file, which is that in the first part that has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.microdata.coded import CodedColumn
from tasks.microdata.columns import order_of, ordered_attributes, weighed_attributes, weighed_column
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.tuples import Counts, Tuples, encode, leaf_codes, leaf_keys
from tasks.request.model import ReleaseRequest


@dataclass(frozen=True)
class PartColumn:
    """A column of a part: its distinct values in order of appearance, and which of them each record has."""

    codes: NDArray[np.signedinteger]
    """Position in ``levels``, −1 where missing; shape (n_records,), or empty where nobody asks for records."""
    levels: tuple[str, ...]


@dataclass(frozen=True)
class FilePart:
    """Some successive records of a file in integer form."""

    keys: Counts
    """Keys of the distinct tuples, growing."""
    counts: Counts
    """Records of each."""
    tuple_of_record: NDArray[np.int32]
    """Position in ``keys`` of each record's tuple, shape (n_records,)."""
    columns: dict[str, PartColumn]
    """The other columns that may leave."""


def code_part(
    frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], by_record: Sequence[str], where: str
) -> FilePart:
    """Code some successive records.

    Parameters
    ----------
    frame : DataFrame
        Quasi-identifiers and other columns as text, missing cells as NA; others than these are not looked at.
    hierarchies : mapping of str to Hierarchy
        Those of the quasi-identifiers.
    by_record : sequence of str
        Columns whose values are wanted record by record; of the others only which there are.
    where : str
        Name of the file, for messages.

    Raises
    ------
    DataError
        If a quasi-identifier is missing or outside its hierarchy. Rows are named by their position in the part.
    """
    numbers = leaf_keys(encode(frame, hierarchies, where), list(hierarchies.values()))
    keys, tuple_of_record, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    columns = {}
    for name in map(str, frame.columns.difference(list(hierarchies), sort=False)):
        codes, levels = pd.factorize(frame[name])
        kept = codes if name in by_record else codes[:0]
        columns[name] = PartColumn(kept.astype(np.min_scalar_type(-max(len(levels), 1))), tuple(map(str, levels)))
    return FilePart(keys, counts.astype(np.int64), tuple_of_record.astype(np.int32), columns)


def joined_tuples(parts: Sequence[FilePart], hierarchies: Sequence[Hierarchy]) -> Tuples:
    """Distinct tuples of all parts, their counts added up."""
    keys, place = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
    return Tuples(codes=leaf_codes(keys, hierarchies), counts=counts, keys=keys)


def joined_records(parts: Sequence[FilePart], tuples: Tuples) -> NDArray[np.int32]:
    """Tuple of each record of the file.

    Raises
    ------
    StageFailed
        If the parts have other records than the tuples count, as where the file changes while it is read.
    """
    records = np.concatenate([tuples.find(part.keys).astype(np.int32)[part.tuple_of_record] for part in parts])
    if (records < 0).any() or not np.array_equal(np.bincount(records, minlength=len(tuples)), tuples.counts):
        raise StageFailed(
            "the records of the file do not add up to its counts",
            where="counting",
            expected="each combination of values as often among the records as it was counted",
            got="another number of some of them",
            fix="make sure that nothing writes to the file, and run the release again",
        )
    return records


def joined_columns(
    parts: Sequence[FilePart], request: ReleaseRequest, by_record: Sequence[str]
) -> dict[str, CodedColumn]:
    """The columns of the file that are coded record by record.

    Raises
    ------
    DataError
        If a column whose order counts has values without one.
    """
    weighed, ordered = weighed_attributes(request), ordered_attributes(request)
    columns = {}
    for name in by_record:
        levels, places = _joined_levels([part.columns[name].levels for part in parts])
        own = [np.append(place, -1)[part.columns[name].codes] for part, place in zip(parts, places, strict=True)]
        codes = np.concatenate(own).astype(np.int32)
        order = None
        if name in ordered:
            order = order_of(pd.Series(levels, dtype="str", name=name), request.attributes[name].type)
        columns[name] = weighed_column(codes, levels, weighed.get(name), order)
    return columns


def distinct_values(parts: Sequence[FilePart], tuples: Tuples, hierarchies: Sequence[Hierarchy]) -> dict[str, int]:
    """Distinct values of each column that the parts have, missing ones left out."""
    found = {hierarchy.name: len(np.unique(tuples.codes[:, axis])) for axis, hierarchy in enumerate(hierarchies)}
    for name in parts[0].columns:
        found[name] = len(_joined_levels([part.columns[name].levels for part in parts])[0])
    return found


def _joined_levels(levels: Sequence[tuple[str, ...]]) -> tuple[pd.Index, list[NDArray[np.intp]]]:
    """Distinct values in order of appearance, and the position among them of each part's values."""
    codes, distinct = pd.factorize(np.array([value for part in levels for value in part], dtype=object))
    ends = np.cumsum([len(part) for part in levels])
    return pd.Index(distinct, dtype="object"), np.split(codes, ends[:-1])
