"""Distinct tuples of a file with their counts."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tasks.microdata.counting.choice import Counting, _by_duckdb, _coded, _past_memory
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import Part, joined_tuples
from tasks.microdata.row_groups import Piece
from tasks.microdata.tuples import Tuples
from tasks.request.model import ReleaseRequest


def count_tuples(
    path: Path, request: ReleaseRequest, hierarchies: Mapping[str, Hierarchy], cut: Sequence[Piece], counting: Counting
) -> Tuples | None:
    """Distinct tuples of a Parquet file; None where a quasi-identifier is missing or outside its hierarchy.

    Raises
    ------
    BadInput, StageFailed
        As the ways of counting raise.
    """
    names = list(hierarchies)
    if counting.dask is None and _past_memory(path, names, cut, counting):
        return _by_duckdb(path, request, hierarchies, counting)
    return _added_up(_coded(path, request, hierarchies, names, None, cut, counting), list(hierarchies.values()))


def _added_up(parts: Iterable[Part | None], trees: Sequence[Hierarchy]) -> Tuples | None:
    """Tuples of all parts, added up as they come, so that no more than two are held at a time."""
    total: Part | None = None
    for part in parts:
        if part is None:
            return None
        if total is None:
            total = part
            continue
        both = joined_tuples([total, part], trees)
        total = Part(both.keys, both.counts, part.tuple_of_record, {})
    return None if total is None else joined_tuples([total], trees)
