"""Identifiers that show only in a whole column: day numbers, split dates, coordinates, ages under other names.

=================  =============================================================================================
kind               a column of numbers has it where
=================  =============================================================================================
day numbers        its whole numbers are days from 1920 to 2040 counted from 1900, and it is named so or rises and
                   falls by the day of the week; a column named a date holds other counts of days or seconds
day or month of a  a day and a month column have the same rest of their names, or two columns of 1–31 and 1–12
split date         always make a day that exists where others would not
coordinates        it is named so, and its numbers lie within ±180 with decimals, or are metres of a grid
ages over 89       it is named years alone, or agrees to one year with a column of ages, in years, months, weeks,
                   days, or as year of birth
=================  =============================================================================================
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.request.column_names import POSTCODE_WORDS, name_words, word_set
from tasks.request.model import ReleaseRequest, SafeHarborRule, ValueType
from tasks.validation.values import encode, matches, read_days, read_numbers

OLDEST_AGE = 89
"""Ages above it may not be released as they are: 45 CFR 164.514(b)(2)(i)(C)."""

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


_AGE = word_set("age ages aged alter lebensalter edad eta idade leeftijd wiek")
_YEARS = word_set("yrs years jahre ans anos anni jaar")
_BESIDE_YEARS = word_set("at in of old visit admission patient pt subject entry baseline the n completed bei en")
_DATE = word_set(
    "date dates datum fecha data dob dod doa birthdate birthday geburtsdatum geburtstag aufnahmedatum entlassdatum "
    "sterbedatum"
)
_EVENT = _DATE | word_set(
    "birth born death died deceased visit admission admitted discharge discharged encounter procedure surgery "
    "diagnosed onset "
    "enrolled enrollment start end geburt aufnahme entlassung tod naissance deces entree sortie nacimiento ingreso "
    "muerte"
)
_TIME = _DATE | word_set("time timestamp epoch created updated zeit zeitpunkt hora heure")
_DAY = word_set("day dd d tag jour dia giorno dag")
_MONTH = word_set("month mon mm m mo monat mois mes mese")
_COORDINATE = word_set(
    "lat latitude lon lng long longitude breite breitengrad laenge lange langengrad latitud longitud geo coord coords "
    "coordinate coordinates gps x y"
)
_GRID = word_set("easting northing utm")
_POSTCODES = r"^[0-9]{4,7}(?:-[0-9]{3,4})?\z"
_FIRST_DAY, _LAST_DAY = 7306, 51501
_FIRST_SECOND, _LAST_SECOND = 315_532_800, 2_208_988_800
_READABLE = 0.99
_AGREEING = 0.95
_LEAST_RECORDS = 20
_WEEKDAYS = 10.0
"""F statistic of counts by day of the week past which days are told from other numbers."""
_LEAST_DAYS = 60
_LONGEST_MONTH = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def named_age(column: str) -> bool:
    """Whether a column's name says that it holds ages, in one of eight languages."""
    return not _AGE.isdisjoint(name_words(column))


@dataclass(frozen=True)
class FileColumns:
    """The columns of a file beside each other; cells are read as numbers once."""

    frame: pd.DataFrame
    request: ReleaseRequest

    def dated(self, column: str) -> Flags:
        """Records whose cell is a date or the day or month of one; none where a column of text holds no numbers."""
        if self.request.attributes[column].type is ValueType.DATE:
            return self._spread(column, ~read_days(encode(self.frame[column]).values).isna().to_numpy())
        if column in self._split_dates:
            return self.frame[column].notna().to_numpy()
        cells = self._numbers[column]
        present = cells[~np.isnan(cells)]
        return ~np.isnan(cells) & (len(present) > 0 and _are_days(present, frozenset(name_words(column))))

    def located(self, column: str) -> Flags:
        """Records whose cell is a coordinate, or a postcode of digits in a column that is named so."""
        cells, words = self._numbers[column], frozenset(name_words(column))
        if words & POSTCODE_WORDS:
            encoded = encode(self.frame[column])
            if len(encoded.values) and matches(encoded.values, _POSTCODES).mean() >= _AGREEING:
                return encoded.codes >= 0
        present = np.abs(cells[~np.isnan(cells)])
        none: Flags = np.zeros(len(cells), dtype=np.bool_)
        if not len(present) or words.isdisjoint(_COORDINATE | _GRID):
            return none
        fine = np.mean(np.abs(present * 100 - np.round(present * 100)) > 1e-6) >= 0.5
        degrees = present.max() <= 180 and fine and bool(words & _COORDINATE)
        return ~np.isnan(cells) if degrees or (present.min() > 10_000 and bool(words & _GRID)) else none

    def aged(self, column: str) -> Flags:
        """Records whose cell states an age over 89, in a column that is not named an age."""
        cells, words = self._numbers[column], set(name_words(column))
        present = cells[~np.isnan(cells)]
        old: Flags = np.zeros(len(cells), dtype=np.bool_)
        if not len(present):
            return old
        if (
            words & _YEARS
            and words <= _YEARS | _BESIDE_YEARS
            and np.mean((present >= 0) & (present < 130)) >= _READABLE
        ):
            old |= cells > OLDEST_AGE
        for ages in self._ages:
            for read in _as_ages(cells, ages):
                old |= np.floor(read) > OLDEST_AGE
        return old

    @cached_property
    def _numbers(self) -> dict[str, Floats]:
        """Cells as numbers; all NaN for dates and for a column of other text."""
        return {name: self._read(name) for name in self.request.attributes}

    def _read(self, column: str) -> Floats:
        encoded = encode(self.frame[column])
        if self.request.attributes[column].type is ValueType.DATE or not len(encoded.values):
            return self._nothing
        numbers = read_numbers(encoded.values, ValueType.NUMBER).to_numpy(dtype=np.float64)
        if np.mean(~np.isnan(numbers)) < _READABLE:
            return self._nothing
        return np.append(numbers, np.nan)[encoded.codes]

    @cached_property
    def _nothing(self) -> Floats:
        """The numbers of all columns without any."""
        return np.full(len(self.frame), np.nan)

    def _spread(self, column: str, of_values: Flags) -> Flags:
        return encode(self.frame[column]).on_records(of_values)

    @cached_property
    def _ages(self) -> list[Floats]:
        declared = (
            name
            for name, one in self.request.attributes.items()
            if one.type is not ValueType.DATE and (one.safe_harbor is SafeHarborRule.AGE or named_age(name))
        )
        ages = (self._numbers[name] for name in declared)
        return [one for one in ages if (~np.isnan(one)).sum() >= _LEAST_RECORDS and np.nanstd(one) >= 3]

    @cached_property
    def _split_dates(self) -> frozenset[str]:
        """Columns that hold the day or the month of a date whose other one is released too."""
        whole = {name: self._numbers[name] for name in self.request.released if _is_whole(self._numbers[name])}
        days = [name for name, cells in whole.items() if _within(cells, 1, 31)]
        months = [name for name, cells in whole.items() if _within(cells, 1, 12)]
        pairs = ((day, month) for day in days for month in months if day != month)
        return frozenset(
            name
            for day, month in pairs
            if _named_alike(day, month) or _always_exist(whole[day], whole[month])
            for name in (day, month)
        )


def _are_days(cells: Floats, words: frozenset[str]) -> bool:
    if not _is_whole(cells):
        return False
    if _within(cells, _FIRST_DAY, _LAST_DAY):
        return bool(words & _EVENT) or _follows_the_week(cells)
    if words & _TIME and (
        _within(cells, _FIRST_SECOND, _LAST_SECOND) or _within(cells / 1000, _FIRST_SECOND, _LAST_SECOND)
    ):
        return True
    return bool(words & _DATE) and not _within(cells, 1800, 2100) and len(np.unique(cells)) > 31


def _follows_the_week(cells: Floats) -> bool:
    """Whether the number of records by day depends on the day of the week, by an analysis of variance."""
    days = cells.astype(np.int64)
    counts = np.bincount(days - days.min())
    if np.count_nonzero(counts) < _LEAST_DAYS:
        return False
    groups = [counts[start::7] for start in range(7)]
    between = sum(len(one) * (one.mean() - counts.mean()) ** 2 for one in groups) / 6
    within = sum(((one - one.mean()) ** 2).sum() for one in groups) / (len(counts) - 7)
    return bool(between > _WEEKDAYS * within)


def _is_whole(cells: Floats) -> bool:
    present = cells[~np.isnan(cells)]
    return len(present) > 0 and bool((present == np.round(present)).all())


def _within(cells: Floats, least: float, most: float) -> bool:
    return bool(np.nanmin(cells) >= least and np.nanmax(cells) <= most)


def _named_alike(day: str, month: str) -> bool:
    days, months = name_words(day), name_words(month)
    of_day, of_month = [one for one in days if one not in _DAY], [one for one in months if one not in _MONTH]
    return len(of_day) == len(days) - 1 and len(of_month) == len(months) - 1 and of_day == of_month


def _always_exist(days: Floats, months: Floats) -> bool:
    """Whether two columns make days that exist where independent ones of the same distributions would not."""
    both = ~np.isnan(days) & ~np.isnan(months)
    day, month = days[both].astype(np.int64), months[both].astype(np.int64)
    if len(day) < _LEAST_RECORDS:
        return False
    shares = np.bincount(month, minlength=13) / len(month)
    later = np.array([np.mean(day > longest) for longest in _LONGEST_MONTH])
    expected = len(day) * float((shares * later)[1:].sum())
    return expected >= 8 and int((day > _LONGEST_MONTH[month]).sum()) <= expected / 20


def _as_ages(cells: Floats, ages: Floats) -> Iterator[Floats]:
    """The cells as ages, wherever they agree with a column of ages that is not the same array."""
    both = ~np.isnan(cells) & ~np.isnan(ages)
    if cells is ages or both.sum() < _LEAST_RECORDS:
        return
    for unit in (1.0, 12.0, 365.25 / 7, 365.25):
        if _agree(cells[both] / unit, ages[both]):
            yield cells / unit
    year = np.median(cells[both] + ages[both])
    if 1850 <= year <= 2100 and _agree(year - cells[both], ages[both]):
        yield year - cells


def _agree(left: Floats, right: Floats) -> bool:
    return bool(np.mean(np.abs(left - right) <= 1) >= _AGREEING)
