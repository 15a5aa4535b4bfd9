"""Outcome of a game, or of a file whose cells stay the same, at many stakes."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game import Floats
from tasks.generalization.sensitivity.points import StakesPoints
from tasks.microdata.tuples import Counts


@dataclass(frozen=True, eq=False)
class GameMeans:
    """Means over the records at each point, shape (n_points,); NaN where some record has no strategy."""

    kept: Floats
    """Share of information kept, 0 to 1."""
    reidentified: Floats
    """Probability of re-identification, 0 where a record is not attacked."""
    attacked: Floats
    """Share of the records that are worth attacking."""
    intensity: Floats
    """Generalization intensity GI, 0 to 1."""
    specific: Floats
    """Share of the records released in full detail."""

    def publisher(self, stakes: StakesPoints) -> Floats:
        """Publisher's payoff, units a record."""
        return stakes.benefit * self.kept - stakes.loss * self.reidentified

    def adversary(self, stakes: StakesPoints) -> Floats:
        """Recipient's payoff, units a record."""
        return stakes.gain * self.reidentified - stakes.cost * self.attacked

    def select(self, points: NDArray[np.intp]) -> "GameMeans":
        """Some points."""
        return GameMeans(*(getattr(self, field.name)[points] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class FixedFile:
    """Records of a file by group size, and what the file keeps; all shares are of the records that came in."""

    sizes: Counts
    """Distinct group sizes of released records, ascending, from 1; shape (n_sizes,)."""
    shares: Floats
    """Share of the records at each size, shape (n_sizes,)."""
    kept: float
    """Mean share of information kept; suppressed records keep nothing."""
    intensity: float
    """Mean generalization intensity GI; that of suppressed records is 1."""
    specific: float
    """Share of the records released in full detail."""

    def means(self, stakes: StakesPoints) -> GameMeans:
        """Figures of the file under some stakes, by which only attacks and payoffs change."""
        upto = np.searchsorted(self.sizes, stakes.safe, side="left")
        attacked = np.concatenate([[0.0], np.cumsum(self.shares)])
        reidentified = np.concatenate([[0.0], np.cumsum(self.shares / self.sizes)])
        same = np.ones(len(stakes))
        return GameMeans(
            self.kept * same, reidentified[upto], attacked[upto], self.intensity * same, self.specific * same
        )


def fixed_file(people: Counts, kept: Floats, intensity: Floats, records: Counts, total: int) -> FixedFile:
    """A file as it was made, by tuple: ``records`` released out of ``total`` that came in.

    ``people`` are n_p as the game claims it, or n_T as a recipient who knows the rule does; 0 counts as 1. ``kept`` is
    the share of information kept, ``intensity`` the generalization intensity; all of shape (n_tuples,).
    """
    sizes, place = np.unique(np.maximum(people, 1), return_inverse=True)
    return FixedFile(
        sizes=sizes,
        shares=np.bincount(place.ravel(), weights=records, minlength=len(sizes)) / total,
        kept=float(records @ kept / total),
        intensity=float((records @ intensity + (total - records.sum())) / total),
        specific=float(records[intensity == 0].sum() / total),
    )
