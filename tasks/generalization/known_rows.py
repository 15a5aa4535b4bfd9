"""Number of people who match a person of whose events an adversary knows some.

The adversary knows that the person is in the file, the person's class, and some of the person's events: all that is
released of a row and may be known. A person matches if they are of the class and have each known event at least as
often as it is known. Sets of up to p events are those of k^m-anonymity (Terrovitis, Mamoulis and Kalnis 2008) and
LKC-privacy (Mohammed et al. 2009), counted here inside each class and for each person's own sets.

The more events are known, the fewer people match: sets of p events are enough, or of all where a person has fewer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.kanonymity.classes import fold
from tasks.microdata.tables import RowTables

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
MOST_SETS = 2**15
"""Most sets of one person's events that are counted; a person with more counts as known by all events."""
_TOGETHER = 2**22
"""Sets that are counted at a time, or those of one class if it has more."""


@dataclass(frozen=True)
class KnownEvents:
    """People who match each person, at least 1; arrays of shape (n_persons,)."""

    some: Ints
    """The fewest people who match any p of the person's events."""
    all: Ints
    """People of the class with exactly the person's events."""
    long: Flags
    """Persons with too many sets of events, for whom ``some`` is ``all``."""


def event_numbers(columns: Sequence[NDArray[np.integer]]) -> Ints:
    """Number of each row from 0, equal for rows with the same codes in all columns, each of shape (n_rows,)."""
    return fold(np.column_stack(columns))[0]


def known_events(classes: NDArray[np.integer], persons: Ints, events: Ints, known: int) -> KnownEvents:
    """People who match what is known of each person.

    ``classes`` has the class of each person, numbered from 0; ``persons`` and ``events`` the person of each row, and
    the number of its event from 0: events of one number look alike. At most ``known`` events of a person are known, p.

    Exact where nobody has more than ``MOST_SETS`` sets. The sets of those who have more are not counted, so that no
    figure is ever above the number of people who match.
    """
    order = np.argsort(classes, kind="stable")  # people of a class side by side
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    entries = _Entries.of(classes[order].astype(np.int64), rank[persons], events)
    whole, sizes = _alike(entries), np.bincount(classes)[classes[order]]
    some, long = np.where(entries.held == 0, sizes, whole), entries.sets(known) > MOST_SETS
    counted = entries.only(~long)
    for part in counted.parts(known):
        for weight in range(1, known + 1):
            wanted = (part.held == weight) if weight < known else (part.held >= known)
            if wanted.any():
                fewest = _fewest(part, weight)
                some[part.people[wanted]] = fewest[wanted]
    return KnownEvents(np.maximum(some, whole)[rank], whole[rank], long[rank])


@dataclass(frozen=True)
class _Entries:
    """Distinct events of each person, those of one person side by side, and those of one class."""

    people: Ints
    """The persons in question, ascending; shape (n_persons,)."""
    classes: Ints
    """Class of each of them, ascending."""
    first: Ints
    """Place of the first entry of each of them, and the number of entries; shape (n_persons + 1,)."""
    event: Ints
    """Event of each entry, of a number that only persons of one class share; shape (n_entries,)."""
    times: Ints
    """Number of times that the person has it."""

    @classmethod
    def of(cls, classes: Ints, persons: Ints, events: Ints) -> "_Entries":
        """The entries of all persons, whose classes ascend."""
        span = int(events.max(initial=0)) + 1
        _, number = np.unique(classes[persons] * span + events, return_inverse=True)
        many = int(number.max(initial=0)) + 1
        pairs, times = np.unique(persons * many + number, return_counts=True)
        people = np.arange(len(classes))
        first = np.searchsorted(pairs, np.append(people, len(people)) * many)
        return cls(people, classes, first, pairs % many, times.astype(np.int64))

    @property
    def distinct(self) -> Ints:
        """Distinct events of each person."""
        return np.diff(self.first)

    @property
    def place(self) -> Ints:
        """Place of each entry's person among the people."""
        return np.repeat(np.arange(len(self.people)), self.distinct)

    @property
    def held(self) -> Ints:
        """Events of each person."""
        return np.bincount(self.place, self.times, len(self.people)).astype(np.int64)

    def sets(self, known: int) -> NDArray[np.float64]:
        """At least as many as the sets of up to ``known`` events of each person."""
        sets, term = np.zeros(len(self.people)), np.ones(len(self.people))
        for size in range(1, known + 1):
            term = term * (self.distinct + size - 1) / size  # with repetition
            sets += term
        return sets

    def only(self, chosen: Flags) -> "_Entries":
        """Some of the people."""
        inside = chosen[self.place]
        first = np.append(0, np.cumsum(self.distinct[chosen]))
        return _Entries(self.people[chosen], self.classes[chosen], first, self.event[inside], self.times[inside])

    def parts(self, known: int) -> Iterator["_Entries"]:
        """Some classes at a time."""
        classes, number = np.unique(self.classes, return_inverse=True)
        sets = np.cumsum(np.bincount(number, self.sets(known), len(classes)))
        part = (sets // _TOGETHER).astype(np.int64)[number]
        bounds = np.flatnonzero(np.diff(part, prepend=-1, append=-1))
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            one, two = self.first[start], self.first[end]
            yield _Entries(
                self.people[start:end],
                self.classes[start:end],
                self.first[start : end + 1] - one,
                self.event[one:two],
                self.times[one:two],
            )


def _alike(entries: _Entries) -> Ints:
    """People of each person's class with exactly the person's events: told apart by one event after the other."""
    pattern, step = entries.classes.copy(), 0
    left = np.flatnonzero(entries.distinct)
    while len(left):
        at = entries.first[left] + step
        met = entries.event[at] * (int(entries.times.max()) + 1) + entries.times[at]
        named, _ = fold(np.column_stack([pattern[left], met]))
        pattern[left] = named + int(pattern.max()) + 1  # apart from those who have no further event
        step += 1
        left = left[entries.distinct[left] > step]
    number, _ = fold(pattern[:, None])
    return np.bincount(number)[number]


def _fewest(entries: _Entries, weight: int) -> Ints:
    """The fewest people who share any set of so many events of each person; without meaning for people with fewer."""
    last, place = entries.first[1:], entries.place
    fewest = np.full(len(entries.people), np.iinfo(np.int64).max)
    at, used = np.arange(len(entries.event)), np.zeros(len(entries.event), dtype=np.int64)
    name = np.zeros(len(at), dtype=np.int64)  # of the set so far
    while len(at):
        each = [np.flatnonzero((entries.times[at] >= more) & (used + more <= weight)) for more in range(1, weight + 1)]
        more = np.repeat(np.arange(1, weight + 1), [len(one) for one in each])
        enough = np.concatenate(each)
        at, used, name = at[enough], used[enough] + more, name[enough] * (weight + 1) + more
        name, _ = fold(np.column_stack([name, entries.event[at]]))
        full = used == weight
        people = np.bincount(name[full], minlength=int(name.max(initial=0)) + 1)
        np.minimum.at(fewest, place[at[full]], people[name[full]])
        at, used, name = at[~full], used[~full], name[~full]
        further = last[place[at]] - at - 1
        name, used = np.repeat(name, further), np.repeat(used, further)
        begins = np.repeat(at + 1 - np.append(0, np.cumsum(further)[:-1])[: len(at)], further)
        at = np.arange(len(begins)) + begins
    return fewest


_MERGED = 0.1
"""Share of the events of a class that are withheld together, one at least."""


@dataclass(frozen=True)
class WithheldTables:
    """Rows of several tables, of which some are left out where they are withheld; arrays of shape (n_rows,)."""

    rows: RowTables
    known: Flags
    """Rows that leave and that others may know."""

    @property
    def leaving(self) -> Flags:
        """Rows that are left out where they are withheld: those of all tables but the first."""
        return self.rows.of_row > 0


def beyond_most(persons: Ints, events: Ints, most: int) -> Flags:
    """Rows of a person beyond ``most``: those of the events that fewest people have, and of equal ones the last.

    ``persons`` and ``events`` have the person and the event of each row, from 0, shape (n_rows,). El Emam et
    al. (2012, J. Med. Internet Res. 14:e33) truncate long histories of claims as well.
    """
    many = int(events.max(initial=0)) + 1
    held = np.bincount(np.unique(persons.astype(np.int64) * many + events) % many, minlength=many)
    order = np.lexsort((-held[events], persons))
    _, first, sizes = np.unique(persons[order], return_index=True, return_counts=True)
    beyond = np.zeros(len(events), dtype=np.bool_)
    beyond[order] = np.arange(len(events)) - np.repeat(first, sizes) >= most
    return beyond


def withheld_rows(
    classes: NDArray[np.integer],
    persons: Ints,
    events: Ints,
    *,
    known: int,
    least: int,
    nothing: int,
    tables: WithheldTables | None = None,
) -> Flags:
    """Rows whose events are withheld, so that ``least`` people of the class match any known rows of a person.

    Where people match too few, the event that fewest people of their class have is withheld from everybody of the
    class, then the next. A withheld row stays: it looks like one of which nothing is stated, ``nothing``, and counts as
    such. A row of a further table is left out instead, with all rows within it. Where all rows of a class are withheld,
    nothing more can be done.

    The first parameters are as of ``known_events``. ``least`` people are to match; ``nothing`` is the number of an
    event of which nothing is stated; ``tables`` is given where rows are of several.
    """
    withheld, rows = np.zeros(len(events), dtype=np.bool_), np.arange(len(events))
    if tables is not None:
        rows = rows[tables.known]
    while len(rows):
        inside, place = np.unique(persons[rows], return_inverse=True)
        shown = np.where(withheld[rows], nothing, events[rows])
        some = known_events(classes[inside], place.astype(np.int64), shown, known).some
        few = np.unique(classes[inside[some < least]])
        rows = rows[np.isin(classes[persons[rows]], few)]
        shown = np.where(withheld[rows], nothing, events[rows])
        rarest = _rarest(classes[persons[rows]], persons[rows], shown, nothing)
        if not rarest.any():
            break
        withheld[rows[rarest]] = True
        if tables is not None:
            withheld = tables.rows.with_inner(withheld)
            rows = rows[~(withheld & tables.leaving)[rows]]
    return withheld


def _rarest(classes: NDArray[np.integer], persons: Ints, events: Ints, nothing: int) -> Flags:
    """Rows of the events that fewest people of each class have."""
    span = int(events.max(initial=0)) + 1
    kind, of_row = np.unique(classes.astype(np.int64) * span + events, return_inverse=True)
    many = int(persons.max(initial=0)) + 1
    people = np.bincount(np.unique(of_row * many + persons) // many, minlength=len(kind))
    stated = np.flatnonzero(kind % span != nothing)
    order = stated[np.lexsort((people[stated], kind[stated] // span))]
    _, start, of_class, size = np.unique(
        kind[order] // span, return_index=True, return_inverse=True, return_counts=True
    )
    chosen = np.zeros(len(kind), dtype=np.bool_)
    chosen[order[np.arange(len(order)) - start[of_class] < np.maximum(size * _MERGED, 1)[of_class]]] = True
    return np.asarray(chosen[of_row])
