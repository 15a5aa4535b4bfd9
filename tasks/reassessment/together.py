"""Pooled copies of several releases: the groups that each record still hides in (``tasks.candidate.coalition``).

Their hierarchies may differ, so that a group is a set of values here. ``intersection`` counts; nothing here reads a
file or judges a gate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.candidate.coalition import PooledCopy, people_by_rule, same_cells
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.reassessment.intersection import Bools, check_room, people_in


@dataclass(frozen=True)
class LaidCopy:
    """A released copy, laid on the combinations of values of one population."""

    attributes: tuple[int, ...]
    """Attributes of the population that it has."""
    members: tuple[Bools, ...]
    """Of each of these attributes, the values of the population that each of its groups holds; shape (n_groups,
    n_values)."""
    cells: Codes
    """Group of each released record on each of these attributes, shape (n_records, n_own_attributes)."""
    people: NDArray[np.bytes_]
    """Name of each record's person, each once; shape (n_records,)."""
    own: Codes
    """Cell that the rule gives each combination of values of the population, −1 where it gives none; shape (n_tuples,
    n_own_attributes)."""


@dataclass(frozen=True)
class Together:
    """Records of the first copy by the cells that they have in all; arrays of length n_signatures."""

    records: Counts
    """Records with the same cells in all copies: their class in the files."""
    people: Counts
    """People of the population who match all of these cells."""
    effective: Counts
    """Those of them whom each rule gives the very cell."""
    listed: Counts | None
    """The latter in the external register; None without one."""
    shared: int
    """Records of the first copy that some other copy has too."""
    narrowed: int
    """Those of them whom fewer people match than match their cell in the first copy."""


def laid_together(
    copies: Sequence[LaidCopy],
    codes: Codes,
    people: Counts,
    listed: Counts | None = None,
    memory_limit: int = 2**30,
) -> Together:
    """Groups of the first copy's records that are left for a holder of the other copies as well.

    Parameters
    ----------
    copies : sequence of Copy
        The first one is the one in question.
    codes : array of shape (n_tuples, n_attributes)
        Values of each distinct combination of the population.
    people : array of shape (n_tuples,)
    listed : array of shape (n_tuples,), optional
        Those of them in the external register.
    memory_limit : int
        Bytes that counting may take.

    Raises
    ------
    StageFailed
        If the cells have too many intersections to be counted.
    """
    by_record = [_pooled(copy, _places(copies[0].people, copy.people)) for copy in copies]
    _, first, records = np.unique(same_cells(by_record), return_index=True, return_counts=True)
    pooled = [copy.at(first) for copy in by_record]
    matching = _matching(copies, pooled, codes, people, memory_limit)
    alone = _matching(copies[:1], pooled[:1], codes, people, memory_limit)
    effective = people_by_rule(pooled, people[:, None] if listed is None else np.column_stack([people, listed]))
    others = np.column_stack([np.zeros(len(first), dtype=np.bool_), *(copy.present for copy in pooled[1:])]).any(axis=1)
    return Together(
        records=records.astype(np.int64),
        people=matching,
        effective=effective[:, 0],
        listed=None if listed is None else effective[:, 1],
        shared=int(records[others].sum()),
        narrowed=int(records[matching < alone].sum()),
    )


def _places(wanted: NDArray[np.bytes_], names: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """Row of each wanted person; −1 for who is not there."""
    if len(names) == 0:
        return np.full(len(wanted), -1, dtype=np.intp)
    order = np.argsort(names, kind="stable")
    place = order[np.minimum(np.searchsorted(names, wanted, sorter=order), len(names) - 1)]
    return np.where(names[place] == wanted, place, -1)


def _pooled(copy: LaidCopy, place: NDArray[np.intp]) -> PooledCopy:
    """A copy by the records of the first one, which are in some of its rows."""
    given = np.asarray((copy.own >= 0).all(axis=1))
    return PooledCopy(copy.cells[place], place >= 0, np.maximum(copy.own, 0), given)


def _matching(
    copies: Sequence[LaidCopy], pooled: Sequence[PooledCopy], codes: Codes, people: Counts, memory_limit: int
) -> Counts:
    """People in the intersection of each kind's cells, as sets of values."""
    n_rows = len(pooled[0].present)
    sets, chosen = [], np.empty((n_rows, codes.shape[1]), dtype=np.int32)
    for attribute in range(codes.shape[1]):
        having = [
            (number, copy.attributes.index(attribute))
            for number, copy in enumerate(copies)
            if attribute in copy.attributes
        ]
        groups = np.column_stack(
            [np.where(pooled[number].present, pooled[number].cells[:, axis], -1) for number, axis in having]
            or [np.full(n_rows, -1)]
        )
        distinct, place = np.unique(groups, axis=0, return_inverse=True)
        chosen[:, attribute] = place.ravel()
        n_values = int(codes[:, attribute].max(initial=-1)) + 1
        check_room(len(distinct), n_values, memory_limit)
        members = np.ones((len(distinct), n_values), dtype=np.bool_)
        for column, (number, axis) in enumerate(having):
            known = distinct[:, column] >= 0
            members[known] &= copies[number].members[axis][distinct[known, column], :n_values]
        sets.append(members)
    found: Counts = people_in(sets, chosen, codes, people[:, None].astype(np.float64), memory_limit)[:, 0]
    return found
