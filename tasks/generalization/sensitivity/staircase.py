"""Possible releases of each tuple under any stakes: its staircase of strategies.

Only strategies that no other beats in both the information kept and the group can be optimal: in falling order of the
information kept, those whose group is larger than all before them, up to the first group that is safe under all the
stakes asked about. Most tuples share their staircase with others, and only distinct ones are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game.payoffs import Floats
from tasks.generalization.game.problem import Problem, by_profile
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples

_DECIMALS = 12
"""Shares of information kept that agree to these are equal, and such strategies are tried in the lattice's order."""

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Staircases:
    """Distinct staircases, one after the other; a step is a strategy.

    ``starts`` has the first step of each and at last the number of all steps, ``records`` those of each, ``of_tuple``
    the staircase of each tuple of the data. Of each step: the share of information ``kept``, not rising along a
    staircase; its group, ``people``, rising, from 1 to the largest safe group; the lattice node; and the generalization
    ``intensity`` GI, 0 to 1.
    """

    starts: Places
    kept: Floats
    people: Counts
    nodes: Places
    intensity: Floats
    records: Floats
    of_tuple: Places

    @cached_property
    def owner(self) -> Places:
        """Staircase of each step."""
        return np.repeat(np.arange(len(self.records)), np.diff(self.starts))


def staircases(problem: Problem, data: Tuples, largest_safe: int, floor: Codes | None = None) -> Staircases:
    """Staircases of the data's tuples; the problem's own stakes do not matter.

    A group of ``largest_safe`` is safe under all stakes that will be asked about; ``floor`` has the least level of each
    attribute, shape (n_tuples, n_attributes) (SH-Friendly).
    """
    parts = list(_steps(problem, data.codes, largest_safe, floor))
    tuples, kept, people, nodes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(tuples, kind="stable")
    lengths = np.bincount(tuples, minlength=len(data))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    keys = np.column_stack([np.rint(kept * 10.0**_DECIMALS).astype(np.int64), people, nodes])[order]
    own, of_tuple, number = list[Places](), np.empty(len(data), dtype=np.intp), 0
    for length in np.unique(lengths):
        same = np.flatnonzero(lengths == length)
        rows = keys[starts[same, None] + np.arange(length)].reshape(len(same), -1)
        _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        own.append(same[first])
        of_tuple[same] = number + place.ravel()
        number += len(first)
    chosen = np.concatenate(own)
    steps = order[np.concatenate([np.arange(starts[one], starts[one + 1]) for one in chosen])]
    return Staircases(
        starts=np.concatenate([[0], np.cumsum(lengths[chosen])]),
        kept=kept[steps],
        people=people[steps],
        nodes=nodes[steps],
        intensity=problem.lattice.intensity(problem.lattice.nodes)[nodes[steps]],
        records=np.bincount(of_tuple, weights=data.counts, minlength=len(chosen)).astype(np.float64),
        of_tuple=of_tuple,
    )


def _steps(
    problem: Problem, codes: Codes, largest_safe: int, floor: Codes | None
) -> Iterator[tuple[Places, Floats, Counts, Places]]:
    """Tuple, share kept, people and node of the steps of all tuples, those of one tuple in order."""
    largest = np.zeros(len(codes), dtype=np.int64)
    for active, profile, kept in by_profile(problem, codes, floor):
        order = np.argsort(-np.round(kept, _DECIMALS), axis=1, kind="stable")
        falling = np.take_along_axis(kept, order, axis=1)
        for rank in range(len(problem.lattice)):
            waiting = (largest[active] < largest_safe) & np.isfinite(falling[profile, rank])
            active, profile = active[waiting], profile[waiting]  # noqa: PLW2901
            if len(active) == 0:
                break
            node = order[profile, rank]
            cells = cells_at(codes[active], problem.lattice.nodes[node], problem.hierarchies)
            people = np.clip(problem.people.count(cells), 1, largest_safe)
            higher = people > largest[active]
            found = active[higher]
            largest[found] = people[higher]
            yield found, falling[profile[higher], rank], people[higher], node[higher]
