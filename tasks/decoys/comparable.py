"""Comparable cells: those of the population that could have become a decoy class in place of the one that did.

Which empty cell became a recipient's decoy was drawn, and the draw is secret. So whatever an incident hits, if it was
made without the copy, a decoy is hit as likely as any other cell that could have been drawn for it: with h of N such
cells hit, the decoy itself among them, by a chance of h/N. Nothing is assumed of the incident. A list of the people of
one place, or of one age, hits neighbouring cells together; it hits each of them only once, and h counts them all.

The recipient's other decoys count in h where they are hit, but not in N, for no cell is drawn twice: whichever were
drawn before, the chance is h/N at most, so that several decoys together are hit no likelier than independent ones.

A cell is comparable with a decoy if it

* is of the decoy's own level in each quasi-identifier,
* is of the same origin as no real class of any copy, as the decoy is, and as no decoy of another recipient,
* has in each quasi-identifier a group that some real class has, as decoys have, and
* holds about as many people of the population: within a factor of 1.5, for cells with more people are hit more often.
  Where fewer than 100 cells do, the factor is widened by steps of 1.5, to about 5 at most.

Decoys are drawn to look like real classes, so not all of these cells were equally likely: where the data are people of
working age, so are most decoys. The cells are therefore weighed as ``tasks.decoys.raking`` has it, by the real classes
of the decoy's levels that hold about as many people: in each quasi-identifier, and in people, the weighted cells are
distributed as these. The chance is the weight of the cells that are hit over that of all. The decoy's own weight is the
mean at least, so that an unlikely one weighs no more. Where there are fewer than 40 cells or such classes, all cells
count alike. What the draw depended on beyond that, such as suppressed records, in whose cells there are no decoys, is
not known to the tracer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.class_table import ClassTable, Rows
from tasks.decoys.lineage import Lineage
from tasks.decoys.raking import Floats, raked
from tasks.decoys.same_origin import of_same_origin, same_origin_pairs
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples, radix_strides

Flags = NDArray[np.bool_]
_Levels = tuple[int, ...]

ENOUGH = 100
"""Cells from which on the factor is not widened."""
FACTORS = (1.5, 1.5**2, 1.5**3, 1.5**4)


@dataclass(frozen=True)
class Comparable:
    """Counts of the classes comparable to one decoy class; the decoy counts in both numbers."""

    cells: int
    """N, from 1; without other decoys of the recipient."""
    hit: int
    """h, those that the incident hits, other decoys of the recipient included."""
    chance: float
    """Greatest probability that a cell drawn among them is hit, whichever were drawn before: h/N, weighed."""


@dataclass(frozen=True)
class _Node:
    """Cells of one lattice node that are of the same origin as no real class, in order of their numbers."""

    cells: Codes
    numbers: Counts
    people: Counts
    hit: Flags
    known: Flags
    """Whether each group of each cell occurs in a real class."""
    decoy_pairs: tuple[Rows, Rows]
    """Pairs of them and of decoys of the same origin."""
    people_of: dict[int, int]
    """People of each decoy of this node, by its row."""
    released: tuple[Codes, Counts]
    """Real classes of this node, and the people of each."""


@dataclass(frozen=True)
class ComparableCells:
    """Decoys of all holders among the cells of the population, and what one incident hits of these."""

    population: Tuples = field(repr=False)
    axes: Sequence[Lineage] = field(repr=False)
    real: Codes = field(repr=False)
    """Real classes of all copies, canonical."""
    decoys: ClassTable = field(repr=False)
    """Decoy classes of all holders, seats included; canonical."""
    decoy_of: Rows = field(repr=False)
    """Number of the holder of each decoy."""
    tuples: Codes = field(repr=False)
    """Tuples of the incident that can come from no real class, and from decoys of one recipient at most."""
    _counts: dict[_Levels, tuple[Counts, Counts]] = field(default_factory=dict, init=False, repr=False)
    _nodes: dict[tuple[_Levels, float], _Node] = field(default_factory=dict, init=False, repr=False)

    def beside(self, decoy: int) -> Comparable:
        """The cells comparable with a decoy, by its row."""
        node, near = self._node(self._levels[decoy], FACTORS[0]), np.zeros(0, dtype=np.intp)
        for factor in FACTORS:
            node = self._node(self._levels[decoy], factor)
            near = self._near(node, decoy, factor)
            if len(near) + 1 >= ENOUGH:
                break
        own = np.isin(node.numbers[near], self._numbers[self.decoy_of == self.decoy_of[decoy]])
        weights = self._weights(node, near, decoy)
        hit = np.append(node.hit[near], self._hit[decoy])
        drawable = np.append(~own, True)
        return Comparable(
            cells=int(np.count_nonzero(drawable)),
            hit=int(np.count_nonzero(hit)),
            chance=min(1.0, float(weights[hit].sum() / weights[drawable].sum())),
        )

    def _near(self, node: _Node, decoy: int, factor: float) -> Rows:
        """Rows of the comparable cells of a node, without the decoy."""
        people = node.people_of[decoy]
        cells, decoys = node.decoy_pairs
        near = (node.people * factor >= people) & (node.people <= people * factor)
        near[cells[self.decoy_of[decoys] != self.decoy_of[decoy]]] = False
        near &= (node.known >= self._known(self.decoys.cells[[decoy]])).all(axis=1)
        return np.flatnonzero(near & (node.numbers != self._numbers[decoy]))

    def _known(self, cells: Codes) -> Flags:
        return np.column_stack([np.isin(column, real) for column, real in zip(cells.T, self.real.T, strict=True)])

    def _weights(self, node: _Node, near: Rows, decoy: int) -> Floats:
        """Weights of the comparable cells, and of the decoy last."""
        people = node.people_of[decoy]
        cells, linked = node.released
        like = (linked * FACTORS[0] >= people) & (linked <= people * FACTORS[0])
        places = [*np.vstack([node.cells[near], self.decoys.cells[[decoy]]]).T, np.append(node.people[near], people)]
        weights = raked(places, [*cells[like].T, linked[like]])
        weights[-1] = max(1.0, weights[-1])
        return weights

    @cached_property
    def _strides(self) -> Counts:
        return radix_strides([len(line) for line in self.axes])

    @cached_property
    def _numbers(self) -> Counts:
        numbers: Counts = self.decoys.cells.astype(np.int64) @ self._strides
        return numbers

    @cached_property
    def _levels(self) -> list[_Levels]:
        levels = [line.levels[self.decoys.cells[:, axis]] for axis, line in enumerate(self.axes)]
        return list(zip(*(column.tolist() for column in levels), strict=True))

    @cached_property
    def _hit(self) -> Flags:
        return of_same_origin(self.decoys.cells, self.tuples, self.axes)

    def _node(self, levels: _Levels, factor: float) -> _Node:
        if (levels, factor) not in self._nodes:
            numbers, people = self._counted(levels)
            own = self._people_of(levels)
            wanted = (people >= min(own.values()) / factor) & (people <= max(own.values()) * factor)
            places = np.unravel_index(numbers[wanted], [len(line) for line in self.axes])
            cells = np.column_stack(places).astype(np.int32)
            candidate = ~of_same_origin(cells, self.real, self.axes)
            cells = cells[candidate]
            self._nodes[levels, factor] = _Node(
                cells=cells,
                numbers=numbers[wanted][candidate],
                people=people[wanted][candidate],
                hit=of_same_origin(cells, self.tuples, self.axes),
                known=self._known(cells),
                decoy_pairs=same_origin_pairs(cells, self.decoys.cells, self.axes),
                people_of=own,
                released=self._released(levels),
            )
        return self._nodes[levels, factor]

    def _released(self, levels: _Levels) -> tuple[Codes, Counts]:
        """Real classes of a node in which people live, and how many do."""
        numbers, people = self._counted(levels)
        sought = self.real.astype(np.int64) @ self._strides
        place = np.minimum(np.searchsorted(numbers, sought), max(len(numbers) - 1, 0))
        found = numbers[place] == sought
        return self.real[found], people[place[found]]

    def _people_of(self, levels: _Levels) -> dict[int, int]:
        """People of each decoy of a node; as the manifest has them where the population has no such cell."""
        numbers, people = self._counted(levels)
        found = {}
        for row in [row for row, own in enumerate(self._levels) if own == levels]:
            here = people[numbers == self._numbers[row]]
            found[row] = max(int(here[0] if len(here) else self.decoys.people[row]), 1)
        return found

    def _counted(self, levels: _Levels) -> tuple[Counts, Counts]:
        """Numbers of the cells of a lattice node that hold people, and the people in each."""
        if levels not in self._counts:
            held = self.population.counts > 0
            numbers = np.zeros(int(held.sum()), dtype=np.int64)
            for axis, (line, level) in enumerate(zip(self.axes, levels, strict=True)):
                numbers += (line.raised[:, level] * self._strides[axis])[self.population.codes[held, axis]]
            distinct, inverse = np.unique(numbers, return_inverse=True)
            people = np.bincount(inverse.ravel(), weights=self.population.counts[held], minlength=len(distinct))
            self._counts[levels] = distinct, np.rint(people).astype(np.int64)
        return self._counts[levels]
