"""Probabilistic record linkage (PLD): Fellegi–Sunter, its parameters fitted by EM without knowing the truth.

Each pair is compared attribute by attribute on a few levels, and taken for a mixture of matches and others, with levels
independent given which it is. Its weight is the sum over levels of log m/u, their probabilities among matches and
others.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.assessments.linkage.problem.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.problem.files import Cheapest, DistinctRows, Files, Positions, distinct_rows
from tasks.core.errors import ParameterError

_MOST_PATTERNS = 2**22
_BLOCK_PAIRS = 2**20
_ROUNDING = 1e-12
_LEAST_PROBABILITY = 1e-9
_FIRST_AGREEMENT = 0.9
_ITERATIONS = 1000
_CHANGE = 1e-8


@dataclass(frozen=True)
class LevelComparison:
    """Comparison of two values of an attribute: a level for each threshold, and one for all beyond the last.

    Thresholds are in standard deviations of the masked attribute; ParameterError if they do not grow from 0 or above.
    """

    thresholds: tuple[float, ...] = (0.05, 0.2)

    def __post_init__(self) -> None:
        limits = np.asarray(self.thresholds, dtype=np.float64)
        if not limits.size or not np.isfinite(limits).all() or limits[0] < 0 or (np.diff(limits) <= 0).any():
            raise ParameterError(
                "the levels of a comparison are not in order",
                where="thresholds",
                expected="one or more finite numbers from 0, each greater than the one before",
                got=f"{len(self.thresholds)} thresholds that are not",
                fix="list the largest difference of each level, the closest level first",
            )


@dataclass(frozen=True)
class FittedLevels:
    """m and u, probabilities of each level among matches and others, (n_attributes, n_levels); steps of EM taken."""

    matches: Floats
    others: Floats
    iterations: int


def probabilistic_linkage(files: Files, comparison: LevelComparison | None = None) -> Linkage:
    """Link each record to the masked record of the greatest weight; ties are shared.

    EM is told that each record has one match. ParameterError if levels and attributes make more than 2²² patterns.
    """
    compared = _compare(files, comparison or LevelComparison())
    fitted = compared.fitted()
    levels = compared.levels(np.arange(compared.n_patterns))
    scores = -_summed(np.log(fitted.matches / fitted.others), levels)
    best = Cheapest(len(compared.asked.rows))
    for rows, patterns in compared.blocks(np.arange(len(best.cost))):
        best.add_table(rows, scores[patterns], compared.points.counts)
    of = compared.asked.of
    own = scores[compared.patterns(of, compared.points.of[files.truth])]
    return linkage(best.credit(of, own), len(files.masked))


@dataclass(frozen=True)
class _Compared:
    """Distinct records of both files in standard deviations."""

    asked: DistinctRows
    points: DistinctRows
    thresholds: tuple[float, ...]

    @property
    def n_levels(self) -> int:
        return len(self.thresholds) + 1

    @property
    def n_patterns(self) -> int:
        return int(self.n_levels ** self.points.rows.shape[1])

    def patterns(self, asked: Positions, points: Positions) -> NDArray[Any]:
        """Pattern of levels, as a number, of each pair of rows; the two broadcast against one another."""
        shape = np.broadcast_shapes(asked.shape, points.shape)
        patterns = np.zeros(shape, dtype=np.min_scalar_type(self.n_patterns - 1))
        for left, right in zip(self.asked.rows.T, self.points.rows.T, strict=True):
            apart = np.abs(left[asked] - right[points])
            patterns *= self.n_levels
            for threshold in self.thresholds:
                patterns += apart > threshold + _ROUNDING
        return patterns

    def levels(self, patterns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Level of each attribute, shape (n_attributes, n_patterns)."""
        return np.asarray(np.unravel_index(patterns, (self.n_levels,) * self.points.rows.shape[1]))

    def blocks(self, asked: Positions) -> Iterator[tuple[Positions, NDArray[Any]]]:
        """Patterns of some rows asked for with all distinct masked records, a few rows at a time."""
        points = np.arange(len(self.points.rows))
        for part in np.array_split(asked, -(-len(asked) // max(1, _BLOCK_PAIRS // len(points)))):
            yield part, self.patterns(part[:, None], points[None])

    def counts(self) -> Floats:
        """Pairs of records of each pattern, shape (n_patterns,)."""
        counts, weights = np.zeros(self.n_patterns), self.points.counts.astype(np.float64)
        for times in np.unique(self.asked.counts):
            for _, patterns in self.blocks(np.flatnonzero(self.asked.counts == times)):
                # Weights take time, and are all 1 in most files.
                of_pairs = None if len(weights) == weights.sum() else np.tile(weights, len(patterns))
                counts += times * np.bincount(patterns.ravel(), of_pairs, self.n_patterns)
        return counts

    def fitted(self) -> FittedLevels:
        """EM over patterns (Winkler 1988), begun with likely agreement of matches and all pairs' levels of others."""
        counts = self.counts()
        seen = np.flatnonzero(counts)
        levels, pairs, n_levels = self.levels(seen), counts[seen], self.n_levels
        share = 1 / float(self.points.counts.sum())
        matches = np.full((len(levels), n_levels), (1 - _FIRST_AGREEMENT) / (n_levels - 1))
        matches[:, 0] = _FIRST_AGREEMENT
        others, iterations = _level_shares(levels, pairs, n_levels), 0
        for iterations in range(1, _ITERATIONS + 1):  # noqa: B007 - how many it took
            odds = math.log(share / (1 - share)) + _summed(np.log(matches / others), levels)
            matched = pairs * scipy.special.expit(odds)
            last, matches = matches, _level_shares(levels, matched, n_levels)
            others = _level_shares(levels, pairs - matched, n_levels)
            if np.abs(matches - last).max() <= _CHANGE:
                break
        return FittedLevels(matches, others, iterations)


def _compare(files: Files, comparison: LevelComparison) -> _Compared:
    # Not centred, so that equal values stay equal.
    spread = files.masked.std(axis=0)
    compared = _Compared(
        distinct_rows(files.original / spread), distinct_rows(files.masked / spread), comparison.thresholds
    )
    if compared.n_patterns > _MOST_PATTERNS:
        raise ParameterError(
            "the comparison has more patterns of levels than can be fitted",
            where=f"{compared.n_levels} levels of {files.masked.shape[1]} attributes",
            expected=f"at most {_MOST_PATTERNS} patterns",
            got=f"{compared.n_patterns}",
            fix="use fewer levels or fewer attributes",
        )
    return compared


def _summed(of_level: Floats, levels: NDArray[np.intp]) -> Floats:
    total = np.zeros(levels.shape[1])
    for values, level in zip(of_level, levels, strict=True):
        total += values[level]
    return total


def _level_shares(levels: NDArray[np.intp], pairs: Floats, n_levels: int) -> Floats:
    """Share of each level among weighted pairs; kept from 0, so that no weight is infinite."""
    shares = np.stack([np.bincount(level, pairs, n_levels) for level in levels]) / pairs.sum()
    kept: Floats = np.maximum(shares, _LEAST_PROBABILITY)
    return kept
