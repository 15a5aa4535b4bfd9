"""Requirements of k-anonymity on the classes of any method, as derived from a request."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import RequestError
from tasks.generalization.constraints.constraint import Constraint, PrivacyModel, ValueConstraint
from tasks.generalization.constraints.registry import PRIVACY_MODELS
from tasks.generalization.kanonymity.metrics import Metric
from tasks.microdata.coded import Prepared
from tasks.request.model import KAnonymity, MissingReading, ReleaseRequest

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
    constraints: tuple[Constraint, ...] = ()
    """Of the privacy models that the policy names."""
    local_recoding: bool = False
    """Whether suppressed records are released at more general levels where that loses less."""
    terms: KAnonymity | None = None
    """The terms that they follow from."""


def demands_of(request: ReleaseRequest, prepared: Prepared) -> Demands | None:
    """The demands of a request's policy; None where it has none."""
    terms = request.policy.generalization.k_anonymity
    return None if terms is None else _demands(terms, prepared, request.policy.missing.sensitive)


def plain_demands(k: int, prepared: Prepared) -> Demands:
    """The demands of k records a class and nothing else, by the defaults that a request has."""
    return _demands(KAnonymity(k=1).model_copy(update={"k": k}), prepared)


def _demands(terms: KAnonymity, prepared: Prepared, missing: MissingReading = MissingReading.ANY_VALUE) -> Demands:
    found = [one for model, value in demanded(terms) for one in model.constraints(value, prepared)]
    if missing is MissingReading.OWN_GROUP:
        found = [replace(one, missing=None) if isinstance(one, ValueConstraint) else one for one in found]
    return Demands(
        k=terms.k,
        suppression_limit=terms.suppression_limit,
        metric=Metric(terms.metric),
        tuple_of_record=prepared.tuple_of_record,
        constraints=tuple(found),
        local_recoding=terms.local_recoding,
        terms=terms,
    )


def demanded(terms: KAnonymity) -> Iterator[tuple[PrivacyModel, Any]]:
    """The privacy models that a policy names, with the values of their terms."""
    for model in PRIVACY_MODELS:
        value = getattr(terms, model.term)
        if value not in (None, ()):
            yield model, value


def in_words(terms: KAnonymity) -> tuple[str, ...]:
    """Requirements on each class, one clause per demand."""
    return f"at least {terms.k:,} records", *(one for model, value in demanded(terms) for one in model.words(value))


def check_demands(request: ReleaseRequest, prepared: Prepared) -> None:
    """Refuse (RequestError) demands that no class can meet, not even one of the whole file."""
    terms, n_records = request.policy.generalization.k_anonymity, len(prepared.tuple_of_record)
    if terms is None:
        return
    if terms.k > n_records:
        raise RequestError(
            "the least class size is larger than the file",
            where=f"{_WHERE}.k",
            expected=f"at most the file's {n_records:,} records",
            got=f"{terms.k:,}",
            fix="ask for smaller classes, or release more records",
        )
    for model, value in demanded(terms):
        model.check(value, f"{_WHERE}.{model.term}", prepared, request.policy.missing.sensitive)
