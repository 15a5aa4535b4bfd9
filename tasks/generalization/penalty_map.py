"""Value of fines and detection: the publisher's payoff over penalty and probability of detection.

The recipient plans (``sequential_follower``), and the publisher answers each pair of terms with the best generalization
of one method. Deterred by the agreement, the recipient leaves smaller groups alone, and records can be released in more
detail. Points at which the recipient does the same at every group size are one game.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.game import Floats
from tasks.generalization.play import CountIndex, Generalization, play
from tasks.generalization.sequential_follower import SequentialFollower
from tasks.generalization.suppression import suppressed
from tasks.generalization.transparency import cell_numbers
from tasks.request.model import Method

_NO_ATTACK = frozenset({Method.NO_ATTACK, Method.NO_ATTACK_PARTITION})
_Games = dict[Hashable, Generalization | None]


class Answer(NamedTuple):
    """One point: means over the records that came in, against a recipient who knows the rule; NaN without a file."""

    publisher: float
    """Publisher's payoff, units a record."""
    recipient: float
    """Recipient's payoff, units a record."""
    information_kept: float
    """Share of information, 0 to 1."""
    attacked: float
    """Share of the records that are released and attacked, 0 to 1."""
    reidentified: float
    """Expected re-identifications, in records."""
    safe_group: float
    """Group size from which no record is attacked; infinite if there is none."""


@dataclass(frozen=True)
class PenaltyMap:
    """The figures of ``Answer`` over a grid; arrays but the first two have the shape (n_penalties, n_detections)."""

    penalties: Floats
    """C_p of the rows, ascending."""
    detections: Floats
    """Probability of detection at the first attempt, of the columns, ascending."""
    publisher: Floats
    recipient: Floats
    information_kept: Floats
    attacked: Floats
    reidentified: Floats
    safe_group: Floats
    own: Answer
    """Under the follower's own penalty and detection."""
    games: int
    """Games solved."""


@dataclass(frozen=True)
class _Rule:
    """Inputs of a file other than the recipient."""

    method: Method
    weights: Floats
    cell_weights: str
    minimum_class_size: int


def penalty_map(
    table: CountIndex,
    method: Method,
    follower: SequentialFollower,
    weights: Floats,
    *,
    penalties: Floats,
    detections: Floats,
    cell_weights: str = "population",
    minimum_class_size: int = 1,
) -> PenaltyMap:
    """Apply a method at every pair of penalty and detection.

    Parameters
    ----------
    table : CountIndex
    method : Method
    follower : SequentialFollower
        Its penalty and detection at the first attempt are replaced; all else is unchanged.
    weights : array of shape (n_attributes,)
        Weight of each attribute in the information loss.
    penalties : array of shape (n_penalties,)
        From 0.
    detections : array of shape (n_detections,)
        Between 0 and 1, neither of them.
    cell_weights : {"population", "data"}
    minimum_class_size : int
        Records of smaller classes are suppressed.

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
    rule = _Rule(method, weights, cell_weights, minimum_class_size)
    games: _Games = {}
    own = _answer(table, rule, follower, games)
    figures = np.empty((len(Answer._fields), len(fines), len(chances)))
    for row, fine in enumerate(fines):
        for column, chance in enumerate(chances):
            profile = replace(follower.profile, penalty=float(fine), detection_intercept=float(logit(chance)))
            figures[:, row, column] = _answer(table, rule, replace(follower, profile=profile), games)
    publisher, recipient, kept, attacked, reidentified, safe = figures
    return PenaltyMap(
        fines, chances, publisher, recipient, kept, attacked, reidentified, safe, own=own, games=len(games)
    )


def _answer(table: CountIndex, rule: _Rule, follower: SequentialFollower, games: _Games) -> Answer:
    key = _alike(follower, rule.method)
    if key not in games:
        games[key] = _played(table, rule, follower)
    played = games[key]
    records = None if played is None else _released(table, played, rule.minimum_class_size)
    if played is None or records is None:
        return Answer(np.nan, np.nan, np.nan, np.nan, np.nan, safe_group=follower.safe_group)
    people, total = played.effective, table.data.total
    value = follower.benefit * played.kept
    return Answer(
        publisher=float(records @ follower.publisher(value, people) / total),
        recipient=float(records @ follower.adversary(people) / total),
        information_kept=float(records @ played.kept / total),
        attacked=float(records @ follower.attacked(people) / total),
        reidentified=float(records @ follower.reidentified(people)),
        safe_group=follower.safe_group,
    )


def _alike(follower: SequentialFollower, method: Method) -> Hashable:
    """Inputs of the game: P_reid by group size, and under the No-Attack rules only where it is above 0."""
    risks = follower.risks
    if risks is None:
        return follower
    return (risks > 0).tobytes() if method in _NO_ATTACK else risks.tobytes()


def _played(table: CountIndex, rule: _Rule, follower: SequentialFollower) -> Generalization | None:
    try:
        return play(table, rule.method, follower, rule.weights, rule.cell_weights)
    except StageFailed:
        return None


def _released(table: CountIndex, played: Generalization, minimum_class_size: int) -> NDArray[np.int64] | None:
    """Records of each tuple that are released, 0 where they are suppressed; None where all are."""
    kept = np.ones(len(table.data), np.bool_) if played.withheld is None else ~played.withheld
    numbers = cell_numbers(played.cells[kept], table.axis_sizes)
    kept[kept] = ~suppressed(numbers, table.data.counts[kept], minimum_class_size)
    return np.where(kept, table.data.counts, 0) if kept.any() else None
