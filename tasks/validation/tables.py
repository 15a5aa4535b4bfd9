"""The small tables that checks look at: a column's distinct values, read as its type says, and facts about records.

=========  ==========  ===================================================================================
table      field       holds
=========  ==========  ===================================================================================
values     ``text``    the distinct values as written, without missing ones
           ``number``  the same read as numbers; NaN where they cannot be
           ``day``     the same read as calendar days; NaT where the day does not exist
           ``age``     the age in it, in years; NaN where there is none or only a category such as “90+”
records    ``code``    number of the distinct value; NaN where missing
           ``covered`` 1 where the quasi-identifiers occur in the population, else 0
           ``copied``  1 where the cell equals a direct identifier of its record, else 0; NaN where one is missing
           ``named``   1 where the cell contains a distinctive direct identifier of its record, else 0
=========  ==========  ===================================================================================
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.request.model import ReleaseRequest, Role, ValueType
from tasks.validation.patterns import DATE_AND_TIME, NUMBER, WHOLE_NUMBER
from tasks.validation.suite import CheckedTable

_TOP_CATEGORY = re.compile(
    r"(?:(?:>=|≥) *90|(?:>|over|above) *89|90 *(?:\+|(?:years? *)?(?:and|or) *(?:over|older|above)))"
)
_AGE = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:\.[0-9]+)?(?![0-9])")
_DISTINCTIVE = r"(?s)^(?:.{7,}|.*[^0-9 .,:/_()+-].*)\z"
_LEAST_DISTINCTIVE = 3


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


@dataclass(frozen=True)
class ColumnTables:
    """The tables of one column, or of no column for facts about whole records, built from the fields asked for."""

    frame: pd.DataFrame
    request: ReleaseRequest
    covered: npt.NDArray[np.bool_]
    """Whether the population has each record's quasi-identifiers."""
    column: str

    @cached_property
    def encoded(self) -> EncodedColumn:
        """The column as distinct values and codes."""
        return encode(self.frame[self.column])

    def build(self, table: CheckedTable, fields: Sequence[str]) -> pd.DataFrame:
        """Build a table; the one to be released has its columns and no rows."""
        if table is CheckedTable.RELEASE:
            return self.frame.loc[:, list(self.request.outbound)].head(0)
        return pd.DataFrame({name: self._field(name) for name in dict.fromkeys(fields)}, copy=False)

    def _field(self, name: str) -> pd.Series:
        fields: dict[str, Callable[[], pd.Series]] = {
            "text": lambda: self.encoded.values,
            "number": lambda: read_numbers(self.encoded.values, self.request.attributes[self.column].type),
            "day": lambda: read_days(self.encoded.values),
            "age": lambda: read_ages(self.encoded.values, self.request.attributes[self.column].type),
            "code": lambda: pd.Series(np.where(self.encoded.codes < 0, np.nan, self.encoded.codes)),
            "covered": lambda: pd.Series(self.covered.astype(np.int64)),
            "copied": lambda: pd.Series(copied(self.frame[self.column], self._identifiers)),
            "named": lambda: pd.Series(named(self.frame[self.column], self._identifiers)),
        }
        return fields[name]()

    @property
    def _identifiers(self) -> list[pd.Series]:
        return [self.frame[name] for name in self.request.with_role(Role.DIRECT)]


def encode(column: pd.Series) -> EncodedColumn:
    """Find the distinct values of a string column.

    >>> encoded = encode(pd.Series(["b", None, "a", "b"], dtype="string[pyarrow]"))
    >>> list(encoded.values), encoded.codes.tolist()
    (['b', 'a'], [0, -1, 1, 0])
    """
    codes, values = pd.factorize(column.array)
    return EncodedColumn(pd.Series(values), codes)


def matches(text: pd.Series, regex: str) -> npt.NDArray[np.bool_]:
    """Whether an expression of ``tasks.validation.patterns`` is found in each text, by RE2; False where missing."""
    return _mask(pc.match_substring_regex(_arrow(text), regex.replace(r"\Z", r"\z")))


def read_numbers(text: pd.Series, kind: ValueType) -> pd.Series:
    """Texts as numbers: int64 where all are whole numbers of an integer column, else float64 with NaN where unread."""
    readable = matches(text, WHOLE_NUMBER if kind is ValueType.INTEGER else NUMBER)
    digits = pc.utf8_ltrim(_arrow(text), characters="+")
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


def copied(column: pd.Series, identifiers: Sequence[pd.Series]) -> npt.NDArray[np.float64]:
    """Per record, 1 where its cell equals one of its direct identifiers, else 0; NaN where it or they are missing."""
    cells = _arrow(column)
    equal = np.zeros(len(column), dtype=np.bool_)
    present = np.zeros(len(column), dtype=np.bool_)
    for identifier in identifiers:
        same = pc.equal(cells, _arrow(identifier))
        present |= _mask(pc.is_valid(same))
        equal |= _mask(same)
    return np.where(present, equal.astype(np.float64), np.nan)


def named(column: pd.Series, identifiers: Sequence[pd.Series]) -> npt.NDArray[np.int64]:
    """Per record, 1 where its cell contains one of its direct identifiers as words of their own, in any case; else 0.

    Only distinctive identifiers are looked for: of 3 characters or more with a letter in them, or of 7 or more; short
    numbers coincide with other numbers by chance.
    """
    found = np.zeros(len(column), dtype=np.int64)
    cells = pc.utf8_lower(_arrow(column))
    for identifier in identifiers:
        names = pc.utf8_lower(pc.utf8_trim_whitespace(_arrow(identifier)))
        distinctive = pc.and_(
            pc.match_substring_regex(names, _DISTINCTIVE), pc.greater_equal(pc.utf8_length(names), _LEAST_DISTINCTIVE)
        )
        fits = pc.greater_equal(pc.utf8_length(cells), pc.utf8_length(names))
        rows = np.flatnonzero(_mask(pc.and_(distinctive, fits)))
        pairs = zip(rows.tolist(), cells.take(rows).to_pylist(), names.take(rows).to_pylist(), strict=True)
        hits = [row for row, cell, name in pairs if name in cell and _stands_alone(name, cell)]
        found[hits] = 1
    return found


def _age(cell: str) -> float:
    plain = cell.strip().lower()
    if _TOP_CATEGORY.fullmatch(plain):
        return np.nan
    return max((float(number) for number in _AGE.findall(plain)), default=np.nan)


def _stands_alone(name: str, cell: str) -> bool:
    start = cell.find(name)
    while start >= 0:
        end = start + len(name)
        if not cell[start - 1 : start].isalnum() and not cell[end : end + 1].isalnum():
            return True
        start = cell.find(name, start + 1)
    return False


def _arrow(column: pd.Series) -> pa.Array:
    values = pa.array(column, type=pa.large_string(), from_pandas=True)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _mask(values: pa.Array) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return mask
