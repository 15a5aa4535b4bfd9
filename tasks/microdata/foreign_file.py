"""Reading files of Excel, SAS, Stata and SPSS, by ``tasks.microdata.foreign_reader`` in a process of its own.

Such files are binary, and their readers are compiled: a damaged file may end a process, ask for all memory, or make a
reader print what it holds. So the process that reads has a limit on its memory and no way to print, and all that comes
back is a table or an exit code.
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
from tasks.microdata.csv_file import first_bytes
from tasks.microdata.foreign_reader import Exit
from tasks.microdata.parquet import machine_memory, too_large
from tasks.request.file_form import FileForm, FileFormat

_ROOT = Path(__file__).parents[2]
_NAMES: Mapping[FileFormat, str] = MappingProxyType(
    {
        FileFormat.EXCEL: "an Excel workbook (.xlsx, .xlsm or .xls)",
        FileFormat.SAS: "a SAS data set (.sas7bdat)",
        FileFormat.SAS_TRANSPORT: "a SAS transport file (.xpt)",
        FileFormat.STATA: "a Stata file (.dta)",
        FileFormat.SPSS: "an SPSS file (.sav or .zsav)",
    }
)
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
    if stated is None or format_of(path) is not stated:
        raise DataError(
            "the file is not of the stated format",
            where=path.name,
            expected="a CSV or Parquet file" if stated is None else _NAMES[stated],
            got="a file of another program",
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
    raise _refusal(path, stated, reader.returncode, named=bool(form.sheet))


def _refusal(path: Path, stated: FileFormat, code: int, *, named: bool) -> DataError:
    if code == Exit.TOO_LARGE:
        return too_large(path, "a table that does not fit")
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
            ("an empty sheet" if named else "several sheets, and none is named")
            if stated is FileFormat.EXCEL
            else "none",
            "name the sheet, spelled as in the workbook, under dataset.sheet (for init: --form sheet=NAME)",
        ),
        Exit.OTHER_SHEETS: (
            "the sheet that dataset.sheet names",
            "a workbook without a sheet of that name",
            "copy the name from the workbook, with its capitals, to dataset.sheet (for init: --form sheet=NAME)",
        ),
        Exit.NO_HEADER: (
            "the names of all columns in the first row that holds anything",
            "a cell without a name above a column",
            "put the names into one row, with nothing above it but empty cells",
        ),
    }
    expected, got, fix = reasons.get(
        Exit(code) if code in set(Exit) else Exit.DAMAGED,
        (f"{_NAMES[stated]}, undamaged and without a password", "a file that cannot be read", "export it again"),
    )
    return DataError("the file of another program cannot be read", where=path.name, expected=expected, got=got, fix=fix)
