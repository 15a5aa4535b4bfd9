"""Reading Parquet, unless what it holds does not fit in the memory of this machine.

A small file may hold billions of records, or one long text a million times. Records, columns and bytes are counted in
its footer, before any column is read; how long the texts are, while each of them is held once.
"""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.core.errors import DataError

CELL_BYTES = 8
"""Bytes of a cell that is read as text, besides the text."""
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
_LIMIT_OF_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def machine_memory() -> int:
    """Bytes of memory of this machine, or of this container where it has a limit."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or one without a limit
        memory = min(memory, int(_LIMIT_OF_CONTAINER.read_text()))
    return memory


def read_parquet(
    path: Path, names: Sequence[str] | None = None, groups: Sequence[int] | None = None, *, coded: bool = False
) -> pa.Table:
    """Columns of row groups of a file, all of them by default; `coded` texts stay as dictionaries.

    Timestamps are in the local time of their zone; those of a column that has no time but midnight are days.

    Raises
    ------
    DataError
        If the file is damaged, or these do not fit in memory.
    """
    try:
        file = pq.ParquetFile(path)
        chosen = list(range(file.metadata.num_row_groups) if groups is None else groups)
        repeated = _repeated_texts(path, file, chosen, names)
        texts = [field.name for field in file.schema_arrow if field.type in _TEXTS] if coded else repeated
        table = pq.ParquetFile(path, read_dictionary=texts).read_row_groups(
            chosen, columns=None if names is None else list(names)
        )
        table = _with_days(file, in_local_time(table))
        if coded:
            return table
        _check_texts(path, table)
        for place, field in enumerate(table.schema):
            if field.name in repeated and pa.types.is_dictionary(field.type):
                table = table.set_column(place, field.name, pc.cast(table.column(place), field.type.value_type))
        return table
    except MemoryError:
        raise too_large(path, "more than is free") from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable_parquet(path, error) from None


def in_local_time(table: pa.Table) -> pa.Table:
    """The table with timestamps as a clock in their zone shows them; in UTC, a midnight may be on another day."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            table = table.set_column(place, field.name, pc.local_timestamp(table.column(place)))
    return table


def _with_days(file: pq.ParquetFile, table: pa.Table) -> pa.Table:
    """The table with days in place of timestamps in columns whose times, in the whole file, are all midnight."""
    for name in [field.name for field in table.schema if pa.types.is_timestamp(field.type)]:
        whole = in_local_time(file.read(columns=[name])).column(0)
        if pc.all(pc.equal(pc.floor_temporal(whole, unit="day"), whole)).as_py():
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, pc.cast(table.column(place), pa.date32()))
    return table


def check_size(path: Path, records: int, least_bytes: int) -> None:
    """Refuse records that take so many bytes at least, where the memory is smaller.

    Raises
    ------
    DataError
    """
    if least_bytes > machine_memory():
        raise too_large(path, f"{records:,} records, at least {_gigabytes(least_bytes)}")


def _repeated_texts(path: Path, file: pq.ParquetFile, groups: Sequence[int], names: Sequence[str] | None) -> list[str]:
    """Refuse what cannot fit, by the footer; columns whose texts may be repeated so often that they do not fit."""
    types = {field.name: field.type for field in file.schema_arrow}
    held = [file.metadata.row_group(group) for group in groups]
    least, most = 0, Counter[str]()
    for chunk in (group.column(place) for group in held for place in range(group.num_columns)):
        name = chunk.path_in_schema
        if names is None or name in names or name.partition(".")[0] in names:
            kind = types.get(name)
            width = kind.byte_width if kind is not None and pa.types.is_fixed_size_binary(kind) else CELL_BYTES
            least += chunk.num_values * width + chunk.total_uncompressed_size
            if chunk.physical_type == "BYTE_ARRAY":
                most[name] += chunk.num_values * chunk.total_uncompressed_size
    check_size(path, sum(group.num_rows for group in held), least)
    repeated = [name for name, size in most.items() if size > machine_memory()]
    if not types.keys() >= set(repeated):
        raise too_large(path, "a nested column whose texts may be longer")
    return repeated


def _check_texts(path: Path, table: pa.Table) -> None:
    """Refuse texts of which each is held once, where they do not fit in memory written out for every record."""
    total = 0
    for column in table.columns:
        if pa.types.is_dictionary(column.type) and column.type.value_type in _TEXTS:
            for chunk in column.chunks:
                lengths = pc.binary_length(chunk.dictionary)
                total += pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0
    if total > machine_memory():
        raise too_large(path, f"texts of {_gigabytes(total)}")


def too_large(path: Path, got: str) -> DataError:
    """The error for a file that does not fit in memory."""
    return DataError(
        "the file is too large for the memory of this machine",
        where=path.name,
        expected=f"at most {_gigabytes(machine_memory())} once it is read",
        got=got,
        fix="release fewer records at a time, or run on a larger machine",
    )


def unreadable_parquet(path: Path, error: Exception) -> DataError:
    """The error for a file that is damaged, naming its kind of fault only."""
    return DataError(
        "the file cannot be read as Parquet",
        where=path.name,
        expected="an undamaged Parquet file",
        got=type(error).__name__,
        fix="export it again",
    )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
