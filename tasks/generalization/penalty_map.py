"""What fines and detection buy: the publisher's payoff over penalty and probability of detection.

The recipient plans (``sequential_follower``), and the publisher answers each pair of terms with the best generalization
of one method. Deterred by the agreement, the recipient leaves smaller groups alone, and records can be released in more
detail. Points at which the recipient does the same at every group size are one game.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from tasks.errors import ParameterError, StageFailed
from tasks.generalization.game import Floats
from tasks.generalization.play import Played, Table, play
from tasks.generalization.sequential_follower import SequentialFollower
from tasks.request.model import Method

_NO_ATTACK = frozenset({Method.NO_ATTACK, Method.NO_ATTACK_PARTITION})


@dataclass(frozen=True)
class PenaltyMap:
    """Means over the records that came in, against a recipient who knows the rule; NaN where nothing can be released.

    All arrays but the first two have the shape (n_penalties, n_detections).
    """

    penalties: Floats
    """C_p of the rows, ascending."""
    detections: Floats
    """Probability of detection at the first attempt, of the columns, ascending."""
    publisher: Floats
    """Publisher's payoff, units a record."""
    recipient: Floats
    """Recipient's payoff, units a record."""
    information_kept: Floats
    """Share of information, 0 to 1."""
    attacked: Floats
    """Share of the records that are attacked, 0 to 1."""
    reidentified: Floats
    """Expected re-identifications, in records."""
    safe_group: Floats
    """Group size from which no record is attacked."""
    games: int
    """Games solved."""


def penalty_map(
    table: Table,
    method: Method,
    follower: SequentialFollower,
    weights: Floats,
    *,
    penalties: Floats,
    detections: Floats,
    cell_weights: str = "population",
) -> PenaltyMap:
    """Play a method at every pair of penalty and detection.

    Parameters
    ----------
    table : Table
    method : Method
    follower : SequentialFollower
        Its penalty and detection at the first attempt are replaced, all else stays.
    weights : array of shape (n_attributes,)
        Weight of each attribute in the information loss.
    penalties : array of shape (n_penalties,)
        From 0.
    detections : array of shape (n_detections,)
        Between 0 and 1, neither of them.
    cell_weights : {"population", "data"}

    Raises
    ------
    ParameterError
        If a penalty or a probability is outside its range, or a plan cannot be solved in reasonable time.
    """
    fines, chances = np.sort(np.asarray(penalties, np.float64)), np.sort(np.asarray(detections, np.float64))
    if not (len(chances) and ((chances > 0) & (chances < 1)).all()):
        raise ParameterError(
            "detection is not a probability",
            where="detections",
            expected="one or more, between 0 and 1, neither of them",
            got="another",
            fix="correct the range of detection",
        )
    figures = np.full((5, len(fines), len(chances)), np.nan)
    safe = np.empty(figures.shape[1:])
    outcomes: dict[Hashable, Played | None] = {}
    for row, fine in enumerate(fines):
        for column, chance in enumerate(chances):
            profile = replace(follower.profile, penalty=float(fine), detection_intercept=float(logit(chance)))
            asked = replace(follower, profile=profile)
            safe[row, column] = asked.safe_group
            key = _alike(asked, method)
            if key not in outcomes:
                outcomes[key] = _played(table, method, asked, weights, cell_weights)
            found = outcomes[key]
            if found is not None:
                figures[:, row, column] = _figures(table, asked, found)
    publisher, recipient, kept, attacked, reidentified = figures
    return PenaltyMap(fines, chances, publisher, recipient, kept, attacked, reidentified, safe, len(outcomes))


def _alike(follower: SequentialFollower, method: Method) -> Hashable:
    """What the game depends on: P_reid by group size, and under the No-Attack rules only where it is above 0."""
    risks = follower.risks
    if risks is None:
        return follower
    return (risks > 0).tobytes() if method in _NO_ATTACK else risks.tobytes()


def _played(
    table: Table, method: Method, follower: SequentialFollower, weights: Floats, cell_weights: str
) -> Played | None:
    try:
        return play(table, method, follower, weights, cell_weights)
    except StageFailed:
        return None


def _figures(table: Table, follower: SequentialFollower, played: Played) -> NDArray[np.float64]:
    records, people, total = table.data.counts, played.effective, table.data.total
    if played.withheld is not None:
        records = np.where(played.withheld, 0, records)
    value = follower.benefit * played.kept
    return np.array(
        [
            records @ follower.publisher(value, people) / total,
            records @ follower.adversary(people) / total,
            records @ played.kept / total,
            records @ follower.attacked(people) / total,
            records @ follower.reidentified(people),
        ]
    )
