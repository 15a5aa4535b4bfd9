"""Columns of dates as they leave: shifted by the person's offset, or counted in days from an index event.

A shifted date is written as it was collected: what stands after the day, such as a time of midnight, is kept, and must
be the same in all cells of the column, or it would tell of the person. A missing date stays missing; a relative date is
missing where the index event is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, row_positions
from tasks.dates.offsets import Days, offsets
from tasks.microdata.coded import CodedColumn, Prepared, sensitivities, weighed_column
from tasks.microdata.persons import persons_of
from tasks.microdata.tables import own_rows
from tasks.request.dates import index_event, largest_shift
from tasks.request.model import ReleaseRequest

MISSING = np.iinfo(np.int64).min
"""Day of a cell without a date."""
_FIRST, _LAST = (int(np.datetime64(day, "D").astype(np.int64)) for day in ("0001-01-01", "9999-12-31"))
_DAY_LENGTH = 10


@dataclass(frozen=True)
class DateColumn:
    """One column of dates, by row of the file; a day is counted from 1970-01-01."""

    collected: Days = field(repr=False)
    """Days as collected, ``MISSING`` where there is none; shape (n_rows,)."""
    released: Days = field(repr=False)
    """Days as shifted, or days since the index event; ``MISSING`` where there is none."""
    after: str | None
    """Text after the day of each shifted date; None for relative dates."""

    @cached_property
    def levels(self) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
        """Code of each row's released value, −1 where missing, and the text of each."""
        codes, values = pd.factorize(self.released)
        texts = values.astype(str) if self.after is None else np.datetime_as_string(values.astype("datetime64[D]"))
        written = np.array([f"{text}{self.after or ''}" for text in texts.tolist()], dtype=object)
        return np.where(self.released == MISSING, -1, codes), written

    @property
    def text(self) -> pd.Series:
        """The released values as they are written, by row."""
        codes, texts = self.levels
        return pd.Series(pd.Categorical.from_codes(codes, texts.tolist()), dtype="str")


@dataclass(frozen=True)
class ReleasedDates:
    """Shifted and relative dates of one recipient's copy."""

    columns: Mapping[str, DateColumn] = field(default_factory=dict)
    """By name, in the order of the request."""
    person_of_row: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    """Record of the person of each row, shape (n_rows,)."""
    offsets: Days = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    """Offset of each person, days; shape (n_persons,)."""
    index_days: Days | None = field(default=None, repr=False)
    """Day of the index event that stays unknown, by row; None where dates are shifted."""

    def applied(self, prepared: Prepared, request: ReleaseRequest) -> Prepared:
        """Coded microdata with the dates as they leave."""
        events, of_people, of_rows = prepared.events, dict(prepared.columns), dict[str, CodedColumn]()
        for name, column in self.columns.items():
            codes, texts = column.levels
            kind, weights = request.attributes[name].delivered_type, sensitivities(request).get(name)
            if request.attributes[name].of == "row":
                of_rows[name] = weighed_column(codes, pd.Index(texts), weights, kind)
            else:
                rows = slice(None) if events is None else events.persons.first_rows
                of_people[name] = weighed_column(codes[rows], pd.Index(texts), weights, kind)
        if events is not None:
            events = replace(events, columns={**events.columns, **of_rows})
        return replace(prepared, columns=of_people, events=events)


NO_DATES = ReleasedDates()
"""The dates of a request that shifts none and makes none relative."""


def released_dates(request: ReleaseRequest, frame: pd.DataFrame, key: bytes) -> ReleasedDates:
    """The dates of one copy, from microdata as text and the recipient's key.

    Raises DataError if a cell is no day, differs from others in what follows the day, or would be moved out of the
    years 1 to 9999.
    """
    if not request.dated:
        return NO_DATES
    persons, days = persons_of(frame, request), largest_shift(request)
    of_row = np.arange(len(frame)) if persons is None else persons.of_row.astype(np.int64)
    moved = np.zeros(int(of_row.max(initial=-1)) + 1, dtype=np.int64)
    if days:
        names = frame[request.person_id] if persons is None else frame[request.person_id].iloc[persons.first_rows]
        moved = offsets([str(name) for name in names.to_numpy(dtype=object)], key, days)
    columns: dict[str, DateColumn] = {}
    index: Days | None = None
    for name in request.dated:
        collected, after = _days(frame, name, request)
        event = index_event(request, name)
        if event is None:
            released = np.where(collected == MISSING, MISSING, collected + moved[of_row])
            _check_years(released[own_rows(frame, request, name)], name, request)
            columns[name] = DateColumn(collected, released, after)
            continue
        terms = request.attributes[name].date
        since, _ = _days(frame, str(terms and terms.relative_to), request)
        missing = (collected == MISSING) | (since == MISSING)
        columns[name] = DateColumn(collected, np.where(missing, MISSING, collected - since), None)
        index = index if days else since
    return ReleasedDates(columns, of_row, moved, index)


def written_days(texts: Sequence[str], *, relative: bool) -> Days:
    """Days that texts as ``DateColumn.text`` gives them stand for; ValueError where one is none."""
    if relative:
        return np.array([int(text) for text in texts], dtype=np.int64)
    return np.array([text[:_DAY_LENGTH] for text in texts], dtype="datetime64[D]").astype(np.int64)


def _days(frame: pd.DataFrame, name: str, request: ReleaseRequest) -> tuple[Days, str]:
    """Days of a column, and what follows all of them."""
    codes, levels = pd.factorize(frame[name])
    texts = pd.Series(levels, dtype="object")
    read = pd.to_datetime(texts.str.slice(0, _DAY_LENGTH), format="%Y-%m-%d", errors="coerce")
    rest, ends = pd.factorize(texts.str.slice(_DAY_LENGTH))
    usual = np.bincount(rest[codes[codes >= 0]], minlength=1).argmax()
    wrong = np.append(read.isna().to_numpy() | (rest != usual), False)[codes][own_rows(frame, request, name)]
    if wrong.any():
        raise DataError(
            "dates that are shifted or relative are not all days in one form",
            where=f"{_place(name, request)}, {row_positions(np.flatnonzero(wrong))}",
            expected="YYYY-MM-DD, with the same text after the day in all cells, if any",
            got=f"{int(wrong.sum())} cells in other forms, or with a time of their own",
            fix="correct these cells; leave out times of day, which single people out",
        )
    days = np.append(read.to_numpy(dtype="datetime64[D]").astype(np.int64), MISSING)[codes]
    return days, str(ends[int(usual)]) if len(ends) else ""


def _place(name: str, request: ReleaseRequest) -> str:
    return f"{request.table_paths[request.table_of(name)]}, column {request.own_name(name)}"


def _check_years(released: Days, name: str, request: ReleaseRequest) -> None:
    beyond = np.flatnonzero((released != MISSING) & ((released < _FIRST) | (released > _LAST)))
    if len(beyond):
        raise DataError(
            "shifted dates would lie outside the years 1 to 9999",
            where=f"{_place(name, request)}, {row_positions(beyond)}",
            expected="dates farther from the ends of the calendar than the shift",
            got=f"{len(beyond)} cells",
            fix="declare what stands for a missing date under dataset.missing, or correct the cells",
        )
