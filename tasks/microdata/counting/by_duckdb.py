"""Counting by DuckDB over Parquet, under a limit of memory: past it, what does not fit goes to a private folder.

Nothing that DuckDB says in words is passed on; its messages may quote a value.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.core.errors import StageFailed
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import PartCoder
from tasks.microdata.tuples import Tuples, leaf_codes, radix_strides

_PATTERN_MARKS = frozenset("*?[]{}")


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

    Columns are whole numbers or text, of which no two are written alike: no key comes twice.
    """
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    columns = ", ".join(f"{name} AS v{axis}" for axis, name in enumerate(quoted))
    key = " + ".join(f"h{axis}.leaf * {stride}" for axis, stride in enumerate(strides))
    joins = " ".join(
        f"LEFT JOIN h{axis} ON h{axis}.value = CAST(found.v{axis} AS VARCHAR)" for axis in range(len(names))
    )
    return (
        f"WITH found AS (SELECT {columns}, count(*) AS records FROM read_parquet(?, hive_partitioning = false) "  # noqa: S608
        f"GROUP BY ALL) SELECT {key} AS key, records FROM found {joins}"
    )


def _leaves(tree: Hierarchy, missing: Sequence[str]) -> pa.Table:
    """Values of a hierarchy with their leaf numbers."""
    leaves = {label: leaf for leaf, label in enumerate(tree.labels[0]) if label not in missing}
    columns = {"value": pa.array(leaves.keys(), pa.string()), "leaf": pa.array(leaves.values(), pa.int64())}
    return pa.table(columns)


def _plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))
