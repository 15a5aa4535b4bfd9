"""The columns of a delivered file, by its bytes, its dictionary and its record: all three must name the same."""

import csv
import io
import json
from collections.abc import Iterator
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


def column_faults(delivery: Path, record: DecisionRecord) -> Iterator[str]:
    """Where the file, unless it is encrypted, or the dictionary of a delivery names other columns than its record."""
    stated, columns = record.delivery, columns_of(record)
    file = stated.file if stated else "data.csv"
    if not (stated and stated.encrypted_to) and column_names(delivery / file) != columns:
        yield f"{file} has other columns than the record"
    try:
        described = json.loads((delivery / DICTIONARY_FILE).read_bytes())
        names = [as_collected(column["name"]) for column in described["columns"]]
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        names = []
    if names != columns:
        yield f"{DICTIONARY_FILE} describes other columns than the record"
