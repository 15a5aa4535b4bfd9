"""Records without a value of a quasi-identifier, and the people of a table whom they may be.

A table of the population has all values of everybody. A record without a value has a leaf of its own, which shares no
group with any other below the top. People of the table are divided among the combinations of values, that leaf
included, so that no cell of any strategy has more of them than an adversary is left with:

* **own group**: others know whose records lack values. Nobody else can be one of them, so a combination with missing
  values has its records as people. Whoever has all values may be any person of the table but these, who are as many in
  each combination as there are records without a value that may be of it.
* **any value**: nobody knows whose records lack values. Such a record may be anybody with its other values, except the
  people behind other records. For each combination with missing values as many people as it has records are set aside,
  and of those who fit it and are left whoever is behind other records as large a share as lacks the same attributes in
  the file. A record with all values may be anybody who has them; fewer remain.

Either way each person counts once, so that a cell above the missing values has no more people than the table.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import HierarchyError
from tasks.microdata.hierarchy import MISSING, Codes, Hierarchy, with_leaf_apart
from tasks.microdata.tuples import Counts, Tuples, distinct_tuples, places_among, radix_strides
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
    P people and D records of a combination leave F = max(P − D, 0) who are behind no record with all values, and at
    least G = F − min(F, M) of them behind no record at all, M the records without a value that may be of it. Own group:
    a combination keeps P − F + G. Any value: combinations with missing values have their records and a share of the G
    that fit, each person once. In a cell, a record may then be any of the people with its other values but those
    behind other records; of them, whoever these are, G and its own are left.
    """
    absent = lacking_values(data.codes, hierarchies)
    if not absent.any():
        return people
    place = data.find(people.keys)
    free = np.maximum(people.counts - np.where(place >= 0, data.counts[place], 0), 0)
    sets = list(_lacking_sets(people, data, absent, hierarchies))
    ruled_out: Counts = np.minimum(sum(one.records_of[one.group_of] for one in sets), free)
    divided = None
    if reading is MissingReading.ANY_VALUE:
        divided = _divided(free, free - ruled_out, sets, data.total if shared else 0)
    taken, set_aside = divided or (ruled_out, [one.fitting(free) for one in sets])
    codes = np.concatenate([people.codes, *(one.codes for one in sets)])
    counts = np.concatenate([people.counts - taken, *set_aside])
    held = counts > 0
    return distinct_tuples(codes[held], hierarchies, counts[held])[0]


@dataclass(frozen=True)
class _LackingSet:
    """Combinations that lack the same attributes, by the values that they have: one for each such part of the table."""

    codes: Codes
    """Leaf codes, those for missing values included; shape (n_groups, n_attributes)."""
    group_of: NDArray[np.int32]
    """Group of each combination of the table, shape (n_tuples,)."""
    records_of: Counts
    """Records of each group, shape (n_groups,)."""

    def people_of(self, people: Counts) -> Counts:
        """People of each group, by those of each combination of the table; shape (n_groups,)."""
        return np.rint(np.bincount(self.group_of, people, len(self.codes))).astype(np.int64)

    def fitting(self, free: Counts) -> Counts:
        """Records of each group, no more than people who may be behind them."""
        return np.minimum(self.records_of, self.people_of(free))


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
        yield _LackingSet(codes, group_of.ravel().astype(np.int32), records_of)


def _keys(codes: Codes, known: Flags, hierarchies: Sequence[Hierarchy]) -> Counts:
    """Number of the values of some attributes of each row."""
    strides = radix_strides([tree.n_leaves for tree in hierarchies])
    return (codes * known).astype(np.int64) @ strides


def _looked_up(keys: Counts, found: Counts, counts: Counts) -> Counts:
    """Sum of the counts of each of some growing keys; those of other keys are left out."""
    place, own = places_among(keys, found)
    return np.rint(np.bincount(place[own], counts[own], len(keys))).astype(np.int64)


def _divided(
    free: Counts, certain: Counts, sets: Sequence[_LackingSet], total: int
) -> tuple[Counts, list[Counts]] | None:
    """People taken from each combination of the table, and set aside for each group of each set.

    ``free`` are behind no record with all values, ``certain`` those of them who are left whoever is behind records
    without; ``total`` are the records of the file, 0 where no more people than records are set aside. None where the
    people do not suffice when the sets take theirs one after the other.
    """
    left, spare, set_aside = free.copy(), certain.copy(), list[Counts]()
    for number, one in enumerate(sets):
        shared = np.zeros(len(free), dtype=np.int64)
        if total and number < _SHARED:
            order = np.argsort(one.group_of, kind="stable")
            upto = np.cumsum(spare[order] * (one.records_of.sum() / total))
            shared[order] = np.minimum(np.diff(np.floor(upto), prepend=0.0).astype(np.int64), spare[order])
        spare, left = spare - shared, left - shared
        set_aside.append(one.fitting(free) + one.people_of(shared))
    for one in sets:
        needed, order = one.fitting(free), np.lexsort((-left, one.group_of))
        groups, own = one.group_of[order], left[order]
        before = np.cumsum(own) - own
        before -= before[np.searchsorted(groups, np.arange(len(needed)))][groups]
        taken = np.zeros(len(free), dtype=np.int64)
        taken[order] = np.clip(needed[groups] - before, 0, own)
        if (one.people_of(taken) < needed).any():
            return None
        left = left - taken
    return free - left, set_aside
