"""Columns whose values have, all together, the form of days, of postcodes or of the names and numbers of people.

A form that one value has by chance says nothing; one that nearly all the values of a column have does. Shares are of
distinct values where a code is told from a day or a postcode; the first 20,000 of a column tell.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.request.model import PatternName
from tasks.validation.patterns import DATE_AND_TIME, TEXT_PATTERNS
from tasks.validation.readings import arrow
from tasks.validation.values import EncodedColumn, matches

_YEAR, _MONTH, _DAY = "(?P<year>{})", "(?P<month>0[1-9]|1[0-2])", "(?P<day>0[1-9]|[12][0-9]|3[01])"
_SHORT, _LONG = _YEAR.format("[0-9]{2}"), _YEAR.format("(?:19|20)[0-9]{2}")
_NONE = "(?P<year>)"
_BEFORE = "^[^0-9]{0,5}"
_DAYS = (
    *((f"^{_NONE}{one}\\z", 0.95) for one in (_MONTH + _DAY, _DAY + _MONTH)),
    *(
        (_BEFORE + one, 0.99)
        for year in (_LONG, _SHORT)
        for one in (year + _MONTH + _DAY, _DAY + _MONTH + year, _MONTH + _DAY + year)
    ),
)
"""Forms of days in digits, and the least share of a column's values that have it; 3.7 % of random digits do."""
_LEAST_DAYS, _LEAST_OF_MONTH, _LEAST_MONTHS = 50, 25, 10
_MOST_TESTED = 20_000
_WIDTHS = (4, 6, 8)
_POSTCODES = (
    r"^(?i:[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][ABD-HJLNP-UW-Z]{2})\z",
    r"^(?i:[ABCEGHJ-NPRSTVXY][0-9][ABCEGHJ-NPRSTV-Z][ -]?[0-9][ABCEGHJ-NPRSTV-Z][0-9])\z",
    r"^[1-9][0-9]{3} ?[A-Z]{2}\z",
)
"""Postcodes of the United Kingdom, Canada and the Netherlands."""
_MOSTLY = 0.9
_LEAST_POSTCODES = 20
_OF_ONE = r"[0-9@]|[^\s]\s+[^\s]"
_YEARS = r"^(?:18|19|20)[0-9]{2}\z"
_PROSE, _FEW = r"^.{41}", 0.1
_ROWS = 2


def days_in_digits(values: pd.Series) -> bool:
    """Whether distinct values are, or begin with, days written in digits alone, such as 0612, or 250612 and a number.

    They have 50 days at least, of 25 days of a month; of 10 months where they have no year.

    >>> days = pd.Series(pd.date_range("2025-01-01", "2025-06-30"))
    >>> [days_in_digits(days.dt.strftime(form).astype("string[pyarrow]")) for form in ("%y%m%d7", "%d%m%Y", "%m%d")]
    [True, True, False]
    """
    texts = _filled(values.head(_MOST_TESTED))
    return len(values) >= _LEAST_DAYS and any(_are_days(texts, form, share) for form, share in _DAYS)


def _filled(values: pd.Series) -> pa.Array:
    """The texts; numbers that lack a zero that a day of their length begins with have it again."""
    texts = pc.replace_substring_regex(arrow(values), r"^([0-9]+)\.0*\z", r"\1")
    lengths = pc.min_max(pc.utf8_length(texts)).as_py()
    width = 6 if lengths["max"] == 5 else lengths["max"]  # of the years from 2000 to 2009 all lack it
    filled = width in _WIDTHS and lengths["min"] == width - 1
    return pc.utf8_lpad(texts, width=width, padding="0") if filled else texts


def _are_days(texts: pa.Array, form: str, share: float) -> bool:
    read = pc.drop_null(pc.extract_regex(texts, pattern=form))
    if len(read) < share * len(texts):
        return False
    year, month, day = (pc.struct_field(read, name) for name in ("year", "month", "day"))
    days = len(pc.unique(pc.binary_join_element_wise(year, month, day, pa.scalar("-", pa.large_string()))))
    months = len(pc.unique(month)) if pc.all(pc.equal(year, "")).as_py() else _LEAST_MONTHS
    return days >= _LEAST_DAYS and len(pc.unique(day)) >= _LEAST_OF_MONTH and months >= _LEAST_MONTHS


def are_postcodes(values: pd.Series) -> bool:
    """Whether nine in ten distinct values, and 20 at least, have the form of one country's postcodes with letters."""
    first = values.head(_MOST_TESTED)
    return len(first) >= _LEAST_POSTCODES and any(matches(first, form).mean() >= _MOSTLY for form in _POSTCODES)


def rows_again(column: EncodedColumn) -> npt.NDArray[np.bool_]:
    """Rows of an identifier but the first of each value, where it seems to name people in several rows; else none.

    A value is in two rows in the mean, and nine in ten records have one that a person has and a forename, a surname or
    a category lacks: a digit, two words or an “@”. Days, years and free text are of nobody.
    """
    held = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    again = pd.Series(column.codes).duplicated().to_numpy() & (column.codes >= 0)
    none: npt.NDArray[np.bool_] = np.zeros_like(again)
    records, values = int(held.sum()), column.values
    if len(values) < _ROWS or records < _ROWS * len(values) or held[matches(values, _PROSE)].sum() >= _FEW * records:
        return none
    other = np.zeros(len(values), dtype=np.bool_)
    for form in (DATE_AND_TIME, TEXT_PATTERNS[PatternName.FULL_DATE], _YEARS):
        other |= matches(values, form)
    named = held[matches(values, _OF_ONE) & ~other].sum() >= _MOSTLY * records
    return again if named and not days_in_digits(values) else none
