"""Files of an intruder in a generalized release: the released cells, and original values of some attributes.

Records with equal values are released alike, so everything is stored by distinct tuples, with counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from tasks.assessments.linkage.figure import Flags
from tasks.assessments.linkage.files import Positions
from tasks.assessments.linkage.hierarchy_distance import AxisGroups
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

_BLOCK_PAIRS = 2**21


@dataclass(frozen=True)
class LinkableRelease:
    """A generalized file with the original values, by distinct tuples."""

    groups: tuple[AxisGroups, ...]
    """Groups of each quasi-identifier."""
    leaves: Codes
    """Original leaf codes of each tuple, shape (n_tuples, n_attributes)."""
    cells: Codes
    """Cell of each tuple in axis positions, shape (n_tuples, n_attributes)."""
    records: Counts
    """Records of each tuple, shape (n_tuples,)."""
    kept: Flags
    """Whether the tuple has records and they are released, shape (n_tuples,)."""

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """Axis positions of each attribute."""
        return tuple(group.n_positions for group in self.groups)

    @property
    def released_records(self) -> int:
        """Records that are released."""
        return int(self.records[self.kept].sum())


@dataclass(frozen=True)
class GeneralizedFiles:
    """A release as an intruder sees it who knows some attributes of some individuals; made by ``generalized_files``."""

    release: LinkableRelease
    attributes: tuple[int, ...]
    """Positions of the known attributes."""
    asked: Codes
    """Distinct known values of the attacked individuals, shape (n_asked, n_known)."""
    cells: Codes
    """Distinct released cells in the known attributes, shape (n_cells, n_known)."""
    counts: Counts
    """Released records of each of those cells, shape (n_cells,)."""
    attacked: Positions
    """Tuples of the attacked individuals, shape (n_attacked,); only used to score an attack, as what follows."""
    row: Positions
    """Which of the ``asked`` each of those tuples is, shape (n_attacked,)."""
    own: Positions
    """Which of the ``cells`` each is released as, shape (n_attacked,)."""
    persons: Counts
    """Individuals of each, shape (n_attacked,)."""
    cell_of: Positions
    """Which of the ``cells`` each tuple of the release is in, −1 where it is not released; shape (n_tuples,)."""

    @cached_property
    def groups(self) -> tuple[AxisGroups, ...]:
        """Groups of each known attribute."""
        return tuple(self.release.groups[attribute] for attribute in self.attributes)


def generalized_files(
    release: LinkableRelease, attributes: Sequence[int] | None = None, persons: Counts | None = None
) -> GeneralizedFiles:
    """Keep what the intruder knows.

    Parameters
    ----------
    release : LinkableRelease
    attributes : sequence of int, optional
        Positions of the quasi-identifiers that the intruder knows; all where not given.
    persons : array of shape (n_tuples,), optional
        Individuals of each tuple whose records are looked for, no more than are released; where not given, all whose
        records are released.
    """
    axes = list(range(len(release.groups)) if attributes is None else attributes)
    available = np.where(release.kept, release.records, 0)
    persons = available if persons is None else persons
    attacked, released = np.flatnonzero(persons), np.flatnonzero(release.kept)
    known = [release.groups[axis] for axis in axes]
    asked, row = _distinct(release.leaves[attacked][:, axes], [group.n_leaves for group in known])
    cells, of = _distinct(release.cells[released][:, axes], [group.n_positions for group in known])
    cell_of = np.full(len(available), -1, dtype=np.intp)
    cell_of[released] = of
    counts = np.rint(np.bincount(of, release.records[released], len(cells))).astype(np.int64)
    return GeneralizedFiles(
        release,
        tuple(axes),
        asked,
        cells,
        counts,
        attacked,
        row,
        cell_of[attacked],
        persons[attacked],
        cell_of,
    )


def containing_pairs(
    groups: Sequence[AxisGroups], leaves: Codes, cells: Codes
) -> Iterator[tuple[slice, Positions, Positions]]:
    """All pairs of a tuple and a cell that holds it, in blocks of tuples.

    Cells make a tree, one attribute a level, the most telling first; a tuple goes down every branch that holds it. In
    a layer of an axis that is one group at most, which is looked up; no tuple is compared with every cell.

    Parameters
    ----------
    groups : sequence of AxisGroups
    leaves : array of shape (n_rows, n_attributes)
    cells : array of shape (n_cells, n_attributes)
        Distinct.

    Yields
    ------
    block : slice
        Rows of the block.
    row : array of shape (n_pairs,)
        Row of each pair, counted from the start of the block.
    cell : array of shape (n_pairs,)
    """
    branch, levels = np.zeros(len(cells), dtype=np.int64), []
    for axis in sorted(range(len(groups)), key=lambda axis: -len(np.unique(cells[:, axis]))):
        group = groups[axis]
        keys, branch = np.unique(branch * group.n_positions + cells[:, axis], return_inverse=True)
        levels.append((axis, group, keys, np.unique(group.layer_of[cells[:, axis]])))
    cell_of = np.argsort(branch)
    most = min(len(cells), prod(len(layers) for *_, layers in levels))
    step = max(1, _BLOCK_PAIRS // most)
    for start in range(0, len(leaves), step):
        block = slice(start, min(start + step, len(leaves)))
        row = np.arange(block.stop - start)
        place = np.zeros(len(row), dtype=np.int64)
        for axis, group, keys, layers in levels:
            rows, places = [], []
            for layer in layers:
                position = group.layers[leaves[start + row, axis], layer]
                wanted = place * group.n_positions + position
                found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                hit = np.flatnonzero((keys[found] == wanted) & (position >= 0))
                rows.append(row[hit])
                places.append(found[hit])
            row, place = np.concatenate(rows), np.concatenate(places)
        yield block, row, cell_of[place]


def people_matching(
    groups: Sequence[AxisGroups], cells: Codes, codes: Codes, people: Counts, attributes: Sequence[int] | None = None
) -> Counts:
    """People of a population whose values are in each cell, as far as some attributes tell.

    Parameters
    ----------
    groups : sequence of AxisGroups
        One a quasi-identifier.
    cells : array of shape (n_tuples, n_attributes)
    codes : array of shape (n_population_tuples, n_attributes)
        Leaf codes.
    people : array of shape (n_population_tuples,)
    attributes : sequence of int, optional
        Positions of the attributes to go by; all where not given.

    Returns
    -------
    array of shape (n_tuples,)
        n_p of each tuple's cell in the attributes.
    """
    axes = list(range(len(groups)) if attributes is None else attributes)
    known = [groups[axis] for axis in axes]
    asked, cell_of = _distinct(cells[:, axes], [group.n_positions for group in known])
    values, value_of = _distinct(codes[:, axes], [group.n_leaves for group in known])
    counts, total = np.bincount(value_of, people, len(values)), np.zeros(len(asked))
    for block, row, cell in containing_pairs(known, values, asked):
        total += np.bincount(cell, counts[block][row], len(asked))
    return np.rint(total).astype(np.int64)[cell_of]


def _distinct(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, Positions]:
    """Distinct rows, in order, and which of them each row is."""
    _, first, of = np.unique(cell_numbers(codes, sizes), return_index=True, return_inverse=True)
    return codes[first], of.astype(np.intp)
