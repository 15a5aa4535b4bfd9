"""Records without a value of a quasi-identifier, and the people of a table whom they may be.

A table of the population has all values of everybody. A record without a value has a leaf of its own, which shares no
group with any other below the top. People of the table are divided among the combinations of values, that leaf
included, so that no cell of any strategy has more of them than an adversary is left with:

* **own group**: others know whose records lack values. Nobody else can be one of them, so a combination with missing
  values has its records as people. Whoever has all values may be any person of the table but these, who are as many in
  each combination as there are records without a value that may be of it.
* **any value**: nobody knows whose records lack values. Such a record may be anybody with its other values, except the
  people behind other records, and the table's people with all values all remain. People are set aside for each
  combination with missing values, from those that it may stand for: at least its records, and of the combinations
  that lack the same attributes as large a share of the table as of the file.

Either way each person counts once, so that a cell above the missing values has no more people than the table.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import HierarchyError
from tasks.microdata.hierarchy import MISSING, Codes, Hierarchy, with_leaf_apart
from tasks.microdata.tuples import Counts, Tuples, distinct_tuples, radix_strides
from tasks.request.model import MissingReading

Flags = NDArray[np.bool_]

_SHARED = 16
"""Sets of missing attributes, the most frequent ones, that are given a share of the table beyond their records."""


def with_missing_leaves(hierarchies: Mapping[str, Hierarchy], lacking: Collection[str]) -> dict[str, Hierarchy]:
    """Hierarchies, those of some attributes with a leaf for missing values.

    Raises
    ------
    HierarchyError
        If such a hierarchy has the label of that leaf already.
    """
    for name in lacking:
        if MISSING in hierarchies[name].axis_labels:
            raise HierarchyError(
                "a hierarchy has the label that stands for missing values",
                where=f"attributes.{name}.hierarchy",
                expected=f"any label but “{MISSING}”, since records lack a value of {name}",
                got="this label",
                fix="write missing values as empty cells or as dataset.missing says, and take the label out",
            )
    return {name: with_leaf_apart(tree, MISSING) if name in lacking else tree for name, tree in hierarchies.items()}


def lacking_values(codes: Codes, hierarchies: Sequence[Hierarchy]) -> Flags:
    """Whether each attribute of each row is missing; shape of ``codes``, leaf codes."""
    leaves = np.array([tree.missing_leaf for tree in hierarchies])
    found: Flags = (leaves >= 0) & (codes == leaves)
    return found


def people_beside_missing(
    people: Tuples, data: Tuples, hierarchies: Sequence[Hierarchy], reading: MissingReading, *, shared: bool = True
) -> Tuples:
    """The people of a table by combinations of values, those with missing values included.

    Parameters
    ----------
    people : Tuples
        Of the table, without missing values.
    data : Tuples
        Of the records. Combinations with missing values that nobody of the table may stand for get no people.
    hierarchies : sequence of Hierarchy
        Of both, with leaves for missing values.
    reading : MissingReading
    shared : bool
        Whether combinations may get more people than they have records, where they may be any value.

    Returns
    -------
    Tuples
        As many people as the table has, or fewer.

    Notes
    -----
    P people and D records of a combination leave max(P − D, 0) who are behind no record with all values. Own group: a
    combination keeps P less the records that may be of it, never more than those. Any value: a record may be any of the
    people with its other values but those behind records with all values, and but as many as there are records lacking
    other attributes that may be among them; never more are set aside.
    """
    absent = lacking_values(data.codes, hierarchies)
    some = absent.any(axis=1)
    if not some.any():
        return people
    place = data.find(people.keys)
    free = np.maximum(people.counts - np.where(place >= 0, data.counts[place], 0), 0)
    sets = list(_lacking_sets(people, data, absent, hierarchies))
    divided = _shared(free, sets, data.total if shared else 0) if reading is MissingReading.ANY_VALUE else None
    if divided is None:
        taken = np.minimum(sum(one.records_of[one.group_of] for one in sets), free)
        divided = taken, [np.minimum(one.records_of, np.bincount(one.group_of, free, len(one.codes))) for one in sets]
    taken, set_aside = divided
    codes = np.concatenate([people.codes, *(one.codes for one in sets)])
    counts = np.rint(np.concatenate([people.counts - taken, *set_aside])).astype(np.int64)
    held = counts > 0
    return distinct_tuples(codes[held], hierarchies, counts[held])[0]


@dataclass(frozen=True)
class _LackingSet:
    """Combinations that lack the same attributes, by the values that they have: one for each such part of the table."""

    known: Flags
    """Attributes that are not missing, shape (n_attributes,)."""
    codes: Codes
    """Leaf codes, those for missing values included; shape (n_groups, n_attributes)."""
    group_of: NDArray[np.intp]
    """Group of each combination of the table, shape (n_tuples,)."""
    records_of: Counts
    """Records of each group, shape (n_groups,)."""


def _lacking_sets(
    people: Tuples, data: Tuples, absent: Flags, hierarchies: Sequence[Hierarchy]
) -> Iterator[_LackingSet]:
    """The sets of attributes that records lack together, the most frequent first."""
    some = np.flatnonzero(absent.any(axis=1))
    sets, set_of = np.unique(absent[some], axis=0, return_inverse=True)
    records = np.bincount(set_of.ravel(), data.counts[some])
    leaves = np.array([tree.missing_leaf for tree in hierarchies], dtype=np.int32)
    for number in np.argsort(-records, kind="stable"):
        known, rows = ~sets[number], some[set_of.ravel() == number]
        every, first, group_of = np.unique(
            _keys(people.codes, known, hierarchies), return_index=True, return_inverse=True
        )
        records_of = _looked_up(every, _keys(data.codes[rows], known, hierarchies), data.counts[rows])
        codes = np.where(known, people.codes[first], leaves).astype(np.int32)
        yield _LackingSet(known, codes, group_of.ravel(), records_of)


def _keys(codes: Codes, known: Flags, hierarchies: Sequence[Hierarchy]) -> Counts:
    """Number of the values of some attributes of each row."""
    strides = radix_strides([tree.n_leaves for tree in hierarchies])
    keys: Counts = (codes * known).astype(np.int64) @ strides
    return keys


def _looked_up(keys: Counts, found: Counts, counts: Counts) -> Counts:
    """Sum of the counts of each of some growing keys; those of other keys are left out."""
    place = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
    own = keys[place] == found
    return np.rint(np.bincount(place[own], counts[own], len(keys))).astype(np.int64)


def _shared(free: Counts, sets: Sequence[_LackingSet], total: int) -> tuple[Counts, list[Counts]] | None:
    """People taken from each combination of the table, and set aside for each group of each set.

    ``total`` are the records of the file; 0 where no more people than records are set aside. None where the people do
    not suffice when the sets take theirs one after the other.
    """
    left, set_aside = free.copy(), list[Counts]()
    for number, one in enumerate(sets):
        n_groups = len(one.codes)
        every = np.rint(np.bincount(one.group_of, free, n_groups)).astype(np.int64)
        needed = np.minimum(one.records_of, every)
        order = np.lexsort((-left, one.group_of))
        taken = np.zeros(len(free), dtype=np.int64)
        if total and number < _SHARED:
            upto = np.cumsum(left[order] * (one.records_of.sum() / total))
            taken[order] = np.minimum(np.diff(np.floor(upto), prepend=0.0).astype(np.int64), left[order])
            most = every - _records_among(one, sets)
            found = np.rint(np.bincount(one.group_of, taken, n_groups)).astype(np.int64)
            taken[(found > np.maximum(most, needed))[one.group_of]] = 0
        found = np.rint(np.bincount(one.group_of, taken, n_groups)).astype(np.int64)
        lacking, rest = np.maximum(needed - found, 0), (left - taken)[order]
        before = np.cumsum(rest) - rest
        starts = np.searchsorted(one.group_of[order], np.arange(n_groups))
        before -= before[starts][one.group_of[order]]
        taken[order] += np.clip(lacking[one.group_of[order]] - before, 0, rest)
        found = np.rint(np.bincount(one.group_of, taken, n_groups)).astype(np.int64)
        if (found < needed).any():
            return None
        left -= taken
        set_aside.append(found)
    return free - left, set_aside


def _records_among(one: _LackingSet, sets: Sequence[_LackingSet]) -> Counts:
    """Records of other sets that may be of each group's people, shape (n_groups,)."""
    found = np.zeros(len(one.codes), dtype=np.int64)
    for other in sets:
        if other is not one:
            both, held = one.known & other.known, other.records_of > 0
            sizes = np.maximum(one.codes.max(axis=0), other.codes.max(axis=0)) + 1
            strides = radix_strides(sizes.tolist())
            mine, theirs = ((codes * both).astype(np.int64) @ strides for codes in (one.codes, other.codes[held]))
            keys, place = np.unique(mine, return_inverse=True)
            found += _looked_up(keys, theirs, other.records_of[held])[place.ravel()]
    return found
