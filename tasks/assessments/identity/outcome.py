"""Outcomes of a generalization: payoffs and attacks, in a coalition, and shared by several recipients."""

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.facts import CoalitionFact, DivisionFact, PolicyOutcome, SharingFact
from tasks.assessments.identity.identity import transparent_risk
from tasks.candidate.coalition import Coalition
from tasks.core.errors import StageFailed
from tasks.generalization.game import Follower
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.setting import own_follower, played_against
from tasks.generalization.shared_follower import price_of_sharing
from tasks.request.model import Recipient, ReleaseRequest


def policy_outcome(
    table: CountIndex, played: Generalization, payoffs: Follower, *, chosen: bool = False
) -> PolicyOutcome:
    """Averages over all records of the data (Wan et al. 2015, Table 7), beside the transparent figures.

    The payoffs are those that the method claims, from n_p; the shares attacked and the expected re-identifications are
    given from n_p and from n_T. Records that k-anonymity suppresses are worth nothing to anybody, keep no information
    and count as withheld in every attribute; a minimum class size is not applied.
    """
    counts, total = table.data.counts, table.data.total
    withheld = np.zeros(len(counts), dtype=np.bool_) if played.withheld is None else played.withheld
    records = np.where(withheld, 0, counts)
    value = payoffs.benefit * played.kept
    intensity = np.where(withheld, 1.0, played.levels.sum(axis=1) / sum(h.n_levels - 1 for h in table.hierarchies))
    claimed, informed = payoffs.attacked(played.people), payoffs.attacked(played.effective)
    return PolicyOutcome(
        method=played.method.value,
        publisher_payoff=float(records @ payoffs.publisher(value, played.people) / total),
        adversary_payoff=float(records @ payoffs.adversary(played.people) / total),
        information_kept=float(records @ played.kept / total),
        most_specific_share=float(records[intensity == 0].sum() / total),
        mean_generalization=float(counts @ intensity / total),
        naive_attacked_share=float(records[claimed].sum() / total),
        transparent_attacked_share=float(records[informed].sum() / total),
        naive_expected_reidentifications=float((records * payoffs.reidentified(played.people))[claimed].sum()),
        transparent_expected_reidentifications=float(
            (records * payoffs.reidentified(played.effective))[informed].sum()
        ),
        chosen=chosen,
    )


def division_fact(table: CountIndex, played: Generalization, cell_weights: str) -> DivisionFact | None:
    """Quality of the chosen partition or remainder classes; None for other methods, and within a budget.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
    cell_weights : {"population", "data"}
        What its cells are weighted by.
    """
    if played.division is None:
        return None
    by_data = cell_weights == "data" and METHODS[played.method].partitions
    made, weight = played.division, (table.data if by_data else table.population).total
    bound = None if made.upper_bound is None else made.upper_bound / weight
    payoff = made.payoff / weight
    below = 0.0 if made.exact or bound is None else max(bound - payoff, 0.0)
    return DivisionFact(payoff=payoff, bound=bound, exact=made.exact, gap=below)


def coalition_fact(
    table: CountIndex, played: Generalization, kept: NDArray[np.bool_], coalition: Coalition, follower: Follower
) -> CoalitionFact:
    """Risk of one copy's records from a coalition, for the record.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
        The copy alone.
    kept : array of shape (n_tuples,)
        Whether the copy has each tuple's records.
    coalition : Coalition
    follower : Follower
        The recipient of the copy.
    """
    copy, records = coalition.copy, table.data.counts[kept]
    people, effective = copy.people[kept], copy.effective[kept]
    seen, reidentified = transparent_risk(people, effective, records, follower), follower.reidentified(effective)
    return CoalitionFact(
        recipients=coalition.recipients,
        narrowed_share=float(records[people < played.people[kept]].sum() / records.sum()),
        smallest_group=seen.smallest_effective_group,
        maximum_risk=seen.maximum_risk,
        attacked_share=seen.attacked_share,
        expected_reidentifications=seen.expected_reidentifications,
        mean_reidentification=float(records @ reidentified / records.sum()),
        maximum_reidentification=float(reidentified.max()),
    )


def sharing_fact(
    table: CountIndex, played: Generalization, request: ReleaseRequest, recipient: Recipient
) -> SharingFact | None:
    """Payoffs of the shared representation and of each recipient's own; None where the recipient shares none.

    All are means over the records that came in, as the methods claim them (n_p); records that k-anonymity suppresses
    are worth nothing. The method is the recipients' own, with the cell weights of the policy: where these are the
    population's, the optimum is one over people and the price over the data's records may come out below 0.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
        The shared representation.
    request : ReleaseRequest
    recipient : Recipient
        Of that request.
    """
    sharing = request.sharing(recipient)
    if not sharing:
        return None
    own: dict[str, float | None] = {}
    shared, apart = 0.0, list[float]()
    for one, weight in sharing:
        follower = own_follower(request, one, table.population.total)
        shared += weight * mean_payoff(table, played, follower)
        played_alone = played_if_possible(table, request, one, follower)
        own[one.id] = alone = None if played_alone is None else mean_payoff(table, played_alone, follower)
        if alone is not None:
            apart.append(weight * alone)
    price = price_of_sharing(apart, shared) if len(apart) == len(sharing) else None
    return SharingFact(recipients={one.id: weight for one, weight in sharing}, own=own, shared=shared, price=price)


def played_if_possible(
    table: CountIndex, request: ReleaseRequest, recipient: Recipient, follower: Follower
) -> Generalization | None:
    """``played_against``; None where the method leaves some record no strategy, or k-anonymity cannot be had."""
    try:
        return played_against(table, request, recipient, follower)
    except StageFailed:
        return None


def mean_payoff(table: CountIndex, played: Generalization, follower: Follower) -> float:
    """Publisher's payoff a record that came in, as the method claims it; one that is suppressed is worth nothing."""
    records = table.data.counts if played.withheld is None else np.where(played.withheld, 0, table.data.counts)
    payoffs = follower.publisher(follower.benefit * played.kept, played.people)
    return float(records @ payoffs / table.data.total)
