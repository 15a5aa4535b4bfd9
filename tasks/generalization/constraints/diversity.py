"""ℓ-diversity (Machanavajjhala et al. 2007): each class has many values of a sensitive attribute.

Missing values that may be any value are assumed to be the most frequent one of a class. Every other way to complete a
class is majorized by that one: it has as many values at least, no less entropy, and no rarer tail.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.core.errors import RequestError
from tasks.generalization.constraints.constraint import (
    ROUNDING,
    Bools,
    Floats,
    PrivacyModel,
    ValueConstraint,
    coded,
    missing,
    refused,
)
from tasks.microdata.coded import Prepared
from tasks.request.model import Diversity, MissingReading


@dataclass(frozen=True)
class _Diversity(ValueConstraint):
    l: float  # noqa: E741

    def __post_init__(self) -> None:
        if not (np.isfinite(self.l) and self.l >= 2):
            what = "the number of sensitive values is outside its range"
            raise refused(what, self.name, "l from 2", f"{self.l}")


@dataclass(frozen=True)
class DistinctDiversity(_Diversity):
    """At least ``l`` sensitive values in each class."""

    name = "distinct l-diversity"
    firm = True

    def met(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Whether each class has enough sensitive values."""
        return _enough_values(self.stated(counts), self.l)


@dataclass(frozen=True)
class EntropyDiversity(_Diversity):
    """Entropy of the sensitive values of each class at least log ``l``; ``l`` need not be whole."""

    name = "entropy l-diversity"

    def met(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Whether the entropy of each class is large enough."""
        counts = _completed(self, counts)
        shares = counts / counts.sum(axis=1, keepdims=True)
        entropy = -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=1)
        return np.asarray(entropy >= np.log(self.l) - ROUNDING, dtype=np.bool_)

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Enough sensitive values for that entropy."""
        return _enough_values(self.stated(counts), self.l - 1e-9)


@dataclass(frozen=True)
class RecursiveDiversity(ValueConstraint):
    """The most frequent value is rarer than ``c`` times those from the ``l``-th on: r₁ < c (r_ℓ + … + r_m)."""

    c: float
    l: int  # noqa: E741
    name = "recursive (c, l)-diversity"

    def __post_init__(self) -> None:
        _ = _Diversity(self.sensitive, self.l)
        if not (np.isfinite(self.c) and self.c > 0):
            raise refused("the factor c is outside its range", self.name, "a number above 0", f"{self.c}")

    def met(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Whether the most frequent value of each class is rare enough."""
        falling = -np.sort(-_completed(self, counts), axis=1)
        tail = self.c * falling[:, self.l - 1 :].sum(axis=1)
        return np.asarray(falling[:, 0] < tail * (1 - ROUNDING), dtype=np.bool_)

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:  # noqa: ARG002
        """Enough sensitive values for a tail."""
        return _enough_values(self.stated(counts), self.l)


def _completed(constraint: ValueConstraint, counts: Floats) -> Floats:
    """Counts of values with the missing ones as the most frequent value of their class."""
    stated = constraint.stated(counts).copy()
    stated[np.arange(len(stated)), stated.argmax(axis=1)] += counts.sum(axis=1) - stated.sum(axis=1)
    return stated


def _enough_values(counts: Floats, least: float) -> Bools:
    return np.asarray(np.count_nonzero(counts, axis=1) >= least)


def _constraint(terms: Diversity, prepared: Prepared) -> ValueConstraint:
    codes, code = coded(prepared, terms.attribute), missing(prepared, terms.attribute)
    if terms.c is not None:
        return RecursiveDiversity(codes, terms.c, int(terms.l), missing=code)
    kind = EntropyDiversity if terms.kind == "entropy" else DistinctDiversity
    return kind(codes, terms.l, missing=code)


def _words(terms: Diversity) -> str:
    if terms.kind == "distinct":
        return f"at least {terms.l:g} values of {terms.attribute}"
    if terms.kind == "entropy":
        return f"{terms.attribute} as diverse as {terms.l:g} equally frequent values (entropy)"
    return f"recursive ({terms.c:g}, {terms.l:g})-diversity of {terms.attribute}"


def _check(demanded: Sequence[Diversity], where: str, prepared: Prepared, reading: MissingReading) -> None:
    for place, terms in enumerate(demanded):
        n_values = len(np.unique(coded(prepared, terms.attribute)))
        n_values -= reading is MissingReading.ANY_VALUE and missing(prepared, terms.attribute) is not None
        if terms.l > n_values:
            raise RequestError(
                "no class can have so many sensitive values",
                where=f"{where}[{place}].l",
                expected=f"at most the {n_values:,} distinct values of column {terms.attribute}",
                got=f"{terms.l:g}",
                fix="ask for less diversity, or of an attribute with more values",
            )


DIVERSITY = PrivacyModel(
    term="diversity",
    constraints=lambda demanded, prepared: [_constraint(terms, prepared) for terms in demanded],
    words=lambda demanded: [_words(terms) for terms in demanded],
    check=_check,
    sources=(
        "Machanavajjhala A, Kifer D, Gehrke J, Venkitasubramaniam M (2007). l-Diversity: privacy beyond k-anonymity. "
        "ACM Transactions on Knowledge Discovery from Data 1(1), 3.",
    ),
)
