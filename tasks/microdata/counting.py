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

What does not fit into DuckDB's memory goes to a private folder. Workers of Dask see the file under the same path; each
makes sure that it reads the same bytes with the same program. A Dask scheduler runs what it is sent: whoever can reach
it can run programs on its workers and read what they read. Nothing that either library says in words is passed on; it
may quote a value.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.core.errors import BadInput, Outage, StageFailed
from tasks.core.files import file_sha256
from tasks.microdata.hierarchy import MISSING, Hierarchy
from tasks.microdata.parts import FilePart, PartCoder, Piece, joined_tuples
from tasks.microdata.tuples import Tuples, leaf_codes, radix_strides

_PATTERN_MARKS = frozenset("*?[]{}")
_TO_CONNECT = "15s"
_SOURCES = Path(__file__).resolve().parent
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
    failure = ""
    import duckdb  # noqa: PLC0415  only large files need it

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    try:
        with duckdb.connect(config=_settings(folder, memory_limit_mb)) as connection:
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


def _settings(folder: Path, memory_limit_mb: int) -> dict[str, Any]:
    return {
        "memory_limit": f"{memory_limit_mb}MB",
        "temp_directory": str(folder),
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }


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
        label: leaf for leaf, label in enumerate(tree.labels[0]) if label not in (*missing, MISSING)
    }
    if tree.missing_leaf >= 0:
        leaves |= dict.fromkeys((None, *missing), tree.missing_leaf)
    columns = {"value": pa.array(list(leaves), pa.string()), "leaf": pa.array(list(leaves.values()), pa.int64())}
    return pa.table(columns)


def _plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))


@cache
def program() -> str:
    """Digest of what codes records: the sources of this folder's stage, and the libraries they rest on."""
    hasher = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        hasher.update(str(path.relative_to(_SOURCES)).encode() + b"\0" + path.read_bytes())
    hasher.update(f"{np.__version__} {pd.__version__} {pa.__version__}".encode())
    return hasher.hexdigest()


@dataclass(frozen=True)
class PieceOrder:
    """One piece to be coded by a worker, with the bytes and the program that are meant."""

    coder: PartCoder
    piece: Piece
    sha256: str
    """Of the file's bytes, as they are here."""
    program: str
    """Digest of the program that is to code them."""


def code_by_dask(address: str, coder: PartCoder, cut: Sequence[Piece]) -> list[FilePart] | None:
    """Parts of a file coded by the workers of a cluster, in the order of the pieces.

    None where some record has a quasi-identifier that is missing or outside its hierarchy. ``address`` is that of a
    running scheduler, such as ``tcp://10.0.0.5:8786``.

    Raises
    ------
    BadInput
        If Dask is not installed, or (Outage) no scheduler or worker answers there, at first or in the end.
    StageFailed
        If a worker sees other bytes, has another program, fails, or gives back other records.
    """
    sha256 = file_sha256(coder.path)
    orders = [PieceOrder(coder, piece, sha256, program()) for piece in cut]
    failure = ""
    answers: list[object] = []
    with closing(connect(address)) as client:
        try:
            answers = list(client.gather(client.map(code_order, orders, pure=False)))
        except Exception as error:
            failure = type(error).__name__
    # Raised out here so that the library's exception, which may quote a value, is not attached as context.
    if failure:
        check_cluster(address)
        raise _failed(address, "the Dask cluster did not finish its work", "every piece of the file coded", failure)
    for answer in answers:
        if isinstance(answer, str):
            what, got = _REASONS.get(answer, ("every piece of the file coded", answer))
            raise _failed(address, "a worker could not take its part of the file", what, got)
    if None in answers:
        return None
    parts = [answer for answer in answers if isinstance(answer, FilePart)]
    if len(parts) != len(cut) or not all(map(coder.is_whole, parts, cut)):
        what = "a worker gave back other records than it was to code"
        raise _failed(address, what, "every record of its piece of the file, once", "more or fewer")
    return parts


_REASONS = {
    "bytes": ("the file that the release is named by, under the same path on every worker", "another, or none"),
    "program": ("the same version of releasegate and its libraries on every worker", "another"),
}


def code_order(order: PieceOrder) -> FilePart | str | None:
    """Code one piece, on a worker; None as for ``PartCoder.code``.

    Any failure is reported in one word: an exception may quote a value.
    """
    path = order.coder.path
    try:
        if order.program != program():
            return "program"
        if not path.is_file() or _sha256_as_of(path, path.stat().st_size, path.stat().st_mtime_ns) != order.sha256:
            return "bytes"
        return order.coder.code(order.piece)
    except Exception as error:
        return type(error).__name__


@cache
def _sha256_as_of(path: Path, _size: int, _changed: int) -> str:
    """SHA-256 of a file, computed once by a worker as long as the file does not change."""
    return file_sha256(path)


def _failed(address: str, what: str, expected: str, got: str) -> StageFailed:
    return StageFailed(
        what,
        where=f"--dask {address}",
        expected=expected,
        got=got,
        fix="look at the workers, their memory and the network; or leave --dask out, for the same result",
    )


def connect(address: str) -> Any:
    """A ``distributed.Client`` of a running scheduler that has at least one worker.

    Raises
    ------
    BadInput
        If Dask is not installed, or (Outage) no scheduler or worker answers there.
    """
    client, failure = None, "no worker"
    try:
        import distributed  # noqa: PLC0415  an extra

        make: Any = distributed.Client
        client = make(address, timeout=_TO_CONNECT, set_as_default=False)
        if client.scheduler_info(n_workers=-1)["workers"]:
            return client
    except ImportError:
        raise BadInput(
            "counting on several machines needs Dask, which is not installed",
            where=f"--dask {address}",
            expected="the extra “dask” of releasegate",
            got="neither dask nor distributed",
            fix="install it with: pip install 'releasegate[dask]'; or leave --dask out, for the same result",
        ) from None
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        failure = type(error).__name__
    if client is not None:
        client.close()
    raise Outage(
        "the Dask cluster does not answer",
        server="the Dask cluster",
        where=f"--dask {address}",
        expected="a running scheduler with at least one worker, as tcp://host:port or tls://host:port",
        got=failure,
        fix="start it, or correct the address; without --dask this machine counts alone, with the same result",
    )


def check_cluster(address: str) -> None:
    """Make sure that a cluster answers, before anything else is begun; raises as ``connect``."""
    connect(address).close()
