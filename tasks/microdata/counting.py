"""Counting the records of each distinct tuple: in memory, by DuckDB over Parquet, or on several machines by Dask.

However a file is counted, it is coded the same:

==========================  ==========================================================================================
file                        how its records are coded and counted
==========================  ==========================================================================================
CSV                         read as a whole, by NumPy
Parquet                     by NumPy, a piece of about a million records at a time
Parquet of many records     the same, after DuckDB has counted the distinct tuples under a limit of memory
Parquet, with a scheduler   piece by piece on the workers of a Dask cluster, their counts added up
==========================  ==========================================================================================

What does not fit into DuckDB's memory goes to a private folder. Nothing that DuckDB says in words is passed on; it may
quote a value.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.core.errors import StageFailed
from tasks.microdata.hierarchy import MISSING, Hierarchy
from tasks.microdata.parts import FilePart, PartCoder, Piece, joined_tuples
from tasks.microdata.tuples import Tuples, leaf_codes, radix_strides
from tasks.microdata.workers import done, other_records

_PATTERN_MARKS = frozenset("*?[]{}")
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
    """Parts of a Parquet file, one a piece, and the distinct tuples of all of it.

    None where a quasi-identifier is missing or outside its hierarchy.

    Raises
    ------
    BadInput, StageFailed
        As ``count_by_duckdb`` and ``done`` raise, and if a part has other records than its piece.
    """
    tuples = None
    if is_for_duckdb(coder, cut, counting):
        tuples = count_by_duckdb(coder, memory_limit_mb=counting.memory_limit_mb, folder=counting.scratch)
        if tuples is None:
            return None
    found = done([partial(coder.code, piece) for piece in cut], coder.path, counting.dask)
    coded = [part for part in found if part is not None]
    if len(coded) < len(cut):
        return None
    if not all(map(coder.is_whole, coded, cut)):
        raise other_records(coder.path)
    return coded, tuples or joined_tuples(coded, list(coder.hierarchies.values()))


def is_for_duckdb(coder: PartCoder, cut: Sequence[Piece], counting: Counting) -> bool:
    """Whether DuckDB counts a file: one of many records whose columns it reads as the same text."""
    many = counting.dask is None and sum(piece.rows for piece in cut) >= counting.duckdb_from
    return many and can_count(coder.path, list(coder.hierarchies))


def can_count(path: Path, names: Sequence[str]) -> bool:
    """Whether DuckDB reads these columns as the same text as everything else here: whole numbers and text.

    A path that DuckDB would take for a pattern of several files is left to the others, and so is a file with columns
    whose names differ by capital letters alone: DuckDB would take one for the other.
    """
    if not _PATTERN_MARKS.isdisjoint(str(path)):
        return False
    try:
        schema = pq.read_schema(path)
        if len({name.casefold() for name in schema.names}) < len(schema.names):
            return False
        return all(_plain(schema.field(name).type) for name in names)
    except (pa.ArrowException, OSError, KeyError):
        return False


def count_by_duckdb(coder: PartCoder, *, memory_limit_mb: int, folder: Path) -> Tuples | None:
    """Distinct tuples of a Parquet file.

    None where some record has a quasi-identifier that is missing or outside its hierarchy. What does not fit in memory
    goes to a folder that is made with rights for the owner alone, and removed.

    Raises
    ------
    StageFailed
        If DuckDB cannot count, for want of room or because the file cannot be read.
    """
    trees = list(coder.hierarchies.values())
    strides = radix_strides([tree.n_leaves for tree in trees]).tolist()
    settings: dict[str, Any] = {
        "memory_limit": f"{memory_limit_mb}MB",
        "temp_directory": str(folder),
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }
    failure = ""
    import duckdb  # noqa: PLC0415  only large files need it

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    try:
        with duckdb.connect(config=settings) as connection:
            for axis, tree in enumerate(trees):
                connection.register(f"h{axis}", _leaves(tree, coder.missing))
            found = connection.execute(_query(list(coder.hierarchies), strides), [str(coder.path)]).fetchnumpy()
    except (duckdb.Error, MemoryError) as error:
        failure = type(error).__name__
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if failure:
        # Raised out here so that the library's exception, which may quote a value, is not attached as context.
        raise StageFailed(
            "the records could not be counted",
            where=coder.path.name,
            expected=f"a readable Parquet file, {memory_limit_mb} MB of memory, and room on the disk of the workspace",
            got=failure,
            fix="free memory or disk space and run the same command again",
        )
    if np.ma.is_masked(found["key"]):
        return None
    order = np.argsort(found["key"])
    keys, counts = (np.asarray(found[name])[order].astype(np.int64) for name in ("key", "records"))
    return Tuples(leaf_codes(keys, trees), counts, keys)


def _query(names: Sequence[str], strides: Sequence[int]) -> str:
    """Group the rows first, then number what is left: few are, and text is compared for these alone.

    Columns are whole numbers or text, of which no two are written alike: a key comes twice only where a missing value
    is written in several ways.
    """
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    columns = ", ".join(f"{name} AS v{axis}" for axis, name in enumerate(quoted))
    key = " + ".join(f"h{axis}.leaf * {stride}" for axis, stride in enumerate(strides))
    joins = " ".join(
        f"LEFT JOIN h{axis} ON h{axis}.value IS NOT DISTINCT FROM CAST(found.v{axis} AS VARCHAR)"
        for axis in range(len(names))
    )
    return (
        f"WITH found AS (SELECT {columns}, count(*) AS records FROM read_parquet(?, hive_partitioning = false) "  # noqa: S608
        f"GROUP BY ALL) SELECT {key} AS key, CAST(sum(records) AS BIGINT) AS records FROM found {joins} GROUP BY key"
    )


def _leaves(tree: Hierarchy, missing: Sequence[str]) -> pa.Table:
    """Values of a hierarchy with their leaf numbers, and those of missing values where it has a leaf for them."""
    leaves: dict[str | None, int] = {
        value: leaf for value, leaf in tree.domain.items() if value not in (*missing, MISSING)
    }
    if tree.missing_leaf >= 0:
        leaves |= dict.fromkeys((None, *missing), tree.missing_leaf)
    columns = {"value": pa.array(list(leaves), pa.string()), "leaf": pa.array(list(leaves.values()), pa.int64())}
    return pa.table(columns)


def _plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))
