"""Distinct tuples of a file with their counts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.microdata.counting import Counting, count_by_duckdb, count_file, is_for_duckdb
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import PartCoder, Piece
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
    coder = PartCoder(path, tuple(hierarchies), (), request.dataset.missing, hierarchies)
    if is_for_duckdb(coder, cut, counting):
        return count_by_duckdb(coder, memory_limit_mb=counting.memory_limit_mb, folder=counting.scratch)
    counted = count_file(coder, cut, counting)
    return None if counted is None else counted[1]
