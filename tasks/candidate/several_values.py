"""Values that the classes of a file disclose of persons who have several, in rows or in lists within cells.

As of attributes of people (``tasks.candidate.class_values``), but that a person has a value if any of the
person's rows has it, and that each value is judged by itself.
"""

import numpy as np
from numpy.typing import NDArray

from tasks.candidate.class_values import Bools, Disclosed, OrderedValues, Ranks, single_values, told
from tasks.microdata.persons import distinct_values
from tasks.request.model import MissingReading


def disclosed_of_several(classes: Ranks, persons: NDArray[np.integer], values: OrderedValues, tests: int) -> Disclosed:
    """Disclosure of one attribute by classes, of which each person has the values of all of the person's rows.

    ``classes`` has the class of each person, numbered from 0 without gaps, ``persons`` the person of each row, and
    ``values`` those of the rows, of which near numbers and dates are one. ``tests`` are the pairs of a class and a
    value in all attributes of rows that are judged, among which chance has its pick.

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
    disclosed, homogeneous = (
        _persons(chosen, ends, pair_of, person, len(classes)) | told(classes, of_class[chosen], ~counted)
        for chosen in (one.discloses, one.homogeneous)
    )
    return Disclosed(disclosed, homogeneous, one.largest_share, one.rises)


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
