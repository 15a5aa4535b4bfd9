"""From a request and its prepared data to the game: table, stakes and weights."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tasks.generalization.budget.terms import Budget, limits_of
from tasks.generalization.collusion.colluder import Colluder
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.demands import check_demands, demands_of
from tasks.generalization.game import Floats, Follower, InformationLoss, Payoffs, information_loss_weights
from tasks.generalization.play import Played, Table, play
from tasks.generalization.safe_harbor import safe_harbor_axis
from tasks.generalization.sequential_follower import Belief, SequentialFollower
from tasks.generalization.shared_follower import SharedFollower
from tasks.generalization.zip3 import zip_table
from tasks.microdata.coded import Prepared
from tasks.request.model import Recipient, ReleaseRequest
from tasks.risk.profile import derive_profile

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
        budget=budget_of(request),
    )


def budget_of(request: ReleaseRequest) -> Budget | None:
    """The limits of the whole file that a request's policy sets; None where it sets none."""
    terms = request.policy.generalization.budget
    if terms is None:
        return None
    axes = {name: axis for axis, name in enumerate(request.quasi_identifiers)}
    return Budget(
        reidentifications=terms.reidentifications,
        attacked_share=terms.attacked_share,
        least_people=terms.least_people,
        least_records=terms.least_records,
        suppression=terms.suppression,
        utility_floor=tuple((axes[name], floor) for name, floor in terms.utility_floor.items()),
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


def own_follower(request: ReleaseRequest, recipient: Recipient, people: int) -> Follower:
    """The recipient's side of the game: what he attacks, and what that is worth to him and costs the publisher.

    Parameters
    ----------
    request : ReleaseRequest
        Its policy says whether he makes one attempt or plans. One who plans has the profile of the risk stage, but for
        a prior that the request leaves to the register: that depends on the groups that the game is to make, so the
        game takes the largest that a register can give.
    recipient : Recipient
    people : int
        People of the population.

    Raises
    ------
    ParameterError
        If a term of one who plans is outside its range.
    """
    policy, stakes = request.policy.generalization, payoffs_of(recipient)
    return stakes if policy.adversary == "one-shot" else planning_follower(request, recipient, people)


def planning_follower(request: ReleaseRequest, recipient: Recipient, people: int) -> SequentialFollower:
    """The recipient as one who plans, whomever the policy has the game played against.

    Parameters and errors are those of ``own_follower``. Where the policy does not say what he knows of groups, access
    is paid for the whole file.
    """
    believed, stakes = request.policy.generalization.adversary_belief, payoffs_of(recipient)
    belief = Belief.SUNK if believed is None else Belief(believed)
    return SequentialFollower(stakes.benefit, stakes.loss, derive_profile(recipient).profile, people, belief)


def follower_of(request: ReleaseRequest, recipient: Recipient, people: int) -> Follower:
    """Whom the recipient's game is played against.

    That is the recipient, or all for whom one representation is chosen, or he as one of several who may collude.

    Parameters and errors are those of ``own_follower``.
    """
    colluding = request.colluding(recipient)
    if colluding:
        place = [one.id for one in colluding].index(recipient.id)
        return Colluder(colluders_of(request, colluding, people), place)
    sharing = request.sharing(recipient)
    if not sharing:
        return own_follower(request, recipient, people)
    members = [own_follower(request, one, people) for one, _ in sharing]
    if request.policy.generalization.shared is not None and request.policy.generalization.shared.types is not None:
        return SharedFollower.types(members, [weight for _, weight in sharing])
    return SharedFollower.together(members)


def colluders_of(request: ReleaseRequest, members: Sequence[Recipient], people: int) -> Colluders:
    """Recipients of a request whose copies may come together, as its policy says; errors as of ``own_follower``."""
    terms = request.policy.generalization.collusion
    probability = 0.0 if terms is None else terms.probability
    made = Colluders.one_pair if terms is not None and terms.who == "one pair" else Colluders.all_or_none
    return made([own_follower(request, one, people) for one in members], probability)


def played_against(table: Table, request: ReleaseRequest, recipient: Recipient, follower: Follower) -> Played:
    """A recipient's method against a follower, with the weights of the request; errors as of ``play``."""
    cells = request.policy.generalization.cell_weights
    return play(table, request.method_for(recipient), follower, weights_of(request), cells)


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
    ParameterError
        If the plan of a recipient whom the game is played against cannot be solved.
    """
    table = game_table(request, prepared)
    if table.budget is not None:
        _ = limits_of(table.budget, table.hierarchies, table.data.total)
    _ = InformationLoss(table.hierarchies, weights_of(request)).maximum
    check_demands(request, prepared)
    for recipient in request.recipients:
        _ = follower_of(request, recipient, prepared.population.total).safe_group
