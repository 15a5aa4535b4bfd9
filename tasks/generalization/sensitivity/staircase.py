"""Possible releases of each tuple under any stakes: its staircase of strategies.

Only strategies that no other beats in both the information kept and the group can ever be optimal: in falling order of
the information kept, those whose group is larger than all before them. A staircase ends at the first group
that is safe under all the stakes that are asked about; how much larger that one is does not matter, so most tuples
share their staircase with others, and only distinct ones are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game import Floats
from tasks.generalization.problem import Problem, by_profile
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples

KEPT_DECIMALS = 12
"""Shares of information kept that agree to these are equal, and such strategies are tried in the lattice's order."""


@dataclass(frozen=True, eq=False)
class Staircases:
    """Distinct staircases, one after the other; a step is a strategy."""

    starts: NDArray[np.intp]
    """First step of each staircase, and the number of all steps last; shape (n_staircases + 1,)."""
    kept: Floats
    """Share of information kept by each step, not rising along a staircase; shape (n_steps,)."""
    people: Counts
    """Group of each step, rising along a staircase, from 1 to at most ``largest_safe``; shape (n_steps,)."""
    nodes: NDArray[np.intp]
    """Lattice node of each step."""
    intensity: Floats
    """Generalization intensity GI of each step, 0 to 1."""
    records: Floats
    """Records of each staircase, shape (n_staircases,)."""
    of_tuple: NDArray[np.intp]
    """Staircase of each tuple of the data, shape (n_tuples,)."""
    largest_safe: int
    """Largest group size from which nobody attacks that may be asked about."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def total(self) -> float:
        """Records of all staircases."""
        return float(self.records.sum())

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Staircase of each step."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


def staircases(problem: Problem, data: Tuples, largest_safe: int, floor: Codes | None = None) -> Staircases:
    """Staircases of the data's tuples.

    Parameters
    ----------
    problem : Problem
        Its stakes do not matter.
    data : Tuples
    largest_safe : int
        Size from which a group is safe under all stakes that will be asked about.
    floor : array of shape (n_tuples, n_attributes), optional
        Least level of each attribute (SH-Friendly).
    """
    parts = list(_steps(problem, data.codes, largest_safe, floor))
    tuples, kept, people, nodes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(tuples, kind="stable")
    lengths = np.bincount(tuples, minlength=len(data))
    own, of_tuple = _distinct(lengths, kept[order], people[order], nodes[order])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    steps = order[np.concatenate([np.arange(starts[one], starts[one + 1]) for one in own] or [np.arange(0)])]
    return Staircases(
        starts=np.concatenate([[0], np.cumsum(lengths[own])]),
        kept=kept[steps],
        people=people[steps],
        nodes=nodes[steps],
        intensity=problem.lattice.intensity(problem.lattice.nodes)[nodes[steps]],
        records=np.bincount(of_tuple, weights=data.counts, minlength=len(own)).astype(np.float64),
        of_tuple=of_tuple,
        largest_safe=largest_safe,
    )


_Steps = tuple[NDArray[np.intp], Floats, Counts, NDArray[np.intp]]
"""Tuple, share kept, people and node of some steps."""


def _steps(problem: Problem, codes: Codes, largest_safe: int, floor: Codes | None) -> Iterator[_Steps]:
    """Steps of all tuples, those of one tuple in order."""
    for rows, profile, kept in by_profile(problem, codes, floor):
        steps = _walk(problem, codes[rows], profile, kept, largest_safe)
        yield from ((rows[tuples], share, people, node) for tuples, share, people, node in steps)


def _walk(
    problem: Problem, codes: Codes, profile: NDArray[np.intp], kept: Floats, largest_safe: int
) -> Iterator[_Steps]:
    order = np.argsort(-np.round(kept, KEPT_DECIMALS), axis=1, kind="stable")
    falling = np.take_along_axis(kept, order, axis=1)
    largest = np.zeros(len(codes), dtype=np.int64)
    active = np.arange(len(codes))
    for rank in range(len(problem.lattice)):
        active = active[(largest[active] < largest_safe) & np.isfinite(falling[profile[active], rank])]
        if len(active) == 0:
            break
        node = order[profile[active], rank]
        cells = cells_at(codes[active], problem.lattice.nodes[node], problem.hierarchies)
        people = np.clip(problem.people.count(cells), 1, largest_safe)
        higher = people > largest[active]
        found = active[higher]
        largest[found] = people[higher]
        yield found, falling[profile[found], rank], people[higher], node[higher]


def _distinct(
    lengths: NDArray[np.intp], kept: Floats, people: Counts, nodes: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """One tuple of each distinct staircase, and the staircase of each tuple."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    keys = np.column_stack([np.rint(kept * 10.0**KEPT_DECIMALS).astype(np.int64), people, nodes.astype(np.int64)])
    own: list[NDArray[np.intp]] = []
    of_tuple = np.empty(len(lengths), dtype=np.intp)
    number = 0
    for length in np.unique(lengths):
        tuples = np.flatnonzero(lengths == length)
        rows = keys[starts[tuples, None] + np.arange(length)].reshape(len(tuples), -1)
        _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        own.append(tuples[first])
        of_tuple[tuples] = number + place.ravel()
        number += len(first)
    return np.concatenate(own), of_tuple
