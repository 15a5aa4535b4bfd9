"""The dates of released people on one scale of days, as known and as released."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.dates.offsets import Days
from tasks.dates.released_dates import MISSING, ReleasedDates
from tasks.request.dates import index_event, largest_shift
from tasks.request.model import ReleaseRequest

WEEK = 7


@dataclass(frozen=True)
class Histories:
    """Dates of people, each once, in the order of people, days and columns; all arrays of shape (n_dates,).

    Known and released days of a person differ by one offset, which lies within the reach.
    """

    persons: NDArray[np.int64]
    """Person of each date, from 0."""
    columns: NDArray[np.int64]
    """Number of the column that each date is of."""
    known: Days = field(repr=False)
    """Days on which the events took place; where dates are relative, since the index event."""
    released: Days = field(repr=False)
    """Days as the copy has them."""
    people: int
    reach: int
    """Most days by which somebody who knows true days may be off; of relative dates, more than any day."""
    of_calendar: bool = True
    """Whether days are of the calendar, and not since an index event whose day stays unknown."""

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Dates of each person, shape (n_people,)."""
        return np.bincount(self.persons, minlength=self.people)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Place of each person's first date, shape (n_people,)."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def kinds(self) -> int:
        """Numbers of columns, from 0."""
        return int(self.columns.max(initial=0)) + 1

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Offsets modulo 7 by which no date of a person comes from a day of the week on which its column has none.

        Shape (n_people, 7); (n_people, 1) where that rules nothing out.
        """
        has = np.zeros((self.kinds, WEEK), dtype=np.bool_)
        has[self.columns, self.known % WEEK] = True
        if not self.of_calendar or has[np.unique(self.columns)].all():
            return np.ones((self.people, 1), dtype=np.bool_)
        found = np.ones((self.people, WEEK), dtype=np.bool_)
        for residue in range(WEEK):
            found[self.persons[~has[self.columns, (self.released - residue) % WEEK]], residue] = False
        return found

    @classmethod
    def of(
        cls,
        request: ReleaseRequest,
        dates: ReleasedDates,
        released: Mapping[str, Days],
        *,
        rows: NDArray[np.intp],
        persons: NDArray[np.int64],
        people: int,
    ) -> "Histories":
        """The dates of some rows of the file.

        ``released`` has the released days of each dated column, in the order of `rows`, the positions in the file;
        `persons` has the person of each, from 0 to `people` − 1.
        """
        parts: list[tuple[NDArray[np.int64], NDArray[np.int64], Days, Days]] = []
        for number, name in enumerate(request.dated, start=1):
            collected, leaves = dates.columns[name].collected[rows], released[name]
            if dates.index_days is not None:
                collected = np.where(leaves == MISSING, MISSING, collected - dates.index_days[rows])
            elif index_event(request, name) is not None:
                since = released[str((terms := request.attributes[name].date) and terms.relative_to)]
                leaves = np.where((leaves == MISSING) | (since == MISSING), MISSING, leaves + since)
            present = (collected != MISSING) & (leaves != MISSING)
            kind = np.full(int(present.sum()), number)
            parts.append((persons[present], kind, collected[present], leaves[present]))
        if dates.index_days is not None:
            # The index event itself may be known: it is day 0 of everybody who has one.
            having = np.unique(persons[dates.index_days[rows] != MISSING])
            zero = np.zeros(len(having), dtype=np.int64)
            parts.append((having, zero, zero, zero))
        person, kind, known, leaves = (np.concatenate(one) for one in zip(*parts, strict=True))
        order = np.lexsort((kind, known, person))
        person, kind, known, leaves = person[order], kind[order], known[order], leaves[order]
        new = np.ones(len(person), dtype=np.bool_)
        new[1:] = np.logical_or.reduce([np.diff(one) != 0 for one in (person, kind, known, leaves)])
        of_calendar, reach = dates.index_days is None, largest_shift(request)
        if not of_calendar:
            reach = int(leaves.max(initial=0) - leaves.min(initial=0)) + 1
        return cls(person[new], kind[new], known[new], leaves[new], people, reach, of_calendar)
