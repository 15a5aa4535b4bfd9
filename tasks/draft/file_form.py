"""The form of a file that no request describes yet: what its bytes show, and a question where they leave two readings.

Encoding, delimiter and header are told by the text, dates and marks of numbers by all values of a column. Nothing is
taken because it is likelier: a draft states the form, and people and the gate read the file by it.
"""

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from tasks.core.errors import DataError, ParameterError
from tasks.microdata.csv_file import is_archive, opened
from tasks.microdata.foreign_file import NAMES, format_of
from tasks.microdata.read import is_parquet, read_text
from tasks.microdata.written_forms import in_plain_forms, looks_like, number_pattern
from tasks.request.file_form import FileForm

MISSING_MARKS = frozenset({"?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "."})
"""Cells that commonly stand for “no value” and are taken for it in a draft."""

_TERMS = ("dates", "decimal", "delimiter", "encoding", "header", "member", "sheet", "thousands")
"""Terms that people may state of a file."""
_BLOCK_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 18
_SAMPLE_ROWS = 500
_DELIMITERS = "\t;|,"
_NAMED = {"\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces", "'": "apostrophes"}
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_OTHER_CODE_PAGE = re.compile(rb"[A-Za-z][\x80\x82\x84-\x89\x8b\x91\x93-\x99\x9b][A-Za-z]|[a-z][\x8a\x8c\x8e\x9f][a-z]")
"""Marks and capitals of cp1252 within words, where letters of another encoding stand."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_NUMBER = re.compile("[+\u2212-]?[0-9][0-9., \u00a0\u2009\u202f'\u2019]*")
_DATE = re.compile(r"[0-9]{1,4}([-./])[0-9]{1,2}\1[0-9]{1,4}.*")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_SHAPES: Mapping[str, tuple[str, ...]] = {
    r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{4}": ("dd{0}mm{0}yyyy", "mm{0}dd{0}yyyy"),
    r"[0-9]{4}([./-])[0-9]{1,2}\1[0-9]{1,2}": ("yyyy{0}mm{0}dd",),
    r"[0-9]{1,2}([- /]?)[A-Za-z]{3}\1[0-9]{4}": ("dd{0}mon{0}yyyy",),
    r"(?:18[89]|19[0-9]|20[0-9])[0-9]{5}()": ("yyyymmdd",),
}
"""Shapes of dates, and the forms that they may have, of which the first is the only one with points."""


def take_in(path: Path, written: str, stated: Mapping[str, object]) -> tuple[pd.DataFrame, FileForm]:
    """Read a table in the form that its bytes show, and give the form.

    Parameters
    ----------
    written : str
        The path as a request is to name it.
    stated : mapping
        Terms of the form that a person has stated, by name; ``dates`` is the form of all columns whose dates can be
        read in two ways.

    Returns
    -------
    DataFrame of shape (n_records, n_columns), FileForm
        Every column as text, dates and numbers in plain form.

    Raises
    ------
    DataError
        If the file cannot be read, or it is not clear how.
    """
    answer = str(stated.get("dates", ""))
    terms = {name: value for name, value in stated.items() if name != "dates"}
    kind = format_of(path)
    form = _stated_form(written, terms if kind is None else {**terms, "format": kind})
    if kind is None and not is_parquet(path):
        form = form.stated(**_text_form(path, form, terms))
    frame = read_text(path, form)
    if not frame.columns.is_unique:
        return frame, form  # refused with its header
    is_mark = frame.isin(MISSING_MARKS)
    values = frame.mask(is_mark)
    dates = _dates(values, answer)
    numbers = values.drop(columns=[*dates, *frame.attrs["numbers"]])
    form = form.stated(**({"dates": dates} if dates else {}), **_marks_of_numbers(numbers, form, terms))
    marks = (form.decimal, form.thousands)
    whole = f"^[+-]?[0-9]+(?:{re.escape(form.decimal)}0*)?$"
    plain = in_plain_forms(
        values,
        form,
        [str(name) for name in numbers if _are_numbers(numbers[name], marks)],
        [str(name) for name in numbers if _all_match(numbers[name], whole)],
        [] if is_parquet(path) else [str(name) for name in values],
    )
    taken = plain.where(~is_mark, frame)
    taken.attrs = frame.attrs
    return taken, form


def differences(path: Path, form: FileForm) -> list[str]:
    """Form of a file in words, where that is not plain CSV: commas, UTF-8, a header and decimal points."""
    said = {
        NAMES[form.format].partition(" (")[0] if form.format else "": form.format is not None,
        "compressed": form.format is None and is_archive(path),
        f"file {form.member}": form.member is not None,
        f"sheet {form.sheet}": form.sheet is not None,
        _NAMED.get(form.delimiter, f"“{form.delimiter}” between cells"): form.delimiter != ",",
        form.encoding: form.encoding != "utf-8",
        "decimal comma": form.decimal == ",",
        f"{_NAMED.get(form.thousands, f'“{form.thousands}”')} between thousands": form.thousands != "",
        f"dates {', '.join(sorted(set(form.dates.values())))}": bool(form.dates),
        "no header line": not form.header,
    }
    return [words for words, applies in said.items() if applies]


def take_in_all(files: Mapping[str, Path], stated: Mapping[str, object]) -> dict[str, tuple[pd.DataFrame, FileForm]]:
    """Read files in the one form that the bytes of all of them show, by the paths that a request is to name.

    Raises
    ------
    DataError
        As ``take_in``; or if no form reads every file as its own does.
    """
    taken = {written: take_in(path, written, stated) for written, path in files.items()}
    shared: dict[str, object] = {}
    for written, (_, form) in taken.items():
        for term, value in _shared_terms(form).items():
            if shared.setdefault(term, value) != value:
                raise _not_of_one_form(written, term)
    for written, (frame, form) in taken.items():
        differing = [term for term in shared if term not in _shared_terms(form)]
        if differing:
            taken[written] = take_in(files[written], written, {**stated, **shared})
            if not taken[written][0].equals(frame):
                raise _not_of_one_form(written, differing[0])
    return taken


def _shared_terms(form: FileForm) -> dict[str, object]:
    return form.model_dump(mode="json", exclude_defaults=True, exclude={"path", "dates"})


def _not_of_one_form(written: str, term: str) -> DataError:
    return DataError(
        "the files are not of one form",
        where=f"{written}, {term}",
        expected="files of one request with the same encoding, delimiter and marks",
        got="a file that is read differently from the others",
        fix="export the files again in one form, or as Parquet",
    )


def _stated_form(path: str, terms: Mapping[str, object]) -> FileForm:
    """The form as far as a person has stated it; ParameterError for a term that a request may not have."""
    try:
        return FileForm.model_validate({"path": path, **terms})
    except ValidationError as error:
        found = error.errors()[0]
    told = found.get("ctx", {})
    # A broken rule is of the whole form and names the term in its context.
    name = str((*found["loc"], *told.get("at", ()))[0])
    described = FileForm.model_fields[name].description if name in FileForm.model_fields else None
    raise ParameterError(
        "the form of the file is not one that a request may state",
        where=f"--form, {name}",
        expected=told.get("expected") or described or f"a term that is one of {', '.join(_TERMS)}",
        fix=told.get("fix") or ("correct its value" if described else "correct its name"),
    )


def _text_form(path: Path, form: FileForm, stated: Mapping[str, object]) -> dict[str, object]:
    """Encoding, delimiter and header of a CSV file, those that are not stated."""
    found: dict[str, object] = {"encoding": _encoding(path, form)} if "encoding" not in stated else {}
    form = form.stated(**found)
    text = _start(path, form)
    if "delimiter" not in stated:
        found["delimiter"] = _delimiter(text)
    rows = list(_rows(text, str(found.get("delimiter", form.delimiter))))
    if "header" not in stated and not _has_header(rows):
        found["header"] = False
    return {name: value for name, value in found.items() if value != getattr(FileForm(path="data"), name)}


def _encoding(path: Path, form: FileForm) -> str:
    """The encoding of a text: by its mark, UTF-16 by its zeros, UTF-8 if it is that, else cp1252 if it may be."""
    with _bytes(path, form) as stream:
        start = stream.read(_SAMPLE_BYTES)
    marked = next((name for mark, name in _BOMS.items() if start.startswith(mark)), None)
    even, odd = start[::2].count(0), start[1::2].count(0)
    half = len(start) // 4
    candidates = ("utf-16-le",) if odd > half else ("utf-16-be",) if even > half else ("utf-8", "cp1252")
    for name in [marked] if marked else candidates:
        if _decodes(path, form, name):
            return name
    if candidates[0] == "utf-8" and (line := _line_of_nul(path, form)):
        raise DataError(
            "the file is damaged, or is no text",
            where=f"{path.name}, line {line:,}",
            expected="text, in which no byte is zero",
            got="a NUL byte",
            fix="export the file again",
        )
    raise DataError(
        "the encoding of the file is not clear",
        where=path.name,
        expected="text in UTF-8, UTF-16, Latin-1 or cp1252 (Windows)",
        got="bytes that are not text in any of these",
        fix="state it, as with --form encoding=cp850 or --form encoding=mac-roman, or export the file as UTF-8",
    )


def _line_of_nul(path: Path, form: FileForm) -> int:
    """Line of the first byte that is zero; 0 for none."""
    line = 1
    with _bytes(path, form) as stream:
        while content := stream.read(_BLOCK_BYTES):
            before, nul, _ = content.partition(b"\0")
            line += before.count(b"\n")
            if nul:
                return line
    return 0


def _decodes(path: Path, form: FileForm, name: str) -> bool:
    """Whether the whole file is text in an encoding; cp1252, which takes nearly all bytes, has to look like it too."""
    decoder = codecs.getincrementaldecoder(name)()
    with _bytes(path, form) as stream:
        content = b"-"
        while content:
            content = stream.read(_BLOCK_BYTES)
            try:
                text = decoder.decode(content, final=not content)
            except UnicodeError:
                return False
            if _CONTROL.search(text) or (name == "cp1252" and _OTHER_CODE_PAGE.search(content)):
                return False
    return True


@contextmanager
def _bytes(path: Path, form: FileForm) -> Iterator[IO[bytes] | pa.NativeFile]:
    """The bytes of a CSV file, decompressed.

    Raises
    ------
    DataError
        If they are damaged.
    """
    try:
        with opened(path, form) as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            "the file cannot be decompressed",
            where=path.name,
            expected="an undamaged file",
            got=type(error).__name__,
            fix="export it again",
        ) from None


def _start(path: Path, form: FileForm) -> str:
    """The first lines of a text, whole ones; those that do not decode are told of where the file is read."""
    with _bytes(path, form) as stream:
        content = stream.read(_SAMPLE_BYTES)
    try:
        text = content.decode(form.encoding, errors="replace").removeprefix("\ufeff")
    except LookupError:
        return ""
    return text if len(content) < _SAMPLE_BYTES else text[: text.rfind("\n") + 1]


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """Rows of a text but the empty ones, as far as they can be read."""
    try:
        rows = (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)
        yield from islice(rows, _SAMPLE_ROWS)
    except (csv.Error, TypeError):
        return


def _delimiter(text: str) -> str:
    """The character that divides every row into equally many cells; of several the rarer one in texts and numbers."""
    header: dict[str, int] = {}
    below = ""
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in _rows(text, delimiter)]
        if len(set(widths)) == 1 and widths[0] > 1:
            return delimiter
        header[delimiter] = widths[0] if widths else 0
        if len(set(widths[1:])) == 1 and widths[1] > 1:
            below = below or delimiter
    # The reader says which rows are uneven.
    most = max(header, key=header.__getitem__)
    return below or (most if header[most] > 1 else ",")


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names columns: not where each column of numbers or dates has one in that row as well."""
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        return True
    first, *rest = rows
    typed = [
        place
        for place, cells in enumerate(zip(*rest, strict=True))
        if _is_typed([cell for cell in cells if cell.strip() and cell not in MISSING_MARKS])
    ]
    shown = [first[place].strip() for place in typed]
    years = all(_YEAR.fullmatch(cell) for cell in shown)
    return not typed or years or not all(_is_typed([cell]) for cell in shown)


def _is_typed(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_NUMBER.fullmatch(cell.strip()) or _DATE.fullmatch(cell.strip()) for cell in cells)


def _dates(frame: pd.DataFrame, answer: str) -> dict[str, str]:
    """Form of the dates of each column that holds nothing else, where it is not YYYY-MM-DD."""
    found: dict[str, str] = {}
    unclear: dict[str, list[str]] = {}
    for name in frame:
        column = frame[name].dropna()
        values = column[column != ""].unique()
        forms = _date_forms([str(value) for value in values])
        if len(forms) > 1:
            forms = [answer] if answer in forms else forms
        if len(forms) > 1:
            unclear[str(name)] = forms
        elif forms:
            found[str(name)] = forms[0]
    if unclear:
        forms = sorted({form for several in unclear.values() for form in several})
        raise DataError(
            "dates can be read in two ways",
            where=f"{'column' if len(unclear) == 1 else 'columns'} {', '.join(unclear)}",
            expected=f"a day that tells one from the other: {' or '.join(forms)}",
            got=f"“{answer}”, which is another form" if answer else "no day after the 12th of a month",
            fix=f"state one of these forms, as with --form dates={forms[0]}",
        )
    return found


def _date_forms(values: Sequence[str]) -> list[str]:
    """Forms that all of some texts have; none for texts that are no dates, or are written YYYY-MM-DD."""
    first = values[0].strip() if values else ""
    for shape, forms in _SHAPES.items():
        if found := re.match(shape, first):
            if found[1] == "-" and first[:4].isdigit():
                return []
            named = [form.format(found[1]) for form in (forms[:1] if found[1] == "." else forms)]
            return [form for form in named if looks_like(values, form)]
    return []


def _marks_of_numbers(frame: pd.DataFrame, form: FileForm, stated: Mapping[str, object]) -> dict[str, object]:
    """The decimal mark and the mark between thousands, where they are not “.” and none."""
    if {"decimal", "thousands"} & stated.keys():
        return {}
    told: list[tuple[str, str]] = []
    unclear: list[str] = []
    for name in frame:
        column = pd.Series(frame[name].unique())
        if not _all_match(column, f"^(?:{_NUMBER.pattern})$") or _all_match(column, "^[+-]?[0-9]+$"):
            continue
        readings = [marks for marks in _MARKS if _are_numbers(column, marks)]
        # Without a mark between thousands first: none is needed where the other is a decimal mark alone.
        if len({decimal for decimal, _ in readings}) == 1:
            told.append(readings[0])
        elif column.str.contains("[.,]").any():
            unclear += [str(name)] * bool(readings)
        elif readings:
            told.append(("", readings[0][1]))
    decimals = {decimal for decimal, _ in told if decimal}
    if unclear and not decimals and (form.delimiter == ";" or _any_has(frame[unclear], ",")):
        raise DataError(
            "numbers can be read in two ways",
            where=f"{'column' if len(unclear) == 1 else 'columns'} {', '.join(unclear)}",
            expected="a number that tells a decimal mark from one between thousands",
            got="one mark before three digits in every number",
            fix="state the decimal mark, with --form decimal=. or --form decimal=,",
        )
    if len(decimals) > 1:
        return {}
    found: dict[str, object] = {"decimal": ","} if decimals == {","} else {}
    thousands = {mark for _, mark in told if mark}
    if decimals:
        thousands |= {mark for mark in {".", ","} - decimals if _any_has(frame[unclear], mark)}
    return found | ({"thousands": thousands.pop()} if len(thousands) == 1 else {})


_SPACED = (" ", "'")
_CODE = "^(?:[0-9]{3}|[0-9]{1,3}[^0-9.,][0-9]{3})(?:[^0-9.,][0-9]{3})+$"
"""Three digits and three, or three groups and more; amounts of one length, such as salaries, have fewer."""
_MARKS = tuple((decimal, mark) for mark in ("", ",", ".", *_SPACED) for decimal in ".," if mark != decimal)
"""Decimal mark and mark between thousands, as files have them."""


def _are_numbers(column: pd.Series, marks: tuple[str, str]) -> bool:
    """Whether all values of a column are numbers with some marks; codes and phones are of one length, and are none."""
    is_code = marks[1] in _SPACED and _all_match(column, _CODE) and column.str.len().nunique() == 1
    return _all_match(column, number_pattern(*marks)) and not is_code


def _all_match(column: pd.Series, pattern: str) -> bool:
    """Whether all values of a column match an expression, and it has one."""
    held = pa.array(column.array, type=pa.large_string()).drop_null()
    held = pc.unique(held.filter(pc.not_equal(held, "")))
    return len(held) > 0 and bool(pc.all(pc.match_substring_regex(held, pattern)).as_py())


def _any_has(frame: pd.DataFrame, mark: str) -> bool:
    return any(bool(frame[name].str.contains(mark, regex=False).any()) for name in frame)
