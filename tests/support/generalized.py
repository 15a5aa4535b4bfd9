"""Random generalized files, and linkage of them by plain loops over records and sets of leaves."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st

from tasks.assessments.linkage.problem.generalized_files import AxisGroups, axis_groups
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.microdata.hierarchy import Codes, Hierarchy
from tests.support.worlds import World, worlds

Cell = tuple[frozenset[int], ...]


def grouping_of(hierarchy: Hierarchy, members: Sequence[int]) -> SafeHarborAxis:
    """A Safe Harbor with one group of its own, of these leaves."""
    positions = np.arange(hierarchy.n_leaves, dtype=np.int32)
    positions[list(members)] = hierarchy.axis_length
    return SafeHarborAxis(positions, np.zeros_like(positions), ("own",), np.array([len(members)]))


def group_at(hierarchy: Hierarchy, own: frozenset[int], position: int) -> frozenset[int]:
    """Leaves of the group at an axis position; ``own`` is Safe Harbor's."""
    if position == hierarchy.axis_length:
        return own
    level = int(np.searchsorted(hierarchy.offsets, position, "right")) - 1
    number = position - int(hierarchy.offsets[level])
    return frozenset(np.flatnonzero(hierarchy.groups[:, level] == number).tolist())


@dataclass(frozen=True)
class GeneralizedFile:
    """Tuples of a small world, each released as some cell that holds it."""

    hierarchies: tuple[Hierarchy, ...]
    own_groups: tuple[frozenset[int], ...]
    """Leaves of Safe Harbor's own group of each attribute; empty where it has none."""
    numbers: tuple[np.ndarray | None, ...]
    leaves: Codes
    cells: Codes
    records: np.ndarray
    kept: np.ndarray
    in_data: int
    """Tuples of the data; those after them are of the population alone."""

    @property
    def groups(self) -> tuple[AxisGroups, ...]:
        return tuple(
            axis_groups(tree, grouping_of(tree, sorted(own)) if own else None, numbers)
            for tree, own, numbers in zip(self.hierarchies, self.own_groups, self.numbers, strict=True)
        )

    @property
    def data(self) -> slice:
        return slice(self.in_data)

    def sets(self, tuple_number: int) -> Cell:
        """The cell of a tuple, as sets of leaves."""
        return tuple(map(group_at, self.hierarchies, self.own_groups, self.cells[tuple_number].tolist()))

    def released(self) -> list[int]:
        """Tuple of each released record."""
        return [t for t in range(self.in_data) if self.kept[t] for _ in range(self.records[t])]

    def holds(self, axes: Sequence[int], person: int, released: int) -> bool:
        cell = self.sets(released)
        return all(self.leaves[person, axis] in cell[axis] for axis in axes)

    def distance(self, axes: Sequence[int], weights: Sequence[float], person: int, released: int) -> float:
        cell = self.sets(released)
        return sum(
            weight
            * slow_distance(self.hierarchies[axis], self.numbers[axis], int(self.leaves[person, axis]), cell[axis])
            for axis, weight in zip(axes, weights, strict=True)
        )


def slow_distance(hierarchy: Hierarchy, numbers: np.ndarray | None, leaf: int, group: frozenset[int]) -> float:
    if numbers is not None:
        spread = float(numbers.max() - numbers.min())
        return float(np.mean([abs(numbers[leaf] - numbers[other]) for other in group])) / spread if spread else 0.0
    both = group | {leaf}
    sizes = [len(known) for known in [*all_groups(hierarchy), group] if known >= both]
    return (min(sizes) - 1) / (hierarchy.n_leaves - 1)


def all_groups(hierarchy: Hierarchy) -> tuple[frozenset[int], ...]:
    return _all_groups(hierarchy.groups.tobytes(), hierarchy.groups.shape)


@cache
def _all_groups(content: bytes, shape: tuple[int, int]) -> tuple[frozenset[int], ...]:
    levels = np.frombuffer(content, dtype=np.int32).reshape(shape).T
    return tuple(
        frozenset(np.flatnonzero(level == group).tolist()) for level in levels for group in set(level.tolist())
    )


@st.composite
def generalized_files(draw: st.DrawFn, max_attributes: int = 3) -> GeneralizedFile:
    """Cells at any level for each tuple, or Safe Harbor's own group; some tuples left out, some attributes amounts.

    Levels cross in some files.
    """
    world: World = draw(worlds(max_attributes=max_attributes, crossing=draw(st.booleans())))
    trees = world.hierarchies
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    own_groups = []
    for tree in trees:
        members = generator.permutation(tree.n_leaves)[: generator.integers(2, tree.n_leaves + 1)].tolist()
        own_groups.append(frozenset(members) if generator.random() < 0.5 else frozenset())
    numbers = tuple(
        generator.integers(0, 9, tree.n_leaves).astype(float) if generator.random() < 0.3 else None for tree in trees
    )
    data = list(world.records)
    leaves = world.codes(data + [values for values in world.people if values not in world.records])
    cells = np.empty_like(leaves)
    for row, axis in np.ndindex(*leaves.shape):
        tree, leaf = trees[axis], int(leaves[row, axis])
        cells[row, axis] = tree.positions[leaf, generator.integers(tree.n_levels)]
        if leaf in own_groups[axis] and generator.random() < 0.3:
            cells[row, axis] = tree.axis_length
    records = np.array([*world.records.values(), *[0] * (len(leaves) - len(data))])
    kept = generator.random(len(leaves)) < 0.8
    kept[0] = True
    return GeneralizedFile(trees, tuple(own_groups), numbers, leaves, cells, records, kept, len(data))
