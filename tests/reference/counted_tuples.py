"""Distinct tuples of a file with their counts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import PartCoder, Piece
from tasks.microdata.tuples import Tuples
from tasks.request.model import ReleaseRequest


def count_tuples(
    path: Path,
    request: ReleaseRequest,
    hierarchies: Mapping[str, Hierarchy],
    cut: Sequence[Piece],
    dask: str | None = None,
) -> Tuples | None:
    """Distinct tuples of a Parquet file; None where a quasi-identifier is missing or outside its hierarchy.

    Raises
    ------
    BadInput, StageFailed
        As the ways of counting raise.
    """
    coder = PartCoder(path, tuple(hierarchies), (), request.dataset.missing, hierarchies)
    counted = coder.code_all(cut, dask)
    return None if counted is None else counted[1]
