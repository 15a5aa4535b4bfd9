"""Constraints on a class beyond its size: k-map, ℓ-diversity, t-closeness.

==================  ==============================================================  ===============================
constraint          a class is kept iff                                             source
==================  ==============================================================  ===============================
KMap                at least k people of a population match it                      Sweeney 2002; El Emam & Dankar
                                                                                    2008
DistinctDiversity   it has at least ℓ sensitive values                              Machanavajjhala et al. 2007
EntropyDiversity    the entropy of its sensitive values is at least log ℓ           ibid., section 4
RecursiveDiversity  r₁ < c (r_ℓ + r_ℓ₊₁ + … + r_m), r the counts in falling order   ibid., section 4
Closeness           the earth mover's distance between its sensitive values and     Li, Li & Venkatasubramanian
                    those of the whole file is at most t                            2007
==================  ==============================================================  ===============================

**What holds when classes are merged.** To join any records to a class that satisfies KMap or DistinctDiversity keeps it
satisfied, so the records that such a constraint suppresses grow fewer at every more general node: these constraints
are *firm*. The other three are kept when two classes that both satisfy them are merged, but not when one joins a class
that violates them. With suppression a more general node may therefore suppress more, and no node may be ruled out
because a more specific or a more general one failed. Each of them implies a weaker constraint that is firm
(``relaxed``): ℓ sensitive values for the two diversities; for closeness, that the file's distribution can be moved onto
the values that the class has at a cost of t. The search prunes with those and judges by the constraints themselves.

The file's distribution counts all its records, suppressed ones included.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.generalization.kanonymity.checks import refused
from tasks.microdata.cube import DenseCube, SparseCube
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_ROUNDING = 1e-12
"""Entropies, ratios and distances nearer to their limit than this meet it."""


class PeopleCount(Protocol):
    """A count of people in the cells of some hierarchies."""

    @property
    def hierarchies(self) -> Sequence[Hierarchy]:
        """Those whose axis positions make the cells."""

    def count(self, cells: Codes) -> Counts:
        """People in each cell; cells of shape (n_cells, n_attributes) in axis positions."""


@dataclass(frozen=True)
class KMap:
    """At least ``k`` people of the population match each class.

    ``people`` counts the population over the same hierarchies in the same order, as
    ``tasks.microdata.cube.count_cube`` makes it; a sparse cube must reach the tuples of the file, or their people
    count as none. Joining cells must not lower a count.
    """

    people: DenseCube | SparseCube | PeopleCount
    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise refused("the least number of people is outside its range", "KMap.k", "from 1", f"{self.k}")


class SensitiveConstraint(Protocol):
    """A constraint on how often each sensitive value occurs in a class."""

    @property
    def sensitive(self) -> ArrayLike:
        """Code of each record's sensitive value, from 0; shape (n_records,)."""

    @property
    def name(self) -> str:
        """Name of the constraint, for messages."""

    @property
    def firm(self) -> bool:
        """Whether joining records to a class that satisfies the constraint keeps it satisfied."""

    def met(self, counts: Floats, whole: Floats) -> Bools:
        """Whether each class satisfies the constraint.

        Parameters
        ----------
        counts : array of shape (n_classes, n_values)
            Records with each sensitive value in each class, at least one record a class.
        whole : array of shape (n_values,)
            Records with each sensitive value in the whole file.
        """

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:
        """Whether each class satisfies a weaker constraint that is firm; parameters as of ``met``."""


@dataclass(frozen=True)
class DistinctDiversity:
    """At least ``l`` sensitive values in each class."""

    sensitive: ArrayLike
    l: int  # noqa: E741
    name = "distinct l-diversity"
    firm = True

    def __post_init__(self) -> None:
        _check_l(self.l, self.name)

    def met(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Whether each class has enough sensitive values."""
        return _distinct(counts) >= self.l

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:
        """The constraint itself, which is firm."""
        return self.met(counts, whole)


@dataclass(frozen=True)
class EntropyDiversity:
    """Entropy of the sensitive values of each class at least log ``l``; ``l`` need not be whole."""

    sensitive: ArrayLike
    l: float  # noqa: E741
    name = "entropy l-diversity"
    firm = False

    def __post_init__(self) -> None:
        _check_l(self.l, self.name)

    def met(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Whether the entropy of each class is large enough."""
        shares = counts / counts.sum(axis=1, keepdims=True)
        entropy = -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=1)
        return np.asarray(entropy >= np.log(self.l) - _ROUNDING, dtype=np.bool_)

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Enough sensitive values for that entropy."""
        return _distinct(counts) >= self.l - 1e-9


@dataclass(frozen=True)
class RecursiveDiversity:
    """The most frequent value of a class is rarer than ``c`` times the values from the ``l``-th most frequent on."""

    sensitive: ArrayLike
    c: float
    l: int  # noqa: E741
    name = "recursive (c, l)-diversity"
    firm = False

    def __post_init__(self) -> None:
        _check_l(self.l, self.name)
        if not (np.isfinite(self.c) and self.c > 0):
            raise refused("the factor c is outside its range", self.name, "a number above 0", f"{self.c}")

    def met(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Whether the most frequent value of each class is rare enough."""
        falling = -np.sort(-counts, axis=1)
        tail = self.c * falling[:, self.l - 1 :].sum(axis=1)
        return np.asarray(falling[:, 0] < tail * (1 - _ROUNDING), dtype=np.bool_)

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Enough sensitive values for a tail."""
        return _distinct(counts) >= self.l


@dataclass(frozen=True)
class Closeness:
    """Sensitive values of each class within an earth mover's distance ``t`` of the file's, 0 to 1.

    Between two different values the distance is 1; where ``ordered``, it is the difference of their codes over the
    largest code of the file.
    """

    sensitive: ArrayLike
    t: float
    ordered: bool = False
    name = "t-closeness"
    firm = False

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise refused("the distance t is outside its range", self.name, "0 to 1", f"{self.t}")

    def met(self, counts: Floats, whole: Floats) -> Bools:
        """Whether each class is near enough to the file."""
        off = counts / counts.sum(axis=1, keepdims=True) - whole / whole.sum()
        if self.ordered:
            distance = np.abs(np.cumsum(off, axis=1)).sum(axis=1) / _span(whole)
        else:
            distance = np.abs(off).sum(axis=1) / 2
        return np.asarray(distance <= self.t + _ROUNDING, dtype=np.bool_)

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:
        """Whether the file's distribution can be moved onto the values of each class at a cost of t."""
        present = counts > 0
        steps = np.where(present, 0.0, 1.0)
        if self.ordered:
            steps = _steps_to_present(present) / _span(whole)
        return np.asarray(steps @ (whole / whole.sum()) <= self.t + _ROUNDING, dtype=np.bool_)


Constraint = KMap | DistinctDiversity | EntropyDiversity | RecursiveDiversity | Closeness


def _check_l(number: float, where: str) -> None:
    if not (np.isfinite(number) and number >= 2):
        raise refused("the number of sensitive values is outside its range", where, "l from 2", f"{number}")


def _distinct(counts: Floats) -> NDArray[np.intp]:
    return np.asarray(np.count_nonzero(counts, axis=1), dtype=np.intp)


def _span(whole: Floats) -> int:
    return max(len(whole) - 1, 1)


def _steps_to_present(present: Bools) -> Floats:
    """Codes between each code and the nearest one that the class has."""
    n_values = present.shape[1]
    codes = np.arange(n_values)
    before = np.maximum.accumulate(np.where(present, codes, -n_values), axis=1)
    after = np.minimum.accumulate(np.where(present, codes, 2 * n_values)[:, ::-1], axis=1)[:, ::-1]
    steps: Floats = np.minimum(codes - before, after - codes).astype(np.float64)
    return steps
