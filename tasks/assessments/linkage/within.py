"""Linkage within a set: the masked records within all bounds that the method sets, and the best of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.problem.figure import Flags, Floats, Linkage, linkage
from tasks.assessments.linkage.problem.files import (
    Cheapest,
    Files,
    Positions,
    cheapest_credit,
    common_scale,
    distances_between,
    distinct_rows,
)
from tasks.core.errors import ParameterError, row_positions
from tasks.core.plural import plural
from tasks.masking.method import Effect, MaskedRange, MaskingMethod, rank_range
from tasks.masking.rank_swapping import window_bounds
from tasks.masking.registry import METHODS
from tasks.request.model import Masking

PairScore = Callable[[Positions, Positions], Floats]
"""Mismatch of pairs (intruder's record, masked record), by position; the smaller, the better they fit."""

_BLOCK_PAIRS = 2**21
_SPARSE = 0.05


def distance_score(files: Files) -> PairScore:
    """Euclidean distance between standardised records, as in DLD."""
    original, masked = common_scale(files)
    return lambda records, candidates: distances_between(original[records], masked[candidates])


def half_squared(original: Floats, masked: Floats) -> PairScore:
    """Half the squared Euclidean distance of a pair of rows."""
    return lambda records, candidates: distances_between(original[records], masked[candidates]) ** 2 / 2


def rank_swap_linkage(files: Files, window: int, *, guaranteed: bool = True) -> Linkage:
    """Intersection attack on rank swapping (RSLD); the nearest of several candidates.

    Rank swapping moves no value by more than k = ``window`` ranks. So the masked record of x is, in each attribute j,
    in B_j(x): those whose value has a rank within k of the rank of x's, and thus in the intersection of all B_j; where
    that holds one record, the match is certain (Torra 2016, slides 52 to 60).

    ``guaranteed``: so for pair, skip and literal swapping, not for p-buckets and p-distribution; that the truth is a
    candidate is then checked. ParameterError if it is not, or the window is not from 1 to the number of records.
    """
    n_records, whole = len(files.masked), isinstance(window, int | np.integer) and not isinstance(window, bool)
    if not whole or not 1 <= window <= n_records:
        raise ParameterError(
            "a parameter of rank swapping is out of range",
            where="window k",
            expected=f"a whole number of ranks from 1 to {n_records}",
            got=str(window) if whole else type(window).__name__,
            fix="give the method's own window",
        )
    bounds = window_bounds(files.original, files.masked, window)
    outside = np.flatnonzero(~truth_inside(files, bounds))
    if guaranteed and len(outside):
        raise ParameterError(
            f"the masked file was not made by rank swapping within {window} ranks",
            where=f"the intruder's {row_positions(outside)}",
            expected="every masked value within the bounds that the method guarantees",
            got=f"{plural(len(outside), 'record')} with a value beyond",
            fix="give the method and the parameters that the file was masked with",
        )
    return linkage_within(files, bounds, distance_score(files))


def linkage_within(files: Files, bounds: MaskedRange, score: PairScore) -> Linkage:
    """Link each record to its candidate, or, where bounds are wrong and leave none, to any record, of least score."""
    n_known, n_masked = len(files.original), len(files.masked)
    if np.isinf(bounds.low).all() and np.isinf(bounds.high).all():
        return linkage(_best_anywhere(files, score, np.arange(n_known)), n_masked, np.full(n_known, n_masked))
    points = distinct_rows(files.masked)
    asked = distinct_rows(np.hstack([files.original, bounds.low, bounds.high]))
    best = Cheapest(len(asked.rows))
    for row, point in candidate_pairs(points.rows, MaskedRange(bounds.low[asked.first], bounds.high[asked.first])):
        best.add_pairs(row, score(asked.first[row], points.first[point]), points.counts[point])
    own, inside = np.full(n_known, np.inf), np.flatnonzero(truth_inside(files, bounds))
    own[inside] = score(asked.first[asked.of[inside]], points.first[points.of[files.truth[inside]]])
    credit, sizes = best.credit(asked.of, own), best.size[asked.of]
    lost = np.flatnonzero(sizes == 0)
    credit[lost] = _best_anywhere(files, score, lost)
    return linkage(credit, n_masked, sizes)


def truth_inside(files: Files, bounds: MaskedRange) -> Flags:
    """Whether each record's own masked record is among its candidates, shape (n_known_records,)."""
    own = files.masked[files.truth]
    inside: Flags = np.all((own >= bounds.low) & (own <= bounds.high), axis=1)
    return inside


def _best_anywhere(files: Files, score: PairScore, records: Positions) -> Floats:
    """Credit of linking some of the intruder's records to the best of the whole masked file."""
    points, credit = distinct_rows(files.masked), np.empty(len(records))
    step = max(1, _BLOCK_PAIRS // len(points.first))
    for start in range(0, len(records), step):
        block = records[start : start + step]
        scores = score(np.repeat(block, len(points.first)), np.tile(points.first, len(block)))
        own = points.of[files.truth[block]]
        credit[start : start + step] = cheapest_credit(scores.reshape(len(block), -1), own, points.counts)
    return credit


def candidate_pairs(points: Floats, bounds: MaskedRange) -> Iterator[tuple[Positions, Positions]]:
    """All pairs (row of the bounds, point within them), in blocks; the pairs of a row are together."""
    boxes = _boxes(points, bounds)
    start = np.searchsorted(boxes.codes[0], boxes.low[0], "left")
    stop = np.searchsorted(boxes.codes[0], boxes.high[0], "right")
    rows = np.flatnonzero((boxes.low <= boxes.high).all(axis=0))
    rows = rows[np.argsort(start[rows], kind="stable")]
    begin, starts = 0, start[rows]
    while begin < len(rows):
        width = max(int(stop[rows[begin]] - starts[begin]), 1)
        end = min(begin + max(_BLOCK_PAIRS // (2 * width), 1), int(np.searchsorted(starts, starts[begin] + width)))
        block = rows[begin : max(end, begin + 1)]
        row, point = _inside(boxes, block, slice(int(starts[begin]), int(stop[block].max())))
        if len(row):
            yield row, point
        begin += len(block)


@dataclass(frozen=True)
class _Boxes:
    """Points (in order of the first axis) and bounds as ranks, (n_attributes, n); the most telling attributes first."""

    codes: NDArray[np.int32]
    points: Positions
    low: NDArray[np.int32]
    high: NDArray[np.int32]


def _boxes(points: Floats, bounds: MaskedRange) -> _Boxes:
    codes = np.empty(points.T.shape, dtype=np.int32)
    low, high = (np.empty(side.T.shape, dtype=np.int32) for side in (bounds.low, bounds.high))
    held = np.empty(len(codes))
    for axis, column in enumerate(points.T):
        values, codes[axis] = np.unique(column, return_inverse=True)
        low[axis] = np.searchsorted(values, bounds.low[:, axis], "left")
        high[axis] = np.searchsorted(values, bounds.high[:, axis], "right") - 1
        below = np.concatenate([[0], np.cumsum(np.bincount(codes[axis]))])
        held[axis] = np.maximum(below[high[axis] + 1] - below[low[axis]], 0).mean()
    axes = np.argsort(held, kind="stable")
    order = np.argsort(codes[axes[0]], kind="stable")
    return _Boxes(codes[axes][:, order], order, low[axes], high[axes])


def _inside(boxes: _Boxes, rows: Positions, window: slice) -> tuple[Positions, Positions]:
    codes = boxes.codes[:, window]
    inside = np.ones((len(rows), codes.shape[1]), dtype=np.bool_)
    axis, share = 0, 1.0
    while axis < len(codes) and share > _SPARSE:
        inside &= codes[axis] >= boxes.low[axis, rows, None]
        inside &= codes[axis] <= boxes.high[axis, rows, None]
        share = np.count_nonzero(inside) / max(inside.size, 1)
        axis += 1
    row, place = np.divmod(np.flatnonzero(inside), codes.shape[1])
    for rest in range(axis, len(codes)):
        code = codes[rest, place]
        kept = (code >= boxes.low[rest, rows[row]]) & (code <= boxes.high[rest, rows[row]])
        row, place = row[kept], place[kept]
    return rows[row], boxes.points[window][place]


_LARGEST_SIMULATED = 50_000
_SIMULATED_VALUES = 400_000
_MOST_ATTRIBUTES_TRIED = 20
_SMOOTHED_SHARE = 50
_UNSEEN = 0.01
_LEAST = 1e-300
_LEAST_EIGENVALUE = 1e-10
_BEYOND = 3.0
"""Standard deviations beyond the largest value at which a missing one is written."""
_NEVER = 1e12
"""Score of a pair that is nobody's."""


@dataclass(frozen=True)
class MaskedPart:
    """The known attributes of one masking, of all records, (n_records, n_known); ``complete`` if these are all.

    A missing value stays missing, and the intruder knows whose it is. It is written as a number beyond all others, the
    same before and after: only records without a value are candidates of a person without one.
    """

    masking: Masking
    original: Floats
    masked: Floats
    complete: bool
    names: tuple[str, ...] = ()
    stated: Flags | None = None
    """Whether each record has these values, shape (n_records,); None where every one has."""

    @classmethod
    def of(
        cls, masking: Masking, original: Floats, masked: Floats, *, complete: bool, names: tuple[str, ...] = ()
    ) -> "MaskedPart":
        """A part of values that are NaN where they are missing, in all attributes of a record."""
        stated = ~np.isnan(original[:, 0])
        if stated.all():
            return cls(masking, original, masked, complete, names)
        both = np.concatenate([original[stated], masked[stated]])
        beyond = both.max(axis=0) + _BEYOND * np.maximum(both.std(axis=0), np.spacing(np.abs(both).max(axis=0)))
        before, after = (np.where(stated[:, None], side, beyond) for side in (original, masked))
        return cls(masking, before, after, complete, names, stated)

    @cached_property
    def _whole(self) -> "MaskedPart":
        """The records that have these values alone, which were masked together."""
        held = self.stated
        return MaskedPart(self.masking, self.original[held], self.masked[held], self.complete, self.names)

    def _of_whole(self, score: PairScore) -> PairScore:
        """A score of pairs of records that have values, as one of all records: no other two of a pair are alike."""
        if self.stated is None:
            return score
        stated, place = self.stated, np.cumsum(self.stated) - 1

        def found(records: Positions, candidates: Positions) -> Floats:
            before, after = stated[records], stated[candidates]
            scores = np.where(before == after, 0.0, _NEVER)
            both = before & after
            scores[both] = score(place[records[both]], place[candidates[both]])
            return scores

        return found

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
        """Bounds of every record of the file; ParameterError if the masked file is not one that the method makes."""
        if self.stated is not None:
            own, held = self._whole.bounds, self.stated
            low, high = self.original.copy(), self.original.copy()
            low[held], high[held] = own.low, np.minimum(own.high, np.nextafter(self.original[~held][0], -np.inf))
            return MaskedRange(low, high)
        anything = np.full_like(self.original, np.inf)
        found = self.method.bounds(self.original, self.masked, complete=self.complete)
        return found or MaskedRange(-anything, anything)

    @cached_property
    def displacement(self) -> Floats | None:
        """Probability of each move of ranks under a swapping method; None of other methods, and of very large files."""
        n_records = len(self.original)
        if self.method.effect is not Effect.EXCHANGED or n_records > _LARGEST_SIMULATED:
            return None
        columns = min(_MOST_ATTRIBUTES_TRIED, max(1, _SIMULATED_VALUES // n_records))
        return simulated_displacement(self.method, n_records, columns)

    @cached_property
    def likelihood(self) -> PairScore:
        """Minus the log-likelihood of a pair, where the method gives one; else half the squared distance."""
        if self.stated is not None:
            return self._of_whole(self._whole.likelihood)
        effect = self.method.effect
        if self.displacement is not None:
            return displacement_score(self.files, self.displacement)
        if effect in (Effect.NOISE, Effect.JOINT_NOISE):
            joint = effect is Effect.JOINT_NOISE and self.complete
            return noise_score(self.files, self.masking.strength, correlated=joint)
        return half_squared(*common_scale(self.files))

    @cached_property
    def near(self) -> tuple[Floats, Floats]:
        """Coordinates of the originals and the masked values, (n_records, n), in which likely pairs are near."""
        if self.stated is not None:
            own = self._whole.near
            beyond = 1.0 + max(float(side.max()) for side in own) + float(np.ptp(np.concatenate(own)))
            found = tuple(np.full((len(self.stated), own[0].shape[1]), beyond) for _ in own)
            for side, values in zip(found, own, strict=True):
                side[self.stated] = values
            return found[0], found[1]
        effect, files = self.method.effect, self.files
        if effect in (Effect.NOISE, Effect.JOINT_NOISE):
            joint = effect is Effect.JOINT_NOISE and self.complete
            return noise_coordinates(files, self.masking.strength, correlated=joint)
        if effect is Effect.EXCHANGED:
            ordered = np.sort(self.masked, axis=0)
            moves = np.arange(1 - len(ordered), len(ordered))
            reach = 1.0 if self.displacement is None else max(float(np.sqrt(moves**2 @ self.displacement)), 1.0)
            before, after = (_rank_intervals(side, ordered) for side in (self.original, self.masked))
            return (before[0] + before[1]) / (2 * reach), (after[0] + after[1]) / (2 * reach)
        return common_scale(files)

    @property
    def bounded(self) -> bool:
        """Whether the method bounds some masked value of somebody."""
        if self.stated is not None:
            return self._whole.bounded
        return not (np.isinf(self.bounds.low).all() and np.isinf(self.bounds.high).all())

    @cached_property
    def inside(self) -> PairScore:
        """Criterion among candidates: the distance where bounds leave few, as in the literature; else likelihood."""
        if self.stated is not None:
            return self._of_whole(self._whole.inside)
        if np.isinf(self.bounds.low).all():
            return self.likelihood
        return half_squared(*common_scale(self.files))


def simulated_displacement(method: MaskingMethod, n_records: int, columns: int = 20) -> Floats:
    """Probability of each difference of ranks, −(n−1) to n−1, that a swapping method shows on distinct numbers.

    Of shape (2·n_records − 1,); more ``columns`` that the method is run on give smoother estimates. The share that
    stays is kept as it is; others are averaged over a fiftieth of their range, and a hundredth of all is spread evenly
    over it, so that what was not seen is unlikely and not impossible.
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
    """Minus the log-likelihood of a pair by ``simulated_displacement``; a tie stands for the mean over its ranks."""
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
    """Minus the log-likelihood of a pair, but for a constant, under normal noise; see ``noise_coordinates``."""
    return half_squared(*noise_coordinates(files, proportion, correlated=correlated))


def noise_coordinates(files: Files, proportion: float, *, correlated: bool = False) -> tuple[Floats, Floats]:
    """Originals and masked values in units of normal noise of a published share of the variance, uncorrelated.

    With X' = X + ε and Var(ε) = k·Var(X), Var(X) is Var(X')/(1+k) (Torra 2016, slide 45), so that the intruder, who
    holds everybody, knows the noise's distribution. ``proportion`` is k; ``correlated`` noise has the covariances
    k·Cov(X).
    """
    mean, spread = files.masked.mean(axis=0), files.original.std(axis=0)
    original, masked = (files.original - mean) / spread, (files.masked - mean) / spread
    if correlated:
        standard = (files.original - files.original.mean(axis=0)) / spread
        values, vectors = np.linalg.eigh(np.einsum("ri,rj->ij", standard, standard) / len(standard))
        kept = values > _LEAST_EIGENVALUE * values.max()
        axes = vectors[:, kept] / np.sqrt(values[kept])
        original, masked = (np.einsum("ri,ij->rj", table, axes) for table in (original, masked))
    return original / np.sqrt(proportion), masked / np.sqrt(proportion)


def _rank_intervals(values: Floats, ordered: Floats) -> tuple[Positions, Positions]:
    """Lowest and highest rank of each value in its sorted attribute; a value that is not there has the next one's."""
    low, high = rank_range(values, ordered)
    low = np.minimum(low, len(ordered) - 1)
    return low, np.maximum(high, low)
