"""Numbers and dates as a file's form says that it writes them, read into the forms that the gate knows.

A decimal mark becomes a point, marks between thousands go, whole numbers lose a point with noughts, and days become
YYYY-MM-DD. What would be read as another value than the one meant is refused by row; what is no number or date at all
is left for validation to find.
"""

import re
from collections.abc import Collection, Iterable
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.core.errors import DataError, row_positions
from tasks.request.file_form import FileForm
from tasks.request.model import NUMERIC, ReleaseRequest, ValueType

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = r"(?:[ T:]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?: ?[APap][Mm])?))?"
_PARTS = {
    "dd": r"(?P<dd>\d{1,2})",
    "mm": r"(?P<mm>\d{1,2})",
    "mon": r"(?P<mon>[A-Za-z]{3})\.?",
    "yyyy": r"(?P<yyyy>\d{4})",
}
_FIXED = {"dd": r"(?P<dd>\d{2})", "mm": r"(?P<mm>\d{2})"}
"""Day and month where nothing stands between them and their neighbours."""
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T].*)?")
_MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]00:00(?::00(?:\.0+)?)?)?$"
_WITH_POINT = r"^[+-]?[0-9]+\.[0-9]+$"
_EMPTY_DECIMALS = r"^([+-]?[0-9]+)\.0*$"
_ALIKE = {" ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}
"""Kinds of space and apostrophe that programs write between thousands."""
_MINUS = "\u2212"
"""The sign of typography, which some programs write for that of a keyboard."""


def as_read(frame: pd.DataFrame, request: ReleaseRequest, plain: Collection[str] = ()) -> pd.DataFrame:
    """The microdata with numbers and dates in the forms that the gate knows.

    Parameters
    ----------
    frame : DataFrame of shape (n_records, n_columns)
        Microdata as text; columns without attribute are left as they are.
    plain : collection of str
        Columns that the file holds as numbers, so that their texts have no marks of the file's own.

    Raises
    ------
    DataError
        If a cell would be read as another number than its form says, or is not a date of its form.
    """
    form = request.dataset
    typed = {name: one.type for name, one in request.attributes.items() if name in frame.columns}
    return in_plain_forms(
        frame,
        form,
        [name for name, kind in typed.items() if kind in NUMERIC and name not in plain],
        [name for name, kind in typed.items() if kind is ValueType.INTEGER],
        [name for name, kind in typed.items() if kind is ValueType.DATE],
    )


def in_plain_forms(
    frame: pd.DataFrame, form: FileForm, numbers: Iterable[str], whole: Iterable[str] = (), days: Iterable[str] = ()
) -> pd.DataFrame:
    """Columns of numbers and those of ``form.dates`` in plain form; ``whole`` are columns of whole numbers.

    ``days`` are columns that lose their times where all of them are midnight.

    Raises
    ------
    DataError
        As ``as_read``.
    """
    changed: dict[str, pd.Series] = {}
    as_written = form.decimal == "." and not form.thousands
    for name in numbers:
        if not as_written or frame[name].str.contains(_MINUS, regex=False).any():
            changed[name] = _plain_numbers(frame[name], form)
    for name in whole:
        texts = pa.array(changed.get(name, frame[name]).array, type=pa.large_string())
        if pc.any(pc.match_substring(texts, ".")).as_py():
            changed[name] = _as_column(pc.replace_substring_regex(texts, _EMPTY_DECIMALS, r"\1"), frame[name])
    dates = {name: written for name, written in form.dates.items() if name in frame.columns}
    changed |= {name: _plain_dates(frame[name], written, form.path) for name, written in dates.items()}
    for name in days:
        texts = pa.array(changed.get(name, frame[name]).array, type=pa.large_string())
        longer = pc.any(pc.greater(pc.binary_length(texts), len("yyyy-mm-dd"))).as_py()
        if longer and pc.all(pc.match_substring_regex(texts, _MIDNIGHT)).as_py():
            changed[name] = _as_column(pc.replace_substring_regex(texts, _MIDNIGHT, r"\1"), frame[name])
    return frame.assign(**changed) if changed else frame


def number_pattern(decimal: str, thousands: str) -> str:
    """Regular expression of a number that is written with some marks, for RE2; commas group as in India, too."""
    mark = _kinds(thousands)
    indian = f"[1-9][0-9]?(?:{mark}[0-9]{{2}})+{mark}[0-9]{{3}}|" if thousands == "," else ""
    digits = f"(?:[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+|{indian}[0-9]+)" if thousands else "[0-9]+"
    return f"^[+{_MINUS}-]?{digits}(?:{re.escape(decimal)}[0-9]*)?(?:[eE][+-]?[0-9]{{1,2}})?$"


def _kinds(mark: str) -> str:
    """Regular expression of a mark between thousands, a space or an apostrophe of any kind."""
    return _ALIKE.get(mark, re.escape(mark))


def _plain_numbers(column: pd.Series, form: FileForm) -> pd.Series:
    texts = pa.array(column.array, type=pa.large_string())
    fits = pc.fill_null(pc.match_substring_regex(texts, number_pattern(form.decimal, form.thousands)), False)
    misread = pc.and_(pc.invert(fits), pc.fill_null(pc.match_substring_regex(texts, _WITH_POINT), False))
    if pc.any(misread).as_py():
        raise _unlike(
            form.path,
            str(column.name),
            np.flatnonzero(misread.to_numpy(zero_copy_only=False)),
            f"numbers with the decimal mark “{form.decimal}”"
            + (f" and “{form.thousands}” between thousands" if form.thousands else ""),
            "dataset.decimal and dataset.thousands",
        )
    plain = pc.replace_substring(texts, _MINUS, "-")
    plain = pc.replace_substring_regex(plain, _kinds(form.thousands), "") if form.thousands else plain
    return _as_column(pc.if_else(fits, pc.replace_substring(plain, form.decimal, "."), texts), column)


def date_pattern(form: str) -> re.Pattern[str]:
    """Regular expression of a date of a form, with or without a time of day."""
    apart = any(mark in form for mark in "-./ ")
    written = re.sub(
        "yyyy|mon|mm|dd|[-./ ]",
        lambda part: (_PARTS if apart else _PARTS | _FIXED).get(part[0], re.escape(part[0])),
        form,
    )
    return re.compile(written + _TIME)


def _plain_dates(column: pd.Series, written: str, path: str) -> pd.Series:
    """Days of one form as YYYY-MM-DD, with the time of day where there is one; what has that form already stays."""
    codes, values = pd.factorize(column.array)
    pattern = date_pattern(written)
    read = [_iso(str(value), pattern) for value in values]
    wrong = np.array([*(one is None for one in read), False], dtype=bool)[codes]
    if wrong.any():
        expected = f"existing days written {written} or yyyy-mm-dd, as dataset.dates says"
        raise _unlike(path, str(column.name), np.flatnonzero(wrong), expected, "dataset.dates")
    texts = pa.array([*read, None], type=pa.large_string())
    return _as_column(texts.take(pa.array(np.where(codes < 0, len(read), codes))), column)


def _iso(text: str, pattern: re.Pattern[str]) -> str | None:
    """A date as YYYY-MM-DD, and its time of day; None where it is none of the form."""
    found = pattern.fullmatch(text.strip())
    if found is None:
        return text if _ISO.fullmatch(text) else None
    parts = found.groupdict()
    month = parts.get("mm") or str(_MONTHS.index(parts["mon"].lower()) + 1 if parts["mon"].lower() in _MONTHS else 0)
    try:
        day = date(int(parts["yyyy"]), int(month), int(parts["dd"])).isoformat()
        return day if found[found.re.groups] is None else f"{day} {_clock(found[found.re.groups])}"
    except ValueError:
        return None


def _clock(text: str) -> str:
    """A time of day in 24 hours; ValueError where there is no such time."""
    plain = text.replace(" ", "").upper()
    seconds = ":%S" if plain.count(":") == 2 else ""
    fraction = ".%f" if "." in plain else ""
    form = f"%I:%M{seconds}{fraction}%p" if plain.endswith("M") else f"%H:%M{seconds}{fraction}"
    return datetime.strptime(plain, form).time().isoformat()


def looks_like(values: Iterable[str], form: str) -> bool:
    """Whether all of some texts are existing days of a form."""
    pattern = date_pattern(form)
    return all(_iso(value, pattern) is not None and not _ISO.fullmatch(value) for value in values)


def _as_column(texts: pa.Array, column: pd.Series) -> pd.Series:
    return pd.Series(pd.array(texts, dtype=column.dtype), index=column.index, name=column.name)


def _unlike(path: str, column: str, rows: np.ndarray, expected: str, terms: str) -> DataError:
    return DataError(
        "cells are not written as the request says",
        where=f"{Path(path).name}, column {column}, {row_positions(rows)}",
        expected=expected,
        got=f"{len(rows)} of a different form",
        fix=f"state {terms} as the file has it, or name texts for “no value” under dataset.missing",
    )
