"""Distinct quasi-identifier tuples with their counts: what every method works on in place of records."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import BadInput, DataError, row_positions
from tasks.core.plural import plural
from tasks.microdata.hierarchy import MISSING, Codes, Hierarchy, values_of

Counts = NDArray[np.int64]
_KEY_LIMIT = 2**62
_DAY_AND_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ].+")
WITHOUT_TIMES = (
    "take the times of day out of the file, which a hierarchy of dates does not have, or group by prefixes: "
    '{keep: [10, 7, 4], mask: ""}'
)


@dataclass(frozen=True)
class Tuples:
    """Distinct combinations of leaf codes, sorted, with the number of records (or people) of each."""

    codes: Codes
    """Leaf code of each quasi-identifier, shape (n_tuples, n_attributes)."""
    counts: Counts
    """Records or people of each tuple, shape (n_tuples,)."""
    keys: Counts
    """Mixed-radix number of each tuple, growing; shape (n_tuples,)."""

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """Records or people of all tuples."""
        return int(self.counts.sum())

    def find(self, keys: Counts) -> NDArray[np.intp]:
        """Number of the tuple with each key; −1 where there is none."""
        place, found = places_among(self.keys, keys)
        return np.where(found, place, -1)


def places_among(keys: Counts, numbers: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Place of each number among growing keys, and whether it is there."""
    if not len(keys):
        return np.zeros(len(numbers), dtype=np.intp), np.zeros(len(numbers), dtype=np.bool_)
    place = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
    return place, keys[place] == numbers


def radix_strides(sizes: Sequence[int]) -> Counts:
    """Strides that number all combinations of codes below ``sizes``, last code fastest.

    Raises
    ------
    BadInput
        If there are more combinations than a 64-bit number can name.
    """
    strides = np.ones(len(sizes), dtype=object)
    for axis in range(len(sizes) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * int(sizes[axis + 1])
    combinations = int(strides[0]) * int(sizes[0])
    if combinations >= _KEY_LIMIT:
        fix = "use fewer quasi-identifiers or coarser domains"
        raise _too_many(combinations, f"{len(sizes)} quasi-identifiers", fix)
    return strides.astype(np.int64)


def check_cells(hierarchies: Mapping[str, Hierarchy]) -> None:
    """Refuse (BadInput) quasi-identifiers whose cells, over all levels, are more than a 64-bit number can name."""
    cells = prod(hierarchy.axis_length for hierarchy in hierarchies.values())
    if cells >= _KEY_LIMIT:
        widest = sorted(hierarchies, key=lambda name: hierarchies[name].n_leaves, reverse=True)[:3]
        named = ", ".join(f"{name} ({hierarchies[name].n_leaves:,} values)" for name in widest)
        raise _too_many(
            cells,
            f"hierarchies of {len(hierarchies)} quasi-identifiers",
            f"give one of them a role that is withheld, or those with most values a narrower domain: {named}",
        )


def _too_many(combinations: int, where: str, fix: str) -> BadInput:
    return BadInput(
        "the quasi-identifiers have more combinations than can be numbered",
        where=where,
        expected="the product of their hierarchies' groups below 2^62",
        got=f"about 2^{combinations.bit_length() - 1}",
        fix=fix,
    )


def leaf_keys(codes: Codes, hierarchies: Sequence[Hierarchy]) -> Counts:
    """Mixed-radix number of each row of leaf codes."""
    keys = np.zeros(len(codes), dtype=np.int64)
    for axis, stride in enumerate(radix_strides([hierarchy.n_leaves for hierarchy in hierarchies])):
        keys += codes[:, axis] * stride
    return keys


def leaf_codes(keys: Counts, hierarchies: Sequence[Hierarchy]) -> Codes:
    """Leaf codes that some keys stand for: what ``leaf_keys`` numbered, shape (n_keys, n_attributes)."""
    sizes = [hierarchy.n_leaves for hierarchy in hierarchies]
    return (keys[:, None] // radix_strides(sizes) % sizes).astype(np.int32)


def distinct_tuples(
    codes: Codes, hierarchies: Sequence[Hierarchy], weights: Counts | None = None
) -> tuple[Tuples, NDArray[np.intp]]:
    """Fold rows into distinct tuples.

    Parameters
    ----------
    codes : array of shape (n_rows, n_attributes)
        Leaf codes.
    hierarchies : sequence of Hierarchy
        One an attribute.
    weights : array of shape (n_rows,), optional
        People that each row stands for; one where not given.

    Returns
    -------
    tuples : Tuples
    inverse : array of shape (n_rows,)
        Tuple of each row.
    """
    keys = leaf_keys(codes, hierarchies)
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    counts = np.bincount(inverse, weights=weights, minlength=len(distinct))
    return Tuples(codes=codes[first], counts=np.rint(counts).astype(np.int64), keys=distinct), inverse


def encode(frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], where: str, *, groups: bool = False) -> Codes:
    """Leaf codes of the quasi-identifiers of each row.

    Parameters
    ----------
    frame : DataFrame
        Text columns named as the hierarchies.
    hierarchies : mapping of str to Hierarchy
        In the order of the codes wanted; one that has a leaf for missing values takes them.
    where : str
        Name of the file, for messages.
    groups : bool
        Whether a cell may name the group, where the leaves of a hierarchy are groups: counts of people may be by these.

    Returns
    -------
    array of shape (n_rows, n_attributes), int32

    Raises
    ------
    DataError
        If a cell is missing without a leaf for it, or its value is not in the hierarchy; names column and rows, not the
        value.
    """
    codes = np.empty((len(frame), len(hierarchies)), dtype=np.int32)
    for axis, (name, hierarchy) in enumerate(hierarchies.items()):
        missing = frame[name].isna().to_numpy()
        if missing.any() and hierarchy.missing_leaf < 0:
            raise DataError(
                "a quasi-identifier has missing values",
                where=f"{where}, column {name}, {row_positions(np.flatnonzero(missing))}",
                expected="a value in every record",
                got=f"{int(missing.sum())} without",
                fix="complete the records or leave them out of the file",
            )
        levels, distinct = pd.factorize(frame[name])
        values = np.asarray(distinct, dtype=object)
        leaves = np.where(values == MISSING, -1, hierarchy.encode(values, groups=groups))
        codes[:, axis] = np.append(leaves, hierarchy.missing_leaf)[levels]
        unknown = np.flatnonzero(codes[:, axis] < 0)
        if len(unknown):
            others = [str(value) for value in values[leaves < 0]]
            raise DataError(
                "values are missing from a hierarchy",
                where=f"{where}, column {name}, {row_positions(unknown)}",
                expected=values_of(hierarchy),
                got=f"{plural(len(others), 'other value')} in {plural(len(unknown), 'record')}"
                f"{_near_miss(others, hierarchy)}",
                fix=WITHOUT_TIMES
                if have_times(others, hierarchy)
                else f"correct the records, or add the values to attributes.{name}.hierarchy (by prefixes: to the "
                "population)",
            )
    return codes


def have_times(others: Iterable[str], hierarchy: Hierarchy) -> bool:
    """Whether values that a hierarchy lacks are some of its days, with times of day."""
    days = {found[1] for value in others if (found := _DAY_AND_TIME.match(value))}
    return not days.isdisjoint(hierarchy.domain)


def _near_miss(others: Sequence[str], hierarchy: Hierarchy) -> str:
    """Difference in spelling between values and those of the hierarchy, where spelling is the only difference."""
    ways: dict[str, Callable[[str], str]] = {
        "times of day": lambda text: _DAY_AND_TIME.sub(r"\1", text),
        "spaces around them": str.strip,
        "capital letters": lambda text: text.strip().casefold(),
        "leading zeros": lambda text: text.strip().lstrip("0"),
    }
    for difference, same in ways.items():
        if set(map(same, hierarchy.domain)) >= set(map(same, others)):
            return f"; they differ by {difference}"
    return ""
