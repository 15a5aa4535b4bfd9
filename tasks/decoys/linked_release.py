"""A recipient's generalized release beside the population that its classes are linked with.

Holds what decoys are looked for in: the released cell of every distinct tuple of the data, and the cell that the same
rule gives every tuple of the population. Whether cells may overlap decides what links to what: where each record is
generalized by itself, a person can match several released cells; where all people are recoded alike or by a partition,
exactly one. A remainder class is fewer people than its cell holds: who knows the rule links it with these alone, and
they are its people here. How many more the cell holds can be seen too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd

from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.decoys.classes import ClassTable, Flags, Floats, Rows, sums_of
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.generalize import overlapping
from tasks.generalization.methods.registry import METHODS
from tasks.microdata.cube import DenseCube, SparseCube, cells_at, count_cube
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples

_MEMORY = 2**28
"""Bytes that a dense count cube may take."""


@dataclass(frozen=True, eq=False, repr=False)
class LinkedRelease:
    """Data and population under one generalization."""

    hierarchies: tuple[Hierarchy, ...]
    data: Tuples
    cells: Codes
    """Released cell of each data tuple in axis positions; shape (n_data_tuples, n_attributes)."""
    released: Flags
    """Whether each data tuple's records are released; shape (n_data_tuples,)."""
    population: Tuples
    own: Codes
    """Cell that the same rule gives each population tuple; shape (n_population_tuples, n_attributes)."""
    axis_sizes: tuple[int, ...]
    """Axis positions of each attribute, groups outside the hierarchy included."""
    overlapping: bool
    """Whether a person can match several cells."""
    remainders: bool = False
    """Whether people match the class that the rule gives them alone, though other cells hold them."""
    counted: Flags | None = None
    """Whether a record of each population tuple would be released; None where every one would."""
    listed: Counts | None = None
    """People of each population tuple in the register; None without one."""

    @classmethod
    def of(cls, candidate: Candidate) -> Self:
        """The release that a candidate makes.

        A ParameterError says that its cells overlap and some lie outside the hierarchies: whom they match is not known.
        """
        index, method = candidate.index, candidate.generalization.method
        remainders = METHODS[method].remainders
        overlap = overlapping(index, method) and not remainders
        lengths = [hierarchy.axis_length for hierarchy in index.hierarchies]
        if overlap and (candidate.own_cells >= lengths).any():
            raise ParameterError(
                "decoys cannot be placed among Safe Harbor's groups where k-anonymity generalizes them further",
                where=f"the copy of {candidate.recipient.id}",
                expected="cells that do not overlap, or lie in the hierarchies",
                got="others",
                fix="use another method for this recipient, or ask for no decoys",
            )
        return cls(
            hierarchies=index.hierarchies,
            data=index.data,
            cells=candidate.generalization.cells,
            released=candidate.released,
            population=index.population,
            own=candidate.own_cells,
            axis_sizes=tuple(lengths) if overlap else index.axis_sizes,
            overlapping=overlap,
            remainders=remainders,
            counted=candidate.generalization.counted,
            listed=index.listed,
        )

    def number(self, cells: Codes) -> Counts:
        """One number for each cell."""
        return cell_numbers(cells, self.axis_sizes)

    @cached_property
    def own_numbers(self) -> Counts:
        """Number of each population tuple's own cell."""
        return self.number(self.own)

    @cached_property
    def class_of_tuple(self) -> Rows:
        """Released class of each data tuple, −1 for a suppressed one."""
        numbers = self.number(self.cells)
        return np.where(self.released, np.searchsorted(np.unique(numbers[self.released]), numbers), -1)

    @cached_property
    def classes(self) -> ClassTable:
        """The released classes, in the order of their numbers."""
        numbers = self.number(self.cells[self.released])
        distinct, first = np.unique(numbers, return_index=True)
        cells = self.cells[self.released][first]
        records = sums_of(self.data.counts[self.released], numbers, distinct)
        return ClassTable(cells, records, *self.people_of(cells))

    def people_of(self, cells: Codes) -> tuple[Counts, Counts | None]:
        """People who match each cell, and those whose values it holds where these are more; cells all different."""
        people = self.matching(cells, self.population.counts)
        return people, self._cubes[0].count(cells) if self.remainders else None

    @cached_property
    def linked(self) -> Flags:
        """Whether each population tuple matches a released class; shape (n_population_tuples,)."""
        cells = self.classes.cells
        if not self.overlapping:
            return np.isin(self.own_numbers, self.number(cells))
        return np.asarray(np.any([place >= 0 for place in self._places(cells, self.population.codes)], axis=0))

    def matching(self, cells: Codes, weights: Counts) -> Counts:
        """Sum of the weights of the population tuples that match each cell; cells all different."""
        return self._matched(cells, self.population.codes, weights) if self.overlapping else self.owning(cells, weights)

    def owning(self, cells: Codes, weights: Counts) -> Counts:
        """Sum of the weights of the population tuples whose own cell it is, for each cell."""
        return sums_of(weights, self.own_numbers, self.number(cells))

    def have_originals(self, cells: Codes) -> Flags:
        """Whether an original record, a suppressed one included, lies in each cell; cells all different."""
        if self.overlapping:
            return self._matched(cells, self.data.codes, self.data.counts) > 0
        return np.isin(self.number(cells), self.number(self.cells))

    def seen(self, cells: Codes, *, links: bool = True) -> Floats:
        """Features of cells that an intruder with the population sees, apart from their records.

        Shape (n_cells, n_features): mean leaf and ln width of the group on each axis, NaN where it has no people; with
        `links`, then ln(1 + people), ln(1 + people whose own cell it is) where cells overlap, and ln(1 + people listed)
        with a register. Of remainder classes, as many features of the people whom the cell holds besides. The cells are
        all different.
        """
        columns = []
        for axis, (middles, widths) in enumerate(self.spans):
            columns += [middles[cells[:, axis]], np.log(widths[cells[:, axis]])]
        if links:
            people = [self.matching(cells, self.population.counts)]
            if self.overlapping:
                people.append(self.owning(cells, self.population.counts))
            if self.listed is not None:
                people.append(self.matching(cells, self.listed))
            if self.remainders:
                people += [cube.count(cells) - own for cube, own in zip(self._cubes, people, strict=True)]
            columns += map(np.log1p, people)
        return np.column_stack(columns)

    @cached_property
    def _cubes(self) -> list[DenseCube | SparseCube]:
        """People of the population, and of the register if there is one, whose values each cell holds."""
        kinds = [self.population.counts] if self.listed is None else [self.population.counts, self.listed]
        tuples = [replace(self.population, counts=counts) for counts in kinds]
        return [count_cube(people, self.hierarchies, self.population, _MEMORY) for people in tuples]

    @cached_property
    def spans(self) -> tuple[tuple[Floats, Floats], ...]:
        """Mean leaf and number of leaves of the group at each axis position, by attribute; NaN and 0 if empty."""
        spans = []
        for axis, (hierarchy, size) in enumerate(zip(self.hierarchies, self.axis_sizes, strict=True)):
            starts = np.concatenate([hierarchy.starts(level) for level in range(hierarchy.n_levels)])
            middles, widths = np.full(size, np.nan), np.zeros(size)
            middles[: hierarchy.axis_length] = starts + (hierarchy.sizes - 1) / 2
            widths[: hierarchy.axis_length] = hierarchy.sizes
            for position in range(hierarchy.axis_length, size):
                leaves = np.unique(self.population.codes[self.own[:, axis] == position, axis])
                if len(leaves):
                    middles[position], widths[position] = leaves.mean(), len(leaves)
            spans.append((middles, widths))
        return tuple(spans)

    def _matched(self, cells: Codes, codes: Codes, weights: Counts) -> Counts:
        return sum(
            (sums_of(weights, place, np.arange(len(cells))) for place in self._places(cells, codes)),
            start=np.zeros(len(cells), dtype=np.int64),
        )

    def _places(self, cells: Codes, codes: Codes) -> Iterator[Rows]:
        """For each lattice node that has some of the cells, the cell that holds each row of leaf codes; −1 for none."""
        levels = np.column_stack([tree.axis_levels[cells[:, axis]] for axis, tree in enumerate(self.hierarchies)])
        nodes, node_of_cell = np.unique(levels, axis=0, return_inverse=True)
        for number, node in enumerate(nodes):
            members = np.flatnonzero(node_of_cell.ravel() == number)
            holding = self.number(cells_at(codes, node, self.hierarchies))
            place = pd.Index(self.number(cells[members])).get_indexer(pd.Index(holding))
            yield np.where(place >= 0, members[place], -1)


def finite(features: Floats) -> Floats:
    """Features with −1 where a group has no people, as trees need numbers."""
    return np.asarray(np.nan_to_num(features, nan=-1.0))


def known_groups(cells: Codes, released: Codes) -> Flags:
    """Whether each group of each cell occurs in some released class.

    A group that occurs in none, such as an age that the study excludes, is easily recognised as a decoy's.
    """
    return np.column_stack([np.isin(ours, real) for ours, real in zip(cells.T, released.T, strict=True)])


def missing_tuples(release: LinkedRelease, missing: Flags) -> Flags:
    """Whether each data tuple's records are in a released class that a copy misses; shape (n_data_tuples,)."""
    return np.asarray(np.append(missing, [False])[release.class_of_tuple])
