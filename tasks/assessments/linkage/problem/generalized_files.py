"""A release as its intruder sees it: released cells and original values, by distinct tuples with counts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.problem.figure import Flags, Floats
from tasks.assessments.linkage.problem.files import Positions, places
from tasks.core.errors import ParameterError
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.generalization.game.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts

_MOST_ENTRIES = 2**27
_BLOCK_ENTRIES = 2**22


@dataclass(frozen=True)
class AxisGroups:
    """The groups of one attribute, as sets of values.

    ``layers``, (n_leaves, n_layers): axis position of the group that holds each leaf, −1 where none does; the layers
    are the hierarchy's levels, then Safe Harbor's own groups where it has any. ``layer_of`` and ``sizes``,
    (n_positions,): the layer and the leaves of the group at each axis position. ``covers``, (n_positions, n_levels):
    axis position of each level's group that holds the whole group, −1 where none does. ``numbers``, (n_leaves,): the
    number of each leaf, None where the values are no numbers.
    """

    layers: Codes
    layer_of: NDArray[np.intp]
    sizes: Counts
    covers: Codes
    numbers: Floats | None = None

    @property
    def n_leaves(self) -> int:
        """Values in the domain."""
        return len(self.layers)

    @property
    def n_positions(self) -> int:
        """Axis positions, Safe Harbor's own groups included."""
        return len(self.sizes)

    def holds(self, leaves: Codes, positions: Codes) -> Flags:
        """Whether groups hold leaves, pair by pair: both arrays of one shape, or of shapes that broadcast."""
        found: Flags = self.layers[leaves, self.layer_of[positions]] == positions
        return found


def axis_groups(hierarchy: Hierarchy, extra: SafeHarborAxis | None = None, numbers: Floats | None = None) -> AxisGroups:
    """The groups of one attribute, Safe Harbor's own after the hierarchy's; ``numbers`` make distances differences."""
    layers, sizes = hierarchy.positions, hierarchy.sizes
    layer_of = hierarchy.axis_levels.astype(np.intp)
    if extra is not None and len(extra.extra_labels):
        own = np.where(extra.positions >= hierarchy.axis_length, extra.positions, -1)
        layers = np.column_stack([layers, own]).astype(np.int32)
        sizes = np.concatenate([sizes, extra.extra_sizes])
        layer_of = np.concatenate([layer_of, np.full(len(extra.extra_labels), hierarchy.n_levels)])
    return AxisGroups(layers, layer_of, sizes, _covers(layers, len(sizes), hierarchy.n_levels), numbers)


def leaf_numbers(hierarchy: Hierarchy) -> Floats | None:
    """The number that each leaf of an attribute of amounts is written as, shape (n_leaves,); None where one is none.

    NaN for missing values.
    """
    stated = [leaf for leaf in range(hierarchy.n_leaves) if leaf != hierarchy.missing_leaf]
    numbers = np.full(hierarchy.n_leaves, np.nan)
    try:
        numbers[stated] = [float(hierarchy.labels[0][leaf]) for leaf in stated]
    except ValueError:
        return None
    return numbers if np.isfinite(numbers[stated]).all() else None


def index_groups(index: CountIndex, numbers: Sequence[Floats | None] | None = None) -> tuple[AxisGroups, ...]:
    """Groups of each quasi-identifier; ``numbers`` holds ``leaf_numbers`` of amounts, None for the others."""
    values = numbers or [None] * len(index.hierarchies)
    return tuple(map(axis_groups, index.hierarchies, index.safe_harbor, values))


def distance_table(groups: AxisGroups, leaves: Codes, positions: Codes) -> Floats:
    """Distance, 0 to 1, of leaves (rows) to positions: of amounts a difference, else by the smallest common group."""
    if len(leaves) * len(positions) > _MOST_ENTRIES:
        raise ParameterError(
            "an attribute has too many values to compare all of them",
            where="values of the known individuals and groups of the release",
            expected=f"at most {_MOST_ENTRIES} pairs",
            got=f"{len(leaves)} × {len(positions)}",
            fix="attack a sample of the individuals",
        )
    if groups.numbers is not None:
        return _mean_difference(groups, groups.numbers, leaves, positions)
    return _common_group(groups, leaves, positions)


def _common_group(groups: AxisGroups, leaves: Codes, positions: Codes) -> Floats:
    """(size of the smallest group that holds leaf and group − 1)/(size of the domain − 1).

    For a group that holds the leaf, its normalised certainty penalty (Xu et al. 2006); otherwise the distance of
    categories of Byun et al. 2007, with the size of the common subtree in place of its height.
    """
    size = np.full((len(leaves), len(positions)), groups.n_leaves, dtype=np.int64)
    for level in reversed(range(groups.covers.shape[1])):
        cover = groups.covers[positions, level]
        np.minimum(size, groups.sizes[cover], out=size, where=groups.layers[leaves, level, None] == cover)
    np.copyto(size, groups.sizes[positions], where=groups.holds(leaves[:, None], positions))
    return (size - 1) / max(groups.n_leaves - 1, 1)


def _mean_difference(groups: AxisGroups, numbers: Floats, leaves: Codes, positions: Codes) -> Floats:
    """Mean |leaf − y| over the numbers y of the group, over the range of the domain.

    Between single values, the distance of ordinal and numeric values of Domingo-Ferrer and Torra 2002. A missing value
    is as far from any other as the range.
    """
    missing = np.isnan(numbers)
    spread = np.ptp(numbers[~missing]) if not missing.all() else 0.0
    table = np.empty((len(leaves), len(positions)))
    step = max(1, _BLOCK_ENTRIES // groups.n_leaves)
    for number, layer in enumerate(groups.layers.T):
        columns = np.flatnonzero(groups.layer_of[positions] == number)
        if not len(columns):
            continue
        order = np.argsort(layer, kind="stable")
        order = order[layer[order] >= 0]
        first = np.flatnonzero(np.diff(layer[order], prepend=-1))
        column = np.searchsorted(layer[order][first], positions[columns])
        for start in range(0, len(leaves), step):
            part = slice(start, start + step)
            apart = np.abs(numbers[leaves[part], None] - numbers[order])
            if missing.any():
                unlike = missing[leaves[part], None] != missing[order]
                apart = np.where(np.isnan(apart), unlike * (spread if spread > 0 else 1.0), apart)
            table[part, columns] = np.add.reduceat(apart, first, axis=1)[:, column] / groups.sizes[positions[columns]]
    return table / (spread if spread > 0 else 1.0)


def _covers(layers: Codes, n_positions: int, n_levels: int) -> Codes:
    """A level's group covers a group if all leaves of the group are in it."""
    low = np.full((n_positions, n_levels), np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full((n_positions, n_levels), -1, dtype=np.int32)
    for held in layers.T:
        leaves = np.flatnonzero(held >= 0)
        np.minimum.at(low, held[leaves], layers[leaves, :n_levels])
        np.maximum.at(high, held[leaves], layers[leaves, :n_levels])
    return np.where(low == high, low, -1).astype(np.int32)


_BLOCK_PAIRS = 2**21
_LARGEST_TABLE = 2**22


@dataclass(frozen=True)
class LinkableRelease:
    """A generalized file: original leaf codes, cell in axis positions, records, and whether released, by tuple."""

    groups: tuple[AxisGroups, ...]
    leaves: Codes
    cells: Codes
    records: Counts
    kept: Flags

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
    """A release as an intruder sees it who knows some attributes of some individuals; made by ``generalized_files``.

    ``asked``, (n_asked, n_known): the distinct known values; ``cells``, (n_cells, n_known): the distinct released cells
    in the known attributes, with ``counts`` records each. To score an attack, of shape (n_attacked,): the ``attacked``
    tuples, the ``row`` of ``asked`` and the ``own`` one of ``cells`` of each, and its ``persons``. ``cell_of``,
    (n_tuples,): cell of each tuple of the release, −1 where it is not released.
    """

    release: LinkableRelease
    attributes: tuple[int, ...]
    asked: Codes
    cells: Codes
    counts: Counts
    attacked: Positions
    row: Positions
    own: Positions
    persons: Counts
    cell_of: Positions

    @cached_property
    def groups(self) -> tuple[AxisGroups, ...]:
        """Groups of each known attribute."""
        return tuple(self.release.groups[attribute] for attribute in self.attributes)


def generalized_files(
    release: LinkableRelease, attributes: Sequence[int] | None = None, persons: Counts | None = None
) -> GeneralizedFiles:
    """Keep what the intruder knows: positions of quasi-identifiers, all where not given.

    ``persons``, (n_tuples,), are the attacked individuals, no more than are released; all of these where not given.
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
        release, tuple(axes), asked, cells, counts, attacked, row, cell_of[attacked], persons[attacked], cell_of
    )


def containing_pairs(
    groups: Sequence[AxisGroups], leaves: Codes, cells: Codes
) -> Iterator[tuple[Positions, Positions]]:
    """All pairs of a row of ``leaves`` and a cell that holds it, in blocks; the pairs of a row are together.

    Cells are distinct and make a tree, one attribute a level, the most telling first; a row goes down every branch that
    holds it. In a layer of an axis that is one group at most, which is looked up; no row is compared with every cell.
    """
    branch, levels, branches_above = np.zeros(len(cells), dtype=np.int64), [], 1
    for axis in sorted(range(len(groups)), key=lambda axis: -len(np.unique(cells[:, axis]))):
        group = groups[axis]
        keys, branch = np.unique(branch * group.n_positions + cells[:, axis], return_inverse=True)
        find = _finder(keys, branches_above * group.n_positions)
        levels.append((axis, group, find, np.unique(group.layer_of[cells[:, axis]])))
        branches_above = len(keys)
    cell_of = np.argsort(branch)
    most = min(len(cells), prod(len(layers) for *_, layers in levels))
    step = max(1, _BLOCK_PAIRS // most)
    for start in range(0, len(leaves), step):
        row = np.arange(start, min(start + step, len(leaves)))
        place = np.zeros(len(row), dtype=np.int64)
        for axis, group, find, layers in levels:
            rows, branches = [], []
            for layer in layers:
                position = group.layers[leaves[row, axis], layer]
                found = find(place * group.n_positions + np.maximum(position, 0))
                hit = np.flatnonzero((found >= 0) & (position >= 0))
                rows.append(row[hit])
                branches.append(found[hit])
            row, place = np.concatenate(rows), np.concatenate(branches)
        together = np.argsort(row, kind="stable")
        yield row[together], cell_of[place[together]]


def _finder(keys: NDArray[np.int64], size: int) -> Callable[[NDArray[np.int64]], Positions]:
    """Finds the place of numbers below ``size`` among ordered keys, −1 for others; by a table, where it is small."""
    if size > _LARGEST_TABLE:
        return partial(places, keys)
    table = np.full(size, -1, dtype=np.intp)
    table[keys] = np.arange(len(keys))
    return table.take


def people_matching(
    groups: Sequence[AxisGroups], cells: Codes, codes: Codes, people: Counts, attributes: Sequence[int] | None = None
) -> Counts:
    """n_p, (n_tuples,): people of a population, by leaf codes, whose values are in each cell, in some attributes."""
    axes = list(range(len(groups)) if attributes is None else attributes)
    known = [groups[axis] for axis in axes]
    asked, cell_of = _distinct(cells[:, axes], [group.n_positions for group in known])
    values, value_of = _distinct(codes[:, axes], [group.n_leaves for group in known])
    counts, total = np.bincount(value_of, people, len(values)), np.zeros(len(asked))
    for row, cell in containing_pairs(known, values, asked):
        total += np.bincount(cell, counts[row], len(asked))
    return np.rint(total).astype(np.int64)[cell_of]


def _distinct(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, Positions]:
    """Distinct rows, in order, and which of them each row is."""
    _, first, of = np.unique(cell_numbers(codes, sizes), return_index=True, return_inverse=True)
    return codes[first], of.astype(np.intp)
