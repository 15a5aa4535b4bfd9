"""Generalization hierarchies in ARX's CSV form: ``leaf;level 1;…;top``, one row a leaf."""

import csv
import hashlib
from pathlib import Path

from tasks.core.errors import HierarchyError
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows

DELIMITER = ";"

_LONGEST_NAME = 100
_PLAIN = frozenset(" -_.()+,=&")


def arx_file(name: str) -> str:
    """File name for an attribute's hierarchy: the attribute's own, without what a path or a file system takes for more.

    >>> arx_file("marital-status"), arx_file("race/ethnicity"), arx_file("../x")
    ('marital-status.csv', 'race%2Fethnicity.csv', '%2E.%2Fx.csv')
    """
    safe = "".join(mark if mark.isalnum() or mark in _PLAIN else _escaped(mark) for mark in name)
    if safe.startswith("."):
        safe = _escaped(".") + safe[1:]
    if len(safe.encode()) > _LONGEST_NAME:
        safe = f"{safe[:20]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return f"{safe}.csv"


def _escaped(mark: str) -> str:
    return "".join(f"%{byte:02X}" for byte in mark.encode())


def read_arx(name: str, path: Path, *, levels_may_cross: bool = False) -> Hierarchy:
    """Read a hierarchy from an ARX CSV file, UTF-8, semicolons between labels.

    Raises
    ------
    HierarchyError
        If the file cannot be read, or its rows are no hierarchy (see ``hierarchy_from_rows``).
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = [row for row in csv.reader(lines, delimiter=DELIMITER) if row]
    except (OSError, UnicodeError, csv.Error) as error:
        raise HierarchyError(
            "the hierarchy cannot be read",
            where=path.name,
            expected="a readable UTF-8 CSV file with semicolons",
            got=type(error).__name__,
            fix="check the file's encoding and permissions",
        ) from None
    return hierarchy_from_rows(name, rows, path.name, levels_may_cross=levels_may_cross)


def write_arx(hierarchy: Hierarchy, path: Path) -> None:
    """Write a hierarchy as an ARX CSV file."""
    # The writer quotes line feeds by itself, but not a carriage return, which ends a row all the same.
    returns = any("\r" in label for label in hierarchy.axis_labels)
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(
            lines,
            delimiter=DELIMITER,
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL,
        )
        for leaf in hierarchy.groups:
            writer.writerow([hierarchy.labels[level][group] for level, group in enumerate(leaf)])
