"""A recipient's file made again for another adversary: what it pays, and what is attacked in it."""

from dataclasses import dataclass

import numpy as np

from tasks.candidate.groups import released_tuples
from tasks.core.errors import StageFailed
from tasks.generalization.game import Floats, Follower
from tasks.generalization.play import CountIndex, Generalization, play_if_possible
from tasks.generalization.setting import weights_of
from tasks.request.model import Method, Recipient, ReleaseRequest


@dataclass(frozen=True)
class FileMeans:
    """Means over the records that came in, against a recipient who knows the rule; suppressed ones count as nothing."""

    publisher_payoff: float
    """Units a record."""
    recipient_payoff: float
    """Units a record."""
    information_kept: float
    """Share of information, 0 to 1."""
    attacked_share: float
    """Share of the records that are released and attacked, 0 to 1."""
    reidentifications: float
    """Expected, in records: a sum."""


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
        """The file against a follower; None where there is none."""
        return play_if_possible(table, self.method, follower, self.weights, self.cell_weights)

    def means(self, table: CountIndex, file: Generalization | None, follower: Follower) -> FileMeans | None:
        """Figures of a file against a follower; None where nothing is released."""
        try:
            released = None if file is None else released_tuples(table, file, self.minimum_class_size)
        except StageFailed:
            return None
        if file is None or released is None:
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
