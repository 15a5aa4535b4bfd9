"""Payoff and attack frontier: the publisher's payoff and the attacked records if the stakes V and L differ.

The recipient's method is solved again at each point of a grid, on the cubes that are counted already. V is the benefit
of a record in full detail, L the loss when one is re-identified; the recipient's gain G keeps its ratio to L (Wan et
al. 2015 take G = L) and the cost of an attempt is unchanged, as are all other terms of a sequential adversary.
Recipients who share a representation all have their stakes multiplied alike, and the figures are those of one.

The number of games depends on the method. Under the No-Attack rules no strategy with a loss is chosen, so that V
multiplies every payoff that is compared and changes no choice (but of payoffs that differ by less than the tolerance
of ties): one game serves all V. Safe Harbor and k-anonymity by itself depend on no stakes. All other methods need a
game a point, and have a coarser grid for it; so have all where k-anonymity follows the method or the file has a budget.
"""

from dataclasses import dataclass, replace
from itertools import product

from tasks.assessments.identity.frontier_fact import FrontierFact, FrontierPoint
from tasks.assessments.identity.score import Score
from tasks.candidate.released import released_tuples
from tasks.core.errors import StageFailed
from tasks.generalization.game import Floats, Follower
from tasks.generalization.play import CountIndex, Generalization, play
from tasks.generalization.setting import follower_of, own_follower, payoffs_of, weights_of
from tasks.request.model import Method, Recipient, ReleaseRequest

FINE = (0.25, 0.5, 1.0, 2.0, 4.0)
COARSE = (0.25, 1.0, 4.0)
_Figures = dict[str, float | None]

_NO_ATTACK = frozenset({Method.NO_ATTACK, Method.NO_ATTACK_PARTITION})
_WITHOUT_STAKES = frozenset({Method.SAFE_HARBOR, Method.K_ANONYMITY})


@dataclass(frozen=True)
class Rule:
    """Inputs of a file other than the stakes."""

    method: Method
    weights: Floats
    cell_weights: str
    minimum_class_size: int


def rule_of(request: ReleaseRequest, recipient: Recipient) -> Rule:
    """The rule by which the recipient's file is made."""
    policy = request.policy.generalization
    return Rule(request.method_for(recipient), weights_of(request), policy.cell_weights, policy.minimum_class_size)


def factors(table: CountIndex, method: Method) -> tuple[float, ...]:
    """Factors of V and of L over the request's: five each, or three where a point takes a game of its own."""
    if method in _WITHOUT_STAKES:
        return FINE
    return FINE if method in _NO_ATTACK and table.demands is None and table.budget is None else COARSE


def frontier(table: CountIndex, request: ReleaseRequest, recipient: Recipient) -> FrontierFact:
    """Solve a recipient's method around the stakes of the request.

    Parameters
    ----------
    table : CountIndex
        Of the request.
    request : ReleaseRequest
    recipient : Recipient
        Of that request; its stakes are the middle of the grid.

    Returns
    -------
    FrontierFact
        A grid of 5 × 5 or 3 × 3 points. One under which no file can be released is there without figures.
    """
    people, stakes = table.population.total, payoffs_of(recipient)
    rule, game = rule_of(request, recipient), follower_of(request, recipient, people)
    own = own_follower(request, recipient, people)
    steps = factors(table, rule.method)
    games: dict[tuple[float, float], Generalization | None] = {}
    points = []
    for benefit, loss in product(steps, steps):
        key = _game(rule.method, benefit, loss)
        if key not in games:
            games[key] = _played(table, game.scaled(*key), rule)
        point = _point(table, own.scaled(benefit, loss), games[key], rule.minimum_class_size)
        at = stakes.scaled(benefit, loss)
        points.append(FrontierPoint(benefit=at.benefit, loss=at.loss, gain=at.gain, **point))
    return FrontierFact(benefit_factors=steps, loss_factors=steps, games=len(games), points=tuple(points))


def with_frontier(score: Score, fact: FrontierFact) -> Score:
    """The score of the same release with its frontier."""
    game = score.risk.game.model_copy(update={"frontier": fact})
    return replace(score, risk=score.risk.model_copy(update={"game": game}))


def _game(method: Method, benefit: float, loss: float) -> tuple[float, float]:
    """Factors of the one game that serves a point."""
    if method in _WITHOUT_STAKES:
        return 1.0, 1.0
    return (1.0, loss) if method in _NO_ATTACK else (benefit, loss)


def _played(table: CountIndex, payoffs: Follower, rule: Rule) -> Generalization | None:
    try:
        return play(table, rule.method, payoffs, rule.weights, rule.cell_weights)
    except StageFailed:
        return None


def _point(table: CountIndex, payoffs: Follower, played: Generalization | None, minimum_class_size: int) -> _Figures:
    nothing: _Figures = {"publisher_payoff": None, "attacked_share": None, "information_kept": None}
    if played is None:
        return nothing
    try:
        kept = released_tuples(table, played, minimum_class_size)
    except StageFailed:
        return nothing
    released = table.data.counts[kept]
    value, effective = played.kept[kept], played.effective[kept]
    total = table.data.total
    return {
        "publisher_payoff": float(released @ payoffs.publisher(payoffs.benefit * value, effective) / total),
        "attacked_share": float(released[payoffs.attacked(effective)].sum() / total),
        "information_kept": float(released @ value / total),
    }
