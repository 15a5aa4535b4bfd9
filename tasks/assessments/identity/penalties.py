"""Value of fines and detection with one recipient: the publisher's payoff over penalty and probability of detection.

The recipient is a sequential adversary, and the publisher answers each pair of terms with the best generalization of
one method. Deterred by the agreement, the recipient leaves smaller groups alone, and records can be released in more
detail. Points at which the recipient does the same at every group size are one game.
"""

from collections.abc import Hashable
from dataclasses import fields, replace
from itertools import product

import numpy as np
from scipy.special import expit, logit

from tasks.assessments.identity.file_rule import FileMeans, FileRule
from tasks.assessments.identity.penalties_fact import PenaltiesFact, PenaltyPoint
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.sequential_follower import SequentialFollower
from tasks.generalization.setting import planning_follower
from tasks.request.model import Method, PenaltyGrid, Recipient, ReleaseRequest


def penalties_fact(
    table: CountIndex, request: ReleaseRequest, recipient: Recipient, grid: PenaltyGrid
) -> PenaltiesFact:
    """Solve the recipient's method against a sequential adversary, at each penalty and each detection of a grid.

    The adversary is sequential even where the policy names another for the file's own game. It is this recipient alone
    even where several share one representation: the map shows the value of an agreement with this recipient.

    Parameters
    ----------
    table : CountIndex
    request : ReleaseRequest
    recipient : Recipient
        Of that request.
    grid : PenaltyGrid

    Raises
    ------
    ParameterError
        If a plan cannot be solved in reasonable time.
    """
    follower = planning_follower(request, recipient, table.population.total)
    return penalty_map(table, FileRule.of(request, recipient), follower, grid)


def penalty_map(table: CountIndex, rule: FileRule, follower: SequentialFollower, grid: PenaltyGrid) -> PenaltiesFact:
    """Apply a rule at every pair of penalty and detection, which replace the follower's own; errors as above."""
    games: dict[Hashable, Generalization | None] = {}

    def point(penalty: float, detection: float, adversary: SequentialFollower) -> PenaltyPoint:
        key = _game(adversary, rule.method)
        if key not in games:
            games[key] = rule.apply(table, adversary)
        means = rule.means(table, games[key], adversary)
        names = [field.name for field in fields(FileMeans)]
        figures = {name: None if means is None else _digits(getattr(means, name)) for name in names}
        safe = adversary.safe_group
        known = _digits(safe) if np.isfinite(safe) else None
        return PenaltyPoint(penalty=penalty, detection=detection, safe_group=known, **figures)

    profile = follower.profile
    detection = float(expit(profile.detection_intercept))
    own = point(profile.penalty, _digits(detection), follower)
    points = []
    for fine, chance in product(grid.penalties, grid.detections):
        moved = replace(profile, penalty=float(fine), detection_intercept=float(logit(chance)))
        points.append(point(fine, chance, replace(follower, profile=moved)))
    return PenaltiesFact(
        method=rule.method.value,
        belief=follower.belief.value,
        penalties=grid.penalties,
        detections=grid.detections,
        points=tuple(points),
        own=own,
        games=len(games),
    )


def _game(follower: SequentialFollower, method: Method) -> Hashable:
    """Inputs of the game: P_reid by group size, and under the No-Attack rules only where it is above 0."""
    risks = follower.risks
    if risks is None:
        return follower
    return (risks > 0).tobytes() if METHODS[method].stakes == "loss" else risks.tobytes()


def _digits(value: float) -> float:
    """To six digits, as maps of other stakes are: they are drawn, and the record is read."""
    return float(f"{value:.6g}") + 0.0
