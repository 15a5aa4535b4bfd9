"""How likely it is that as many decoy classes of one recipient are hit by an incident that did not come from it.

If the incident was made without knowing which cells are decoys, a decoy is hit as likely as any cell that could have
been drawn in its place: with h of N comparable cells hit, the decoy among them, by a chance of h/N.

**Comparable cells** are those that a decoy could have been drawn from. A cell of the population is comparable if it

* is of the decoy's own levels in every quasi-identifier;
* is of the same origin as no real class of any copy, and as no decoy of another holder: no decoy could be there;
* has in each quasi-identifier a group that some real class has, as decoys have, and
* holds about as many people of the population: within a factor of 1.5, for cells with more people are hit more often.
  Where fewer than 100 cells do, the factor is widened by steps of 1.5, to about 5 at most.

Decoys are drawn to look like real classes, so not all of these cells were equally likely: where the data are people of
working age, so are most decoys. The cells are therefore weighed by raking, or iterative proportional fitting, the least
change of equal weights (Deming & Stephan 1940; Ireland & Kullback 1968) by which they are distributed as the real
classes of the decoy's levels that hold about as many people: in each quasi-identifier, and in people. The chance is the
weight of the cells that are hit over that of all. The decoy's own weight is the mean at least, so that an unlikely one
weighs no more. Where there are fewer than 40 cells or such classes, all cells count alike. What the draw depended on
beyond that, such as suppressed records, in whose cells there are no decoys, is not known to the tracer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.decoys.class_table import Flags, Rows, joined
from tasks.decoys.lineage import Lineage
from tasks.decoys.linked_release import Floats
from tasks.decoys.manifest import DecoyManifest
from tasks.decoys.same_origin import of_same_origin, same_origin_pairs
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples, radix_strides

_Levels = tuple[int, ...]
Integers = NDArray[np.integer]

ENOUGH = 100
"""Cells from which on the factor is not widened."""
FACTORS = (1.5, 1.5**2, 1.5**3, 1.5**4)
_BINS = 20
_LEAST = 20
"""Cells, and reference cells, that a bin has on average at least."""
_ROUNDS = 10
_EXTREME = 10.0


class Comparable(NamedTuple):
    """Counts of the cells comparable to one decoy class; the decoy counts in both numbers."""

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
    released: tuple[Codes, Counts]
    """Real classes of this node, and the people of each."""


class DecoyChances:
    """Chances of decoy hits, against cells of the population or, without it, against the decoys of other holders.

    Parameters
    ----------
    manifest : DecoyManifest
    axes : sequence of Lineage
    real : array of shape (n_classes, n_attributes)
        Real classes of all copies, canonical.
    tuples : array of shape (n_tuples, n_attributes)
        Tuples of the incident that can come from no real class, and from decoys of one recipient at most.
    population : Tuples or None
    """

    def __init__(
        self, manifest: DecoyManifest, axes: Sequence[Lineage], real: Codes, tuples: Codes, population: Tuples | None
    ) -> None:
        self._axes, self._real, self._tuples, self._population = axes, real, tuples, population
        lengths = [len(holder.decoys) for holder in manifest.holders]
        self._holder_of = np.repeat(np.arange(len(lengths)), lengths)
        self._file_of = np.array([holder.generalization for holder in manifest.holders], dtype=np.intp)[self._holder_of]
        self._decoys = joined([holder.decoys for holder in manifest.holders])
        self._hit = of_same_origin(self._decoys.cells, tuples, axes)
        self._strides = radix_strides([len(line) for line in axes])
        self._numbers: Counts = self._decoys.cells.astype(np.int64) @ self._strides
        self._nodes: dict[_Levels, _Node] = {}
        self._counts: dict[_Levels, tuple[Counts, Counts]] = {}

    def chance(self, holder: int) -> float:
        """Probability, 0 to 1, that as many decoy classes of a holder are hit, or more."""
        own = self._holder_of == holder
        hits = int(np.count_nonzero(own & self._hit))
        if not hits:
            return 1.0
        if self._population is None:
            like = np.isin(self._file_of, self._file_of[own])
            drawn = np.count_nonzero(like & self._hit)
            return float(stats.hypergeom.sf(hits - 1, np.count_nonzero(like), np.count_nonzero(own), drawn))
        return at_least(hits, [self.beside(row).chance for row in np.flatnonzero(own).tolist()])

    def beside(self, decoy: int) -> Comparable:
        """The cells comparable with a decoy, by its row."""
        node, people = self._node(self._levels[decoy]), self._people[decoy]
        cells, decoys = node.decoy_pairs
        possible = node.numbers != self._numbers[decoy]
        possible[cells[self._holder_of[decoys] != self._holder_of[decoy]]] = False
        possible &= (node.known >= self._known(self._decoys.cells[[decoy]])).all(axis=1)
        for factor in FACTORS:
            near = np.flatnonzero(possible & (node.people * factor >= people) & (node.people <= people * factor))
            if len(near) + 1 >= ENOUGH:
                break
        own = np.isin(node.numbers[near], self._numbers[self._holder_of == self._holder_of[decoy]])
        classes, linked = node.released
        like = (linked * FACTORS[0] >= people) & (linked <= people * FACTORS[0])
        places = [*np.vstack([node.cells[near], self._decoys.cells[[decoy]]]).T, np.append(node.people[near], people)]
        weights = raked(places, [*classes[like].T, linked[like]])
        weights[-1] = max(1.0, weights[-1])
        hit, drawable = np.append(node.hit[near], self._hit[decoy]), np.append(~own, [True])
        chance = min(1.0, float(weights[hit].sum() / weights[drawable].sum()))
        return Comparable(int(drawable.sum()), int(hit.sum()), chance)

    def _known(self, cells: Codes) -> Flags:
        return np.column_stack([np.isin(column, real) for column, real in zip(cells.T, self._real.T, strict=True)])

    @cached_property
    def _levels(self) -> list[_Levels]:
        levels = [line.levels[self._decoys.cells[:, axis]] for axis, line in enumerate(self._axes)]
        return list(zip(*(column.tolist() for column in levels), strict=True))

    @cached_property
    def _people(self) -> list[int]:
        """People of each decoy; as the manifest has them where the population has no such cell."""
        found = []
        for levels, number, people in zip(self._levels, self._numbers, self._decoys.people.tolist(), strict=True):
            numbers, counts = self._counted(levels)
            here = counts[numbers == number]
            found.append(max(int(here[0]) if len(here) else people, 1))
        return found

    def _node(self, levels: _Levels) -> _Node:
        if levels not in self._nodes:
            numbers, people = self._counted(levels)
            own = [count for count, other in zip(self._people, self._levels, strict=True) if other == levels]
            wanted = (people >= min(own) / FACTORS[-1]) & (people <= max(own) * FACTORS[-1])
            places = np.unravel_index(numbers[wanted], [len(line) for line in self._axes])
            cells = np.column_stack(places).astype(np.int32)
            free = ~of_same_origin(cells, self._real, self._axes)
            cells = cells[free]
            sought = self._real.astype(np.int64) @ self._strides
            place = np.minimum(np.searchsorted(numbers, sought), len(numbers) - 1)
            found = numbers[place] == sought
            self._nodes[levels] = _Node(
                cells=cells,
                numbers=numbers[wanted][free],
                people=people[wanted][free],
                hit=of_same_origin(cells, self._tuples, self._axes),
                known=self._known(cells),
                decoy_pairs=same_origin_pairs(cells, self._decoys.cells, self._axes),
                released=(self._real[found], people[place[found]]),
            )
        return self._nodes[levels]

    def _counted(self, levels: _Levels) -> tuple[Counts, Counts]:
        """Numbers of the cells of a lattice node that hold people, and the people in each."""
        population = self._population
        if levels not in self._counts and population is not None:
            held = population.counts > 0
            raised = [
                line.raised[:, level] * stride
                for line, level, stride in zip(self._axes, levels, self._strides, strict=True)
            ]
            numbers = sum(column[population.codes[held, axis]] for axis, column in enumerate(raised))
            distinct, inverse = np.unique(numbers, return_inverse=True)
            people = np.bincount(inverse.ravel(), weights=population.counts[held], minlength=len(distinct))
            self._counts[levels] = distinct.astype(np.int64), np.rint(people).astype(np.int64)
        return self._counts[levels]


def at_least(number: int, chances: Sequence[float]) -> float:
    """Probability that so many of independent events happen, or more: the tail of a Poisson-binomial distribution.

    >>> at_least(2, [0.5, 0.5, 0.5])
    0.5
    """
    spread = np.ones(1)
    for chance in chances:
        spread = np.convolve(spread, [1 - chance, chance])
    return float(min(1.0, spread[number:].sum()))


def raked(attributes: Sequence[Integers], reference: Sequence[Integers]) -> Floats:
    """Weights of cells, of mean 1, by which they are distributed as reference cells in bins of each attribute.

    Parameters
    ----------
    attributes : sequence of arrays of shape (n_cells,)
        Ordered values of each attribute; bins are runs of values.
    reference : sequence of arrays of shape (n_reference,)
        The same of the reference cells.

    Returns
    -------
    array of shape (n_cells,)
        From a tenth to ten times the mean; 1 throughout where there are fewer than 40 cells of either kind.
    """
    n_bins = min(_BINS, len(attributes[0]) // _LEAST, len(reference[0]) // _LEAST)
    weights = np.ones(len(attributes[0]))
    if n_bins <= 1:
        return weights
    binned = []
    for values, like in zip(attributes, reference, strict=True):
        edges = np.unique(np.quantile(like, np.arange(1, n_bins) / n_bins, method="lower"))
        shares = np.bincount(np.searchsorted(edges, like), minlength=len(edges) + 1) / len(like)
        binned.append((np.searchsorted(edges, values), shares))
    for _ in range(_ROUNDS):
        for bins, shares in binned:
            held = np.bincount(bins, weights=weights, minlength=len(shares)) / weights.sum()
            weights = weights * np.divide(shares, held, out=np.zeros_like(shares), where=held > 0)[bins]
        if not weights.any():
            return np.ones(len(weights))
        weights = np.clip(weights / weights.mean(), 1 / _EXTREME, _EXTREME)
    scaled: Floats = weights / weights.mean()
    return scaled
