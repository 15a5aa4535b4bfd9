"""Dates of a row beside each other: in one form, not before birth or after death, and as old as the row says."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.request.model import ReleaseRequest
from tasks.validation.columns import OLDEST_AGE
from tasks.validation.values import encode, read_ages, read_days

Flags = npt.NDArray[np.bool_]
_DAY_LENGTH = 10


@dataclass(frozen=True)
class DateOrder:
    """The columns of dates of a file; a row without one of the dates that are compared fails nothing."""

    frame: pd.DataFrame
    request: ReleaseRequest

    def timed(self, column: str) -> Flags:
        """Rows whose date is followed by other text than that of most rows."""
        encoded = encode(self.frame[column])
        rest, _ = pd.factorize(encoded.values.str.slice(_DAY_LENGTH))
        present = encoded.codes[encoded.codes >= 0]
        usual = np.bincount(rest[present], minlength=1).argmax()
        return encoded.on_records(rest != usual)

    def before_birth(self, column: str) -> Flags:
        """Rows whose date lies before that of birth."""
        return self._days(column) < self._days(self.request.life_event("birth"))

    def after_death(self, column: str) -> Flags:
        """Rows whose date lies after that of death."""
        return self._days(column) > self._days(self.request.life_event("death"))

    def other_age(self, column: str) -> Flags:
        """Rows whose age is not the completed years from birth to the date; one of 90 stands for all from 90 on."""
        terms = self.request.attributes[column].date
        if terms is None or terms.age is None:
            return np.zeros(len(self.frame), dtype=np.bool_)
        days, born = (pd.DatetimeIndex(self._days(name)) for name in (column, self.request.life_event("birth")))
        birthday_ahead = days.month * 100 + days.day < born.month * 100 + born.day
        completed = np.asarray(days.year - born.year - birthday_ahead, dtype=np.float64)
        ages = encode(self.frame[terms.age])
        read = read_ages(ages.values, self.request.attributes[terms.age].type).to_numpy(dtype=np.float64)
        stated = np.floor(np.append(read, np.nan)[ages.codes])
        known = ~np.isnan(completed) & ~np.isnan(stated)
        top = (stated == OLDEST_AGE + 1) & (completed > OLDEST_AGE)
        found: Flags = known & (stated != completed) & ~top
        return found

    def _days(self, column: str | None) -> npt.NDArray[np.datetime64]:
        """Day of each row, NaT where there is none."""
        if column is None:
            return np.full(len(self.frame), np.datetime64("NaT", "ns"))
        encoded = encode(self.frame[column])
        days = read_days(encoded.values).to_numpy()
        return np.append(days, np.datetime64("NaT"))[encoded.codes]
