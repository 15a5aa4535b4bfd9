"""Linkage of everybody at once: an intruder who holds the whole file knows that each masked record is one person's.

What is ruled out for one record then counts for the others. A table of pairs that may belong together is scaled until
each record and each masked record has its share (Sinkhorn 1967); what remains approximates the probability of each pair
among all one-to-one assignments, and pairs that are in none vanish.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.displacement import Displacement, displacement_score
from tasks.assessments.linkage.distinct import DistinctRows, distinct_rows
from tasks.assessments.linkage.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.files import Files, Positions
from tasks.assessments.linkage.intersection import rank_window_bounds
from tasks.assessments.linkage.nearest import tie_limit
from tasks.assessments.linkage.noise import NoiseScore, noise_score
from tasks.assessments.linkage.within import Bounds, Score, candidate_pairs, check_truth_inside
from tasks.core.errors import ParameterError

Counts = NDArray[np.int64]

_MOST_PAIRS = 2**25
_ROUNDS = 200
_CLOSE = 1e-3
_NOISE_REACH = 6.0


def joint_rank_swap_linkage(files: Files, window: int | None, displacement: Displacement | None = None) -> Linkage:
    """The intersection attack on everybody at once.

    Parameters
    ----------
    files : Files
        The intruder holds everybody.
    window : int or None
        k, in ranks, where the method moves no value farther; None where it may.
    displacement : Displacement, optional
        How likely each move is; all within the window where not given.

    Raises
    ------
    ParameterError
        If the intruder does not hold everybody, neither window nor displacement is given, a window is not the method's,
        or more than 2²⁵ pairs remain.
    """
    if window is None:
        if displacement is None:
            raise _refused("window and displacement", "at least one of them", "none", "say what the intruder knows")
        unbounded = np.full_like(files.original, np.inf)
        bounds = Bounds(-unbounded, unbounded)
    else:
        bounds = rank_window_bounds(files.original, files.masked, window)
        check_truth_inside(files, bounds, f"rank swapping within {window} ranks")
    return joint_linkage(files, bounds, None if displacement is None else displacement_score(files, displacement))


def joint_noise_linkage(files: Files, proportion: float, *, correlated: bool = False) -> Linkage:
    """The known-k attack on everybody at once; parameters as in ``noise_linkage``.

    Pairs farther apart than 6 standard deviations of the noise in an attribute are left out.

    Raises
    ------
    ParameterError
        If k is out of range, the intruder does not hold everybody, or more than 2²⁵ pairs remain.
    """
    score: NoiseScore = noise_score(files, proportion, correlated=correlated)
    reach = _NOISE_REACH * np.sqrt(proportion) * files.original.std(axis=0)
    return joint_linkage(files, Bounds(files.original - reach, files.original + reach), score)


def joint_linkage(files: Files, bounds: Bounds, surprise: Score | None, most_pairs: int = _MOST_PAIRS) -> Linkage:
    """Link each record to the masked record that is its own in the largest share of one-to-one assignments.

    Parameters
    ----------
    files : Files
    bounds : Bounds
        Masked values that each record's own may have.
    surprise : Score or None
        Minus the log-likelihood of a pair; None if all within the bounds are equally likely.
    most_pairs : int
        Pairs of distinct records to weigh at most.

    Raises
    ------
    ParameterError
        If the intruder does not hold everybody or more pairs remain.
    """
    if not files.knows_everybody:
        raise _refused("the intruder's file", "all records", "some of them", "attack them one by one")
    points = distinct_rows(files.masked)
    asked = distinct_rows(np.hstack([files.original, bounds.low, bounds.high]))
    pairs = _pairs(asked, points, bounds, most_pairs)
    scores = np.zeros(len(pairs.row))
    if surprise is not None:
        scores = surprise.of_pairs(asked.first[pairs.row], points.first[pairs.point])
    share = -_assigned(pairs, scores, asked, points)
    best = np.full(len(asked.rows), np.inf)
    np.minimum.at(best, pairs.row, share)
    tied = np.bincount(pairs.row, points.counts[pairs.point] * (share <= tie_limit(best)[pairs.row]), len(asked.rows))
    size = np.bincount(pairs.row, points.counts[pairs.point], len(asked.rows))
    own = _of_truth(pairs, share, asked.of, points.of[files.truth], len(points.rows))
    credit = np.where(own <= tie_limit(best)[asked.of], 1 / np.maximum(tied, 1)[asked.of], 0.0)
    return linkage(credit, len(files.masked), size[asked.of].astype(np.int64))


@dataclass(frozen=True)
class _Pairs:
    """Pairs of a distinct record and a distinct masked record, in order."""

    row: Positions
    point: Positions


def _pairs(asked: DistinctRows, points: DistinctRows, bounds: Bounds, most: int) -> _Pairs:
    rows, found, total = [], [], 0
    for row, point in candidate_pairs(points.rows, Bounds(bounds.low[asked.first], bounds.high[asked.first])):
        total += len(row)
        if total > most:
            raise _refused(
                "the pairs that may belong together",
                f"at most {most}",
                "more",
                "let the intruder know more attributes, or attack records one by one",
            )
        rows.append(row)
        found.append(point)
    if not rows:
        raise _refused("the bounds", "a candidate for some record", "none", "give the method's own parameters")
    row, point = np.concatenate(rows), np.concatenate(found)
    order = np.argsort(row * len(points.rows) + point)
    return _Pairs(row[order], point[order])


def scaled_to_marginals(
    row: Positions, point: Positions, weight: Floats, row_counts: Counts, point_counts: Counts
) -> Floats:
    """Weights of pairs, scaled so that each row and each point has its count in all (Sinkhorn 1967).

    Parameters
    ----------
    row, point : array of shape (n_pairs,)
    weight : array of shape (n_pairs,), greater than 0
    row_counts, point_counts : array of shape (n_rows,), (n_points,)
        With the same sum.

    Returns
    -------
    array of shape (n_pairs,)
        Rows sum to their counts; points do within a thousandth, or as near as 200 rounds come. Where no assignment of
        all rows to points exists, there is nothing to converge to.
    """
    plan, tiny = weight.copy(), np.finfo(np.float64).tiny
    for _ in range(_ROUNDS):
        columns = np.bincount(point, plan, len(point_counts))
        off = np.abs(columns / point_counts - 1).max()
        plan *= (point_counts / np.maximum(columns, tiny))[point]
        plan *= (row_counts / np.maximum(np.bincount(row, plan, len(row_counts)), tiny))[row]
        if off <= _CLOSE:
            break
    return plan


def _assigned(pairs: _Pairs, scores: Floats, asked: DistinctRows, points: DistinctRows) -> Floats:
    """Probability of each pair that one of its masked records is a given one of its records."""
    least = np.full(len(asked.rows), np.inf)
    np.minimum.at(least, pairs.row, scores)
    weight: Floats = np.exp(least[pairs.row] - scores) * points.counts[pairs.point]
    plan = scaled_to_marginals(pairs.row, pairs.point, weight, asked.counts, points.counts)
    probability: Floats = plan / (asked.counts[pairs.row] * points.counts[pairs.point])
    return probability


def _of_truth(pairs: _Pairs, values: Floats, rows: Positions, points: Positions, n_points: int) -> Floats:
    """Value of each record's own pair; +∞ where it is not among the pairs."""
    keys, wanted = pairs.row * n_points + pairs.point, rows * n_points + points
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], np.inf)


def _refused(where: str, expected: str, got: str, fix: str) -> ParameterError:
    return ParameterError("everybody cannot be attacked at once", where=where, expected=expected, got=got, fix=fix)
