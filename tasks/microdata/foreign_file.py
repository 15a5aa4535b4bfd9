"""Reading files of Excel, SAS, Stata and SPSS, by ``tasks.microdata.foreign_reader`` in a process of its own.

Such files are binary, and their readers are compiled: a damaged file may end a process, ask for all memory, or make a
reader print what it holds. So the process that reads has a limit on its memory and no way to print, and all that comes
back is a table, or an exit code with some numbers.
"""

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from tasks.core.errors import DataError
from tasks.core.plural import plural
from tasks.microdata.csv_file import first_bytes
from tasks.microdata.foreign_reader import Exit
from tasks.microdata.parquet import machine_memory, too_large
from tasks.request.file_form import FileForm, FileFormat

_ROOT = Path(__file__).parents[2]
NAMES: Mapping[FileFormat, str] = MappingProxyType(
    {
        FileFormat.EXCEL: "an Excel workbook (.xlsx, .xlsm or .xls)",
        FileFormat.SAS: "a SAS data set (.sas7bdat)",
        FileFormat.SAS_TRANSPORT: "a SAS transport file (.xpt)",
        FileFormat.STATA: "a Stata file (.dta)",
        FileFormat.SPSS: "an SPSS file (.sav or .zsav)",
    }
)
_PLAIN = "a CSV or Parquet file"
_MARKS: Mapping[FileFormat, tuple[bytes, ...]] = MappingProxyType(
    {
        FileFormat.EXCEL: (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        FileFormat.SAS: (b"\0" * 12 + b"\xc2\xea\x81\x60",),
        FileFormat.SAS_TRANSPORT: (b"HEADER RECORD***",),
        FileFormat.STATA: (
            b"<stata_dta>",
            *(bytes([release, order]) for release in range(104, 116) for order in (1, 2)),
        ),
        FileFormat.SPSS: (b"$FL2", b"$FL3"),
    }
)
"""First bytes of the files of each program."""


def format_of(path: Path) -> FileFormat | None:
    """Program that a file is of by its first bytes; None for CSV and Parquet, zip archives among them."""
    start = first_bytes(path)
    found = next((one for one, marks in _MARKS.items() if start.startswith(marks)), None)
    return None if start.startswith(b"PK") and not _is_workbook(path) else found


def _is_workbook(path: Path) -> bool:
    """Whether a zip archive is an Excel workbook."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/workbook.") for name in archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return False


def read_foreign(path: Path, form: FileForm) -> pa.Table:
    """A file of the program that its form states: numbers and dates with their types, the rest as text.

    Raises
    ------
    DataError
        If it is not of that program, damaged or too large, or the reader is not installed.
    """
    stated = form.format
    found = format_of(path)
    if stated is None or found is not stated:
        raise DataError(
            "the file is not of the stated format",
            where=path.name,
            expected=NAMES[stated] if stated else _PLAIN,
            got=NAMES[found] if found else _PLAIN,
            fix="export it as CSV or Parquet, or, where it is the dataset, state its program under dataset.format",
        )
    encoding = form.encoding if "encoding" in form.model_fields_set else ""
    command = [sys.executable, "-m", "tasks.microdata.foreign_reader"]
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(  # noqa: S603  the arguments are a path and terms of the request
        [*command, stated.value, form.sheet or "", encoding, str(machine_memory()), str(path.resolve())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    ) as reader:
        content = reader.stdout.read() if reader.stdout else b""
    if reader.returncode == Exit.READ:
        try:
            return pa.ipc.open_stream(content).read_all()
        except pa.ArrowException:
            reader.returncode = Exit.DAMAGED
    raise _refusal(path, stated, reader.returncode, content, named=bool(form.sheet))


def _refusal(path: Path, stated: FileFormat, code: int, content: bytes, *, named: bool) -> DataError:
    if code == Exit.TOO_LARGE:
        return too_large(path, "a table that does not fit")
    numbers = [int(one) for one in content.split()] if code in (Exit.NO_SHEET, Exit.NO_HEADER) else []
    if code == Exit.NO_HEADER:
        row, unnamed, columns = numbers
        return DataError(
            "the first row does not name the columns",
            where=f"{path.name}, row {row}",
            expected="the names of all columns in the first row that holds anything",
            got=f"{unnamed} of {plural(columns, 'column')} without a name",
            fix="delete the rows above the column names, if this one is a title; else name every column",
        )
    several = code == Exit.NO_SHEET and numbers[0] > 1
    reasons = {
        Exit.CATALOG: (
            "a catalog of formats (.sas7bcat) beside the data set that can be read, or none",
            "a damaged catalog",
            "export the catalog again, or move it elsewhere: the draft has no labels of values then",
        ),
        Exit.NOT_INSTALLED: (
            "the reader of this format, installed",
            "no such package",
            "install releasegate with the extra “readers”, or export the file as CSV or Parquet",
        ),
        Exit.NO_SHEET: (
            "a workbook with one sheet that holds anything, or the sheet that dataset.sheet names",
            f"{numbers[0]} sheets that hold something, and none is named",
            "name the sheet, spelled as in the workbook, under dataset.sheet (for init: --form sheet=NAME)",
        )
        if several
        else (
            "a sheet with a row of column names and records",
            "an empty sheet" if named else "a workbook without anything in it",
            "export the file again" + (", or name another sheet under dataset.sheet" if named else ""),
        ),
        Exit.OTHER_SHEETS: (
            "the sheet that dataset.sheet names",
            "a workbook without a sheet of that name",
            "copy the name from the workbook, with its capitals, to dataset.sheet (for init: --form sheet=NAME)",
        ),
    }
    expected, got, fix = reasons.get(
        Exit(code) if code in set(Exit) else Exit.DAMAGED,
        (f"{NAMES[stated]}, undamaged and without a password", "a file that cannot be read", "export it again"),
    )
    what = f"{NAMES[stated].partition(' (')[0]} cannot be read"
    return DataError(what, where=path.name, expected=expected, got=got, fix=fix)
