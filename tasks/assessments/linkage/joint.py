"""Linkage of everybody at once: an intruder who holds the whole file knows that each masked record is one person's.

What is ruled out for one record then counts for the others. A table of pairs that may belong together is scaled until
each record and each masked record has its share (Sinkhorn 1967); what remains approximates the probability of each pair
among all one-to-one assignments, and pairs that are in none vanish.
"""

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.distance import distinct_rows, tie_limit
from tasks.assessments.linkage.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.files import Files, Positions
from tasks.assessments.linkage.within import PairScore, candidate_pairs
from tasks.core.errors import ParameterError
from tasks.masking.method import MaskedRange

Counts = NDArray[np.int64]

_ROUNDS = 200
_CLOSE = 1e-3


def joint_linkage(files: Files, bounds: MaskedRange, score: PairScore, most_pairs: int) -> Linkage:
    """Link each record to the masked record that is its own in the largest share of one-to-one assignments.

    Parameters
    ----------
    files : Files
        The intruder holds everybody.
    bounds : MaskedRange
        Masked values that each record's own may have.
    score : callable
        Minus the log-likelihood of a pair.
    most_pairs : int
        Pairs of distinct records to weigh at most.

    Raises
    ------
    ParameterError
        If no pairs remain, or more.
    """
    points = distinct_rows(files.masked)
    asked = distinct_rows(np.hstack([files.original, bounds.low, bounds.high]))
    row, point = _pairs(points.rows, MaskedRange(bounds.low[asked.first], bounds.high[asked.first]), most_pairs)
    scores = score(asked.first[row], points.first[point])
    n_asked, records = len(asked.rows), points.counts[point]
    weight: Floats = np.exp(_least(n_asked, row, scores)[row] - scores) * records
    plan = scaled_to_marginals(row, point, weight, asked.counts, points.counts)
    # Minus the probability that one of a pair's masked records is a given one of its records.
    share = -plan / (asked.counts[row] * records)
    limit = tie_limit(_least(n_asked, row, share))
    tied, size = np.bincount(row, records * (share <= limit[row]), n_asked), np.bincount(row, records, n_asked)
    keys, wanted = row * len(points.rows) + point, asked.of * len(points.rows) + points.of[files.truth]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    own = np.where(keys[place] == wanted, share[place], np.inf)
    credit = np.where(own <= limit[asked.of], 1 / np.maximum(tied, 1)[asked.of], 0.0)
    return linkage(credit, len(files.masked), size[asked.of].astype(np.int64))


def _pairs(points: Floats, bounds: MaskedRange, most: int) -> tuple[Positions, Positions]:
    """All pairs (row of the bounds, point within them), in order."""
    blocks, total = [], 0
    for block in candidate_pairs(points, bounds):
        blocks.append(block)
        total += len(block[0])
        if total > most:
            break
    if not 0 < total <= most:
        raise ParameterError(
            "everybody cannot be attacked at once",
            where="the pairs that may belong together",
            expected=f"at least one and at most {most}",
            got="more" if total else "none",
            fix="give the method's own parameters, let the intruder know more attributes, or attack records one by one",
        )
    row, point = (np.concatenate(side) for side in zip(*blocks, strict=True))
    order = np.argsort(row * len(points) + point)
    return row[order], point[order]


def _least(n_rows: int, row: Positions, values: Floats) -> Floats:
    """Least value of each row's pairs; +∞ where it has none."""
    least = np.full(n_rows, np.inf)
    np.minimum.at(least, row, values)
    return least


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
