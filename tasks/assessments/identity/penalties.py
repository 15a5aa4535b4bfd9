"""Value of fines and detection with one recipient, for the record."""

import numpy as np
from scipy.special import expit

from tasks.assessments.identity.penalties_fact import PenaltiesFact, PenaltyPoint
from tasks.generalization.penalty_map import Answer, penalty_map
from tasks.generalization.play import CountIndex
from tasks.generalization.setting import planning_follower, weights_of
from tasks.request.model import PenaltyGrid, Recipient, ReleaseRequest

_DIGITS = 6


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
    policy, method = request.policy.generalization, request.method_for(recipient)
    follower = planning_follower(request, recipient, table.population.total)
    found = penalty_map(
        table,
        method,
        follower,
        weights_of(request),
        penalties=np.array(grid.penalties),
        detections=np.array(grid.detections),
        cell_weights=policy.cell_weights,
        minimum_class_size=policy.minimum_class_size,
    )
    figures = np.stack([getattr(found, name) for name in Answer._fields], axis=-1)
    points = tuple(
        _point(penalty, detection, Answer(*figures[row, column]))
        for row, penalty in enumerate(grid.penalties)
        for column, detection in enumerate(grid.detections)
    )
    detection = float(expit(follower.profile.detection_intercept))
    return PenaltiesFact(
        method=method.value,
        belief=follower.belief.value,
        penalties=grid.penalties,
        detections=grid.detections,
        points=points,
        own=_point(follower.profile.penalty, _digits(detection), found.own),
        games=found.games,
    )


def _point(penalty: float, detection: float, answer: Answer) -> PenaltyPoint:
    payoff, gained, kept, attacked, reidentified, safe = map(_known, answer)
    return PenaltyPoint(
        penalty=penalty,
        detection=detection,
        publisher_payoff=payoff,
        recipient_payoff=gained,
        information_kept=kept,
        attacked_share=attacked,
        reidentifications=reidentified,
        safe_group=safe,
    )


def _known(value: float) -> float | None:
    return _digits(value) if np.isfinite(value) else None


def _digits(value: float) -> float:
    """To six digits, as maps of other stakes are: they are drawn, and the record is read."""
    return float(f"{value:.{_DIGITS}g}") + 0.0
