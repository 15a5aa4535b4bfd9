"""The small tables that checks look at: a column's distinct values, read as its type says, and facts about records.

=========  ================  =====================================================================================
table      field             holds
=========  ================  =====================================================================================
values     ``text``          the distinct values as written, without missing ones
           ``readable``      the same with what escapes, base64 and hidden characters in them stand for
           ``number``        the same read as numbers; NaN where they cannot be
           ``day``           the same read as calendar days; NaT where the day does not exist
           ``age``           the age in it, in years; NaN where there is none or only a category such as “90+”
           kind of pattern   1 where its identifiers are found by more than an expression
records    ``code``          number of the distinct value; NaN where missing
           ``covered``       1 where the quasi-identifiers occur in the population; of a person's rows in the first
                             alone, NaN in the others
           ``differs``       1 in one row of each person whose rows have different values
           ``copied``        1 where the cell equals a direct identifier of its record; NaN where one is missing
           ``named``         1 where the cell has a direct identifier of its record, or a word of anybody's
           ``dated``         1 where the column holds dates, also in digits or split, or day numbers
           ``located``       1 where the column holds coordinates or postcodes
           ``same person``   1 where a record seems to be a further row of its person (``repeated_people``)
           ``again``         1 where the cell repeats an identifier that seems to name people in several rows
           ``timed``         1 where what follows the day of a date is not what follows most
           ``before birth``  1 where the date lies before the date of birth of its row
           ``after death``   1 where the date lies after the date of death of its row
           ``other age``     1 where the age of its row is not that on the date, by the date of birth
           ``aged``          1 where the cell tells an age over 89 and the column's name does not
=========  ================  =====================================================================================

Where there is no 1, there is a 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.persons import Persons, differing_rows, persons_of
from tasks.microdata.tables import own_rows
from tasks.request.model import PatternName, ReleaseRequest, Role, ValueType
from tasks.validation.columns import FileColumns
from tasks.validation.date_order import DateOrder
from tasks.validation.forms import are_postcodes, days_in_digits, rows_again
from tasks.validation.names import names
from tasks.validation.readings import arrow, flags, found, readable
from tasks.validation.repeated import FEW, FEW_PEOPLE, IdentifierWords, identifier_words, repeated
from tasks.validation.repeated_people import repeated_people
from tasks.validation.suite import CheckedTable
from tasks.validation.values import EncodedColumn, encode, read_ages, read_days, read_numbers
from tasks.validation.verified import verified
from tasks.validation.words import Words, split

_DISTINCTIVE = r"(?s)^(?:.{7,}|.*[^0-9 .,:/_()+-].*)\z"
_LEAST_DISTINCTIVE = 3

_CATEGORIES, _OF_EACH = 50, 10
"""Values of the longest list of categories, and the fewest records of each in the mean."""


@dataclass(frozen=True)
class FileTables:
    """A file, and what is found in all its columns together, once."""

    frame: pd.DataFrame
    request: ReleaseRequest
    covered: npt.NDArray[np.bool_]
    """Whether the population has each record's quasi-identifiers."""
    whole: "FileTables | None" = None
    """The file of all tables, where this is of one of several."""
    rows: slice = field(default_factory=lambda: slice(None))
    """Its rows in the file of all tables."""

    def of_table(self, column: str) -> "FileTables":
        """The rows of a column's table alone; those of the dataset for no column."""
        if not self.request.tables:
            return self
        return self._of_tables[self.request.table_of(column)]

    @cached_property
    def _of_tables(self) -> "dict[str | None, FileTables]":
        tables = {}
        for table in (None, *self.request.tables):
            rows = own_rows(self.frame, self.request, self.request.attributes_in(table)[0])
            frame = self.frame.iloc[rows].reset_index(drop=True)
            tables[table] = FileTables(frame, self.request, self.covered[rows], self, rows)
        return tables

    @cached_property
    def columns(self) -> FileColumns:
        """The columns beside each other."""
        return FileColumns(self.frame, self.request)

    @cached_property
    def dates(self) -> DateOrder:
        """The dates of each row beside each other."""
        return DateOrder(self.frame, self.request)

    @cached_property
    def persons(self) -> Persons | None:
        """Person of each row; None where each row is a person."""
        return persons_of(self.frame, self.request)

    @cached_property
    def repeated(self) -> npt.NDArray[np.bool_]:
        """Records that are certainly further rows of their person."""
        rows = np.zeros(len(self.frame), dtype=np.bool_)
        for one in repeated_people(self.frame, self.request):
            if one.is_certain:
                rows |= one.rows
        return rows

    @property
    def people(self) -> int:
        """Number of people."""
        return len(self.frame) if self.persons is None else len(self.persons)

    @cached_property
    def identifiers(self) -> list[pd.Series]:
        """The direct identifiers, and what is withheld but for categories, measured numbers and values that many have.

        These name nobody, and occur in other columns by chance, or because columns are of the same things.
        """
        columns, most = list[pd.Series](), max(FEW_PEOPLE, FEW * self.people)
        for name, one in self.request.attributes.items():
            column = self.frame[name]
            if one.role is Role.WITHHELD and one.type is not ValueType.NUMBER:
                having = column.value_counts()
                column = column.where(column.isin(having.index[having <= most]))
            elif one.role not in (Role.DIRECT, Role.PSEUDONYM):
                continue
            if column.nunique() > min(_CATEGORIES, self.people / _OF_EACH):
                columns.append(column)
        return columns

    @cached_property
    def sought_names(self) -> "list[SoughtNames]":
        """The direct identifiers as they are looked for in other columns."""
        return [SoughtNames.of(one) for one in self.identifiers]

    @cached_property
    def identifier_words(self) -> IdentifierWords:
        """The words of the direct identifiers, of all tables."""
        if self.whole is not None:
            return self.whole.identifier_words
        return identifier_words(self.identifiers, None if self.persons is None else self.persons.of_row)


@dataclass(frozen=True)
class ColumnTables:
    """The tables of one column, or of no column for facts about whole records, built from the fields asked for."""

    file: FileTables
    column: str

    @cached_property
    def encoded(self) -> EncodedColumn:
        """The column as distinct values and codes."""
        return encode(self._cells)

    @cached_property
    def readable(self) -> pd.Series:
        """The distinct values with what they stand for; of numbers as written."""
        return readable(self.encoded.values) if self._type is ValueType.TEXT else self.encoded.values

    @cached_property
    def words(self) -> Words:
        """The words of the readable values."""
        return split(self.readable)

    def build(self, table: CheckedTable, fields: Sequence[str]) -> pd.DataFrame:
        """Build a table; the one to be released has its columns and no rows."""
        if table is CheckedTable.RELEASE:
            return self.file.frame.loc[:, list(self.file.request.released)].head(0)
        return pd.DataFrame({name: self._field(name) for name in dict.fromkeys(fields)}, copy=False)

    def _field(self, name: str) -> pd.Series:
        columns = self.file.columns
        fields: dict[str, Callable[[], pd.Series]] = {
            "text": lambda: self.encoded.values,
            "readable": lambda: self.readable,
            "number": lambda: read_numbers(self.encoded.values, self._type),
            "day": lambda: read_days(self.encoded.values),
            "age": lambda: read_ages(self.encoded.values, self._type),
            "code": lambda: pd.Series(np.where(self.encoded.codes < 0, np.nan, self.encoded.codes)),
            "covered": lambda: self._covered,
            "differs": lambda: self._differs,
            "copied": lambda: pd.Series(copied(self._cells, self.file.identifiers)),
            "named": lambda: pd.Series(named(self._cells, self.file.sought_names) | self._repeated),
            "same person": lambda: _flagged(self.file.repeated),
            "again": lambda: _flagged(rows_again(self.encoded)),
            "dated": lambda: _flagged(self._all(days_in_digits) | columns.dated(self.column)),
            "located": lambda: _flagged(self._all(are_postcodes) | columns.located(self.column)),
            "aged": lambda: _flagged(columns.aged(self.column)),
            "timed": lambda: _flagged(self._dates.timed(self.column)),
            "before birth": lambda: _flagged(self._dates.before_birth(self.column)),
            "after death": lambda: _flagged(self._dates.after_death(self.column)),
            "other age": lambda: _flagged(self._dates.other_age(self.column)),
            PatternName.NAME.value: lambda: _flagged(names(self.readable, self.words)),
        }
        return fields[name]() if name in fields else _flagged(verified(self.readable, PatternName(name)))

    def _all(self, formed: Callable[[pd.Series], bool]) -> npt.NDArray[np.bool_]:
        """Records with a value, where the values have a form all together; else none."""
        return (self.encoded.codes >= 0) & formed(self.encoded.values)

    @property
    def _dates(self) -> DateOrder:
        return self.file.dates

    @property
    def _covered(self) -> pd.Series:
        covered, persons = _flagged(self.file.covered), self.file.persons
        return covered if persons is None else covered.where(covered.index.isin(persons.first_rows))

    @property
    def _differs(self) -> pd.Series:
        differs = np.zeros(len(self.file.frame), dtype=np.bool_)
        if self.file.persons is not None:
            differs[differing_rows(self._cells, self.file.persons)] = True
        return _flagged(differs)

    @property
    def _cells(self) -> pd.Series:
        return self.file.frame[self.column]

    @property
    def _type(self) -> ValueType:
        return self.file.request.attributes[self.column].type

    @property
    def _repeated(self) -> npt.NDArray[np.int64]:
        known = self.file.identifier_words
        codes = np.full(known.records, -1, dtype=np.intp)
        codes[self.file.rows] = self.encoded.codes
        return repeated(self.words, codes, known)[self.file.rows].astype(np.int64)


def _flagged(mask: npt.NDArray[np.bool_]) -> pd.Series:
    # Great Expectations compares numbers of 64 bits at once, and all others one by one in Python.
    return pd.Series(mask.astype(np.int64))


def copied(column: pd.Series, identifiers: Sequence[pd.Series]) -> npt.NDArray[np.float64]:
    """Per record, 1 where its cell equals one of its direct identifiers, else 0; NaN where it or they are missing."""
    cells = arrow(column)
    equal = np.zeros(len(column), dtype=np.bool_)
    present = np.zeros(len(column), dtype=np.bool_)
    for identifier in identifiers:
        same = pc.equal(cells, arrow(identifier))
        present |= flags(pc.is_valid(same))
        equal |= flags(same)
    return np.where(present, equal.astype(np.float64), np.nan)


@dataclass(frozen=True)
class SoughtNames:
    """A direct identifier of each record as it is looked for in other cells."""

    names: pa.Array
    """In small letters."""
    distinctive: npt.NDArray[np.bool_]
    """Of 3 characters or more with a letter in them, or of 7 or more: short numbers coincide by chance."""
    digits: npt.NDArray[np.bool_]
    """Whether it has a digit, and so stands in cells with one alone."""

    @classmethod
    def of(cls, identifier: pd.Series) -> "SoughtNames":
        """The identifiers of a column."""
        names = pc.utf8_lower(pc.utf8_trim_whitespace(arrow(identifier)))
        long = pc.greater_equal(pc.utf8_length(names), _LEAST_DISTINCTIVE)
        distinctive = flags(pc.and_(pc.match_substring_regex(names, _DISTINCTIVE), long))
        return cls(names, distinctive, found(names, "[0-9]"))


def named(column: pd.Series, identifiers: Sequence[SoughtNames]) -> npt.NDArray[np.int64]:
    """Per record, 1 where its cell has one of its distinctive identifiers as separate words, in any case; else 0."""
    marked = np.zeros(len(column), dtype=np.int64)
    if not identifiers:
        return marked
    encoded = encode(column)
    with_digits = encoded.on_records(found(arrow(encoded.values), "[0-9]"))
    cells = pc.utf8_lower(arrow(column))
    for sought in identifiers:
        names = sought.names
        fits = flags(pc.greater_equal(pc.utf8_length(cells), pc.utf8_length(names)))
        rows = np.flatnonzero(sought.distinctive & fits & (with_digits | ~sought.digits))
        pairs = zip(rows.tolist(), cells.take(rows).to_pylist(), names.take(rows).to_pylist(), strict=True)
        hits = [row for row, cell, name in pairs if name in cell and _stands_alone(name, cell)]
        marked[hits] = 1
    return marked


def _stands_alone(name: str, cell: str) -> bool:
    start = cell.find(name)
    while start >= 0:
        end = start + len(name)
        if not cell[start - 1 : start].isalnum() and not cell[end : end + 1].isalnum():
            return True
        start = cell.find(name, start + 1)
    return False
