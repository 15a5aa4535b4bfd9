"""From a request and its prepared data to the game: table, stakes and weights."""

from dataclasses import replace

import numpy as np

from tasks.generalization.demands import check_demands, demands_of
from tasks.generalization.game import Floats, InformationLoss, Payoffs, information_loss_weights
from tasks.generalization.play import Table
from tasks.generalization.safe_harbor import safe_harbor_axis
from tasks.generalization.zip3 import zip_table
from tasks.microdata.coded import Prepared
from tasks.request.model import Recipient, ReleaseRequest

_MEBIBYTE = 2**20


def game_table(request: ReleaseRequest, prepared: Prepared) -> Table:
    """Data, population and Safe Harbor's grouping of every quasi-identifier."""
    return Table(
        hierarchies=tuple(prepared.hierarchies.values()),
        safe_harbor=tuple(
            safe_harbor_axis(hierarchy, request.attributes[name].safe_harbor, zip_table())
            for name, hierarchy in prepared.hierarchies.items()
        ),
        data=prepared.data,
        population=prepared.population,
        memory_limit=request.policy.generalization.memory_limit_mb * _MEBIBYTE,
        listed=None if prepared.register is None else prepared.register.listed,
        demands=demands_of(request, prepared),
    )


def table_under(table: Table, request: ReleaseRequest) -> Table:
    """The table of a request that differs from the table's own in no demand but k."""
    terms = request.policy.generalization.k_anonymity
    if terms is None or table.demands is None or terms.k == table.demands.k:
        return table
    return table.demanding(replace(table.demands, k=terms.k))


def payoffs_of(recipient: Recipient) -> Payoffs:
    """The recipient's stakes; its gain is the publisher's loss where the request does not say otherwise."""
    stakes = recipient.stakes
    return Payoffs(
        benefit=stakes.benefit,
        loss=stakes.loss,
        gain=stakes.loss if stakes.gain is None else stakes.gain,
        cost=stakes.cost,
    )


def weights_of(request: ReleaseRequest) -> Floats:
    """Weight of each quasi-identifier in the information loss, in the order of the request."""
    names = request.quasi_identifiers
    declared = [request.attributes[name].weight for name in names]
    return np.asarray(information_loss_weights(request.policy.generalization.information_loss, names, declared))


def check_setting(request: ReleaseRequest, prepared: Prepared) -> None:
    """Find what would stop every game on this request before any is played.

    Raises
    ------
    RequestError
        If the weights leave no information to lose, a Safe Harbor rule does not fit its attribute, or k-anonymity is
        demanded that no class can have.
    """
    table = game_table(request, prepared)
    _ = InformationLoss(table.hierarchies, weights_of(request)).maximum
    check_demands(request, prepared)
