"""The process that reads a file of another program: ``python -m`` this with format, sheet, encoding, memory and path.

It writes the table to standard output as an Arrow stream, or ends with an exit code and numbers that go with it
(``tasks.microdata.foreign_file``).
Numbers that are whole in all of a column are written without a decimal point. Labels of coded values are not put in
their place: a request is about the codes. They are metadata of the table (``VALUE_LABELS``), as those of its columns
are (``LABELS``).
"""

import json
import re
import resource
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from enum import IntEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

LABELS = b"labels"
"""Key of the table's metadata under which the labels of its columns are, by their names, as JSON."""
VALUE_LABELS = b"value labels"
"""Key under which the labels of coded values are, by column and code as text, as JSON."""
_LARGEST_WHOLE = 2**53
_BYTES_OF_CELL = 100
"""Of a cell of a workbook while it is read, at least."""
_PLACE = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")


class Exit(IntEnum):
    """Exit codes of the process."""

    READ = 0
    NOT_INSTALLED = 10
    NO_SHEET = 11
    OTHER_SHEETS = 16
    NO_HEADER = 12
    TOO_LARGE = 13
    DAMAGED = 14
    CATALOG = 15


def named_columns(names: Sequence[str]) -> list[str]:
    """Names of columns as in a header; the first one, where it has none, is that of row names.

    R and pandas write row names, such as 1, 2, 3, under an empty name unless told otherwise.

    >>> named_columns(["", "age"])
    ['row_names', 'age']
    """
    return ["row_names", *names[1:]] if list(names[:1]) == [""] and "row_names" not in names else list(names)


class NotRead(Exception):
    """A file that is not read, with the exit code that says why, and the numbers that its message has."""


def read(kind: str, sheet: str, encoding: str, path: Path) -> pa.Table:
    """The table that a file holds; raises NotRead, or whatever a library raises on a damaged file."""
    table = _workbook(path, sheet) if kind == "excel" else _statistical(kind, encoding, path)
    whole = pa.table([_whole(column) for column in table.columns], names=table.column_names)
    return whole.replace_schema_metadata(table.schema.metadata)


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of whole numbers as such, which Stata, SPSS, SAS and Excel hold as decimal ones."""
    if not pa.types.is_floating(column.type):
        return column
    present = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    bounds = pc.and_(pc.less(pc.abs(present), _LARGEST_WHOLE), pc.equal(pc.floor(present), present))
    return pc.cast(present, pa.int64()) if pc.all(bounds).as_py() else present


def _statistical(kind: str, encoding: str, path: Path) -> pa.Table:
    import pyreadstat  # noqa: PLC0415  an extra

    readers: Mapping[str, Callable[..., Any]] = {
        "sas": pyreadstat.read_sas7bdat,
        "sas-transport": pyreadstat.read_xport,
        "stata": pyreadstat.read_dta,
        "spss": pyreadstat.read_sav,
    }
    frame, about = readers[kind](str(path), **({"encoding": encoding} if encoding else {}))
    single = [about.readstat_variable_types.get(name) == "float" for name in about.column_names]
    columns = [pa.array(_typed(_cells(frame.iloc[:, place], single[place]))) for place in range(frame.shape[1])]
    labels = {name: label for name, label in about.column_names_to_labels.items() if label}
    table = pa.table(columns, names=[str(name) for name in about.column_names])
    coded = {
        name: {_text(code): str(label) for code, label in of_codes.items()}
        for name, of_codes in (_of_catalog(path, about) if kind == "sas" else about.variable_value_labels).items()
    }
    return table.replace_schema_metadata({LABELS: json.dumps(labels), VALUE_LABELS: json.dumps(coded)})


def _of_catalog(path: Path, about: Any) -> Mapping[str, Mapping[Any, str]]:
    """Labels of coded values from the catalog of formats beside a SAS data set: of its name, else ``formats``."""
    import pyreadstat  # noqa: PLC0415  an extra

    beside = (path.with_name(f"{name}.sas7bcat") for name in (path.stem, "formats"))
    catalog = next((one for one in beside if one.is_file()), None)
    if catalog is None:
        return {}
    try:
        _, formats = pyreadstat.read_sas7bcat(str(catalog))
    except Exception:  # whatever the library raises
        raise NotRead(Exit.CATALOG) from None
    return {name: formats.value_labels.get(used, {}) for name, used in about.variable_to_label.items()}


def _cells(column: Any, single: bool) -> list[Any]:
    """The cells of a column of pandas; numbers of single precision with the digits that tell them apart, no more."""
    if single and column.dtype.kind == "f":
        column = column.astype("float32").astype(str).astype("float64")
    return list(column)


def _workbook(path: Path, sheet: str) -> pa.Table:
    from python_calamine import CalamineWorkbook  # noqa: PLC0415  an extra

    _check_places(path)
    book = CalamineWorkbook.from_path(str(path))
    if sheet and sheet not in book.sheet_names:
        raise NotRead(Exit.OTHER_SHEETS)
    sheets = [sheet] if sheet else book.sheet_names
    filled = [found for name in sheets if (found := _rows(book, name))]
    if len(filled) != 1:
        raise NotRead(Exit.NO_SHEET, len(filled))
    ((first, rows),) = filled
    header, *records = rows
    names = named_columns([name.strip() if isinstance(name, str) else "" for name in header])
    if not all(names):
        raise NotRead(Exit.NO_HEADER, first, names.count(""), len(names))
    cells = zip(*records, strict=True) if records else ([] for _ in header)
    return pa.table([pa.array(_typed(list(column))) for column in cells], names=names)


def _rows(book: Any, name: str) -> tuple[int, list[list[Any]]] | None:
    """Rows of a sheet that hold anything, without columns that do not, and the number of the first; None for none."""
    sheet = book.get_sheet_by_name(name)
    numbered = [(at, row) for at, row in enumerate(sheet.to_python(), start=1) if any(cell != "" for cell in row)]
    if not numbered:
        return None
    rows = [row for _, row in numbered]
    used = [place for place in range(len(rows[0])) if any(row[place] != "" for row in rows)]
    return sheet.start[0] + numbered[0][0], [[row[place] for place in used] for row in rows]


def _check_places(path: Path) -> None:
    """Refuse a workbook whose cells are so far apart that the rectangle around them does not fit in memory."""
    if not zipfile.is_zipfile(path):
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    with zipfile.ZipFile(path) as archive:
        if sum(one.file_size for one in archive.infolist()) > limit:
            raise NotRead(Exit.TOO_LARGE)
        for name in (name for name in archive.namelist() if _SHEET.fullmatch(name)):
            found = _PLACE.findall(archive.read(name))
            width = max((_column_number(letters) for letters, _ in found), default=0)
            height = max((int(row) for _, row in found), default=0)
            if width * height * _BYTES_OF_CELL > limit:
                raise NotRead(Exit.TOO_LARGE)


def _column_number(letters: bytes) -> int:
    """Number of a column from 1, such as 27 of AA."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _typed(cells: Sequence[Any]) -> list[Any]:
    """Cells as one type: as they are where all are numbers or all are days, else as text; None for no value."""
    held = [None if cell is None or cell == "" or cell != cell else cell for cell in cells]  # noqa: PLR0124
    kinds = {type(cell) for cell in held if cell is not None}
    if kinds <= {float, int} or kinds == {bool}:
        return held
    if kinds <= {datetime, date} and all(_is_day(cell) for cell in held if cell is not None):
        return [date(cell.year, cell.month, cell.day) if cell is not None else None for cell in held]
    return [None if cell is None else _text(cell) for cell in held]


def _is_day(cell: date) -> bool:
    return not isinstance(cell, datetime) or cell.time() == time()


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _LARGEST_WHOLE:
        return str(int(cell))
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ", "seconds")
    if isinstance(cell, timedelta):
        return str(cell.total_seconds())
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def main(kind: str, sheet: str, encoding: str, memory: str, path: str) -> int:
    """Read a file under a limit of memory, and write the table; the exit code says why not."""
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    try:
        table = read(kind, sheet, encoding, Path(path))
        with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
            stream.write_table(table)
    except NotRead as refusal:
        code, *numbers = refusal.args
        sys.stdout.write(" ".join(map(str, numbers)))
        return int(code)
    except ImportError:
        return Exit.NOT_INSTALLED
    except MemoryError:
        return Exit.TOO_LARGE
    except BaseException:  # a reader in Rust ends in a panic, which is no Exception
        return Exit.DAMAGED
    return Exit.READ


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
