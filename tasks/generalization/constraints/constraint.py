"""Constraints on a class beyond its size, and what the registry lists of a privacy model.

To join any records to a class that satisfies k-map or distinct ℓ-diversity keeps it satisfied, so the records that such
a *firm* constraint suppresses grow fewer at every more general node. Others are kept when two classes that satisfy them
are merged, but not when one joins a class that violates them: with suppression a more general node may suppress more,
and no node may be ruled out because another failed. Such a constraint may imply a weaker one that is firm
(``relaxed``), by which the search prunes.

A file's distribution of values counts all its records, suppressed ones included.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError
from tasks.microdata.coded import Prepared
from tasks.microdata.cube import DenseCube, SparseCube
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts
from tasks.request.model import MissingReading

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Entropies, ratios and distances nearer to their limit than this meet it."""


class PeopleCount(Protocol):
    """A count of people in the cells of some hierarchies."""

    @property
    def hierarchies(self) -> Sequence[Hierarchy]:
        """Hierarchies whose axis positions make the cells."""

    def count(self, cells: Codes) -> Counts:
        """People in each cell; cells of shape (n_cells, n_attributes) in axis positions."""


@dataclass(frozen=True)
class PeopleConstraint:
    """A constraint on the people of the population who match a class.

    ``people`` counts them over the same hierarchies in the same order; a sparse cube must reach the tuples of the file,
    or their people count as none. Joining cells must not lower a count. None stands for the population of the release.
    """

    people: DenseCube | SparseCube | PeopleCount | None
    firm: ClassVar[bool] = False

    def met(self, records: Floats, people: Counts) -> Bools:
        """Whether each class satisfies the constraint, by its records and the people who match it."""
        raise NotImplementedError


@dataclass(frozen=True)
class ValueConstraint:
    """A constraint on how often each value of a sensitive attribute occurs in a class."""

    sensitive: ArrayLike
    """Code of each record's sensitive value, from 0; shape (n_records,)."""
    missing: int | None = field(default=None, kw_only=True)
    """Code of a missing value that may be any of the others; None where none is, or where it is a value of its own."""
    name: ClassVar[str] = "constraint on sensitive values"
    """For messages."""
    firm: ClassVar[bool] = False

    def stated(self, counts: Floats) -> Floats:
        """Counts without those of missing values that may be any of the others; shape (n_classes, n_stated)."""
        return counts if self.missing is None else np.delete(counts, self.missing, axis=-1)

    def met(self, counts: Floats, whole: Floats) -> Bools:
        """Whether each class satisfies the constraint, whatever its missing values are.

        ``counts`` has the records with each sensitive value in each class, shape (n_classes, n_values), at least one a
        class; ``whole`` those of the file, shape (n_values,).
        """
        raise NotImplementedError

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:
        """Whether each class satisfies a weaker constraint that is firm; parameters as of ``met``."""
        return self.met(counts, whole) if self.firm else np.ones(len(counts), dtype=np.bool_)


Constraint = PeopleConstraint | ValueConstraint


@dataclass(frozen=True)
class PrivacyModel:
    """A privacy model: its policy term, and what follows from the term's value."""

    term: str
    """Field of ``policy.generalization.k_anonymity``; the model applies where it is neither None nor empty."""
    constraints: Callable[[Any, Prepared], Sequence[Constraint]]
    """Constraints that the term's value sets on each class."""
    words: Callable[[Any], Sequence[str]]
    """Requirements on each class, one clause each, as reports print them."""
    check: Callable[[Any, str, Prepared, MissingReading], None] = lambda _terms, _where, _prepared, _missing: None
    """Refuses terms that no class can meet, not even one of the whole file, given where they stand and how missing
    sensitive values are read."""
    sources: tuple[str, ...] = ()
    """Papers that a report cites."""


def refused(what: str, where: str, expected: str, got: str, fix: str = "correct the parameter") -> ParameterError:
    """The error of a constraint or search whose parameters are not possible."""
    return ParameterError(what, where=where, expected=expected, got=got, fix=fix)


def coded(prepared: Prepared, attribute: str) -> NDArray[np.int64]:
    """Code of each record's value of a sensitive attribute, from 0."""
    return prepared.columns[attribute].codes.astype(np.int64)


def missing(prepared: Prepared, attribute: str) -> int | None:
    """Code of a missing value of a sensitive attribute; None where no record lacks one."""
    column = prepared.columns[attribute]
    return column.missing if column.lacks else None
