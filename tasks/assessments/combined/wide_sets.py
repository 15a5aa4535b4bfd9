"""Known sets with many combinations of values: rows are grouped by one attribute after the other, down a tree of sets.

The rows are first dealt into blocks that share no value of the sets' largest attribute, so that a block is counted by
itself. A row that is alone in its group is alone in every larger set: the deeper the tree, the fewer rows are left.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.combined.coded_table import CodedTable, Floats, Integers, counted
from tasks.assessments.combined.known_sets import KnownSet

Rows = NDArray[np.intp]
_LARGEST_BLOCK = 2**17
_SMALLEST_BLOCK = 2**14
# Group numbers for each row above which the groups are numbered afresh.
_SPREAD = 4
_SMALLEST_SPREAD = 4096
# Share of rows that must be alone for them to be left out.
_WORTH_LEAVING_OUT = 0.05


@dataclass(eq=False)
class Branch:
    """A known set, or the way to one, with the larger sets beyond it."""

    weights: Floats
    """Weight of the set, then, for each figure of the tree, the same if it counts with the set, else 0."""
    beyond: Floats
    """Sum of the weights of the sets beyond."""
    known: KnownSet | None = None
    children: "dict[int, Branch]" = field(default_factory=dict)


@dataclass(frozen=True)
class Tree:
    """Known sets that have one attribute in common, of all of theirs the one with most values."""

    attribute: int
    root: Branch
    figures: tuple[int, ...]
    """Attributes that only some of the sets have, so that their figures count with the others."""


@dataclass(frozen=True)
class Found:
    """Rows that a known set finds, or all the sets beyond it find, each among as many records."""

    branch: Branch
    beyond: bool
    """Whether the sets beyond the branch find the rows, or the branch's own set does."""
    rows: Rows | slice
    """Places in the block."""
    chances: Floats
    """1/count of each row."""
    figures: Floats
    """Figures of each row, shape (n_figures, n_rows)."""


def plan_trees(weights: Mapping[KnownSet, float], figures: Iterable[int], cardinalities: Sequence[int]) -> list[Tree]:
    """Put known sets into trees.

    Parameters
    ----------
    weights : mapping of known set to float
        The empty set is not among them.
    figures : iterable of int
        Attributes that have a figure, which counts with the sets that do not have the attribute.
    cardinalities : sequence of int
    """
    by_first: defaultdict[int, dict[KnownSet, float]] = defaultdict(dict)
    for known, weight in weights.items():
        path = tuple(sorted(known, key=lambda attribute: (-cardinalities[attribute], attribute)))
        by_first[path[0]][path] = weight
    return [_planned(first, paths, figures) for first, paths in by_first.items()]


def _planned(first: int, paths: Mapping[KnownSet, float], figures: Iterable[int]) -> Tree:
    varying = set().union(*paths) - {first}
    own_figures = tuple(attribute for attribute in figures if attribute in varying)
    nothing = np.zeros(1 + len(own_figures))
    root = Branch(nothing, nothing)
    for path, weight in paths.items():
        own = weight * np.array([1.0, *(attribute not in path for attribute in own_figures)])
        branch = root
        for attribute in path[1:]:
            branch.beyond = branch.beyond + own
            branch = branch.children.setdefault(attribute, Branch(nothing, nothing))
        branch.known, branch.weights = tuple(sorted(path)), own
    return Tree(first, root, own_figures)


def blocks(table: CodedTable, attribute: int) -> list[Rows]:
    """Rows dealt into blocks such that rows of one value of an attribute are in one block."""
    length = min(_LARGEST_BLOCK, max(_SMALLEST_BLOCK, len(table) // 4))
    leading = table.leading(attribute)
    ends = np.cumsum(np.bincount(leading))
    cuts = np.unique(ends[np.searchsorted(ends, np.arange(length, len(table), length))])
    return np.split(np.argsort(leading, kind="stable"), cuts[cuts < len(table)])


def found_rows(table: CodedTable, tree: Tree, block: Rows, figures: Floats, partitions: int) -> Iterator[Found]:
    """Count the records that share each row's values, set by set.

    Parameters
    ----------
    table : CodedTable
    tree : Tree
    block : array of int
        Rows that share no value of the tree's attribute with any other.
    figures : array of shape (n_figures, n_rows)
        Of the rows of the block; handed back with the rows.
    partitions : int
        Parts of the rows that are counted one after the other.

    Yields
    ------
    Found
        Every set meets every row of the block once.
    """
    codes = np.take(table.columns[tree.attribute], block).astype(np.intp)
    codes -= codes.min()
    own = None if table.counts is None else table.counts[block]
    search = _Search(table, block, own, partitions)
    yield from search.visit(tree.root, None, figures, *_renumbered(codes, int(codes.max()) + 1))


@dataclass(frozen=True)
class _Search:
    table: CodedTable
    block: Rows
    own: Integers | None
    partitions: int

    def visit(self, branch: Branch, rows: Rows | None, figures: Floats, groups: Rows, size: int) -> Iterator[Found]:
        """Yield what a branch finds among some rows of the block (None: all), each in a group below ``size``."""
        own = self.own if self.own is None or rows is None else self.own[rows]
        members = counted(groups, size, None, self.partitions)
        if branch.known is not None:
            totals = members if own is None else counted(groups, size, own, self.partitions)
            chances = 1.0 / np.take(totals, groups)
            yield Found(branch, False, slice(None) if rows is None else rows, chances, figures)
        if not branch.children:
            return
        if np.count_nonzero(members == 1) > _WORTH_LEAVING_OUT * len(groups):
            alone = np.take(members == 1, groups)
            left = np.flatnonzero(alone)
            chances = np.ones(len(left)) if own is None else 1.0 / own[left]
            yield Found(branch, True, left if rows is None else rows[left], chances, np.take(figures, left, axis=1))
            kept = np.flatnonzero(~alone)
            if len(kept) == 0:
                return
            rows, figures = kept if rows is None else rows[kept], np.take(figures, kept, axis=1)
            numbers = np.cumsum(members > 1) - 1
            groups, size = np.take(numbers, groups[kept]), int(numbers[-1]) + 1
        places = self.block if rows is None else self.block[rows]
        for attribute, child in branch.children.items():
            finer = groups * self.table.cardinalities[attribute]
            finer += np.take(self.table.columns[attribute], places)
            yield from self.visit(child, rows, figures, *_renumbered(finer, size * self.table.cardinalities[attribute]))


def _renumbered(groups: Rows, size: int) -> tuple[Rows, int]:
    if size <= max(_SPREAD * len(groups), _SMALLEST_SPREAD):
        return groups, size
    numbers, different = pd.factorize(groups)
    return numbers, len(different)


class Totals:
    """Sums over rows of figure/count, set by set."""

    def __init__(self) -> None:
        self._sums: defaultdict[tuple[Branch, bool], Floats | float] = defaultdict(float)

    def add(self, found: Found) -> None:
        """Add the figures of the rows that were found."""
        self._sums[found.branch, found.beyond] += np.einsum("ij,j->i", found.figures, found.chances)

    def include(self, other: "Totals") -> None:
        """Add what was found among other rows."""
        for place, sums in other._sums.items():
            self._sums[place] += sums

    def of(self, branch: Branch, carried: Floats | float = 0.0) -> Iterator[tuple[KnownSet, Floats]]:
        """Weight times sum of each figure, for each known set of a tree."""
        if branch.known is not None:
            yield branch.known, branch.weights[0] * (self._sums[branch, False] + carried)
        for child in branch.children.values():
            yield from self.of(child, carried + self._sums[branch, True])
