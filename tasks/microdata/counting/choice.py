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

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.microdata.counting.by_dask import code_by_dask
from tasks.microdata.counting.by_duckdb import can_count, count_by_duckdb
from tasks.microdata.parts import FilePart, joined_tuples
from tasks.microdata.row_groups import PartCoder, Piece
from tasks.microdata.tuples import Tuples

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


def count_file(coder: PartCoder, cut: Sequence[Piece], counting: Counting) -> tuple[list[FilePart], Tuples] | None:
    """Code and count a Parquet file; None where a quasi-identifier is missing or outside its hierarchy.

    Returns
    -------
    parts : list of FilePart
        One a piece.
    tuples : Tuples
        Distinct tuples of the whole file.

    Raises
    ------
    BadInput, StageFailed
        As the ways of counting raise.
    """
    tuples = None
    if is_for_duckdb(coder, cut, counting):
        tuples = count_by_duckdb(coder, memory_limit_mb=counting.memory_limit_mb, folder=counting.scratch)
        if tuples is None:
            return None
    if counting.dask is None:
        coded = [part for part in map(coder.code, cut) if part is not None]
    else:
        coded = code_by_dask(counting.dask, coder, cut) or []
    if len(coded) < len(cut):
        return None
    return coded, tuples or joined_tuples(coded, list(coder.hierarchies.values()))


def is_for_duckdb(coder: PartCoder, cut: Sequence[Piece], counting: Counting) -> bool:
    """Whether DuckDB counts a file: one of many records whose columns it reads as the same text."""
    many = counting.dask is None and sum(piece.rows for piece in cut) >= counting.duckdb_from
    return many and can_count(coder.path, list(coder.hierarchies))
