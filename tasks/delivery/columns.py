"""The columns of a delivered file, by its bytes, its dictionary and its record: all three must name the same."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from tasks.decision.record import DecisionRecord
from tasks.delivery.formula_marks import as_collected
from tasks.delivery.parquet_file import Source, is_parquet, types_in

DICTIONARY_FILE = "dictionary.json"


def columns_of(record: DecisionRecord) -> list[str]:
    """Columns that a copy has by its record, in their order."""
    return [field.name for field in record.fields if field.released]


def column_names(source: Source) -> list[str]:
    """Names of the columns of a clear file in their order, marks aside; none where it cannot be read."""
    try:
        if is_parquet(source):
            return list(types_in(source))
        stream = source.open("rb") if isinstance(source, Path) else io.BytesIO(source)
        with io.TextIOWrapper(stream, encoding="utf-8", newline="") as lines:
            return [as_collected(name) for name in next(csv.reader(lines), [])]
    except (pa.ArrowException, OSError, UnicodeError, csv.Error):
        return []


def dictionary_file(table: str | None) -> str:
    """Path in a delivery of the dictionary of a further table, or of the dataset.

    >>> dictionary_file("visits"), dictionary_file(None)
    ('tables/visits.dictionary.json', 'dictionary.json')
    """
    return DICTIONARY_FILE if table is None else f"tables/{table}.{DICTIONARY_FILE}"


def column_faults(delivery: Path, record: DecisionRecord) -> Iterator[str]:
    """Differences between the record's columns and those of a delivery's file, unless encrypted, or dictionary."""
    stated = record.delivery
    files: dict[str | None, tuple[str, list[str]]] = {
        None: (stated.file if stated else "data.csv", columns_of(record)),
        **({one.table: (one.file, list(one.columns)) for one in stated.tables} if stated else {}),
    }
    for table, (file, columns) in files.items():
        if not (stated and stated.encrypted_to) and column_names(delivery / file) != columns:
            yield _fault(delivery, file, "has other columns than the record")
        if _described(delivery / dictionary_file(table)) != columns:
            yield _fault(delivery, dictionary_file(table), "describes other columns than the record")


def table_faults(hashes: Mapping[str, str], record: DecisionRecord) -> Iterator[str]:
    """Differences between the record and a delivery's files of further tables, by the SHA-256 of each path."""
    tables = () if record.delivery is None else record.delivery.tables
    for one in tables:
        if hashes.get(one.file) != one.sha256:
            yield f"{one.file} is not the file that was decided on"
    own = {one.file for one in tables} | {dictionary_file(one.table) for one in tables}
    for path in hashes:
        if path.startswith("tables/") and path not in own:
            yield f"{path} is of no table of the record"


def _fault(delivery: Path, file: str, fault: str) -> str:
    return f"{file} {fault if (delivery / file).exists() else 'is missing'}"


def _described(dictionary: Path) -> list[str]:
    """Names of the columns that a dictionary describes; none where it cannot be read."""
    try:
        described = json.loads(dictionary.read_bytes())
        return [as_collected(column["name"]) for column in described["columns"]]
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return []
