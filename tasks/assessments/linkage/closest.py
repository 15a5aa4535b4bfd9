"""Nearest released cell by the distance on hierarchies: the linkage of an intruder who only compares.

The distance of a tuple to a cell is a sum over attributes. Cells that agree in all attributes but one are therefore
compared at once: the least distance in that attribute is found for each of its values, not for each tuple.
"""

from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.distance import tie_limit
from tasks.assessments.linkage.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.files import Positions
from tasks.assessments.linkage.generalized_files import GeneralizedFiles
from tasks.assessments.linkage.hierarchy_distance import distance_table
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.tuples import Counts

_BLOCK_PAIRS = 2**21


def closest_linkage(files: GeneralizedFiles) -> Linkage:
    """Link to the record whose cell has the least sum of distances to the known values; ties are shared.

    Parameters
    ----------
    files : GeneralizedFiles

    Raises
    ------
    ParameterError
        If an attribute has too many values to compare.

    Notes
    -----
    The file's own cell need not be nearest: a cell that does not hold the values but is finer and shares a small group
    with them is nearer than a coarse one that does.
    """
    tables = []
    for axis, group in enumerate(files.groups):
        leaves, leaf = np.unique(files.asked[:, axis], return_inverse=True)
        positions, position = np.unique(files.cells[:, axis], return_inverse=True)
        tables.append(_DistanceTable(distance_table(group, leaves, positions), leaf, position))
    last = _cheapest_last(files)
    best, tied = _nearest(tables, files.counts, last)
    own = np.zeros(len(files.row))
    for table in [*(table for axis, table in enumerate(tables) if axis != last), tables[last]]:
        own += table.distances[table.leaf[files.row], table.position[files.own]]
    credit = np.where(own <= tie_limit(best)[files.row], 1 / tied[files.row], 0.0)
    return linkage(credit, files.release.released_records, counts=files.persons)


@dataclass(frozen=True)
class _DistanceTable:
    """Distances of one attribute, over the values and positions that occur."""

    distances: Floats
    """Shape (n_values, n_positions)."""
    leaf: Positions
    """Row of each tuple asked for."""
    position: Positions
    """Column of each cell."""


def _cheapest_last(files: GeneralizedFiles) -> int:
    """The attribute whose values are compared with all cells, so that fewest pairs are left to compare."""
    pairs, sizes = [], [group.n_positions for group in files.groups]
    for axis in range(len(sizes)):
        rest = np.delete(files.cells, axis, axis=1)
        prefixes = len(np.unique(cell_numbers(rest, np.delete(sizes, axis).tolist()))) if len(sizes) > 1 else 1
        pairs.append(len(np.unique(files.asked[:, axis])) * len(files.cells) + len(files.asked) * prefixes)
    return int(np.argmin(pairs))


def _nearest(tables: list[_DistanceTable], counts: Counts, last: int) -> tuple[Floats, Counts]:
    """Least distance of each tuple asked for, and the records at it."""
    others = [table for axis, table in enumerate(tables) if axis != last]
    end = tables[last]
    prefix = np.zeros(len(counts), dtype=np.intp)
    for table in others:
        prefix = np.unique(prefix * table.distances.shape[1] + table.position, return_inverse=True)[1]
    cells = np.argsort(prefix, kind="stable")
    first = np.flatnonzero(np.diff(prefix[cells], prepend=-1))
    sizes = np.diff(np.append(first, len(cells)))
    columns = [table.position[cells[first]] for table in others]
    records, place = counts[cells], end.position[cells]
    best, tied = np.empty(len(end.leaf)), np.empty(len(end.leaf), dtype=np.int64)
    order = np.argsort(end.leaf, kind="stable")
    step = max(1, _BLOCK_PAIRS // len(cells))
    for rows in np.split(order, np.flatnonzero(np.diff(end.leaf[order])) + 1):
        ending = end.distances[end.leaf[rows[0]]][place]
        least = np.minimum.reduceat(ending, first)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            begun = np.zeros((len(first), len(part)))
            for table, column in zip(others, columns, strict=True):
                begun += np.ascontiguousarray(table.distances[table.leaf[part]].T)[column]
            near = begun + least[:, None]
            best[part] = near.min(axis=0)
            limit = tie_limit(best[part])
            group, row = np.nonzero(near <= limit)
            cell, pair = _members(first[group], sizes[group])
            tie = begun[group, row][pair] + ending[cell] <= limit[row][pair]
            tied[part] = np.rint(np.bincount(row[pair], records[cell] * tie, len(part)))
    return best, tied


def _members(first: Positions, sizes: Positions) -> tuple[Positions, Positions]:
    """Members of runs that start at ``first``, and the run of each."""
    run = np.repeat(np.arange(len(sizes)), sizes)
    offset = np.arange(len(run)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return first[run] + offset, run
