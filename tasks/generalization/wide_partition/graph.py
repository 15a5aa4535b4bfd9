"""Cells that recursive division reaches, each with the splits that are looked at: as wide as a limit of memory allows.

A cell is *closed*: no attribute can go down a level with all members still in one group, since that is worth doing in
any case. Cells are worked off from general to specific, all of one sum of levels at once, and each once, however it is
reached. Every cell gets its best split by information gained for each unit of entropy that the members lose; what room
there is beyond that goes to the second best splits, smallest cells first, then to the third and so on. Where there is
room for all of them the best division of the graph is the best of all recursive ones.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game import Floats
from tasks.generalization.kanonymity.classes import number_rows
from tasks.generalization.wide_partition.axes import NO_LEVEL
from tasks.generalization.wide_partition.members import Division
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

Ints = NDArray[np.int64]

_ANY_ENTROPY = 1e-9
"""A unit of entropy for each person, so that splits that cost none are compared by what they gain."""


@dataclass(frozen=True)
class Cells:
    """Some cells with their members, those of one cell next to each other."""

    positions: Codes
    """Axis positions, shape (n_cells, n_attributes)."""
    sizes: Ints
    """Member tuples of each cell, at least 1."""
    members: NDArray[np.int32]
    """Member tuples, shape (sizes.sum(),)."""
    people: Counts
    weights: Counts

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> Ints:
        """Place of the first member of each cell."""
        starts: Ints = np.cumsum(self.sizes) - self.sizes
        return starts

    def only(self, kept: Ints) -> "Cells":
        """Some of the cells."""
        sizes = self.sizes[kept]
        return Cells(
            self.positions[kept],
            sizes,
            self.members[runs(self.starts[kept], sizes)],
            self.people[kept],
            self.weights[kept],
        )


def runs(starts: Ints, sizes: Ints) -> Ints:
    """Places start, start + 1, …, one run after another."""
    shift = starts - (np.cumsum(sizes) - sizes)
    places: Ints = np.arange(int(sizes.sum())) + np.repeat(shift, sizes)
    return places


@dataclass
class Round:
    """The cells of one sum of levels and the splits of them that were looked at."""

    cells: Cells
    numbers: Ints
    """Number of each cell in the graph."""
    parents: Ints
    """Number of the cell that each split divides."""
    axes: NDArray[np.int8]
    levels: NDArray[np.int8]
    child_starts: Ints
    children: Ints
    """Provisional numbers of the cells that the splits make, split after split."""


@dataclass
class _Made:
    """Splits of a round as they are made."""

    parts: list[tuple[Ints, NDArray[np.int8], NDArray[np.int8], Ints, Ints]] = field(default_factory=list)
    count: int = 0

    def add(self, parents: Ints, axis: int, level: int, starts: Ints, children: Ints) -> None:
        """Splits along one attribute into one level; ``starts`` are places among ``children``."""
        along = np.full(len(parents), axis, dtype=np.int8), np.full(len(parents), level, dtype=np.int8)
        self.parts.append((parents, *along, starts + self.count, children))
        self.count += len(children)

    def round(self, cells: Cells, numbers: Ints) -> Round:
        """All of them."""
        none, small = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8)
        parts = [(none, small, small, none, none), *self.parts]
        parents, axes, levels, starts, children = zip(*parts, strict=True)
        return Round(
            cells,
            numbers,
            np.concatenate(parents),
            np.concatenate(axes),
            np.concatenate(levels),
            np.concatenate(starts),
            np.concatenate(children),
        )


@dataclass
class Graph:
    """Cells reached from some roots."""

    roots: Ints
    """Number of the closed cell of each root."""
    rounds: list[Round]
    final: Ints
    """Number of the cell that each provisional number stands for."""
    count: int
    complete: bool
    """Whether every split of every cell was looked at."""


@dataclass
class Explorer:
    """Builds a graph."""

    division: Division
    limit: int
    """Member tuples, over all cells that wait, beyond which a cell gets one split only."""
    waiting: dict[int, list[tuple[Cells, Ints]]] = field(default_factory=dict)
    pending: int = 0
    provisional: int = 0
    complete: bool = True

    def explore(self, roots: Cells) -> Graph:
        """The graph below some cells."""
        own = self._wait(roots)
        rounds, resolved, count = list[Round](), list[tuple[Ints, Ints]](), 0
        while self.waiting:
            total = max(self.waiting)
            cells, provisional, number = self._merge(self.waiting.pop(total))
            resolved.append((provisional, number + count))
            rounds.append(self._round(cells, np.arange(len(cells)) + count))
            count += len(cells)
        final = np.empty(self.provisional, dtype=np.int64)
        for provisional, number in resolved:
            final[provisional] = number
        return Graph(final[own], rounds, final, count, self.complete)

    def _wait(self, cells: Cells) -> Ints:
        """Close cells, put them with others of their sum of levels, and number them provisionally."""
        numbers = np.arange(len(cells)) + self.provisional
        self.provisional += len(cells)
        self.pending += len(cells.members)
        closed = Cells(close(self.division, cells), cells.sizes, cells.members, cells.people, cells.weights)
        trees = self.division.problem.hierarchies
        totals = sum(tree.axis_levels[closed.positions[:, axis]] for axis, tree in enumerate(trees))
        for total in np.unique(totals):
            rows = np.flatnonzero(totals == total)
            part = closed if len(rows) == len(closed) else closed.only(rows)
            self.waiting.setdefault(int(total), []).append((part, numbers[rows]))
        return numbers

    def _merge(self, parts: list[tuple[Cells, Ints]]) -> tuple[Cells, Ints, Ints]:
        """One set of distinct cells, the provisional numbers, and the cell of each."""
        cells = Cells(
            np.concatenate([part.positions for part, _ in parts]),
            np.concatenate([part.sizes for part, _ in parts]),
            np.concatenate([part.members for part, _ in parts]),
            np.concatenate([part.people for part, _ in parts]),
            np.concatenate([part.weights for part, _ in parts]),
        )
        self.pending -= len(cells.members)
        sizes = [tree.axis_length for tree in self.division.problem.hierarchies]
        named, _ = number_rows([column.astype(np.int64) for column in cells.positions.T], sizes, len(cells))
        _, first, number = np.unique(named, return_index=True, return_inverse=True)
        distinct = cells if len(first) == len(cells) else cells.only(first)
        if distinct is cells:
            number = np.arange(len(cells))
        return distinct, np.concatenate([numbers for _, numbers in parts]), number

    def _round(self, cells: Cells, numbers: Ints) -> Round:
        splits = self._choose(cells, self._splits(cells))
        made = _Made()
        for axis in np.unique(splits.axis):
            for level in np.unique(splits.level[splits.axis == axis]):
                chosen = splits.cell[(splits.axis == axis) & (splits.level == level)]
                divided, owner = divide(self.division, cells.only(chosen), int(axis), int(level))
                starts = np.searchsorted(owner, np.arange(len(chosen)))
                made.add(numbers[chosen], int(axis), int(level), starts, self._wait(divided))
        return made.round(cells, numbers)

    def _splits(self, cells: Cells) -> "Splits":
        """Every split that leaves no hopeless group, with what it promises."""
        found = []
        open_ = np.flatnonzero((cells.people > 0) & (cells.people >= self.division.least))
        part = cells if len(open_) == len(cells) else cells.only(open_)
        for axis, divided in enumerate(self.division.axes):
            targets = divided.targets[part.positions[:, axis]]
            for target in targets.T:
                able = np.flatnonzero(target != NO_LEVEL)
                if len(able):
                    own = part if len(able) == len(part) else part.only(able)
                    found.append(self._promising(own, axis, target[able], open_[able]))
        return Splits.joined(found)

    def _promising(self, cells: Cells, axis: int, target: NDArray[np.int8], names: Ints) -> "Splits":
        """Splits of some cells along one attribute, without those that leave a hopeless group."""
        members, number = self.division.members, len(cells)
        slot, groups, owner = slots(self.division, cells, axis, target)
        people = _sum(slot, members.people[cells.members], len(groups))
        hopeless = np.bincount(owner, weights=self.division.hopeless(people), minlength=number) > 0
        spent = _plogp(cells.people) - np.bincount(owner, weights=_plogp(people), minlength=number)
        losses = self.division.problem.loss.by_axis[axis]
        same = members.weights is members.people
        weights = people if same else _sum(slot, members.weights[cells.members], len(groups))
        left = np.bincount(owner, weights=weights * losses[groups], minlength=number)
        gained = cells.weights * losses[cells.positions[:, axis]] - left
        score = gained / (spent + _ANY_ENTROPY * cells.people)
        fine = np.flatnonzero(~hopeless)
        return Splits(names[fine], np.full(len(fine), axis, dtype=np.int8), target[fine].astype(np.int8), score[fine])

    def _choose(self, cells: Cells, splits: "Splits") -> "Splits":
        """The best split of every cell, and the next best as far as there is room."""
        order = np.lexsort((splits.level, splits.axis, -splits.score, splits.cell))
        splits = splits.only(order)
        first = np.flatnonzero(np.diff(splits.cell, prepend=-1))
        best = np.zeros(len(splits.cell), dtype=np.bool_)
        best[first] = True
        sizes = cells.sizes[splits.cell]
        others = np.flatnonzero(~best)
        rank = np.arange(len(best)) - np.repeat(first, np.diff(np.append(first, len(best))))
        others = others[np.lexsort((sizes[others], rank[others]))]
        room = self.limit - self.pending - int(sizes[best].sum())
        affordable = np.cumsum(sizes[others]) <= room
        self.complete &= bool(affordable.all())
        best[others[affordable]] = True
        return splits.only(np.flatnonzero(best))


@dataclass(frozen=True)
class Splits:
    """Ways to divide some cells."""

    cell: Ints
    axis: NDArray[np.int8]
    level: NDArray[np.int8]
    score: Floats
    """Information gained for each unit of entropy lost."""

    @classmethod
    def joined(cls, parts: list["Splits"]) -> "Splits":
        """All of them in one."""
        if not parts:
            none = np.empty(0, dtype=np.int64)
            return cls(none, none.astype(np.int8), none.astype(np.int8), none.astype(np.float64))
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("cell", "axis", "level", "score"))
        )

    def only(self, kept: Ints) -> "Splits":
        """Some of them."""
        return Splits(self.cell[kept], self.axis[kept], self.level[kept], self.score[kept])


def _sum(slot: Ints, counts: Counts, length: int) -> Counts:
    summed: Counts = np.rint(np.bincount(slot, weights=counts, minlength=length)).astype(np.int64)
    return summed


def _plogp(people: Counts) -> Floats:
    product: Floats = np.multiply(people, np.log(np.maximum(people, 1)))
    return product


def slots(division: Division, cells: Cells, axis: int, target: NDArray[np.int8]) -> tuple[Ints, Codes, Ints]:
    """Where each member falls when cells are divided: a run of slots a cell, one a group that it may have.

    Parameters
    ----------
    division : Division
    cells : Cells
    axis : int
        Attribute along which all are divided.
    target : array of shape (n_cells,)
        Level that each is divided into.

    Returns
    -------
    slot : array of shape (n_members,)
    groups : array of shape (n_slots,)
        Axis position of the group that a slot stands for.
    owner : array of shape (n_slots,)
        Cell of each slot.
    """
    divided = division.axes[axis]
    tree, own = divided.hierarchy, cells.positions[:, axis]
    span, first = divided.span[own, target].astype(np.int64), divided.first[own, target].astype(np.int64)
    starts = np.cumsum(span) - span
    place = np.repeat(np.arange(len(cells)), cells.sizes)
    leaves = division.members.codes[cells.members, axis]
    slot = tree.groups[leaves, target[place]] + (starts - first)[place]
    owner = np.repeat(np.arange(len(cells)), span)
    groups = np.arange(len(owner)) + (first - starts + tree.offsets[target])[owner]
    return slot, groups.astype(np.int32), owner


def divide(division: Division, cells: Cells, axis: int, level: int) -> tuple[Cells, Ints]:
    """The cells that one split of each of some cells makes, and the cell that each comes from."""
    slot, groups, owner = slots(division, cells, axis, np.full(len(cells), level, dtype=np.int8))
    sizes = np.bincount(slot, minlength=len(groups))
    held = np.flatnonzero(sizes)
    sizes, members = sizes[held], cells.members[np.argsort(slot, kind="stable")]
    starts = np.cumsum(sizes) - sizes
    positions = cells.positions[owner[held]].copy()
    positions[:, axis] = groups[held]
    everybody = division.members
    people = np.add.reduceat(everybody.people[members], starts)
    same = everybody.weights is everybody.people
    weights = people if same else np.add.reduceat(everybody.weights[members], starts)
    return Cells(positions, sizes, members, people, weights), owner[held]


def close(division: Division, cells: Cells) -> Codes:
    """Positions of the cells with every attribute as far down as all members stay together.

    Where levels cross an attribute stays: below a group that all share, some groups may no longer be reached.
    """
    positions, starts = cells.positions.copy(), cells.starts
    for axis, divided in enumerate(division.axes):
        if divided.crossing:
            continue
        tree = divided.hierarchy
        leaves = division.members.codes[cells.members, axis]
        least, most = np.minimum.reduceat(leaves, starts), np.maximum.reduceat(leaves, starts)
        apart = (tree.groups[least] != tree.groups[most]).sum(axis=1)
        positions[:, axis] = tree.positions[least, apart]
    return positions


def whole(division: Division) -> Cells:
    """The cell that holds everybody."""
    members = division.members
    top = np.array([[tree.axis_length - 1 for tree in division.problem.hierarchies]], dtype=np.int32)
    return Cells(
        top,
        np.array([len(members)]),
        np.arange(len(members), dtype=np.int32),
        np.array([members.people.sum()]),
        np.array([members.weights.sum()]),
    )
