"""Probabilistic record linkage (PLD): Fellegi–Sunter, its parameters fitted by EM without knowing the truth.

Each pair of records is compared attribute by attribute on a few levels. Pairs are taken for a mixture of matches and
others, with levels independent given which of the two a pair is. The weight of a pair is the sum over its levels of
log m/u, their probabilities among matches and others.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.assessments.linkage.distinct import DistinctRows, distinct_rows
from tasks.assessments.linkage.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.files import Files, Positions
from tasks.assessments.linkage.nearest import tie_limit
from tasks.core.errors import ParameterError

Unit = Literal["deviations", "ranks"]
MatchShare = Literal["known", "estimated"]

_MOST_PATTERNS = 2**22
_BLOCK_PAIRS = 2**20
_ROUNDING = 1e-12
_LEAST_PROBABILITY = 1e-9
_FIRST_AGREEMENT = 0.9
_ITERATIONS = 1000
_CHANGE = 1e-8


@dataclass(frozen=True)
class Comparison:
    """How two values of an attribute are compared: a level for each threshold, and one for what is beyond the last.

    Raises
    ------
    ParameterError
        If the thresholds are not growing from 0 or above.
    """

    thresholds: tuple[float, ...] = (0.05, 0.2)
    """Largest difference of each level but the last; 0 is equality."""
    unit: Unit = "deviations"
    """Standard deviations of the masked attribute, or ranks in it as a share of its records."""

    def __post_init__(self) -> None:
        finite = all(math.isfinite(threshold) for threshold in self.thresholds)
        growing = all(low < high for low, high in zip(self.thresholds, self.thresholds[1:], strict=False))
        if not self.thresholds or not finite or not growing or self.thresholds[0] < 0:
            raise ParameterError(
                "the levels of a comparison are not in order",
                where="thresholds",
                expected="one or more finite numbers from 0, each greater than the one before",
                got=f"{len(self.thresholds)} thresholds that are not",
                fix="list the largest difference of each level, the closest level first",
            )

    @property
    def n_levels(self) -> int:
        """Levels of an attribute."""
        return len(self.thresholds) + 1


@dataclass(frozen=True)
class Weights:
    """Fitted parameters of Fellegi–Sunter."""

    matches: Floats
    """m: probability of each level among matches, shape (n_attributes, n_levels)."""
    others: Floats
    """u: the same among other pairs."""
    match_share: float
    """Share of pairs that are matches."""
    iterations: int
    """Steps of EM taken."""
    converged: bool
    """Whether EM had come to rest; where not, the weights are those of its last step."""

    @property
    def log_ratio(self) -> Floats:
        """Weight log m/u of each level, shape (n_attributes, n_levels)."""
        ratio: Floats = np.log(self.matches / self.others)
        return ratio


@dataclass(frozen=True)
class _Compared:
    """Distinct records of both files in the unit of the comparison."""

    asked: DistinctRows
    points: DistinctRows
    comparison: Comparison

    @property
    def n_patterns(self) -> int:
        return int(self.comparison.n_levels ** self.points.rows.shape[1])

    def patterns(self, asked: Positions, points: Positions) -> NDArray[Any]:
        """Pattern of levels, as a number, of each pair of rows; the two broadcast against one another."""
        left, right = self.asked.rows, self.points.rows
        shape = np.broadcast_shapes(asked.shape, points.shape)
        patterns = np.zeros(shape, dtype=np.min_scalar_type(self.n_patterns - 1))
        for axis in range(right.shape[1]):
            apart = np.abs(left[asked, axis] - right[points, axis])
            patterns *= self.comparison.n_levels
            for threshold in self.comparison.thresholds:
                patterns += apart > threshold + _ROUNDING
        return patterns

    def levels(self, patterns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Level of each attribute, shape (n_attributes, n_patterns)."""
        shape = (self.comparison.n_levels,) * self.points.rows.shape[1]
        return np.asarray(np.unravel_index(patterns, shape))


@dataclass(frozen=True)
class WeightScore:
    """Minus the Fellegi–Sunter weight of a pair."""

    compared: _Compared
    scores: Floats
    """Of each pattern, shape (n_patterns,)."""
    truth: Positions

    def of_pairs(self, records: Positions, candidates: Positions) -> Floats:
        """Score of each pair."""
        asked, points = self.compared.asked.of[records], self.compared.points.of[candidates]
        found: Floats = self.scores[self.compared.patterns(asked, points)]
        return found

    def credit_anywhere(self, records: Positions) -> Floats:
        """Credit of the masked record of the greatest weight."""
        wanted, back = np.unique(self.compared.asked.of[records], return_inverse=True)
        best, tied = np.empty(len(wanted)), np.empty(len(wanted), dtype=np.int64)
        for rows, patterns in _blocks(self.compared, wanted):
            found = self.scores[patterns]
            best[rows] = found.min(axis=1)
            tied[rows] = (found <= tie_limit(best[rows])[:, None]) @ self.compared.points.counts
        own = self.of_pairs(records, self.truth[records])
        return np.where(own <= tie_limit(best)[back], 1 / tied[back], 0.0)


def probabilistic_linkage(
    files: Files, comparison: Comparison | None = None, match_share: MatchShare = "known"
) -> Linkage:
    """Link each record to the masked record of the greatest weight; ties are shared.

    Parameters
    ----------
    files : Files
    comparison : Comparison, optional
        0.05 and 0.2 standard deviations where not given.
    match_share : {"known", "estimated"}
        Whether EM is told that each of the intruder's records has one match, or estimates the share of matches.

    Raises
    ------
    ParameterError
        If levels and attributes make more than 2²² patterns.

    Notes
    -----
    All pairs of distinct records are compared, so time grows with the product of their numbers.
    """
    score = weight_score(files, comparison or Comparison(), match_share)
    return linkage(score.credit_anywhere(np.arange(len(files.original))), len(files.masked))


def weight_score(files: Files, comparison: Comparison, match_share: MatchShare = "known") -> WeightScore:
    """The score of PLD, fitted over all pairs; parameters as in ``probabilistic_linkage``."""
    compared = _compare(files, comparison)
    return WeightScore(compared, _pattern_scores(compared, match_share), files.truth)


def fitted_weights(files: Files, comparison: Comparison, match_share: MatchShare = "known") -> Weights:
    """Probabilities m and u of each attribute's levels, fitted by EM over all pairs of the two files."""
    compared = _compare(files, comparison)
    return _fitted(compared, _pattern_counts(compared), match_share)


def _compare(files: Files, comparison: Comparison) -> _Compared:
    n_patterns = comparison.n_levels ** files.masked.shape[1]
    if n_patterns > _MOST_PATTERNS:
        raise ParameterError(
            "the comparison has more patterns of levels than can be fitted",
            where=f"{comparison.n_levels} levels of {files.masked.shape[1]} attributes",
            expected=f"at most {_MOST_PATTERNS} patterns",
            got=f"{n_patterns}",
            fix="use fewer levels or fewer attributes",
        )
    measured = _deviations if comparison.unit == "deviations" else _ranks
    original, masked = measured(files)
    return _Compared(distinct_rows(original), distinct_rows(masked), comparison)


def _deviations(files: Files) -> tuple[Floats, Floats]:
    """Values over the masked standard deviation; not centred, so that equal values stay equal."""
    spread = files.masked.std(axis=0)
    return files.original / spread, files.masked / spread


def _ranks(files: Files) -> tuple[Floats, Floats]:
    """Mean rank of each value in the masked attribute, as a share of its records."""
    original, masked = np.empty_like(files.original), np.empty_like(files.masked)
    for axis, column in enumerate(files.masked.T):
        ordered = np.sort(column)
        for values, ranks in ((files.original[:, axis], original), (column, masked)):
            middle = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
            ranks[:, axis] = middle / (2 * len(ordered))
    return original, masked


def _blocks(compared: _Compared, asked: Positions) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Patterns of the rows asked for with all distinct masked records, some rows at a time."""
    points = np.arange(len(compared.points.rows))
    rows = max(1, _BLOCK_PAIRS // len(points))
    for start in range(0, len(asked), rows):
        part = slice(start, min(start + rows, len(asked)))
        yield part, compared.patterns(asked[part, None], points[None])


def _pattern_counts(compared: _Compared) -> Floats:
    """Pairs of records of each pattern, shape (n_patterns,)."""
    counts, weights = np.zeros(compared.n_patterns), compared.points.counts.astype(np.float64)
    single = len(weights) == weights.sum()
    everybody = np.arange(len(compared.asked.rows))
    for times in np.unique(compared.asked.counts):
        for _, patterns in _blocks(compared, everybody[compared.asked.counts == times]):
            repeated = None if single else np.broadcast_to(weights, patterns.shape).ravel()
            counts += times * np.bincount(patterns.ravel(), repeated, compared.n_patterns)
    return counts


def _pattern_scores(compared: _Compared, match_share: MatchShare) -> Floats:
    """Minus the weight of each pattern, shape (n_patterns,)."""
    weights = _fitted(compared, _pattern_counts(compared), match_share)
    levels = compared.levels(np.arange(compared.n_patterns))
    return -_summed(weights.log_ratio, levels)


def _summed(of_level: Floats, levels: NDArray[np.intp]) -> Floats:
    total = np.zeros(levels.shape[1])
    for values, level in zip(of_level, levels, strict=True):
        total += values[level]
    return total


def _fitted(compared: _Compared, counts: Floats, match_share: MatchShare) -> Weights:
    """EM over patterns (Winkler 1988), from agreement likely among matches and the levels of all pairs among others."""
    seen = np.flatnonzero(counts)
    levels, pairs = compared.levels(seen), counts[seen]
    n_levels = compared.comparison.n_levels
    known = 1 / float(compared.points.counts.sum())
    share, matches = known, np.full((len(levels), n_levels), (1 - _FIRST_AGREEMENT) / (n_levels - 1))
    matches[:, 0] = _FIRST_AGREEMENT
    others = _level_shares(levels, pairs, n_levels)
    for iteration in range(1, _ITERATIONS + 1):
        odds = math.log(share / (1 - share)) + _summed(np.log(matches / others), levels)
        matched = pairs * scipy.special.expit(odds)
        last, matches = matches, _level_shares(levels, matched, n_levels)
        others = _level_shares(levels, pairs - matched, n_levels)
        share = known if match_share == "known" else float(matched.sum() / pairs.sum())
        if np.abs(matches - last).max() <= _CHANGE:
            return Weights(matches, others, share, iteration, converged=True)
    return Weights(matches, others, share, _ITERATIONS, converged=False)


def _level_shares(levels: NDArray[np.intp], pairs: Floats, n_levels: int) -> Floats:
    """Share of each level among weighted pairs; kept from 0, so that no weight is infinite."""
    shares = np.stack([np.bincount(level, pairs, n_levels) for level in levels]) / pairs.sum()
    kept: Floats = np.maximum(shares, _LEAST_PROBABILITY)
    return kept
