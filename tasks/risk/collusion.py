"""Copies of recipients who may collude, for the record: what hands see, and what collusion costs the publisher."""

from collections.abc import Sequence

import numpy as np

from tasks.decision.record import CopiesFact, HandFact
from tasks.errors import StageFailed
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.game import Follower
from tasks.generalization.play import Played, Table
from tasks.generalization.setting import colluders_of, follower_of, own_follower, played_against
from tasks.request.model import Recipient, ReleaseRequest
from tasks.risk.beside import Flags, Hand, HeldCopy, seen_together
from tasks.risk.identity import transparent_risk
from tasks.risk.sharing import mean_payoff, played_if_possible


def collusion_fact(  # noqa: PLR0917
    table: Table, played: Played, kept: Flags, request: ReleaseRequest, recipient: Recipient, hands: Sequence[Hand]
) -> CopiesFact | None:
    """What each hand sees that may hold a recipient's copy, and the payoffs; None where he is not taken to collude.

    Payoffs are means over the records that came in, as the methods claim them (n_p), with none for those that
    k-anonymity suppresses. The method is the recipients' own, with the cell weights of the policy: where these are the
    population's, optima are over people, and over the data's records another choice may come out above them.

    Parameters
    ----------
    table : Table
    played : Played
        His copy.
    kept : array of shape (n_tuples,)
        Whether it has each tuple's records.
    request : ReleaseRequest
    recipient : Recipient
        Of that request.
    hands : sequence of Hand
        Those of his copy.

    Raises
    ------
    StageFailed
        If another's copy cannot be made.
    """
    terms, members, people = request.policy.generalization.collusion, request.colluding(recipient), table.population
    if terms is None or not members:
        return None
    colluders = colluders_of(request, members, people.total)
    copies = [played_against(table, request, one, follower_of(request, one, people.total)) for one in members]
    alone = zip(members, colluders.members, strict=True)
    own = [played_if_possible(table, request, one, follower) for one, follower in alone]
    known = [copy for copy in own if copy is not None]
    shared = played_if_possible(table, request, recipient, colluders.shared)
    follower = own_follower(request, recipient, people.total)
    return CopiesFact(
        recipients=tuple(one.id for one in members),
        probability=terms.probability,
        who=terms.who,
        hands=tuple(_hand_fact(table, played, kept, hand, follower) for hand in hands),
        payoff=payoff_of_copies(table, colluders, copies),
        own={
            one.id: None if copy is None else mean_payoff(table, copy, member)
            for one, copy, member in zip(members, own, colluders.members, strict=True)
        },
        own_under_collusion=payoff_of_copies(table, colluders, known) if len(known) == len(members) else None,
        shared=None if shared is None else mean_payoff(table, shared, colluders.shared),
    )


def payoff_of_copies(table: Table, colluders: Colluders, copies: Sequence[Played]) -> float:
    """Publisher's payoff a record from the copies of several recipients, as hands come together.

    Parameters
    ----------
    table : Table
    colluders : Colluders
    copies : sequence of Played
        One a member.
    """
    records = table.data.counts
    present = [np.ones(len(records), dtype=np.bool_) if one.withheld is None else ~one.withheld for one in copies]
    total = 0.0
    for weight, member, copy, there in zip(colluders.weights, colluders.members, copies, present, strict=True):
        total += weight * member.benefit * float((records * copy.kept)[there].sum())
    for hand, probability in colluders.hands:
        there = np.logical_or.reduce([present[member] for member in hand])
        people = copies[hand[0]].people
        if len(hand) > 1:
            held = [HeldCopy(copies[one].cells, present[one], _own(copies[one])) for one in hand]
            people = seen_together(table, held).people
        total += probability * float(records[there] @ colluders.lost(hand, people[there]))
    return total / table.data.total


def _own(copy: Played) -> np.ndarray:
    if copy.own is None:
        raise StageFailed("a copy was played without its rule", expected="one", got="none", fix="report this message")
    return copy.own


def _hand_fact(table: Table, played: Played, kept: Flags, hand: Hand, follower: Follower) -> HandFact:
    records, people, effective = table.data.counts[kept], hand.copy.people[kept], hand.copy.effective[kept]
    seen, released = transparent_risk(people, effective, records, follower), int(records.sum())
    reidentified = follower.reidentified(effective)
    return HandFact(
        recipients=hand.recipients,
        probability=hand.probability,
        narrowed_share=float(records[people < played.people[kept]].sum() / released),
        claimed_smallest_group=int(people.min()),
        smallest_group=seen.smallest_effective_group,
        maximum_risk=seen.maximum_risk,
        attacked_share=seen.attacked_share,
        attacked_records=seen.attacked_records,
        claimed_attacked_share=seen.naive_attacked_share,
        expected_reidentifications=seen.expected_reidentifications,
        mean_reidentification=float(records @ reidentified / released),
        maximum_reidentification=float(reidentified.max()),
    )
