"""From a request and a released file to what is uncertain of its recipient."""

import numpy as np
from numpy.typing import NDArray

from tasks.decision.uncertainty_facts import UncertaintyFact
from tasks.generalization.play import Played, Table
from tasks.request.model import Recipient, ReleaseRequest, UncertainTerm
from tasks.risk.beside import hands_of
from tasks.risk.groups import densest_group
from tasks.risk.uncertain.distributions import (
    Between,
    LogUniform,
    Points,
    Triangular,
    TruncatedNormal,
    Uncertain,
    Uniform,
)
from tasks.risk.uncertain.drawn import Case
from tasks.risk.uncertain.fact import uncertainty_fact
from tasks.risk.uncertain.file import released_file
from tasks.risk.uncertain.terms import DEPENDENT, Term
from tasks.risk.uncertain.verdict import assess


def uncertainty(
    table: Table,
    request: ReleaseRequest,
    recipient: Recipient,
    played: Played,
    kept: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
    collected: int | None = None,
) -> UncertaintyFact | None:
    """What can be said of the verdict where terms are uncertain; None where none is.

    Judged are the gates whose figures depend on the terms. The others say the same of every set of terms; one on the
    probability itself is no part of it. A file that may be laid beside others is judged so as well, as the gates do.

    Parameters
    ----------
    table : Table
    request : ReleaseRequest
    recipient : Recipient
    played : Played
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
    table: Table,
    request: ReleaseRequest,
    recipient: Recipient,
    played: Played,
    kept: NDArray[np.bool_],
    *,
    collected: int | None = None,
) -> Case | None:
    """What is judged, with the gates that depend on terms; None where no term is uncertain. As ``uncertainty``."""
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
        beside=tuple(
            (released_file(table, hand.copy, kept), densest_group(hand.copy, kept))
            for hand in hands_of(table, played, kept, request, recipient)
        ),
    )


def known(term: UncertainTerm) -> Uncertain:
    """What a request says of a term."""
    if term.values is not None and term.weights is not None:
        return Points(term.values, term.weights)
    low, high = term.ends
    if term.mode is not None:
        return Triangular(low, high, term.mode)
    if term.mean is not None and term.deviation is not None:
        return TruncatedNormal(low, high, term.mean, term.deviation)
    plain: dict[str, type[Between]] = {"between": Between, "uniform": Uniform, "log-uniform": LogUniform}
    return plain[term.kind](low, high)
