"""Several releases in one hand: what is left of the groups that each record hides in.

Whoever holds several copies of the same people's records is taken to know which rows are one person's: what leaves as
collected often tells. A record's candidates are then the people who match all of its cells, and, to somebody who knows
the rules, those whom every rule gives exactly these cells. Its class in the files is the records with the same cells in
all of them. That a record is missing from a copy is not held against anybody.

``intersection`` counts; nothing here reads a file or judges a gate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.reassessment.intersection import Bools, Sets, check_room, people_in


@dataclass(frozen=True)
class Copy:
    """A released copy, laid on the combinations of values of one population."""

    attributes: tuple[int, ...]
    """Which of the population's attributes it has."""
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
    copies: Sequence[Copy],
    codes: Codes,
    people: Counts,
    listed: Counts | None = None,
    memory_limit: int = 2**30,
) -> Together:
    """What is left of the groups of the first copy's records for somebody who has the other copies as well.

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
    rows = [np.arange(len(copies[0].people)), *(_places(copies[0].people, copy.people) for copy in copies[1:])]
    first, records = _signatures(copies, rows)
    held = np.column_stack([place[first] for place in rows])
    matching = _matching(copies, held, codes, people, memory_limit)
    alone = _matching(copies[:1], held[:, :1], codes, people, memory_limit)
    kinds = people[:, None] if listed is None else np.column_stack([people, listed])
    effective = _effective(copies, held, kinds)
    others = (held[:, 1:] >= 0).any(axis=1)
    return Together(
        records=records,
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


def _signatures(copies: Sequence[Copy], rows: Sequence[NDArray[np.intp]]) -> tuple[NDArray[np.intp], Counts]:
    """Records with the same cells in all copies: one of each kind, and how many there are."""
    kind = np.zeros(len(rows[0]), dtype=np.int64)
    for copy, place in zip(copies, rows, strict=True):
        for column in copy.cells.T:
            positions = np.where(place >= 0, column[place] + 1, 0)
            kind = np.unique(kind * (int(positions.max(initial=0)) + 1) + positions, return_inverse=True)[1].ravel()
    _, first, records = np.unique(kind, return_index=True, return_counts=True)
    return first, records.astype(np.int64)


def _matching(
    copies: Sequence[Copy], held: NDArray[np.intp], codes: Codes, people: Counts, memory_limit: int
) -> Counts:
    """People in the intersection of each kind's cells, as sets of values."""
    sets, chosen = [], np.empty((len(held), codes.shape[1]), dtype=np.int32)
    for attribute in range(codes.shape[1]):
        having = [
            (number, copy.attributes.index(attribute))
            for number, copy in enumerate(copies)
            if attribute in copy.attributes
        ]
        groups = np.column_stack(
            [np.where(held[:, number] >= 0, copies[number].cells[held[:, number], axis], -1) for number, axis in having]
            or [np.full(len(held), -1)]
        )
        distinct, place = np.unique(groups, axis=0, return_inverse=True)
        chosen[:, attribute] = place.ravel()
        n_values = int(codes[:, attribute].max(initial=-1)) + 1
        check_room(len(distinct), n_values, memory_limit)
        members = np.ones((len(distinct), n_values), dtype=np.bool_)
        for column, (number, axis) in enumerate(having):
            known = distinct[:, column] >= 0
            members[known] &= copies[number].members[axis][distinct[known, column], :n_values]
        sets.append(Sets(members))
    found: Counts = people_in(sets, chosen, codes, people[:, None].astype(np.float64), memory_limit)[:, 0]
    return found


def _effective(copies: Sequence[Copy], held: NDArray[np.intp], people: Counts) -> Counts:
    """People, by kind, whom every rule gives the very cells; kinds in the columns."""
    found = np.zeros((len(held), people.shape[1]), dtype=np.int64)
    patterns, pattern_of = np.unique(held >= 0, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.ravel() == number)
        having = [copies[place] for place in np.flatnonzero(pattern).tolist()]
        places = held[rows][:, pattern]
        cells = np.hstack([copy.cells[places[:, place]] for place, copy in enumerate(having)])
        own = np.hstack([copy.own for copy in having])
        given = (own >= 0).all(axis=1)
        both, inverse = np.unique(np.vstack([cells, own[given]]), axis=0, return_inverse=True)
        inverse = inverse.ravel()
        for kind in range(people.shape[1]):
            sums = np.bincount(inverse[len(cells) :], weights=people[given, kind], minlength=len(both))
            found[rows, kind] = np.rint(sums[inverse[: len(cells)]]).astype(np.int64)
    return found
