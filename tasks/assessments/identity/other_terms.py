"""A recipient's file made again under other terms: other stakes, and other fines with one more term.

The recipient's method is solved again at each point of a grid, on the cubes that are counted already.

**Frontier** of payoff and attacks: V is the benefit of a record in full detail, L the loss when one is re-identified;
the recipient's gain G keeps its ratio to L (Wan et al. 2015 take G = L) and the cost of an attempt is unchanged, as are
all other terms of a sequential adversary. Recipients who share a representation all have their stakes multiplied alike,
and the figures are those of one. Under the No-Attack rules no strategy with a loss is chosen, so that V multiplies
every payoff that is compared and changes no choice (but of payoffs that differ by less than the tolerance of ties): one
game serves all V. Safe Harbor and k-anonymity by itself depend on no stakes. All other methods need a game a point, and
have a coarser grid for it; so have all where k-anonymity follows the method or the file has a budget, and remainder
classes, whose search takes seconds.

**Penalties**: the value of fines, over detection or another term of one recipient, who is a sequential adversary.
Deterred by the agreement, the recipient leaves smaller groups alone, and records can be released in more detail. Points
at which the recipient does the same at every group size are one game.
"""

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np

from tasks.adversary.planning.deterrence import Term, Trait, term_value, with_term
from tasks.assessments.identity.facts import FrontierFact, FrontierPoint, PenaltiesFact, PenaltyPoint
from tasks.candidate.groups import released_tuples
from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.generalization.game.sequential_follower import SequentialFollower
from tasks.generalization.generalize import generalize
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.setting import follower_of, own_follower, payoffs_of, planning_follower, weights_of
from tasks.request.model import Method, PenaltyGrid, Recipient, ReleaseRequest


@dataclass(frozen=True)
class FileMeans:
    """Means over the records that came in, against a recipient who knows the rule; suppressed ones count as nothing.

    Payoffs are in units a record, the ``attacked_share`` is of records that are released, and ``reidentifications`` are
    expected, in records: a sum.
    """

    publisher_payoff: float
    recipient_payoff: float
    information_kept: float
    attacked_share: float
    reidentifications: float


@dataclass(frozen=True)
class FileRule:
    """Inputs of a file other than the adversary."""

    method: Method
    weights: Floats
    cell_weights: str
    minimum_class_size: int
    """Records of smaller classes are suppressed."""

    @classmethod
    def of(cls, request: ReleaseRequest, recipient: Recipient) -> "FileRule":
        """The rule by which the recipient's file is made."""
        policy, method = request.policy.generalization, request.method_for(recipient)
        return cls(method, weights_of(request), policy.cell_weights, policy.minimum_class_size)

    def apply(self, table: CountIndex, follower: Follower) -> Generalization | None:
        """The file against a follower; None where some record has no strategy, or k-anonymity cannot be had."""
        try:
            return generalize(table, self.method, follower, self.weights, self.cell_weights)
        except StageFailed:
            return None

    def means(self, table: CountIndex, file: Generalization | None, follower: Follower) -> FileMeans | None:
        """Figures of a file against a follower; None where nothing is released."""
        if file is None:
            return None
        try:
            released = released_tuples(table, file, self.minimum_class_size)
        except StageFailed:
            return None
        records, total = table.data.counts[released], table.data.total
        people, kept = file.effective[released], file.kept[released]
        return FileMeans(
            publisher_payoff=float(records @ follower.publisher(follower.benefit * kept, people) / total),
            recipient_payoff=float(records @ follower.adversary(people) / total),
            information_kept=float(records @ kept / total),
            attacked_share=float(np.sum(records[follower.attacked(people)]) / total),
            reidentifications=float(records @ follower.reidentified(people)),
        )


FINE = (0.25, 0.5, 1.0, 2.0, 4.0)
COARSE = (0.25, 1.0, 4.0)


def frontier(
    table: CountIndex, request: ReleaseRequest, recipient: Recipient, made: Generalization | None = None
) -> FrontierFact:
    """Solve a recipient's method around the stakes of the request.

    The grid has 5 × 5 or 3 × 3 points around the recipient's own stakes; one under which no file can be released is
    there without figures. ``made`` is the recipient's file, if it is made already.
    """
    people, stakes, rule = table.population.total, payoffs_of(recipient), FileRule.of(request, recipient)
    game, own = (one(request, recipient, people, from_below=table.from_below) for one in (follower_of, own_follower))
    depends = METHODS[rule.method].stakes
    free = depends == "none" or (depends == "loss" and table.demands is None and table.budget is None)
    steps = FINE if free and not METHODS[rule.method].remainders else COARSE
    games: dict[tuple[float, float], Generalization | None] = {} if made is None else {(1.0, 1.0): made}
    points, others = [], table.briefly()
    for benefit, loss in product(steps, steps):
        key = (benefit if depends == "all" else 1.0, 1.0 if depends == "none" else loss)
        if key not in games:
            games[key] = rule.apply(others, game.scaled(*key))
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


def penalties_fact(
    table: CountIndex, request: ReleaseRequest, recipient: Recipient, grid: PenaltyGrid
) -> PenaltiesFact:
    """Solve the recipient's method against a sequential adversary, at each pair of a grid.

    The adversary is sequential even where the policy names another for the file's own game. It is this recipient alone
    even where several share one representation: the map shows the value of an agreement with this recipient.

    Raises ParameterError if a plan cannot be solved in reasonable time.
    """
    follower = planning_follower(request, recipient, table.population.total, from_below=table.from_below)
    return penalty_map(table, FileRule.of(request, recipient), follower, grid)


def penalty_map(table: CountIndex, rule: FileRule, follower: SequentialFollower, grid: PenaltyGrid) -> PenaltiesFact:
    """Apply a rule at every pair of penalty and other term, which replace the follower's own; errors as above."""
    games: dict[Hashable, Generalization | None] = {}
    others = table.briefly()
    varied = Term.DETECTION if grid.term == Term.DETECTION else Trait(grid.term)

    def point(penalty: float, value: float, adversary: SequentialFollower) -> PenaltyPoint:
        key = _game(adversary, rule.method)
        if key not in games:
            games[key] = rule.apply(others, adversary)
        means = rule.means(table, games[key], adversary)
        names = [field.name for field in fields(FileMeans)]
        figures = {name: None if means is None else six_digits(getattr(means, name)) for name in names}
        safe = adversary.safe_group
        known = six_digits(safe) if np.isfinite(safe) else None
        shown = value if np.isfinite(value) else None
        return PenaltyPoint(penalty=penalty, value=shown, safe_group=known, **figures)

    profile = follower.profile
    own = point(profile.penalty, six_digits(term_value(profile, varied)), follower)
    points = []
    for fine, value in product(grid.penalties, grid.values):
        moved = with_term(with_term(profile, Term.PENALTY, fine), varied, value)
        points.append(point(fine, value, replace(follower, profile=moved)))
    return PenaltiesFact.model_validate(
        {
            "method": rule.method.value,
            "term": grid.term,
            "belief": follower.belief.value,
            "penalties": grid.penalties,
            "values": grid.values,
            "points": points,
            "own": own,
            "games": len(games),
        }
    )


def _game(follower: SequentialFollower, method: Method) -> Hashable:
    """Inputs of the game: P_reid by group size, and under the No-Attack rules only where it is above 0."""
    risks = follower.risks
    if risks is None:
        return follower
    return (risks > 0).tobytes() if METHODS[method].stakes == "loss" else risks.tobytes()


def six_digits(value: float) -> float:
    """A figure of a map to six digits, without a sign of zero: maps are drawn, and the record is read."""
    return float(f"{value:.6g}") + 0.0
