"""Values of an attribute of rows that the classes of a file disclose of their persons.

As of attributes of people (``tasks.candidate.class_values``), but that a person has a value if any of the
person's rows has it, and that each value is judged by itself.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.candidate.class_values import (
    Bools,
    Floats,
    OrderedValues,
    Ranks,
    single_values,
    told,
)
from tasks.microdata.persons import distinct_values
from tasks.request.model import MissingReading


@dataclass(frozen=True)
class DisclosedEvents:
    """Disclosure of one attribute of rows by the classes of a file."""

    disclosed: Bools
    """Whether the class of each person discloses a value that the person has; shape (n_persons,)."""
    homogeneous: Bools
    """Whether every person of each person's class has a value that at most 4/5 of the file have, as has the person;
    shape (n_persons,)."""
    largest_share: float
    """Largest share of the persons of a class who have one judged value."""
    rises: Floats
    """Largest rise of the probability of a value, of each class; shape (n_classes,)."""


def disclosed_events(
    classes: Ranks, persons: NDArray[np.integer], values: OrderedValues, tests: int
) -> DisclosedEvents:
    """Disclosure of one attribute of rows by classes.

    Parameters
    ----------
    classes : array of shape (n_persons,)
        Class of each person, numbered from 0 without gaps.
    persons : array of shape (n_rows,)
        Person of each row.
    values : OrderedValues
        Of the rows; near numbers and dates are one value.
    tests : int
        Pairs of a class and a value in all attributes of rows that are judged, among which chance has its pick.

    Notes
    -----
    Counted by (class, value) without a table of both: a person adds one to each interval that begins after the person's
    next smaller value and holds the person's own, which is a range of beginnings. A person none of whose rows states a
    value is counted, and told of, as a record without one; a person without rows has no value, and is counted.
    """
    stride, stated = len(values.ends) + 1, values.ranks >= 0
    counted = np.full(len(classes), values.missing is MissingReading.OWN_GROUP)
    counted[persons[stated]] = True
    counted |= np.bincount(persons, minlength=len(classes)) == 0
    person, rank = distinct_values(persons[stated], values.ranks[stated])
    same = np.diff(person, prepend=-1) == 0
    after = np.where(same, np.append(-1, rank[:-1])[: len(rank)] + 1, 0)
    first = np.maximum(after, np.searchsorted(values.ends, rank, side="right"))
    holders = _covering(first, rank + 1, len(values.ends))
    of_person = classes[person] * stride
    pairs, pair_of = np.unique(of_person + rank, return_inverse=True)
    begins = np.searchsorted(pairs, of_person + first)
    within = _covering(begins, pair_of + 1, len(pairs))
    of_class, start = np.divmod(pairs, stride)
    ends = np.searchsorted(pairs, of_class * stride + values.ends[start])
    readings = [counted] if counted.all() else [counted, np.ones(len(classes), dtype=np.bool_)]
    one = single_values(
        classes, of_class, (within, holders[start]), values.judged[start], readings=readings, tests=tests
    )
    return DisclosedEvents(
        disclosed=_persons(one.discloses, ends, pair_of, person, len(classes))
        | told(classes, of_class[one.discloses], ~counted),
        homogeneous=_persons(one.homogeneous, ends, pair_of, person, len(classes))
        | told(classes, of_class[one.homogeneous], ~counted),
        largest_share=one.largest_share,
        rises=one.rises,
    )


def _covering(begins: NDArray[np.integer], ends: NDArray[np.integer], length: int) -> NDArray[np.int64]:
    """Number of ranges, from a beginning to before an end, that cover each of so many places."""
    change = np.bincount(begins, minlength=length + 1) - np.bincount(ends, minlength=length + 1)
    return np.cumsum(change)[:length]


def _persons(
    chosen: Bools, ends: NDArray[np.integer], pair_of: NDArray[np.intp], person: Ranks, n_persons: int
) -> Bools:
    """Whether some value of each person lies in an interval that begins at a chosen pair of class and value."""
    reach = np.maximum.accumulate(np.where(chosen, ends, 0)) if len(ends) else ends
    found = np.zeros(n_persons, dtype=np.bool_)
    found[person[reach[pair_of] > pair_of]] = True
    return found
