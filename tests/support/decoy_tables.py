"""Small hierarchies and class tables to try decoys on, with what a table must do worked out the slow way."""

from collections.abc import Sequence

import numpy as np

from tasks.decoys.classes import ClassTable, Flags, Lineage, same_origin_pairs
from tasks.microdata.hierarchy import Codes, Hierarchy, hierarchy_from_rows


def tree(name: str, depth: int, branches: int) -> Hierarchy:
    """A full tree with ``branches`` children a group and ``depth`` levels above the leaves; the top is *."""
    leaves = [np.base_repr(leaf, max(branches, 2)).zfill(depth) for leaf in range(branches**depth)]
    rows = [[leaf[: depth - level] + "*" * level for level in range(depth)] + ["*" * depth] for leaf in leaves]
    return hierarchy_from_rows(name, rows, name)


def leaf_sets(hierarchy: Hierarchy) -> list[frozenset[int]]:
    """Leaves of the group at each axis position."""
    return [
        frozenset(np.flatnonzero(hierarchy.groups[:, level] == group).tolist())
        for level, labels in enumerate(hierarchy.labels)
        for group in range(len(labels))
    ]


def related(left: Codes, right: Codes, sets: Sequence[Sequence[frozenset[int]]]) -> set[tuple[int, int]]:
    """Definition 1 by comparing sets of leaves, all pairs of rows."""
    found = set()
    for row, cell in enumerate(left):
        for other, cell_other in enumerate(right):
            pairs = [(sets[axis][a], sets[axis][b]) for axis, (a, b) in enumerate(zip(cell, cell_other, strict=True))]
            if all(a <= b or b <= a for a, b in pairs):
                found.add((row, other))
    return found


def table(cells: Sequence[Sequence[int]], records: Sequence[int], people: Sequence[int]) -> ClassTable:
    """A class table of plain lists."""
    return ClassTable(np.array(cells, np.int32), np.array(records, np.int64), np.array(people, np.int64))


def of_same_origin(cells: Codes, others: Codes, axes: Sequence[Lineage]) -> Flags:
    """Whether each cell has a class of the same origin among the others."""
    found = np.zeros(len(cells), dtype=bool)
    found[same_origin_pairs(cells, others, axes)[0]] = True
    return found
