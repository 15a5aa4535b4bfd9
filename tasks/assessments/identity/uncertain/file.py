"""The released file as the terms see it: how many records are in groups of each size.

The cells are fixed, so everything that depends on the terms depends on these counts alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.adversary import AdversaryProfile
from tasks.adversary.fmdp import sink_probability
from tasks.assessments.sequential.sequential import is_accessed
from tasks.candidate.groups import groups
from tasks.generalization.game import Floats, Follower
from tasks.generalization.play import CountIndex, Generalization
from tasks.microdata.tuples import Counts
from tasks.request.model import Measure


@dataclass(frozen=True, eq=False)
class FileGroups:
    """Released records by the group that an informed recipient finds them in."""

    table: CountIndex
    people: Counts
    """People of each distinct group whose own cell it is, n_T; shape (n_groups,)."""
    listed: Counts | None
    """Those of them in the register; None without one."""
    records: Counts
    """Released records of each."""
    kept: float
    """Mean share of information kept over the records that came in; suppressed records keep nothing."""
    total: int
    """Records that came in."""

    def game_figures(self, follower: Follower) -> dict[Measure, float]:
        """Figures that depend on the adversary in the game.

        Raises
        ------
        ParameterError
            If the adversary is sequential and its plan cannot be solved.
        """
        attacked = follower.attacked(self.people)
        charged = follower.publisher(np.zeros(len(self.people)), self.people)
        return {
            Measure.TRANSPARENT_ATTACKED: float(self.records[attacked].sum() / self.records.sum()),
            Measure.TRANSPARENT_EXPECTED: float(self.records @ follower.reidentified(self.people)),
            Measure.PUBLISHER_PAYOFF: follower.benefit * self.kept + float(self.records @ charged / self.total),
        }

    def sequential_figures(self, profile: AdversaryProfile) -> dict[Measure, float]:
        """Figures that depend on the sequential adversary.

        Raises
        ------
        ParameterError
            If the adversary's plan cannot be solved.
        """
        risks, released = self._risks(profile), self.records.sum()
        return {
            Measure.SEQUENTIAL_MAXIMUM: float(risks.max()),
            Measure.SEQUENTIAL_MEAN: float(self.records @ risks / released),
            Measure.SEQUENTIAL_ATTACKED: float(self.records[risks > 0].sum() / released),
            Measure.SEQUENTIAL_EXPECTED: float(self.records @ risks),
        }

    def _risks(self, profile: AdversaryProfile) -> Floats:
        """Risks as ``sequential.sequential.judged_risks`` gives them; free access needs no decision."""
        found = groups(self.table, self.people, self.listed, self.records, profile.prior)
        risks = np.zeros(len(self.people))
        listed = found.candidates > 0
        risks[listed] = sink_probability(profile, found.candidates[listed])
        if profile.access_cost > 0 and risks.any() and not is_accessed(profile, found):
            return np.zeros_like(risks)
        return risks


def file_groups(
    table: CountIndex, played: Generalization, kept: NDArray[np.bool_], collected: int | None = None
) -> FileGroups:
    """The file of a generalization.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
    kept : array of shape (n_tuples,)
        Whether a tuple's records are released.
    collected : int, optional
        Records that came in, where the table has those alone that are released.
    """
    total = table.data.total if collected is None else collected
    columns = [played.effective[kept]] if played.listed is None else [played.effective[kept], played.listed[kept]]
    distinct, place = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    records = table.data.counts[kept]
    return FileGroups(
        table=table,
        people=distinct[:, 0],
        listed=None if played.listed is None else distinct[:, 1],
        records=np.rint(np.bincount(place.ravel(), weights=records)).astype(np.int64),
        kept=float(records @ played.kept[kept] / total),
        total=total,
    )
