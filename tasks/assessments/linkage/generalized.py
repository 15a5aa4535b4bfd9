"""Record linkage of generalized releases: the records that can be a person's, and the likeliest of them.

Distinct tuples are compared with distinct cells. A distance is a sum over attributes; cells that agree in all but one
are compared at once, by the least distance in that one for each of its values.
"""

from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.problem.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.problem.files import Cheapest, Positions, places, tie_limit
from tasks.assessments.linkage.problem.generalized_files import GeneralizedFiles, containing_pairs, distance_table
from tasks.generalization.game.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

_BLOCK_PAIRS = 2**22
_PART_PAIRS = 2**17
"""Pairs that stay in the processor's cache."""


def closest_linkage(files: GeneralizedFiles) -> Linkage:
    """Link to the record whose cell has the least sum of distances to the known values; ties are shared.

    The file's own cell need not be nearest: a cell that does not hold the values but is finer and shares a small group
    with them is nearer than a coarse one that does. ParameterError if an attribute has too many values to compare.
    """
    tables = []
    for axis, group in enumerate(files.groups):
        leaves, leaf = np.unique(files.asked[:, axis], return_inverse=True)
        positions, position = np.unique(files.cells[:, axis], return_inverse=True)
        tables.append(_DistanceTable(distance_table(group, leaves, positions), leaf, position))
    last = _cheapest_last(files)
    best = _nearest(tables, files.counts, last)
    own = np.zeros(len(files.row))
    for table in [*(table for axis, table in enumerate(tables) if axis != last), tables[last]]:
        own += table.distances[table.leaf[files.row], table.position[files.own]]
    return linkage(best.credit(files.row, own), files.release.released_records, counts=files.persons)


@dataclass(frozen=True)
class _DistanceTable:
    """Distances of one attribute, (n_values, n_positions); row of each tuple asked for, and column of each cell."""

    distances: Floats
    leaf: Positions
    position: Positions


def _cheapest_last(files: GeneralizedFiles) -> int:
    """The attribute whose values are compared with all cells, so that fewest pairs are left to compare."""
    pairs, sizes = [], [group.n_positions for group in files.groups]
    for axis in range(len(sizes)):
        rest = np.delete(files.cells, axis, axis=1)
        prefixes = len(np.unique(cell_numbers(rest, np.delete(sizes, axis).tolist()))) if len(sizes) > 1 else 1
        pairs.append(len(np.unique(files.asked[:, axis])) * len(files.cells) + len(files.asked) * prefixes)
    return int(np.argmin(pairs))


def _nearest(tables: list[_DistanceTable], counts: Counts, last: int) -> Cheapest:
    """Least distance of each tuple asked for, and the records at it.

    Sums over all attributes but ``last`` are made once for each combination of their values, in blocks of these.
    """
    others = [table for axis, table in enumerate(tables) if axis != last]
    end = tables[last]
    prefix, start = np.zeros(len(counts), dtype=np.intp), np.zeros(len(end.leaf), dtype=np.intp)
    for table in others:
        prefix = np.unique(prefix * table.distances.shape[1] + table.position, return_inverse=True)[1]
        start = np.unique(start * table.distances.shape[0] + table.leaf, return_inverse=True)[1]
    cells, starting = np.argsort(prefix, kind="stable"), np.unique(start, return_index=True)[1]
    first = np.flatnonzero(np.diff(prefix[cells], prepend=-1))
    sizes = np.diff(np.append(first, len(cells)))
    columns = [table.position[cells[first]] for table in others]
    records, place = counts[cells], end.position[cells]
    best = Cheapest(len(end.leaf))
    block = start // max(1, _BLOCK_PAIRS // len(first))
    order = np.lexsort((start, end.leaf, block))
    of_block = np.split(order, np.flatnonzero(np.diff(block[order])) + 1)
    for tuples in of_block:
        least_start = start[tuples].min()
        some = starting[least_start : start[tuples].max() + 1]
        begun = np.zeros((len(some), len(first)))
        for table, column in zip(others, columns, strict=True):
            begun += table.distances[table.leaf[some]][:, column]
        for rows in np.split(tuples, np.flatnonzero(np.diff(end.leaf[tuples])) + 1):
            ending = end.distances[end.leaf[rows[0]]][place]
            least = np.minimum.reduceat(ending, first)
            for part in np.array_split(rows, -(-len(rows) * len(first) // _PART_PAIRS)):
                own = start[part] - least_start
                near = begun[own]
                near += least
                best.cost[part] = near.min(axis=1)
                limit = tie_limit(best.cost[part])
                row, group = np.divmod(np.flatnonzero(near <= limit[:, None]), len(first))
                cell, pair = _members(first[group], sizes[group])
                tie = begun[own[row], group][pair] + ending[cell] <= limit[row][pair]
                best.tied[part] = np.rint(np.bincount(row[pair], records[cell] * tie, len(part)))
    return best


def _members(first: Positions, sizes: Positions) -> tuple[Positions, Positions]:
    """Members of runs that start at ``first``, and the run of each."""
    run = np.repeat(np.arange(len(sizes)), sizes)
    offset = np.arange(len(run)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return first[run] + offset, run


def matching_linkage(files: GeneralizedFiles) -> Linkage:
    """Guess among the records whose cell holds the known values (the prosecutor of a file without its rule)."""
    return _linked_to_containing(files, np.zeros(len(files.cells)))


def likely_linkage(files: GeneralizedFiles, people: Counts) -> Linkage:
    """Guess the record with the fewest possible owners, knowing the population and not the rule.

    A record is the individual's with probability 1/n_p; ``people``, (n_tuples,), is n_p of each tuple's cell, at least
    1.
    """
    released = np.flatnonzero(files.cell_of >= 0)
    n_p = np.zeros(len(files.cells))
    n_p[files.cell_of[released]] = np.maximum(people[released], 1)
    return _linked_to_containing(files, n_p)


@dataclass(frozen=True)
class OwnCells:
    """Leaf codes and cell by the rule, (n_population_tuples, n_attributes), and people of each of its tuples."""

    codes: Codes
    cells: Codes
    people: Counts


def own_cell_linkage(
    files: GeneralizedFiles, population: OwnCells | None = None, *, likeliest: bool = False
) -> Linkage:
    """Guess among the records in cells that the rule gives people with the known values, of the data or the population.

    ``likeliest`` prefers the cell with the largest share of such people: each of the n_T people whose own cell it is
    may be a record's owner. Transparency attack after Torra 2016, slides 49–60: B(x) holds the masked records that the
    method can have made of x.
    """
    release = files.release
    released, of = np.unique(cell_numbers(release.cells[release.kept], release.axis_sizes), return_inverse=True)
    counts = np.rint(np.bincount(of, release.records[release.kept], len(released))).astype(np.int64)
    codes, cells, people = release.leaves, release.cells, release.records
    if population is not None:
        codes, cells = np.vstack([codes, population.codes]), np.vstack([cells, population.cells])
        people = np.concatenate([np.zeros_like(people), population.people])
    sizes = [group.n_leaves for group in files.groups]
    row = places(cell_numbers(files.asked, sizes), cell_numbers(codes[:, files.attributes], sizes))
    cell = places(released, cell_numbers(cells, release.axis_sizes))
    agree = (row >= 0) & (cell >= 0)
    pairs, of = np.unique(row[agree] * len(released) + cell[agree], return_inverse=True)
    cost = np.zeros(len(pairs))
    if likeliest:
        everybody = np.bincount(cell[cell >= 0], people[cell >= 0], len(released))
        cost = np.maximum(everybody[pairs % len(released)], 1) / np.maximum(np.bincount(of, people[agree]), 1)
    pair_row, pair_cell = np.divmod(pairs, len(released))
    best = Cheapest(len(files.asked))
    best.add_pairs(pair_row, cost, counts[pair_cell])
    own = files.row * len(released) + cell[files.attacked]
    return _figure(files, best, cost[np.searchsorted(pairs, own)])


def _linked_to_containing(files: GeneralizedFiles, cost: Floats) -> Linkage:
    """Guess among the cheapest cells that hold the known values."""
    best = Cheapest(len(files.asked))
    for row, cell in containing_pairs(files.groups, files.asked, files.cells):
        best.add_pairs(row, cost[cell], files.counts[cell])
    own = cost[files.own]
    for axis, group in enumerate(files.groups):
        own[~group.holds(files.asked[files.row, axis], files.cells[files.own, axis])] = np.inf
    return _figure(files, best, own)


def _figure(files: GeneralizedFiles, best: Cheapest, own: Floats) -> Linkage:
    """Figure of guessing among the cheapest; the own cost is infinite where the own record is no candidate."""
    credit = best.credit(files.row, own)
    return linkage(credit, files.release.released_records, best.size[files.row], files.persons)
