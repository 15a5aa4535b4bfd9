"""Cost to the publisher of giving several recipients one representation."""

import numpy as np

from tasks.assessments.identity.facts import SharingFact
from tasks.core.errors import StageFailed
from tasks.generalization.game import Follower
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.setting import own_follower, played_against
from tasks.generalization.shared_follower import price_of_sharing
from tasks.request.model import Recipient, ReleaseRequest


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
