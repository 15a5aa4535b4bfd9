"""Candidates that decoy classes can be made of, and cells as boxes, to see which share a value combination."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.candidates import Candidates
from tasks.decoys.generalized_release import Flags, Floats, GeneralizedRelease
from tasks.decoys.plausibility import supported
from tasks.microdata.hierarchy import Codes

Places = NDArray[np.intp]


def available(release: GeneralizedRelease, candidates: Candidates, taken: Flags | None = None) -> Places:
    """Candidates that decoy classes can be made of, whatever their risk.

    Every group occurs in a released class, a released class exists that is no larger than the pool, no original record
    lies in the cell, and no person in it is taken.

    Parameters
    ----------
    release : GeneralizedRelease
    candidates : Candidates
    taken : array of bool, shape (n_population_tuples,), optional
        Population tuples whose people are decoys already, in an earlier release or for other recipients.

    Raises
    ------
    ParameterError
        If ``taken`` does not fit the population.
    """
    usable = supported(candidates.cells, candidates.released.cells)
    usable &= candidates.pool >= max(candidates.minimum, int(candidates.released.sizes.min()))
    usable &= candidates.originals == 0
    if taken is not None:
        if taken.shape != (len(release.population),) or taken.dtype != np.bool_:
            raise ParameterError(
                "what is taken does not fit the population",
                where="taken",
                expected=f"{len(release.population)} yes or no, one a population tuple",
                got=f"an array of shape {taken.shape} and type {taken.dtype}",
                fix="mark the population tuples of the decoys that exist already",
            )
        usable &= release.matching(candidates.cells, taken.astype(np.int64)) == 0
    return np.flatnonzero(usable)


@dataclass(frozen=True)
class Boxes:
    """Cells as boxes in the leaves of each attribute, to see which share a value combination."""

    starts: Floats = field(repr=False)
    ends: Floats = field(repr=False)

    @classmethod
    def of(cls, release: GeneralizedRelease, cells: Codes) -> "Boxes":
        """The boxes of some cells of a release."""
        middles = np.column_stack([release.middles[axis][column] for axis, column in enumerate(cells.T)])
        widths = np.column_stack([release.widths[axis][column] for axis, column in enumerate(cells.T)])
        starts = middles - (widths - 1) / 2
        return cls(starts, starts + widths)

    def meets(self, number: int, others: Sequence[int]) -> bool:
        """Whether a cell shares a value combination with any of some others."""
        kept = np.asarray(others, dtype=np.intp)
        inside = (self.starts[kept] < self.ends[number]) & (self.ends[kept] > self.starts[number])
        return bool(inside.all(axis=1).any())
