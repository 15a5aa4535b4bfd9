"""How likely it is that as many decoy classes of one recipient are hit by an incident that did not come from it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.decoys.class_table import ClassTable, Rows, no_classes
from tasks.decoys.comparable import ComparableCells
from tasks.decoys.lineage import Lineage
from tasks.decoys.manifest import Manifest
from tasks.decoys.same_origin import of_same_origin
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class DecoyChance:
    """Chances of decoy hits, against cells of the population or, without it, against the decoys of other holders."""

    holder_of: Rows = field(repr=False)
    """Number of the holder of each decoy class; seats are holders too."""
    file_of: Rows = field(repr=False)
    """Number of the file of each."""
    hit: Flags = field(repr=False)
    comparable: ComparableCells | None = field(repr=False)
    """None without the population."""

    @classmethod
    def of(
        cls, manifest: Manifest, axes: Sequence[Lineage], real: Codes, tuples: Codes, population: Tuples | None
    ) -> "DecoyChance":
        """Chances of an incident.

        Parameters
        ----------
        manifest : Manifest
        axes : sequence of Lineage
        real : array of shape (n_classes, n_attributes)
            Real classes of all copies, canonical.
        tuples : array of shape (n_tuples, n_attributes)
            Tuples of the incident that can come from no real class, and from decoys of one recipient at most.
        population : Tuples or None
        """
        lengths = [len(holder.decoys) for holder in manifest.holders]
        holder_of = np.repeat(np.arange(len(lengths)), lengths)
        decoys: ClassTable = no_classes(len(axes)).with_rows(*[holder.decoys for holder in manifest.holders])
        return cls(
            holder_of=holder_of,
            file_of=np.array([holder.generalization for holder in manifest.holders], dtype=np.intp)[holder_of],
            hit=of_same_origin(decoys.cells, tuples, axes),
            comparable=None
            if population is None
            else ComparableCells(population, axes, real, decoys, holder_of, tuples),
        )

    def chance(self, holder: int) -> float:
        """Probability, 0 to 1, that as many decoy classes of a holder are hit, or more."""
        own = self.holder_of == holder
        hits = int(np.count_nonzero(own & self.hit))
        if not hits:
            return 1.0
        if self.comparable is None:
            like = np.isin(self.file_of, self.file_of[own])
            drawn = np.count_nonzero(like & self.hit)
            return float(stats.hypergeom.sf(hits - 1, np.count_nonzero(like), np.count_nonzero(own), drawn))
        return at_least(hits, [self.comparable.beside(row).chance for row in np.flatnonzero(own).tolist()])


def at_least(number: int, chances: Sequence[float]) -> float:
    """Probability that so many of independent events happen, or more: the tail of a Poisson-binomial distribution.

    >>> at_least(2, [0.5, 0.5, 0.5])
    0.5
    """
    spread = np.ones(1)
    for chance in chances:
        spread = np.convolve(spread, [1 - chance, chance])
    return float(min(1.0, spread[number:].sum()))
