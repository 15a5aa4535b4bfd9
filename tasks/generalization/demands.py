"""Requirements of k-anonymity on the classes of any method, as derived from a request."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import RequestError
from tasks.generalization.kanonymity.constraints import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
)
from tasks.generalization.kanonymity.metrics import Metric
from tasks.microdata.coded import Prepared
from tasks.request.model import Diversity, KAnonymity, ReleaseRequest

Sensitive = DistinctDiversity | EntropyDiversity | RecursiveDiversity | Closeness

_WHERE = "policy.generalization.k_anonymity"


@dataclass(frozen=True, eq=False)
class Demands:
    """Requirements on each class, the suppression allowed to meet them, and the metric that the search minimises."""

    k: int
    """Least records of a class."""
    suppression_limit: float
    """Share of the records that may be left out, 0 to 1."""
    metric: Metric
    tuple_of_record: NDArray[np.int32]
    """Tuple of each record, in the order of the file; shape (n_records,)."""
    people: int | None = None
    """Least people of the population who match a class (k-map)."""
    sensitive: tuple[Sensitive, ...] = ()
    """Demands on the values of sensitive attributes, as collected."""
    local_recoding: bool = False
    """Whether suppressed records are released at more general levels where that loses less."""


def demands_of(request: ReleaseRequest, prepared: Prepared) -> Demands | None:
    """The demands of a request's policy; None where it has none."""
    terms = request.policy.generalization.k_anonymity
    if terms is None:
        return None
    return Demands(
        k=terms.k,
        suppression_limit=terms.suppression_limit,
        metric=Metric.named(terms.metric),
        tuple_of_record=prepared.tuple_of_record,
        people=terms.people,
        sensitive=(
            *(_diversity(one, _codes(prepared, one.attribute)) for one in terms.diversity),
            *(Closeness(_codes(prepared, one.attribute), one.t, one.ordered) for one in terms.closeness),
        ),
        local_recoding=terms.local_recoding,
    )


def plain_demands(k: int, prepared: Prepared) -> Demands:
    """The demands of k records a class and nothing else, by the defaults that a request has."""
    terms = KAnonymity(k=1)
    return Demands(
        k=k,
        suppression_limit=terms.suppression_limit,
        metric=Metric.named(terms.metric),
        tuple_of_record=prepared.tuple_of_record,
    )


def in_words(terms: KAnonymity) -> tuple[str, ...]:
    """Requirements on each class, one clause per demand."""
    words = [f"at least {terms.k:,} records"]
    if terms.people is not None:
        words.append(f"at least {terms.people:,} people of the population who match it")
    for one in terms.diversity:
        if one.kind == "distinct":
            words.append(f"at least {one.l:g} values of {one.attribute}")
        elif one.kind == "entropy":
            words.append(f"{one.attribute} as diverse as {one.l:g} equally frequent values (entropy)")
        else:
            words.append(f"recursive ({one.c:g}, {one.l:g})-diversity of {one.attribute}")
    for near in terms.closeness:
        order = ", in order" if near.ordered else ""
        words.append(
            f"{near.attribute} distributed within {near.t:g} of the whole file (earth mover's distance{order})"
        )
    return tuple(words)


def _codes(prepared: Prepared, attribute: str) -> NDArray[np.int64]:
    return prepared.columns[attribute].codes.astype(np.int64)


def _diversity(terms: Diversity, codes: NDArray[np.int64]) -> Sensitive:
    if terms.kind == "entropy":
        return EntropyDiversity(codes, terms.l)
    if terms.c is not None:
        return RecursiveDiversity(codes, terms.c, int(terms.l))
    return DistinctDiversity(codes, int(terms.l))


def check_demands(request: ReleaseRequest, prepared: Prepared) -> None:
    """Refuse demands that no class can meet, not even one of the whole file.

    Raises
    ------
    RequestError
        If k is larger than the file, more people are asked for than the population has, or more sensitive values than
        a column has.
    """
    terms = request.policy.generalization.k_anonymity
    if terms is not None:
        _check_sizes(terms, len(prepared.tuple_of_record), prepared.population.total)
        for place, one in enumerate(terms.diversity):
            _check_diversity(one, f"{_WHERE}.diversity[{place}].l", len(np.unique(_codes(prepared, one.attribute))))


def _check_sizes(terms: KAnonymity, n_records: int, n_people: int) -> None:
    if terms.k > n_records:
        raise RequestError(
            "the least class size is larger than the file",
            where=f"{_WHERE}.k",
            expected=f"at most the file's {n_records:,} records",
            got=f"{terms.k:,}",
            fix="ask for smaller classes, or release more records",
        )
    if terms.people is not None and terms.people > n_people:
        raise RequestError(
            "no class can match so many people",
            where=f"{_WHERE}.people",
            expected=f"at most the population's {n_people:,} people",
            got=f"{terms.people:,}",
            fix="ask for fewer people, or take a larger population",
        )


def _check_diversity(terms: Diversity, where: str, n_values: int) -> None:
    if terms.l > n_values:
        raise RequestError(
            "no class can have so many sensitive values",
            where=where,
            expected=f"at most the {n_values:,} distinct values of column {terms.attribute}",
            got=f"{terms.l:g}",
            fix="ask for less diversity, or of an attribute with more values",
        )
