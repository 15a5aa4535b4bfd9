"""The game of a request and its prepared data: table, stakes and weights."""

from dataclasses import replace

import numpy as np

from tasks.adversary.derived_profile import derive_profile
from tasks.generalization.budget.limits import limits_of
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.demands import check_demands, demands_of
from tasks.generalization.game.payoffs import Floats, Follower, InformationLoss, Payoffs, information_loss_weights
from tasks.generalization.game.safe_harbor import safe_harbor_axis
from tasks.generalization.game.sequential_follower import Belief, SequentialFollower
from tasks.generalization.game.shared_follower import SharedFollower
from tasks.generalization.game.zip3 import zip_table
from tasks.generalization.generalize import generalize, population_cells
from tasks.microdata.coded import Prepared
from tasks.request.model import KAnonymity, Recipient, ReleaseRequest

_MEBIBYTE = 2**20


def game_table(request: ReleaseRequest, prepared: Prepared) -> CountIndex:
    """Data, population and Safe Harbor's grouping of every quasi-identifier."""
    index = count_index(request, prepared)
    return replace(index, demands=demands_of(request, prepared), budget=request.budget)


def count_index(request: ReleaseRequest, prepared: Prepared) -> CountIndex:
    """Data, population and Safe Harbor's grouping alone, to count on: without demands, for no game is solved."""
    # People of a table are left out of classes that they may be in where records lack values.
    lacking = any(tree.missing_leaf >= 0 for tree in prepared.hierarchies.values())
    return CountIndex(
        hierarchies=tuple(prepared.hierarchies.values()),
        safe_harbor=tuple(
            safe_harbor_axis(hierarchy, request.attributes[name].safe_harbor, zip_table())
            for name, hierarchy in prepared.hierarchies.items()
        ),
        data=prepared.data,
        population=prepared.population,
        memory_limit=request.policy.generalization.memory_limit_mb * _MEBIBYTE,
        listed=None if prepared.register is None else prepared.register.listed,
        from_below=request.population.from_below or (lacking and request.population.path is not None),
    )


def table_under(table: CountIndex, request: ReleaseRequest, prepared: Prepared | None = None) -> CountIndex:
    """The table of a request that differs from the table's own in its demands on classes, and in its budget.

    Without the ``prepared`` data, demands differ in no more than k.
    """
    table = table if request.budget == table.budget else table.within(request.budget)
    terms, now = request.policy.generalization.k_anonymity, table.demands
    if now is not None and terms is not None and (now.terms is None or prepared is None or _alike(terms, now.terms)):
        return table if terms.k == now.k else table.demanding(replace(now, k=terms.k, terms=terms))
    if prepared is None or (now is None and terms is None):
        return table
    return table.demanding(demands_of(request, prepared))


def _alike(one: KAnonymity, other: KAnonymity) -> bool:
    """Whether they differ in no more than k."""
    return one.model_copy(update={"k": other.k}) == other


def payoffs_of(recipient: Recipient) -> Payoffs:
    """The recipient's stakes; its gain is the publisher's loss where the request does not say otherwise."""
    stakes = recipient.stakes
    return Payoffs(
        benefit=stakes.benefit,
        loss=stakes.loss,
        gain=stakes.loss if stakes.gain is None else stakes.gain,
        cost=stakes.cost,
    )


def own_follower(request: ReleaseRequest, recipient: Recipient, people: int, *, from_below: bool = False) -> Follower:
    """The recipient as gates judge it: its stakes, or its plan where the policy names a sequential adversary.

    Whatever the policy says of what the recipient knows (``adversary_belief``, which chooses the file), access counts
    as paid for the whole file, the strongest of the beliefs. The plan is the risk stage's but for a prior left to the
    register: groups are not made yet, so the largest that a register can give is taken. ``people`` are those of the
    population; ``from_below`` where a class may have more than are counted. Raises ParameterError if a term of a
    sequential adversary is outside its range.
    """
    if request.policy.generalization.adversary == "one-shot":
        return payoffs_of(recipient)
    return replace(planning_follower(request, recipient, people, from_below=from_below), belief=Belief.SUNK)


def planning_follower(
    request: ReleaseRequest, recipient: Recipient, people: int, *, from_below: bool = False
) -> SequentialFollower:
    """The recipient as a sequential adversary in the game, whichever the policy names; errors as of ``own_follower``.

    Where the policy does not say what the recipient knows of groups, access is paid for the whole file.
    """
    believed, stakes = request.policy.generalization.adversary_belief, payoffs_of(recipient)
    belief = Belief.SUNK if believed is None else Belief(believed)
    profile, below = derive_profile(recipient).profile, request.population.from_below or from_below
    return SequentialFollower(stakes.benefit, stakes.loss, profile, people, belief, below)


def follower_of(request: ReleaseRequest, recipient: Recipient, people: int, *, from_below: bool = False) -> Follower:
    """The follower in the game of the recipient, or of all who share its representation; see ``own_follower``."""
    sharing, planned = request.sharing(recipient), request.policy.generalization.adversary != "one-shot"

    def member(one: Recipient) -> Follower:
        return planning_follower(request, one, people, from_below=from_below) if planned else payoffs_of(one)

    if not sharing:
        return member(recipient)
    members = [member(one) for one, _ in sharing]
    if request.policy.generalization.shared is not None and request.policy.generalization.shared.types is not None:
        return SharedFollower.types(members, [weight for _, weight in sharing])
    return SharedFollower.together(members)


def generalized_against(
    table: CountIndex, request: ReleaseRequest, recipient: Recipient, follower: Follower
) -> Generalization:
    """Generalization by a recipient's method against a follower, with everybody's own cells."""
    method, cell_weights = request.method_for(recipient), request.policy.generalization.cell_weights
    found = generalize(table, method, follower, weights_of(request), cell_weights)
    own = population_cells(table, method, follower, weights_of(request), cell_weights)
    return replace(found, own=own)


def weights_of(request: ReleaseRequest) -> Floats:
    """Weight of each quasi-identifier in the information loss, in the order of the request."""
    names = request.quasi_identifiers
    declared = [request.attributes[name].weight for name in names]
    return np.asarray(information_loss_weights(request.policy.generalization.information_loss, names, declared))


def check_setting(request: ReleaseRequest, prepared: Prepared) -> None:
    """Find conditions that would stop every game on this request, before any is solved.

    Raises RequestError if no information can be lost, a Safe Harbor rule does not fit its attribute, or no class can be
    as k-anonymity demands; ParameterError if the plan of a recipient in the game cannot be solved.
    """
    table = game_table(request, prepared)
    if table.budget is not None:
        _ = limits_of(table.budget, table.hierarchies, table.data.total)
    _ = InformationLoss(table.hierarchies, weights_of(request)).maximum
    check_demands(request, prepared)
    for recipient in request.recipients:
        _ = follower_of(request, recipient, prepared.population.total, from_below=table.from_below).safe_group
