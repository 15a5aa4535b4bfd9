"""A generalized release beside the population that its classes are linked with.

Holds what decoys are looked for in: the released cell of every distinct tuple of the data, and the cell that the same
rule gives every tuple of the population. Whether cells may overlap decides what links to what: where each record is
generalized by itself, a person can match several released cells; where all people are recoded alike or by a partition,
exactly one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Classes:
    """Equivalence classes of a file, with the people whom each is linked with; shows nothing of them."""

    cells: Codes = field(repr=False)
    """Axis positions of each class, all different; shape (n_classes, n_attributes)."""
    sizes: Counts = field(repr=False)
    """Records of each class, from 1; shape (n_classes,)."""
    people: Counts = field(repr=False)
    """People of the population who match each class; shape (n_classes,)."""
    effective: Counts = field(repr=False)
    """People whose own cell it is, whom an informed recipient is left with; ``people`` where cells do not overlap."""
    listed: Counts | None = field(default=None, repr=False)
    """People of the register who match each class; None without a register."""

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedRelease:
    """Data and population under one generalization; made by ``recoded_alike`` or ``recoded_by_class``."""

    hierarchies: tuple[Hierarchy, ...]
    data: Tuples
    cells: Codes
    """Released cell of each data tuple in axis positions; shape (n_data_tuples, n_attributes)."""
    kept: Flags
    """Whether each data tuple's records are released; shape (n_data_tuples,)."""
    population: Tuples
    own: Codes
    """Cell that the same rule gives each population tuple; shape (n_population_tuples, n_attributes)."""
    axis_sizes: tuple[int, ...]
    """Axis positions of each attribute, groups outside the hierarchy included."""
    overlapping: bool
    """Whether a person can match several cells."""
    listed: Counts | None = None
    """People of each population tuple in the register; None without one."""

    @cached_property
    def own_groups(self) -> tuple[Counts, NDArray[np.intp], NDArray[np.intp]]:
        """Numbers of the population's own cells, growing; a tuple of each; own cell of each tuple."""
        numbers = cell_numbers(self.own, self.axis_sizes)
        distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        return distinct, first, inverse

    @cached_property
    def classes(self) -> Classes:
        """The released classes, in the order of their numbers.

        Raises
        ------
        ParameterError
            If nothing is released.
        """
        numbers = cell_numbers(self.cells[self.kept], self.axis_sizes)
        if len(numbers) == 0:
            raise ParameterError(
                "nothing is released, so there are no classes that decoys could blend with",
                where="the released classes",
                expected="at least one class",
                got="none",
                fix="lower the minimum class size, or allow a coarser generalization",
            )
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        cells = self.cells[self.kept][first]
        return Classes(
            cells=cells,
            sizes=_summed(inverse, self.data.counts[self.kept], len(first)),
            people=self.matching(cells, self.population.counts),
            effective=self.owning(cells, self.population.counts),
            listed=None if self.listed is None else self.matching(cells, self.listed),
        )

    @cached_property
    def linked(self) -> Flags:
        """Whether each population tuple matches a released class; shape (n_population_tuples,)."""
        cells = self.classes.cells
        if self.overlapping:
            inside = np.zeros(len(self.population), dtype=bool)
            for place in self._places(cells, self.population.codes):
                inside |= place >= 0
            return inside
        distinct, _, inverse = self.own_groups
        linked: Flags = np.isin(distinct, cell_numbers(cells, self.axis_sizes))[inverse]
        return linked

    def matching(self, cells: Codes, weights: Counts) -> Counts:
        """Sum of the weights of the population tuples that match each cell; cells all different."""
        return self._matched(cells, self.population.codes, weights) if self.overlapping else self.owning(cells, weights)

    def owning(self, cells: Codes, weights: Counts) -> Counts:
        """Sum of the weights of the population tuples whose own cell it is, for each cell."""
        distinct, _, inverse = self.own_groups
        sums = _summed(inverse, weights, len(distinct))
        numbers = cell_numbers(cells, self.axis_sizes)
        place = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
        found: Counts = np.where(distinct[place] == numbers, sums[place], 0)
        return found

    def originals(self, cells: Codes) -> Counts:
        """Original records in each cell, the suppressed ones included; cells all different."""
        if self.overlapping:
            return self._matched(cells, self.data.codes, self.data.counts)
        order, numbers = _sorted_numbers(cells, self.axis_sizes)
        place = _found(numbers, cell_numbers(self.cells, self.axis_sizes))
        counts = np.zeros(len(cells), dtype=np.int64)
        counts[order] = _summed(place[place >= 0], self.data.counts[place >= 0], len(cells))
        return counts

    @cached_property
    def middles(self) -> tuple[Floats, ...]:
        """Mean leaf of the group at each axis position, one array an attribute; NaN where no person has the group."""
        return tuple(self._spans(axis)[0] for axis in range(len(self.hierarchies)))

    @cached_property
    def widths(self) -> tuple[Floats, ...]:
        """Leaves in the group at each axis position, one array an attribute."""
        return tuple(self._spans(axis)[1] for axis in range(len(self.hierarchies)))

    def _spans(self, axis: int) -> tuple[Floats, Floats]:
        hierarchy = self.hierarchies[axis]
        starts = np.concatenate([hierarchy.starts(level) for level in range(hierarchy.n_levels)])
        middles, widths = np.full(self.axis_sizes[axis], np.nan), np.zeros(self.axis_sizes[axis])
        middles[: hierarchy.axis_length] = starts + (hierarchy.sizes - 1) / 2
        widths[: hierarchy.axis_length] = hierarchy.sizes
        for position in range(hierarchy.axis_length, self.axis_sizes[axis]):
            leaves = np.unique(self.population.codes[self.own[:, axis] == position, axis])
            if len(leaves):
                middles[position], widths[position] = leaves.mean(), len(leaves)
        return middles, widths

    def _matched(self, cells: Codes, codes: Codes, weights: Counts) -> Counts:
        sums = np.zeros(len(cells), dtype=np.int64)
        for place in self._places(cells, codes):
            sums += _summed(place[place >= 0], weights[place >= 0], len(cells))
        return sums

    def _places(self, cells: Codes, codes: Codes) -> Iterator[NDArray[np.intp]]:
        """For each lattice node that has some of the cells, the cell that holds each row of leaf codes; −1 for none."""
        levels = np.column_stack(
            [hierarchy.axis_levels[cells[:, axis]] for axis, hierarchy in enumerate(self.hierarchies)]
        )
        nodes, node_of_cell = np.unique(levels, axis=0, return_inverse=True)
        for number, node in enumerate(nodes):
            members = np.flatnonzero(node_of_cell.ravel() == number)
            order, numbers = _sorted_numbers(cells[members], self.axis_sizes)
            place = _found(numbers, cell_numbers(cells_at(codes, node, self.hierarchies), self.axis_sizes))
            yield np.where(place >= 0, members[order[place]], -1)


def recoded_by_class(
    data: Tuples,
    population: Tuples,
    hierarchies: Sequence[Hierarchy],
    *,
    cells: Codes,
    kept: Flags,
    own: Codes,
    overlapping: bool,
    axis_sizes: Sequence[int] | None = None,
    listed: Counts | None = None,
) -> GeneralizedRelease:
    """A release whose classes are generalized each in its own way, by the game or by a partition.

    Parameters
    ----------
    data, population : Tuples
    hierarchies : sequence of Hierarchy
    cells : array of shape (n_data_tuples, n_attributes)
        Released cell of each data tuple, also of suppressed ones, equal groups at equal positions
        (``tasks.generalization.table.Generalization.cells``).
    kept : array of bool, shape (n_data_tuples,)
        Whether the tuple's records are released.
    own : array of shape (n_population_tuples, n_attributes)
        Cell that the same rule gives each population tuple (``tasks.generalization.play.population_cells``).
    overlapping : bool
        Whether records are generalized each by itself, so that a person can match several cells. Cells of groups
        outside the hierarchies (Safe Harbor's) never overlap.
    axis_sizes : sequence of int, optional
        Axis positions of each attribute where there are groups outside the hierarchies.
    listed : array of shape (n_population_tuples,), optional
        As of ``recoded_alike``.

    Raises
    ------
    ParameterError
        If the arrays do not fit one another.
    """
    release = GeneralizedRelease(
        hierarchies=tuple(hierarchies),
        data=data,
        cells=cells,
        kept=kept,
        population=population,
        own=own,
        axis_sizes=tuple(axis_sizes or (hierarchy.axis_length for hierarchy in hierarchies)),
        overlapping=overlapping,
        listed=listed,
    )
    _check(release)
    return release


def check_levels(levels: Sequence[int], hierarchies: Sequence[Hierarchy]) -> None:
    """Refuse levels that are not those of a node of the lattice."""
    heights = [hierarchy.n_levels for hierarchy in hierarchies]
    fitting = len(levels) == len(heights)
    if not fitting or any(not 0 <= level < height for level, height in zip(levels, heights, strict=True)):
        raise ParameterError(
            "the levels do not fit the hierarchies",
            where="levels",
            expected=f"one level an attribute, below {', '.join(map(str, heights))}",
            got=", ".join(map(str, levels)),
            fix="give the levels of a node of this lattice",
        )


def check_minimum(minimum: int) -> None:
    """Refuse a minimum class size below 1."""
    if minimum < 1:
        raise ParameterError(
            "the minimum class size is outside its range",
            where="minimum class size",
            expected="from 1",
            got=str(minimum),
            fix="give a minimum class size from 1",
        )


def _check(release: GeneralizedRelease) -> None:
    width = len(release.hierarchies)
    fits = (
        release.cells.shape == (len(release.data), width)
        and release.kept.shape == (len(release.data),)
        and release.kept.dtype == np.bool_
        and release.own.shape == (len(release.population), width)
        and (release.listed is None or release.listed.shape == (len(release.population),))
        and len(release.population) > 0
    )
    if not fits:
        raise ParameterError(
            "the release does not fit its data or its population",
            where="cells, kept, own and listed",
            expected=f"{len(release.data)} data tuples and {len(release.population)} population tuples, from 1, of "
            f"{width} attributes",
            got=f"{release.cells.shape}, {release.kept.shape} and {release.own.shape}",
            fix="give one entry for each tuple",
        )
    if release.listed is not None and (release.listed > release.population.counts).any():
        raise ParameterError(
            "the register lists people whom the population does not have",
            where="listed",
            expected="for each tuple at most as many people as in the population",
            got=f"{int(np.count_nonzero(release.listed > release.population.counts))} tuples with more",
            fix="use a population that holds everybody whom the register lists",
        )
    inside = all(
        codes.size == 0 or (codes.min() >= 0 and (codes.max(axis=0) < np.array(release.axis_sizes)).all())
        for codes in (release.cells, release.own)
    )
    lengths = [hierarchy.axis_length for hierarchy in release.hierarchies]
    if not inside or (release.overlapping and list(release.axis_sizes) != lengths):
        raise ParameterError(
            "cells lie outside the hierarchies' axes",
            where="cells and own",
            expected="axis positions; where cells overlap, of the hierarchies' own groups only",
            got="other positions",
            fix="give the cells of one generalization with its axis sizes",
        )


def _sorted_numbers(cells: Codes, axis_sizes: Sequence[int]) -> tuple[NDArray[np.intp], Counts]:
    numbers = cell_numbers(cells, axis_sizes)
    order = np.argsort(numbers, kind="stable")
    return order, numbers[order]


def _found(numbers: Counts, wanted: Counts) -> NDArray[np.intp]:
    """Place of each wanted number among growing numbers; −1 where it is not there."""
    if len(numbers) == 0:
        return np.full(len(wanted), -1, dtype=np.intp)
    place = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return np.where(numbers[place] == wanted, place, -1)


def _summed(groups: NDArray[np.intp], weights: Counts, n_groups: int) -> Counts:
    sums: Counts = np.rint(np.bincount(groups, weights=weights, minlength=n_groups)).astype(np.int64)
    return sums
