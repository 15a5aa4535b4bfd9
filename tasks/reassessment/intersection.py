"""Counting the people who match several released cells at once.

A record that is released twice, at different generalizations, is known to be in the intersection of both cells. Cells
of one tree are nested or apart; those of different hierarchies, and of one whose levels cross, may overlap, so that an
intersection is a set of values that no level has. Here a cell is therefore what it is: a set of values of each
attribute. Values that every set holds or lacks alike are folded into one (atoms), and people are summed over the sets
of all attributes by one contraction of their counts an attribute, as a count cube sums over levels.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.microdata.hierarchy import Codes

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_BYTES = 8
_CHUNK_BYTES = 64 * 2**20
_MOST_PAIRS = 2 * 10**11
"""Pairs of an intersection and a combination of values past which they are not compared one by one."""


def people_in(
    sets: Sequence[Bools], chosen: Codes, codes: Codes, people: Floats, memory_limit: int = 2**30
) -> NDArray[np.int64]:
    """People whose values lie in a product of sets, one set an attribute.

    Parameters
    ----------
    sets : sequence of arrays of shape (n_sets, n_values)
        Of each attribute, whether each of its sets holds each value.
    chosen : array of shape (n_products, n_attributes)
        Which of the attribute's sets each product has.
    codes : array of shape (n_tuples, n_attributes)
        Values of each distinct combination that people have.
    people : array of shape (n_tuples, n_kinds)
        People of each combination, by kind: of the population, of a register. Whole numbers, below 2⁵³ in sum.
    memory_limit : int
        Bytes that the contraction may take; past it, products and combinations are compared one by one.

    Returns
    -------
    array of shape (n_products, n_kinds)

    Raises
    ------
    StageFailed
        If there are too many products and combinations for either way.
    """
    folded, atoms, codes, people = _folded(sets, codes, people)
    sizes = [max(len(one), count) for one, count in zip(folded, atoms, strict=True)]
    if float(np.prod(np.array(sizes, dtype=np.float64))) * _BYTES * people.shape[1] <= memory_limit:
        found = _contracted(folded, atoms, codes, people)[(*chosen.T,)]
    else:
        found = _one_by_one(folded, chosen, codes, people)
    counts: NDArray[np.int64] = np.rint(found).astype(np.int64)
    return counts


def check_room(n_sets: int, n_values: int, memory_limit: int) -> None:
    """Refuse sets of values, a byte for each set and value, that would take more memory than they may.

    Raises
    ------
    StageFailed
    """
    if n_sets * n_values > max(memory_limit, _CHUNK_BYTES):
        raise StageFailed(
            "releases cannot be pooled: an attribute has too many groups of too many values",
            where=f"{n_sets:,} groups, {n_values:,} values",
            expected=f"{memory_limit // 2**20:,} MB at most",
            got=f"{n_sets * n_values // 2**20:,} MB",
            fix="raise policy.generalization.memory_limit_mb",
        )


def _folded(sets: Sequence[Bools], codes: Codes, people: Floats) -> tuple[list[Bools], list[int], Codes, Floats]:
    """Values folded into atoms, combinations of no set left out, and equal ones added up."""
    folded, atoms = [], []
    codes, inside = codes.copy(), np.ones(len(codes), dtype=np.bool_)
    for axis, one in enumerate(sets):
        members, atom_of = np.unique(one, axis=1, return_inverse=True)
        inside &= np.asarray(one.any(axis=0))[codes[:, axis]]
        codes[:, axis] = atom_of.ravel()[codes[:, axis]]
        folded.append(members)
        atoms.append(members.shape[1])
    codes, people = codes[inside], people[inside]
    if len(codes):
        codes, place = np.unique(codes, axis=0, return_inverse=True)
        people = np.column_stack([np.bincount(place.ravel(), weights=kind, minlength=len(codes)) for kind in people.T])
    return folded, atoms, codes, people


def _contracted(sets: Sequence[Bools], atoms: Sequence[int], codes: Codes, people: Floats) -> Floats:
    """People in every product of sets; shape (n_sets of each attribute …, n_kinds)."""
    counts = np.zeros((*atoms, people.shape[1]))
    counts[(*codes.T,)] = people
    for axis, one in enumerate(sets):
        summed = np.tensordot(one.astype(np.float64), counts, axes=([1], [axis]))
        counts = np.moveaxis(summed, 0, axis)
    return counts


def _one_by_one(sets: Sequence[Bools], chosen: Codes, codes: Codes, people: Floats) -> Floats:
    if len(chosen) * len(codes) > _MOST_PAIRS:
        raise StageFailed(
            "releases cannot be pooled: their cells have too many intersections",
            where=f"{len(chosen):,} intersections, {len(codes):,} combinations of values",
            expected=f"at most {_MOST_PAIRS:.0e} pairs of them",
            got=f"{len(chosen) * len(codes):.1e}",
            fix="raise policy.generalization.memory_limit_mb, so that they are summed and not compared",
        )
    found = np.zeros((len(chosen), people.shape[1]))
    rows = max(_CHUNK_BYTES // max(len(codes), 1), 1)
    for start in range(0, len(chosen), rows):
        part = chosen[start : start + rows]
        inside = np.ones((len(part), len(codes)), dtype=np.bool_)
        for axis, one in enumerate(sets):
            inside &= one[part[:, axis]][:, codes[:, axis]]
        found[start : start + rows] = inside @ people
    return found
