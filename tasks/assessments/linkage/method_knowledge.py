"""Inference from a published masking: bounds on each masked value, and the likelihood of each move.

Each method sets its own bounds (``MaskingMethod.bounds``). How likely a move is, follows from how masked values relate
to original ones (``Effect``): running a swapping method on distinct numbers shows how far it moves them, and noise is
normal with a published share of the variance.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.files import Files, Positions
from tasks.assessments.linkage.within import PairScore, distance_score
from tasks.masking.method import Effect, MaskedRange, MaskingMethod
from tasks.masking.registry import METHODS
from tasks.request.model import Masking

_LARGEST_SIMULATED = 50_000
_SIMULATED_VALUES = 400_000
_MOST_ATTRIBUTES_TRIED = 20
_SMOOTHED_SHARE = 50
_UNSEEN = 0.01
_LEAST = 1e-300
_LEAST_EIGENVALUE = 1e-10


@dataclass(frozen=True)
class MaskedPart:
    """The attributes of one masking that the intruder knows, of all the records of the file."""

    masking: Masking
    original: Floats
    """Shape (n_records, n_known)."""
    masked: Floats
    complete: bool
    """Whether the intruder knows all the attributes that were masked together."""
    names: tuple[str, ...] = ()
    """Of the known attributes."""

    @property
    def files(self) -> Files:
        """The two files, everybody in both."""
        names = tuple(f"attribute {place + 1}" for place in range(self.original.shape[1]))
        return Files(self.original, self.masked, np.arange(len(self.original)), names)

    @cached_property
    def method(self) -> MaskingMethod:
        """The method with its parameters, which are published."""
        return METHODS[self.masking.method].of(self.masking)

    @cached_property
    def bounds(self) -> MaskedRange:
        """Bounds of every record of the file.

        Raises
        ------
        ParameterError
            If the masked file is not one that the method makes.
        """
        anything = np.full_like(self.original, np.inf)
        found = self.method.bounds(self.original, self.masked, complete=self.complete)
        return found or MaskedRange(-anything, anything)

    @cached_property
    def likelihood(self) -> PairScore:
        """Minus the log-likelihood of a pair, where the method gives one; else half the squared distance."""
        effect, n_records = self.method.effect, len(self.original)
        if effect is Effect.EXCHANGED and n_records <= _LARGEST_SIMULATED:
            columns = min(_MOST_ATTRIBUTES_TRIED, max(1, _SIMULATED_VALUES // n_records))
            return displacement_score(self.files, simulated_displacement(self.method, n_records, columns))
        if effect in (Effect.NOISE, Effect.JOINT_NOISE):
            joint = effect is Effect.JOINT_NOISE and self.complete
            return noise_score(self.files, self.masking.strength, correlated=joint)
        distance = distance_score(self.files)
        return lambda records, candidates: distance(records, candidates) ** 2 / 2

    @cached_property
    def inside(self) -> PairScore:
        """Criterion among candidates: the distance where bounds leave few, as in the literature; else likelihood."""
        if np.isinf(self.bounds.low).all():
            return self.likelihood
        distance = distance_score(self.files)
        return lambda records, candidates: distance(records, candidates) ** 2 / 2


def simulated_displacement(method: MaskingMethod, n_records: int, columns: int = 20) -> Floats:
    """Distribution of the difference of ranks that a swapping method shows on distinct numbers, whatever the data.

    Parameters
    ----------
    method : MaskingMethod
        With the published parameters; its randomness is the intruder's own.
    n_records : int
        Records of the file, from 2.
    columns : int
        Attributes to run it on at once, from 1; more give smoother estimates.

    Returns
    -------
    array of shape (2·n_records − 1,)
        Probability of each difference from −(n−1) to n−1. The share that stays is kept as it is; others are averaged
        over a fiftieth of their range, and a hundredth of all is spread evenly over it, so that what was not seen is
        unlikely and not impossible.
    """
    ranks = np.tile(np.arange(n_records, dtype=np.float64)[:, None], columns)
    moved = np.rint(method.mask(ranks, np.random.default_rng(0)).values - ranks).astype(np.int64)
    centre, reach = n_records - 1, int(np.abs(moved).max())
    seen = np.bincount((moved + centre).ravel(), minlength=2 * n_records - 1) / moved.size
    stay, seen[centre] = seen[centre], 0.0
    width = 2 * (reach // _SMOOTHED_SHARE) + 1
    within = np.abs(np.arange(-centre, centre + 1)) <= reach
    smooth = np.where(within, np.convolve(seen, np.full(width, 1 / width), mode="same"), 0.0)
    smooth[centre] = stay
    probability: Floats = (1 - _UNSEEN) * smooth / smooth.sum() + _UNSEEN * within / within.sum()
    return probability


def displacement_score(files: Files, probability: Floats) -> PairScore:
    """Minus the log-likelihood that a masked record's values were moved there from an intruder's record's.

    Parameters
    ----------
    files : Files
    probability : array of shape (2·n_masked − 1,)
        Of each difference of ranks, as ``simulated_displacement`` gives it. A tie of equal values stands for the mean
        over its ranks.
    """
    ordered = np.sort(files.masked, axis=0)
    original, masked = _rank_intervals(files.original, ordered), _rank_intervals(files.masked, ordered)
    # Σ over s ≤ t of Σ over d ≤ s of the probability of d, from t = −n−1.
    cumulated = np.cumsum(np.cumsum(np.concatenate([[0.0, 0.0], probability, [0.0, 0.0]])))
    centre = len(cumulated) // 2

    def score(records: Positions, candidates: Positions) -> Floats:
        total = np.zeros(len(records))
        for axis in range(files.masked.shape[1]):
            low, high = (side[records, axis] for side in original)
            first, last = (side[candidates, axis] for side in masked)
            mass = cumulated[last - low + centre] - cumulated[last - high - 1 + centre]
            mass -= cumulated[first - 1 - low + centre] - cumulated[first - high - 2 + centre]
            total -= np.log(np.maximum(mass / ((high - low + 1) * (last - first + 1)), _LEAST))
        return total

    return score


def noise_score(files: Files, proportion: float, *, correlated: bool = False) -> PairScore:
    """Minus the log-likelihood of a pair, but for a constant, under normal noise of a published share of the variance.

    With X' = X + ε and Var(ε) = k·Var(X), Var(X) is Var(X')/(1+k) (Torra 2016, slide 45), so that the intruder knows
    the noise's distribution.

    Parameters
    ----------
    files : Files
        The intruder holds everybody.
    proportion : float
        k, greater than 0.
    correlated : bool
        Whether the noise has the covariances of the data, k·Cov(X), or is independent on each attribute.
    """
    mean, spread = files.masked.mean(axis=0), files.original.std(axis=0)
    original, masked = (files.original - mean) / spread, (files.masked - mean) / spread
    if correlated:
        standard = (files.original - files.original.mean(axis=0)) / spread
        values, vectors = np.linalg.eigh(np.einsum("ri,rj->ij", standard, standard) / len(standard))
        kept = values > _LEAST_EIGENVALUE * values.max()
        axes = vectors[:, kept] / np.sqrt(values[kept])
        original, masked = (np.einsum("ri,ij->rj", table, axes) for table in (original, masked))
    original, masked = original / np.sqrt(proportion), masked / np.sqrt(proportion)

    def score(records: Positions, candidates: Positions) -> Floats:
        apart = original[records] - masked[candidates]
        half: Floats = np.einsum("ij,ij->i", apart, apart) / 2
        return half

    return score


def _rank_intervals(values: Floats, ordered: Floats) -> tuple[Positions, Positions]:
    """Lowest and highest rank of each value in its sorted attribute; a value that is not there has the next one's."""
    low, high = np.empty(values.shape, dtype=np.intp), np.empty(values.shape, dtype=np.intp)
    for axis, column in enumerate(ordered.T):
        low[:, axis] = np.minimum(np.searchsorted(column, values[:, axis], "left"), len(column) - 1)
        high[:, axis] = np.maximum(np.searchsorted(column, values[:, axis], "right") - 1, low[:, axis])
    return low, high
