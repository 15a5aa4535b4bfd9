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

from itertools import product

from tasks.assessments.identity.file_rule import FileRule
from tasks.assessments.identity.frontier_fact import FrontierFact, FrontierPoint
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.setting import follower_of, own_follower, payoffs_of
from tasks.request.model import Recipient, ReleaseRequest

FINE = (0.25, 0.5, 1.0, 2.0, 4.0)
COARSE = (0.25, 1.0, 4.0)


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
    people, stakes, rule = table.population.total, payoffs_of(recipient), FileRule.of(request, recipient)
    game, own = follower_of(request, recipient, people), own_follower(request, recipient, people)
    depends = METHODS[rule.method].stakes
    free = depends == "none" or (depends == "loss" and table.demands is None and table.budget is None)
    steps = FINE if free else COARSE
    games: dict[tuple[float, float], Generalization | None] = {}
    points = []
    for benefit, loss in product(steps, steps):
        key = (benefit if depends == "all" else 1.0, 1.0 if depends == "none" else loss)
        if key not in games:
            games[key] = rule.apply(table, game.scaled(*key))
        means, at = rule.means(table, games[key], own.scaled(benefit, loss)), stakes.scaled(benefit, loss)
        points.append(
            FrontierPoint(
                benefit=at.benefit,
                loss=at.loss,
                gain=at.gain,
                publisher_payoff=means and means.publisher_payoff,
                attacked_share=means and means.attacked_share,
                information_kept=means and means.information_kept,
            )
        )
    return FrontierFact(benefit_factors=steps, loss_factors=steps, games=len(games), points=tuple(points))
