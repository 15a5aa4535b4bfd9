"""A column as its distinct values, and these read as numbers, days and ages."""

import re
from dataclasses import dataclass
from math import floor

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.coded_frame import factorized
from tasks.request.model import ValueType
from tasks.validation.patterns import DATE_AND_TIME, NUMBER, WHOLE_NUMBER
from tasks.validation.readings import arrow, found

_PLAIN_NUMBER = r"^[+-]?(?:0|[1-9][0-9]*)(?:[.,][0-9]+)?\Z"
_DIGITS = "[ \u00a0]?[+-]?[0-9][0-9., \u00a0\u202f'\u2019]*"
_UNIT = re.compile(f"([$€£¥]?){_DIGITS}([%‰€$£¥°]|[A-Za-zµ]{{2,4}}|)")
_MOST_NUMBERS = 0.9
_FEW_TEXTS = 3
_CODE = r"^-(?:[1-9]|[6-9][6-9]|9{1,3}[6-9])(?:\.0*)?\Z"
"""Negative numbers that commonly stand for “no value”."""
_FEW_VALUES = 0.5
"""Share of the other values below which negative ones may be codes."""
_TOP_CATEGORY = re.compile(
    r"(?:(?:>=|≥) *90|(?:>|over|above) *89|90 *(?:\+|(?:years? *)?(?:and|or) *(?:over|older|above)))"
)
_AGE = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:\.[0-9]+)?(?![0-9])")


@dataclass(frozen=True)
class EncodedColumn:
    """A column as its distinct values and, for each record, which of them it holds."""

    values: pd.Series
    """Distinct values, pandas string dtype of shape (n_distinct,), in order of appearance."""
    codes: npt.NDArray[np.intp]
    """Position in ``values`` of each record's value, of shape (n_records,); −1 where missing."""

    def on_records(self, of_values: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Spread a mask of values over the records; False where the cell is missing."""
        return np.append(of_values, False)[self.codes]


def encode(column: pd.Series) -> EncodedColumn:
    """Find the distinct values of a string column.

    >>> encoded = encode(pd.Series(["b", None, "a", "b"], dtype="string[pyarrow]"))
    >>> list(encoded.values), encoded.codes.tolist()
    (['b', 'a'], [0, -1, 1, 0])
    """
    codes, values = factorized(column)
    return EncodedColumn(pd.Series(values), codes)


def nearly_numbers(column: EncodedColumn) -> str:
    """Advice on a column of numbers with a unit, or in which a text or a code below zero may mean “no value”.

    It holds no value. Codes with leading zeros are no numbers; a decimal comma may be one still to be declared. A scale
    around zero has as many values below it as above, or nearly.
    """
    if _have_unit(column.values):
        return "numbers with a unit beside them: to use them as numbers, write them without it"
    number = matches(column.values, _PLAIN_NUMBER)
    negative = number & matches(column.values, "^-")
    unlike = negative if number.all() else ~number
    filled, other = int((column.codes >= 0).sum()), int(column.on_records(unlike).sum())
    if not other or unlike.sum() > _FEW_TEXTS:
        return ""
    if number.all():
        is_code = matches(column.values[negative], _CODE).all() and unlike.sum() < _FEW_VALUES * (~unlike).sum()
        below = f"{other:,} of its cells are negative: if that means “no value”, declare it under dataset.missing"
        return below if is_code else ""
    if filled - other < _MOST_NUMBERS * filled:
        return ""
    share = floor(100 * (filled - other) / filled)
    return (
        f"{share} % of its cells are numbers; {other:,} hold other text: if that means “no value”, declare it under "
        "dataset.missing, and the type as number"
    )


def _have_unit(values: pd.Series) -> bool:
    """Whether nearly all texts are numbers with the same sign or word beside them, such as € or kg."""
    first = _UNIT.fullmatch(values.iloc[0]) if len(values) else None
    if first is None or not (first[1] or first[2]):
        return False
    return bool(matches(values, f"^{re.escape(first[1])}{_DIGITS}{re.escape(first[2])}\\Z").mean() >= _MOST_NUMBERS)


def matches(text: pd.Series, regex: str) -> npt.NDArray[np.bool_]:
    """Whether an expression of ``tasks.validation.patterns`` is found in each text, by RE2; False where missing."""
    return found(arrow(text), regex.replace(r"\Z", r"\z"))


def read_numbers(text: pd.Series, kind: ValueType) -> pd.Series:
    """Texts as numbers: int64 where all are whole numbers of an integer column, else float64 with NaN where unread."""
    readable = matches(text, WHOLE_NUMBER if kind is ValueType.INTEGER else NUMBER)
    digits = pc.utf8_ltrim(arrow(text), characters="+")
    kept = pc.if_else(pa.array(readable), digits, pa.scalar(None, digits.type))
    whole = kind is ValueType.INTEGER and readable.all()
    return pd.Series(pc.cast(kept, pa.int64() if whole else pa.float64()).to_numpy(zero_copy_only=False))


def read_days(text: pd.Series) -> pd.Series:
    """Read texts as calendar days; NaT where the form is not ISO 8601 or the day does not exist."""
    written = text.str.slice(0, 10).where(matches(text, DATE_AND_TIME))
    return pd.to_datetime(written, format="%Y-%m-%d", errors="coerce")


def read_ages(text: pd.Series, kind: ValueType) -> pd.Series:
    """Read ages in years: the number itself or, in a text column, the highest number of up to three digits in a cell.

    The category of 90 years and above, however it is written, is no age: it is what Safe Harbor asks for.

    >>> ages = pd.Series(["41", "90+", "95 years", "30-39", "unknown", "born 1931"], dtype="string[pyarrow]")
    >>> read_ages(ages, ValueType.TEXT).tolist()
    [41.0, nan, 95.0, 39.0, nan, nan]
    """
    if kind is not ValueType.TEXT:
        return read_numbers(text, kind)
    return pd.Series([_age(cell) for cell in text.tolist()], dtype="float64")


def _age(cell: str) -> float:
    plain = cell.strip().lower()
    if _TOP_CATEGORY.fullmatch(plain):
        return np.nan
    return max((float(number) for number in _AGE.findall(plain)), default=np.nan)
