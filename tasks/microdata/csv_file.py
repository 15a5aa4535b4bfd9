"""Reading CSV, plain or compressed, with every cell as text.

Messages name rows and lines, never a value; a library's own message may quote one and is therefore never passed on.
"""

import codecs
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from tasks.core.errors import DataError, column_positions, row_positions
from tasks.core.plural import plural
from tasks.microdata.foreign_reader import named_columns
from tasks.microdata.parquet import machine_memory, too_large
from tasks.request.file_form import FileForm

_BLOCK_BYTES = 64 * 1024 * 1024
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_FAULTS = (pa.ArrowException, OSError, ValueError, TypeError, LookupError, EOFError, zlib.error)
_FIRST_BYTES, _STATED_DELIMITER = 64, re.compile(r'"?sep=.?"?[\r\n]', re.IGNORECASE)
_NEARLY_ALL = 0.9
_OTHER_DELIMITERS = ",;\t|"
_UNEVEN = "columns, got"
"""Words of the library for a record with more or fewer cells than the header."""


def read_csv(path: Path, form: FileForm) -> pa.Table:
    """A CSV file with all columns as text; where it has no header, they are named by their places.

    Raises
    ------
    DataError
        If it cannot be read as its form says.
    """
    table = None
    try:
        _check_first_line(path, form)
        table = _parsed(path, form)
    except MemoryError:
        raise too_large(path, "more than is free") from None
    except _FAULTS as error:
        if _UNEVEN not in str(error):
            raise _unreadable(path, form, _kind(error)) from None
    if table is None:  # out of the block, whose error quotes a record
        raise _uneven(path, form)
    columns = table.columns if table.num_rows else []
    if any(pc.any(pc.match_substring(column, mark)).as_py() for column in columns for mark in "\n\r"):
        _check_quoting(path, form)
    if form.header:
        table = _without_blank_columns(table)
        _check_header(table, path)
    return table


def _without_blank_columns(table: pa.Table) -> pa.Table:
    """The table without columns that have neither name nor value, as a delimiter at the end of each line makes them."""
    columns = zip(table.column_names, table.columns, strict=True)
    blank = [not name.strip() and not pc.any(pc.not_equal(cells, "")).as_py() for name, cells in columns]
    return table.select([place for place, is_blank in enumerate(blank) if not is_blank])


def _check_header(table: pa.Table, path: Path) -> None:
    """Refuse a header whose cells are values of their own columns: it is a record, or is repeated below."""
    columns = zip(table.column_names, table.columns, strict=True)
    data = [place for place, (name, cells) in enumerate(columns, start=1) if _is_value_of(name, cells)]
    if len(data) > 1 or (data and 2 * len(data) >= table.num_columns):
        raise header_of_data(
            f"{path.name}, {column_positions(data)}",
            f"{plural(len(data), 'name')} with the values of their own columns",
        )


def _is_value_of(name: str, cells: pa.ChunkedArray) -> bool:
    """Whether a name is a value of its column beside others; surveys name a column by the one answer it holds."""
    if not (name and len(cells) and pc.any(pc.equal(cells, name)).as_py()):
        return False
    return bool(pc.any(pc.and_(pc.not_equal(cells, name), pc.not_equal(cells, ""))).as_py())


def header_of_data(where: str, got: str) -> DataError:
    """The error for a first line that is a record; it names places alone, since the names may be of people."""
    return DataError(
        "the first line does not look like column names",
        where=where,
        expected="names of columns, in the first line alone",
        got=got,
        fix="if the first line is a record, state “header: false” under dataset (for init: --form header=false), or "
        "add a line of names; remove a header line that is repeated further down",
    )


class _Uneven(NamedTuple):
    """A record with more or fewer cells than the header."""

    cells: int
    several_lines: bool


def _parsed(path: Path, form: FileForm, uneven: dict[int, _Uneven] | None = None) -> pa.Table:
    """The file as a table; uneven records are left out where there is a place to note them, by position."""

    def note_uneven(row: pacsv.InvalidRow) -> str:
        if uneven is not None:
            uneven[(row.number or 2) - (2 if form.header else 1)] = _Uneven(
                row.actual_columns, "\n" in row.text.strip()
            )
        return "skip"

    with opened(path, form) as stream:
        table = pacsv.read_csv(
            stream,
            read_options=pacsv.ReadOptions(
                block_size=_BLOCK_BYTES,
                encoding=form.encoding,
                use_threads=False,
                autogenerate_column_names=not form.header,
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=form.delimiter,
                newlines_in_values=True,
                # The library shows the handler every cell, and complains in a traceback of those in another encoding.
                invalid_row_handler=None if uneven is None else note_uneven,
            ),
            convert_options=pacsv.ConvertOptions(
                default_column_type=pa.large_string(), strings_can_be_null=False, null_values=[]
            ),
        )
    if form.header:
        return table.rename_columns(named_columns(table.column_names))  # raises where one is not of the encoding
    return table.rename_columns([f"column_{place}" for place in range(1, table.num_columns + 1)])


def _uneven(path: Path, form: FileForm) -> DataError:
    """The error that says which records have more or fewer cells than the header, or that the encoding is another."""
    uneven: dict[int, _Uneven] = {}
    try:
        _check_encoding(path, form)
        table = _parsed(path, form, uneven)
    except _FAULTS as error:
        return _unreadable(path, form, _kind(error))
    cells, records = table.num_columns, table.num_rows + len(uneven)
    if cells == 1 and form.header and (other := other_delimiter(table.column_names[0], path, form)):
        return other
    usual, held = Counter(one.cells for one in uneven.values()).most_common(1)[0]
    if form.header and usual > cells and held >= _NEARLY_ALL * records:
        return DataError(
            "the first line has fewer cells than the records",
            where=f"{path.name}, line 1",
            expected="the name of each column",
            got=f"the first line has {plural(cells, 'cell')}, {'' if held == records else 'nearly all '}the others "
            f"{usual:,}",
            fix="delete the lines above the column names, if the first line is a title; else complete the names, or "
            "check dataset.delimiter",
        )
    if any(one.several_lines for one in uneven.values()):
        _check_quoting(path, form)
    fewer, more = ([one.cells for one in uneven.values() if (one.cells < cells) is few] for few in (True, False))
    fixes = {
        "add the missing cells, if only the delimiters of empty ones; quote cells that hold a line break": fewer,
        "quote cells that hold the delimiter": more,
    }
    return DataError(
        "records have more or fewer cells than the header",
        where=f"{path.name}, {row_positions(uneven)}",
        expected=f"{plural(cells, 'cell')} in every record",
        got="; ".join(f"{plural(len(some), 'record')} with {_range_of(some)}" for some in (fewer, more) if some),
        fix="; ".join(fix for fix, some in fixes.items() if some),
    )


def _range_of(cells: Sequence[int]) -> str:
    least, most = min(cells), max(cells)
    return plural(most, "cell") if least == most else f"{least:,} to {plural(most, 'cell')}"


def other_delimiter(header: str, path: Path, form: FileForm) -> DataError | None:
    """The error for a header that is one cell, where another delimiter divides it into several."""
    columns = {mark: header.count(mark) + 1 for mark in _OTHER_DELIMITERS}
    mark = max(columns, key=columns.__getitem__)
    if columns[mark] == 1:
        return None
    shown = "a tab" if mark == "\t" else f"“{mark}”"
    return DataError(
        "the file has another delimiter than the one stated",
        where=f"{path.name}, line 1",
        expected=f"“{form.delimiter}” between the names of the columns",
        got=f"none; with {shown} the header has {columns[mark]} columns",
        fix=f"set dataset.delimiter to {json.dumps(mark)} (for init: --form delimiter=…)",
    )


def _check_first_line(path: Path, form: FileForm) -> None:
    """Refuse a line before the header that states the delimiter, as Excel takes it."""
    with opened(path, form) as stream:
        start = stream.read(_FIRST_BYTES).decode(form.encoding, errors="ignore").removeprefix("\ufeff")
    if _STATED_DELIMITER.match(start):
        raise DataError(
            "the first line states the delimiter",
            where=f"{path.name}, line 1",
            expected="the names of the columns in the first line",
            got="“sep=” and a delimiter, which Excel alone reads",
            fix="remove the first line",
        )


def _check_encoding(path: Path, form: FileForm) -> None:
    """Raise UnicodeDecodeError where the bytes are not of the encoding."""
    decoder = codecs.getincrementaldecoder(form.encoding)()
    with opened(path, form) as stream:
        while content := stream.read(_BLOCK_BYTES):
            decoder.decode(content)
    decoder.decode(b"", final=True)


def _check_quoting(path: Path, form: FileForm) -> None:
    """Refuse a quotation mark out of place: the reader would take all records up to the next one for a single cell."""
    with opened(path, form) as stream:
        content = stream.read()
    decoded = content.decode(form.encoding, errors="replace").removeprefix("\ufeff")
    text = np.frombuffer(decoded.encode(), dtype=np.uint8)
    marks = np.flatnonzero(text == ord('"'))
    padded = np.concatenate([[ord("\n")], text, [ord("\n")]])
    beside = padded[marks + 2 * (np.arange(len(marks)) % 2)]  # before an opening mark, after a closing one
    wrong = ~np.isin(beside, [ord(mark) for mark in (form.delimiter, "\n", "\r", '"')])
    wrong[-1:] |= len(marks) % 2 == 1
    if wrong.any():
        first = marks[wrong.argmax()]
        line = 1 + int(np.count_nonzero(text[:first] == ord("\n")))
        raise DataError(
            "a quotation mark is out of place, so that records run together",
            where=f"{path.name}, line {line}",
            expected="quotation marks around whole cells, and doubled inside them",
            got="one that neither opens nor closes a cell",
            fix="export the file again, with cells quoted that hold a quotation mark or a line break",
        )


@contextmanager
def opened(path: Path, form: FileForm) -> Iterator[IO[bytes] | pa.NativeFile]:
    """The bytes of a CSV file, decompressed where its first bytes say that it is compressed.

    Raises
    ------
    DataError
        If an archive is damaged, encrypted or too large, or it is not clear which of its files is meant.
    """
    start = first_bytes(path)
    if not start.startswith(_ZIP):
        with pa.input_stream(path, compression="gzip" if start.startswith(_GZIP) else None) as stream:
            yield stream
        return
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_member(archive, path, form.member)) as stream:
            yield stream
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise _unreadable_archive(path, f"a damaged or encrypted archive ({type(error).__name__})") from None


def _member(archive: zipfile.ZipFile, path: Path, named: str | None) -> zipfile.ZipInfo:
    """The file of an archive that is read: the one that is named, or the only one."""
    files = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    found = [one for one in files if named in (None, one.filename)]
    if len(found) != 1:
        raise _unreadable_archive(
            path, f"{len(files)} files, and {'none is named' if named is None else 'not one of that name'}"
        )
    if found[0].file_size > machine_memory():
        raise too_large(path, f"{found[0].file_size:,} bytes once it is decompressed")
    return found[0]


def _unreadable_archive(path: Path, got: str) -> DataError:
    return DataError(
        "the zip archive cannot be read",
        where=path.name,
        expected="an archive of one CSV file, or of several of which dataset.member names one",
        got=got,
        fix="name the file under dataset.member (for init: --form member=NAME), or decompress the archive",
    )


def is_archive(path: Path) -> bool:
    """Whether a file that is no workbook is compressed."""
    return first_bytes(path).startswith((_GZIP, _ZIP))


def first_bytes(path: Path) -> bytes:
    """The first bytes of a file, which show its format."""
    with path.open("rb") as stream:
        return stream.read(16)


def _unreadable(path: Path, form: FileForm, got: str) -> DataError:
    return DataError(
        "the file cannot be read as CSV",
        where=path.name,
        expected=f"text in {form.encoding} with “{form.delimiter}” between cells",
        got=got,
        fix="check dataset.encoding and dataset.delimiter, or export the file again",
    )


def _kind(error: Exception) -> str:
    words = {
        "UTF8": "bytes that are not of this encoding",
        "UTF-8": "bytes that are not of this encoding",
        "straddling": f"a record longer than {_BLOCK_BYTES // 2**20} MiB",
        "Empty CSV": "no record after the header",
    }
    if isinstance(error, UnicodeError):
        return words["UTF8"]
    unknown = "an encoding that is not known" if isinstance(error, LookupError) else type(error).__name__
    return next((told for sign, told in words.items() if sign in str(error)), unknown)
