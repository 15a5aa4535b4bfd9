"""Displacement of a value by rank swapping: likelihoods for an intruder who knows the method and can run it.

The window of the intersection attack says where a value may have gone. The method also says how likely each place is:
in some readings many values are unchanged, in p-buckets and p-distribution near ranks are likelier than far ones.
Running it on distinct numbers shows the distribution, whatever the data.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.files import Files, Positions
from tasks.assessments.linkage.nearest import tie_limit
from tasks.core.errors import ParameterError

Swap = Callable[[Floats], Floats]
"""The swapping method: masked values of an array of shape (n_records, n_attributes)."""

_SMOOTHED_SHARE = 50
_UNSEEN = 0.01
_LEAST = 1e-300
_BLOCK_PAIRS = 2**20


@dataclass(frozen=True)
class Displacement:
    """Distribution of the difference of ranks between a masked value and its original."""

    probability: Floats
    """Of each difference from −(n−1) to n−1, shape (2n − 1,)."""

    @property
    def n_records(self) -> int:
        """Records of the file it holds for."""
        return (len(self.probability) + 1) // 2


def simulated_displacement(swap: Swap, n_records: int, columns: int = 20) -> Displacement:
    """The distribution that a swapping method shows on distinct numbers.

    Parameters
    ----------
    swap : callable
        The method with the published parameters and randomness of the intruder's own.
    n_records : int
        Records of the file, from 2.
    columns : int
        Attributes to run it on at once, from 1; more give smoother estimates.

    Returns
    -------
    Displacement
        The share that stays is kept as it is; others are averaged over a fiftieth of their range, and a hundredth of
        all is spread evenly over it, so that what was not seen is unlikely and not impossible.
    """
    if n_records < 2 or columns < 1:
        raise ParameterError(
            "a swapping method cannot be tried out",
            where="records and columns",
            expected="at least 2 records and 1 column",
            got=f"{n_records} and {columns}",
            fix="ask for more",
        )
    ranks = np.arange(n_records, dtype=np.float64)
    moved = np.rint(swap(np.tile(ranks[:, None], columns)) - ranks[:, None]).astype(np.int64)
    centre = n_records - 1
    seen = np.bincount((moved + centre).ravel(), minlength=2 * n_records - 1) / moved.size
    reach = int(np.abs(moved).max())
    stay, seen[centre] = seen[centre], 0.0
    width = 2 * (reach // _SMOOTHED_SHARE) + 1
    smooth = np.convolve(seen, np.full(width, 1 / width), mode="same")
    within = np.abs(np.arange(-centre, centre + 1)) <= reach
    smooth = np.where(within, smooth, 0.0)
    smooth[centre] = stay
    probability = (1 - _UNSEEN) * smooth / smooth.sum() + _UNSEEN * within / within.sum()
    return Displacement(probability)


@dataclass(frozen=True)
class DisplacementScore:
    """Minus the log-likelihood that a masked record's values were moved there from an intruder's record's."""

    cumulated: Floats
    """Σ over s ≤ t of Σ over d ≤ s of the probability of d, from t = −n−1, shape (2n + 3,)."""
    original: tuple[Positions, Positions]
    """Lowest and highest rank of each original value, shape (n_known_records, n_attributes)."""
    masked: tuple[Positions, Positions]
    """The same of each masked value."""
    truth: Positions

    def of_pairs(self, records: Positions, candidates: Positions) -> Floats:
        """Score of each pair; a tie of equal values stands for the mean over its ranks."""
        total = np.zeros(len(records))
        for axis in range(self.masked[0].shape[1]):
            low, high = (side[records, axis] for side in self.original)
            first, last = (side[candidates, axis] for side in self.masked)
            mass = self._below(last - low) - self._below(last - high - 1)
            mass -= self._below(first - 1 - low) - self._below(first - high - 2)
            total -= np.log(np.maximum(mass / ((high - low + 1) * (last - first + 1)), _LEAST))
        return total

    def credit_anywhere(self, records: Positions) -> Floats:
        """Credit of the likeliest masked record."""
        n_masked, credit = len(self.masked[0]), np.empty(len(records))
        rows = max(1, _BLOCK_PAIRS // n_masked)
        for start in range(0, len(records), rows):
            part = records[start : start + rows]
            pairs = np.repeat(part, n_masked), np.tile(np.arange(n_masked), len(part))
            scores = self.of_pairs(*pairs).reshape(len(part), n_masked)
            tie = scores <= tie_limit(scores.min(axis=1))[:, None]
            own = tie[np.arange(len(part)), self.truth[part]]
            credit[start : start + rows] = np.where(own, 1 / tie.sum(axis=1), 0.0)
        return credit

    def _below(self, difference: Positions) -> Floats:
        """Twice cumulated probability up to a difference of ranks."""
        found: Floats = self.cumulated[difference + len(self.cumulated) // 2]
        return found


def displacement_score(files: Files, displacement: Displacement) -> DisplacementScore:
    """The score of an intruder who knows how far the method moves values.

    Raises
    ------
    ParameterError
        If the distribution is for another number of records.
    """
    n_masked = len(files.masked)
    if displacement.n_records != n_masked:
        raise ParameterError(
            "the distribution of moves is not for this file",
            where="displacement",
            expected=f"{n_masked} records",
            got=f"{displacement.n_records}",
            fix="try the method out on as many records as the file has",
        )
    padded = np.concatenate([[0.0, 0.0], displacement.probability, [0.0, 0.0]])
    cumulated = np.cumsum(np.cumsum(padded))
    ordered = np.sort(files.masked, axis=0)
    original, masked = _rank_intervals(files.original, ordered), _rank_intervals(files.masked, ordered)
    return DisplacementScore(cumulated, original, masked, files.truth)


def _rank_intervals(values: Floats, ordered: Floats) -> tuple[Positions, Positions]:
    """Lowest and highest rank of each value in its sorted attribute; a value that is not there has the next one's."""
    low, high = np.empty(values.shape, dtype=np.intp), np.empty(values.shape, dtype=np.intp)
    for axis, column in enumerate(ordered.T):
        low[:, axis] = np.minimum(np.searchsorted(column, values[:, axis], "left"), len(column) - 1)
        high[:, axis] = np.maximum(np.searchsorted(column, values[:, axis], "right") - 1, low[:, axis])
    return low, high
