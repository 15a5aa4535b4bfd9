"""Probability that an incident from elsewhere hits as many decoys or kept classes of a recipient.

**Decoys.** A decoy is hit as likely as any cell that could have been drawn in its place: with h of N comparable cells
hit, the decoy among them, by a chance of h/N. Of n decoys of a recipient,

    chance of as many decoy classes = P(Poisson-binomial(h₁/N₁, …, h_n/N_n) ≥ decoy classes hit)

A cell of the population is comparable if it

* is of the decoy's own levels in every quasi-identifier;
* is of the same origin as no real class of any copy, and as no decoy of another holder: no decoy could be there;
* has in each quasi-identifier a group that some real class has, as decoys have, and
* holds about as many people of the population: within a factor of 1.5, for cells with more people are hit more often.
  Where fewer than 100 cells do, the factor is widened by steps of 1.5, to about 5 at most.

Decoys are drawn to look like real classes, so the cells are weighed by raking, or iterative proportional fitting
(Deming & Stephan 1940; Ireland & Kullback 1968), until they are distributed as the real classes of the decoy's levels
that hold about as many people. The decoy's own weight is the mean at least, so that an unlikely one weighs no more.
What the draw depended on beyond that, such as suppressed records, is not known to the tracer.

Without the population the decoys of all holders of the same file are compared: of D decoys, n of them this
recipient's, H hit, the chance is P(Hypergeometric(D, n, H) ≥ decoy classes hit), which is never small with few
recipients.

**Kept classes** were in the data before there were decoys, so what counts is that an incident has those of one
recipient alone. Of the K kept classes of all recipients C are hit, and c of them of the K_i of this one:

    chance of as many of its kept classes = P(Hypergeometric(K, K_i, C) ≥ c)

Where those of one holder alone are hit, how many other real classes are hit is evidence too. Of the N classes of a bin
(of the same levels and as many records, people linked within a half-octave) with K kept ones, K_i of them recipient
i's, and h hit,

    P(j of i's are hit and none of others') = Hypergeometric(j; N, K, h) · C(K_i, j) / C(K, j)

for each bin, independently of the other bins. Only tuples that can come from just one real class of a file count as
hits here, so that what is hit does not depend on which classes are kept. The two are alternatives, of which one is
chosen by what was hit: either is doubled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from tasks.decoys.classes import Flags, Floats, Lineage, Rows, joined, levels_of, looks
from tasks.decoys.linked_release import known_groups
from tasks.decoys.manifest import DecoyManifest
from tasks.decoys.origins import Origins, Placed
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples

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
_NOBODY = -1


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
    decoy_people: Counts
    """People of each decoy of this node, by its number; as the manifest has them where nobody is in its cell."""


class DecoyChances:
    """Chances of decoy hits, against cells of the population or, without it, against the decoys of other holders.

    `real` are the real classes of all copies, canonical; `tuples` those of the incident that can come from no real
    class, and from decoys of one recipient at most.
    """

    def __init__(
        self, manifest: DecoyManifest, origins: Origins, real: Placed, tuples: Codes, population: Tuples | None
    ) -> None:
        self._axes, self._origins, self._real, self._tuples = origins.axes, origins, real, tuples
        self.by_population = population is not None or bool(origins.rosters)
        self._people = np.empty((0, len(origins.axes)), dtype=np.int32), np.empty(0, dtype=np.int64)
        if population is not None:
            self._people = population.codes[population.counts > 0], population.counts[population.counts > 0]
        self._decoys = joined([holder.decoys for holder in manifest.holders])
        lengths = [len(holder.decoys) for holder in manifest.holders]
        self._holder_of = np.repeat(np.arange(len(lengths)), lengths)
        self._file_of = np.repeat([holder.generalization for holder in manifest.holders], lengths)
        self._placed = Placed(self._decoys.cells, self._file_of)
        self._hit = origins.hit(tuples, self._placed)
        self._numbers = origins.number(self._decoys.cells)
        levels = levels_of(self._decoys.cells, origins.axes)
        # By rule cells are compared within a file as well: its classes of other levels are no more alike.
        self._node_of = np.column_stack([self._file_of, levels]) if origins.rosters else levels
        self._nodes: dict[_Levels, _Node] = {}

    def chance(self, holder: int) -> float:
        """Probability, 0 to 1, that as many decoy classes of a holder are hit, or more."""
        own = self._holder_of == holder
        hits = int(np.count_nonzero(own & self._hit))
        if not hits:
            return 1.0
        if self.by_population:
            return at_least(hits, [self.beside(row).chance for row in np.flatnonzero(own).tolist()])
        like = np.isin(self._file_of, self._file_of[own])
        drawn = np.count_nonzero(like & self._hit)
        return float(stats.hypergeom.sf(hits - 1, np.count_nonzero(like), np.count_nonzero(own), drawn))

    def beside(self, decoy: int) -> Comparable:
        """The cells comparable with a decoy, by its row."""
        node = self._node(tuple(self._node_of[decoy].tolist()))
        own, people = self._holder_of == self._holder_of[decoy], node.decoy_people[decoy]
        cells, decoys = node.decoy_pairs
        possible = node.numbers != self._numbers[decoy]
        possible[cells[~own[decoys]]] = False
        possible &= (node.known >= known_groups(self._decoys.cells[[decoy]], self._real.cells)).all(axis=1)
        for factor in FACTORS:
            near = np.flatnonzero(possible & (node.people * factor >= people) & (node.people <= people * factor))
            if len(near) + 1 >= ENOUGH:
                break
        classes, linked = node.released
        like = (linked * FACTORS[0] >= people) & (linked <= people * FACTORS[0])
        places = [*np.vstack([node.cells[near], self._decoys.cells[[decoy]]]).T, np.append(node.people[near], people)]
        weights = raked(places, [*classes[like].T, linked[like]])
        weights[-1] = max(1.0, weights[-1])
        hit = np.append(node.hit[near], self._hit[decoy])
        drawable = np.append(~np.isin(node.numbers[near], self._numbers[own]), [True])
        chance = min(1.0, float(weights[hit].sum() / weights[drawable].sum()))
        return Comparable(int(drawable.sum()), int(hit.sum()), chance)

    def _people_of(self, node: _Levels) -> pd.Series:
        """People of each cell of a lattice node or of each class of a file at that node, by its number."""
        if self._origins.rosters:
            people, numbers = self._origins.rosters[node[0]].people, self._origins.files[node[0]][1]
            here = (levels_of(self._origins.cells(numbers), self._axes) == node[1:]).all(axis=1)
            people, numbers = people[here], numbers[here]
        else:
            codes, people = self._people
            groups = [line.at_level[:, level] for line, level in zip(self._axes, node, strict=True)]
            numbers = self._origins.number(
                np.column_stack([group[leaves] for group, leaves in zip(groups, codes.T, strict=True)])
            )
        return pd.Series(people).groupby(numbers).sum()

    def _node(self, node: _Levels) -> _Node:
        if node not in self._nodes:
            people, own = self._people_of(node), (self._node_of == node).all(axis=1)
            decoy_people = np.where(own, people.reindex(self._numbers), np.nan)
            decoy_people = np.maximum(np.where(np.isnan(decoy_people), self._decoys.people, decoy_people), 1)
            least, most = decoy_people[own].min() / FACTORS[-1], decoy_people[own].max() * FACTORS[-1]
            wanted = people[people.between(least, most)]
            cells = self._origins.cells(wanted.index.to_numpy())
            file = node[0] if self._origins.rosters else 0
            placed, real = Placed(cells, np.full(len(cells), file)), self._real
            free = ~self._origins.related(placed, real)
            if self._origins.rosters:
                real = real.at(real.file == file)
            linked = people.reindex(self._origins.number(real.cells)).to_numpy()
            here = ~np.isnan(linked)
            self._nodes[node] = _Node(
                cells=cells[free],
                numbers=wanted.index.to_numpy()[free],
                people=wanted.to_numpy()[free],
                hit=self._origins.hit(self._tuples, placed.at(free)),
                known=known_groups(cells[free], self._real.cells),
                decoy_pairs=self._origins.classes(placed.at(free), self._placed),
                released=(real.cells[here], linked[here]),
                decoy_people=decoy_people,
            )
        return self._nodes[node]


def at_least(number: int, chances: Sequence[float]) -> float:
    """Probability that so many of independent events happen, or more: the tail of a Poisson-binomial distribution.

    >>> at_least(2, [0.5, 0.5, 0.5])
    0.5
    """
    spread = np.ones(1)  # exact also of tiny probabilities, of which SciPy's distribution makes 0 or 1e-16
    for chance in chances:
        spread = np.convolve(spread, [1 - chance, chance])
    return float(min(1.0, spread[number:].sum()))


def raked(attributes: Sequence[Integers], reference: Sequence[Integers]) -> Floats:
    """Weights of cells, of mean 1 and from a tenth to ten, that give them the distribution of reference cells.

    Each attribute holds one ordered value a cell, in bins that are runs of values. All weights are 1 where there are
    fewer than 40 cells of either kind.
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
    return np.asarray(weights / weights.mean())


def single_hits(manifest: DecoyManifest, cells: Codes, origins: Origins) -> list[Flags]:
    """Flags of the real classes of each first-version file that are hit by a tuple that fits no other class of it.

    The cells are the distinct tuples of the incident, canonical.
    """
    found = []
    for number, table in enumerate(manifest.versions[0].files):
        tuples, rows = origins.incident(cells, Placed.of([table], [number]))
        single = np.bincount(tuples, minlength=len(cells))[tuples] == 1
        found.append(np.isin(np.arange(len(table)), rows[single]))
    return found


def only_keeper(manifest: DecoyManifest, hit: Sequence[Flags], axes: Sequence[Lineage]) -> tuple[str, float] | None:
    """The one recipient whose kept classes are hit, by the flags of ``single_hits``; None for none, several or a seat.

    With it the probability, 0 to 1, that as many of its kept classes are hit or more, and none of any other holder's.
    """
    files = manifest.versions[0].files
    keeper = {
        (holder.generalization, cell.tobytes()): number
        for number, holder in enumerate(manifest.holders)
        for cell in holder.kept.cells
    }
    classes = pd.DataFrame(
        {
            "bin": [
                (file, look, level.tobytes())
                for file, table in enumerate(files)
                for look, level in zip(looks(table), levels_of(table.cells, axes), strict=True)
            ],
            "keeper": [
                keeper.get((file, cell.tobytes()), _NOBODY) for file, table in enumerate(files) for cell in table.cells
            ],
            "hit": np.concatenate(hit),
        }
    )
    owners = classes.keeper[classes.hit & (classes.keeper != _NOBODY)]
    recipient = manifest.holders[int(owners.iloc[0])].recipient if owners.nunique() == 1 else None
    if recipient is None:
        return None
    chances = np.ones(1)
    for _, here in classes.groupby("bin"):
        kept, own = int((here.keeper != _NOBODY).sum()), int((here.keeper == owners.iloc[0]).sum())
        of_bin = stats.hypergeom.pmf(np.arange(own + 1), len(here), kept, here.hit.sum())
        chances = np.convolve(chances, of_bin * [comb(own, count) / comb(kept, count) for count in range(own + 1)])
    return recipient, float(min(1.0, chances[len(owners) :].sum()))
