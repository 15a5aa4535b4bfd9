"""Input of every solver of the game: hierarchies, stakes, the population's counts and the tuples to decide on."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.game.payoffs import EXACT, Floats, Follower, InformationLoss, Payoffs
from tasks.generalization.kanonymity.classes import fold
from tasks.microdata.cube import DenseCube, Lattice, SparseCube, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts

_LARGEST = 2**62
_MATRIX_CELLS = 8_000_000


@dataclass(frozen=True)
class Problem:
    """The game over one dataset and one population, under one recipient's stakes."""

    hierarchies: tuple[Hierarchy, ...]
    loss: InformationLoss
    payoffs: Follower
    people: DenseCube | SparseCube
    """People in each cell of the population."""

    @cached_property
    def lattice(self) -> Lattice:
        """All strategies."""
        return Lattice.of(self.hierarchies)

    def evaluate(self, codes: Codes, levels: Codes) -> tuple[Floats, Counts]:
        """Released value v, 0 to V, and group size n_p of leaf codes at levels; both (n_tuples, n_attributes)."""
        cells = cells_at(codes, levels, self.hierarchies)
        return self.payoffs.benefit * self.loss.kept(cells), self.people.count(cells)

    def cells(self, codes: Codes, levels: Codes) -> Codes:
        """Cells of leaf codes at levels, named as ``canonical`` does."""
        return self.canonical(cells_at(codes, levels, self.hierarchies))

    def canonical(self, cells: Codes) -> Codes:
        """Cells with each group named at the lowest level that holds the same values."""
        return np.column_stack([tree.finest[cells[:, axis]] for axis, tree in enumerate(self.hierarchies)])


def safe_people(follower: Follower) -> int:
    """Whole people from whom on no record is attacked; the safe group must be finite."""
    return max(ceil(follower.safe_group * EXACT), 1)


def all_attacked(what: str, follower: Follower) -> StageFailed:
    """The error of a rule that releases nothing worth an attack, where everything is."""
    least, single = follower.safe_group, isinstance(follower, Payoffs)
    number = f"{safe_people(follower):,}" if least < _LARGEST else f"{least:g}"
    people = f"a population of at least {number} people ({'gain over cost' if single else 'nobody attacks as many'})"
    return StageFailed(
        what,
        where="generalization",
        expected=people if np.isfinite(least) else "terms under which some group is not worth an attack",
        got="fewer people in the whole population" if np.isfinite(least) else "terms under which every group is",
        fix="use a larger population, or terms with a smaller gain or a higher cost",
    )


def allowed_nodes(lattice: Lattice, floor: Codes) -> NDArray[np.bool_]:
    """Strategies at least as general as a floor of levels; shape (n_rows, n_nodes)."""
    return np.asarray(np.all(lattice.nodes[None, :, :] >= floor[:, None, :], axis=2))


def value_profiles(problem: Problem, codes: Codes, floor: Codes | None) -> tuple[Counts, Counts]:
    """Fold tuples whose strategies have the same values and the same floor.

    v depends on a tuple only through the sizes of its groups, so few profiles stand for many tuples. Returns the
    profile of each tuple, and one tuple of each profile.
    """
    columns: list[NDArray[np.integer]] = []
    for axis, hierarchy in enumerate(problem.hierarchies):
        sizes = hierarchy.sizes[hierarchy.positions]
        _, kind = np.unique(sizes, axis=0, return_inverse=True)
        columns.append(kind.ravel()[codes[:, axis]])
    if floor is not None:
        columns.extend(floor.T)
    return fold(np.column_stack(columns))


def by_profile(
    problem: Problem, codes: Codes, floor: Codes | None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Floats]]:
    """All tuples, those of some profiles at a time, with what every strategy keeps of them.

    Yields the rows of some tuples, the profile of each, numbered from 0 each time, and the share of information kept by
    every strategy for each of these profiles, shape (n_profiles, n_nodes), −inf below the floor.
    """
    profile, members = value_profiles(problem, codes, floor)
    order = np.argsort(profile, kind="stable")
    step = max(1, _MATRIX_CELLS // len(problem.lattice))
    bounds = np.searchsorted(profile[order], np.arange(0, len(members) + step, step))
    for chunk, (start, end) in enumerate(pairwise(bounds)):
        rows, own = order[start:end], members[chunk * step : (chunk + 1) * step]
        yield rows, profile[rows] - chunk * step, _kept(problem, codes[own], None if floor is None else floor[own])


def _kept(problem: Problem, codes: Codes, floor: Codes | None) -> Floats:
    nodes = problem.lattice.nodes
    lost = np.zeros((len(codes), len(nodes)))
    for axis, (hierarchy, losses) in enumerate(zip(problem.hierarchies, problem.loss.by_axis, strict=True)):
        by_level = losses[hierarchy.positions[codes[:, axis]]]
        if floor is not None:
            by_level[np.arange(hierarchy.n_levels) < floor[:, axis, None]] = np.inf
        lost += by_level[:, nodes[:, axis]]
    return 1.0 - lost / problem.loss.maximum
