"""Choice of the counting method for a file; every method gives the same coded file.

==========================  ==========================================================================================
file                        how its records are coded and counted
==========================  ==========================================================================================
CSV                         read as a whole, by NumPy
Parquet                     by NumPy, a piece of about a million records at a time
Parquet of many records     the same, after DuckDB has counted the distinct tuples under a limit of memory
Parquet, with a scheduler   piece by piece on the workers of a Dask cluster, their counts added up
==========================  ==========================================================================================
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.core.errors import DataError
from tasks.microdata.counting.by_dask import code_by_dask, not_whole, program
from tasks.microdata.counting.by_duckdb import can_count, count_by_duckdb
from tasks.microdata.counting.wire import Order
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import Part, code_part, is_whole, joined_tuples
from tasks.microdata.row_groups import Piece, piece_sha256, read_piece
from tasks.microdata.tuples import Tuples
from tasks.request.model import ReleaseRequest, Role

DUCKDB_FROM = 20_000_000
"""Records from which DuckDB counts."""
DUCKDB_MEMORY_MB = 4096


@dataclass(frozen=True)
class Counting:
    """Place and method of counting the records of a Parquet file; the result does not depend on it."""

    scratch: Path
    """Private folder for what does not fit in memory; made when it is needed, and removed."""
    dask: str | None = None
    """Address of a Dask scheduler whose workers code the pieces; None for this machine alone."""
    duckdb_from: int = DUCKDB_FROM
    memory_limit_mb: int = DUCKDB_MEMORY_MB


@dataclass(frozen=True)
class Counted:
    """A file's pieces in integer form, and its distinct tuples."""

    parts: list[Part]
    tuples: Tuples


def count_file(  # noqa: PLR0917
    path: Path,
    request: ReleaseRequest,
    hierarchies: Mapping[str, Hierarchy],
    by_record: Sequence[str],
    cut: Sequence[Piece],
    counting: Counting,
) -> Counted | None:
    """Code and count a Parquet file; None where a quasi-identifier is missing or outside its hierarchy.

    Raises
    ------
    BadInput, StageFailed
        As the ways of counting raise.
    """
    names = [name for name, attribute in request.attributes.items() if attribute.role is not Role.DIRECT]
    tuples = None
    if counting.dask is None and _past_memory(path, list(hierarchies), cut, counting):
        tuples = _by_duckdb(path, request, hierarchies, counting)
        if tuples is None:
            return None
    parts: list[Part] = []
    for part in _coded(path, request, hierarchies, names, tuple(by_record), cut, counting):
        if part is None:
            return None
        parts.append(part)
    return Counted(parts, tuples or joined_tuples(parts, list(hierarchies.values())))


def _past_memory(path: Path, names: Sequence[str], cut: Sequence[Piece], counting: Counting) -> bool:
    return sum(piece.rows for piece in cut) >= counting.duckdb_from and can_count(path, names)


def _by_duckdb(
    path: Path, request: ReleaseRequest, hierarchies: Mapping[str, Hierarchy], counting: Counting
) -> Tuples | None:
    return count_by_duckdb(
        path,
        hierarchies,
        request.dataset.missing,
        memory_limit_mb=counting.memory_limit_mb,
        folder=counting.scratch,
    )


def _coded(  # noqa: PLR0917
    path: Path,
    request: ReleaseRequest,
    hierarchies: Mapping[str, Hierarchy],
    names: Sequence[str],
    by_record: tuple[str, ...] | None,
    cut: Sequence[Piece],
    counting: Counting,
) -> Iterator[Part | None]:
    """The pieces one after the other; None in place of one that cannot be coded."""
    if counting.dask is not None:
        coded = code_by_dask(counting.dask, _orders(path, request, hierarchies, names, by_record, cut))
        if coded is not None and not all(
            is_whole(part, piece.rows, by_record) for part, piece in zip(coded, cut, strict=True)
        ):
            raise not_whole(counting.dask)
        yield from [None] if coded is None else coded
        return
    for piece in cut:
        try:
            frame = read_piece(path, piece.groups, names, request.dataset.missing)
            yield code_part(frame, hierarchies, by_record, path.name)
        except DataError:
            yield None


def _orders(  # noqa: PLR0917
    path: Path,
    request: ReleaseRequest,
    hierarchies: Mapping[str, Hierarchy],
    names: Sequence[str],
    by_record: tuple[str, ...] | None,
    cut: Sequence[Piece],
) -> list[Order]:
    return [
        Order(
            path=str(path.resolve()),
            groups=piece.groups,
            start=piece.start,
            end=piece.end,
            sha256=piece_sha256(path, piece.start, piece.end),
            program=program(),
            names=tuple(names),
            by_record=by_record,
            missing=request.dataset.missing,
            hierarchies=hierarchies,
        )
        for piece in cut
    ]
