"""Uncertain terms of a recipient, from the request and the released file."""

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.uncertain.distributions import (
    Between,
    LogUniform,
    Points,
    Triangular,
    TruncatedNormal,
    Uncertain,
    Uniform,
)
from tasks.assessments.identity.uncertain.drawn import Case
from tasks.assessments.identity.uncertain.fact import uncertainty_fact
from tasks.assessments.identity.uncertain.file import released_file
from tasks.assessments.identity.uncertain.terms import DEPENDENT, Term
from tasks.assessments.identity.uncertain.verdict import assess
from tasks.assessments.identity.uncertainty_facts import UncertaintyFact
from tasks.candidate.coalition import coalitions_of
from tasks.candidate.groups import densest_group
from tasks.generalization.play import CountIndex, Generalization
from tasks.request.model import Recipient, ReleaseRequest, UncertainTerm


def uncertainty(
    table: CountIndex,
    request: ReleaseRequest,
    recipient: Recipient,
    played: Generalization,
    kept: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
    collected: int | None = None,
) -> UncertaintyFact | None:
    """Uncertainty of the verdict; None where no term is uncertain.

    It covers the gates whose figures depend on the terms, for coalitions too, as the gates do. All other gates have the
    same result for every set of terms; a gate on the probability itself is not included.

    Parameters
    ----------
    table : CountIndex
    request : ReleaseRequest
    recipient : Recipient
    played : Generalization
        The recipient's file.
    kept : array of shape (n_tuples,)
        Whether a tuple's records are released.
    rng : Generator
    collected : int, optional
        As ``released_file`` takes it.
    """
    case = case_of(table, request, recipient, played, kept, collected=collected)
    return None if case is None else uncertainty_fact(case, assess(case, request.policy.sensitivity.draws, rng))


def case_of(
    table: CountIndex,
    request: ReleaseRequest,
    recipient: Recipient,
    played: Generalization,
    kept: NDArray[np.bool_],
    *,
    collected: int | None = None,
) -> Case | None:
    """File and gates that depend on the terms; None where no term is uncertain. Parameters as of ``uncertainty``."""
    if recipient.uncertain is None:
        return None
    return Case(
        request=request,
        recipient=recipient,
        file=released_file(table, played, kept, collected),
        gates=tuple(gate for gate in request.policy.gates if gate.measure in DEPENDENT),
        declared={},
        uncertain={Term(name): known(term) for name, term in recipient.uncertain.given.items()},
        densest=densest_group(played, kept),
        pooled=tuple(
            (released_file(table, one.copy, kept), densest_group(one.copy, kept))
            for one in coalitions_of(table, played, kept, request, recipient)
        ),
    )


def known(term: UncertainTerm) -> Uncertain:
    """Knowledge of a term as declared in a request."""
    if term.values is not None and term.weights is not None:
        return Points(term.values, term.weights)
    low, high = term.ends
    if term.mode is not None:
        return Triangular(low, high, term.mode)
    if term.mean is not None and term.deviation is not None:
        return TruncatedNormal(low, high, term.mean, term.deviation)
    plain: dict[str, type[Between]] = {"between": Between, "uniform": Uniform, "log-uniform": LogUniform}
    return plain[term.kind](low, high)
