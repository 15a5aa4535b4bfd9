"""A file as it was made, under other stakes: its cells stay the same; only attacks and payoffs change."""

from dataclasses import dataclass

import numpy as np

from tasks.core.errors import ParameterError
from tasks.generalization.game import Floats
from tasks.generalization.sensitivity.sweep import Means
from tasks.generalization.sensitivity.terms import Stakes
from tasks.microdata.tuples import Counts


@dataclass(frozen=True, eq=False)
class Made:
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

    def means(self, stakes: Stakes) -> Means:
        """Figures of the file under some stakes, as ``sweep`` gives them for a game."""
        upto = np.searchsorted(self.sizes, stakes.safe, side="left")
        attacked = np.concatenate([[0.0], np.cumsum(self.shares)])
        reidentified = np.concatenate([[0.0], np.cumsum(self.shares / self.sizes)])
        same = np.ones(len(stakes))
        return Means(
            kept=self.kept * same,
            reidentified=reidentified[upto],
            attacked=attacked[upto],
            intensity=self.intensity * same,
            specific=self.specific * same,
        )


def made(people: Counts, kept: Floats, intensity: Floats, records: Counts, total: int | None = None) -> Made:
    """A file as it was made.

    Parameters
    ----------
    people : array of shape (n_tuples,)
        Group size of each released tuple: n_p as the game claims it, or n_T as a recipient who knows the rule does;
        0 counts as 1.
    kept, intensity : arrays of shape (n_tuples,)
        Share of information kept and generalization intensity of each.
    records : array of shape (n_tuples,)
        Released records of each.
    total : int, optional
        Records that came in; those released where not given.

    Raises
    ------
    ParameterError
        If more records are released than came in, or none came in.
    """
    released = int(records.sum())
    whole = released if total is None else total
    if whole < max(released, 1):
        raise ParameterError(
            "more records are released than came in",
            where="total",
            expected=f"at least {max(released, 1):,}",
            got=f"{whole:,}",
            fix="give the number of records that came in",
        )
    sizes, place = np.unique(np.maximum(people, 1), return_inverse=True)
    return Made(
        sizes=sizes,
        shares=np.bincount(place.ravel(), weights=records, minlength=len(sizes)) / whole,
        kept=float(records @ kept / whole),
        intensity=float((records @ intensity + (whole - released)) / whole),
        specific=float(records[intensity == 0].sum() / whole),
    )
