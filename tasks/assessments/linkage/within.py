"""Linkage within a set: the masked records that the intruder cannot rule out, and the best of them.

What an intruder knows of the method says of each attribute between which masked values a record's own must lie. The
candidates of a record are the masked records within all its bounds; among several, a score chooses.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.distinct import DistinctRows, distinct_rows
from tasks.assessments.linkage.figure import Flags, Floats, Linkage, linkage
from tasks.assessments.linkage.files import Files, Positions, Scale, common_scale
from tasks.assessments.linkage.nearest import nearest_credit, tie_limit
from tasks.core.errors import ParameterError, row_positions

_BLOCK_PAIRS = 2**21
_SPARSE = 0.05


@dataclass(frozen=True)
class Bounds:
    """Least and greatest masked value that a record's own can have, shape (n_known_records, n_known_attributes)."""

    low: Floats
    """−∞ where nothing is known."""
    high: Floats
    """+∞ where nothing is known."""


class Score(Protocol):
    """Mismatch between an intruder's record and a masked one."""

    def of_pairs(self, records: Positions, candidates: Positions) -> Floats:
        """Score of pairs (intruder's record, masked record) by position; the smaller, the better they fit."""

    def credit_anywhere(self, records: Positions) -> Floats:
        """Credit of linking each of the intruder's records to the best of the whole masked file."""


@dataclass(frozen=True)
class DistanceScore:
    """Euclidean distance between standardised records."""

    original: Floats
    masked: Floats
    truth: Positions

    def of_pairs(self, records: Positions, candidates: Positions) -> Floats:
        """Distance of each pair, in standard deviations."""
        apart = self.original[records] - self.masked[candidates]
        distances: Floats = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return distances

    def credit_anywhere(self, records: Positions) -> Floats:
        """Credit of the nearest masked record."""
        return nearest_credit(self.original[records], self.masked, self.truth[records])


def distance_score(files: Files, scale: Scale | None = None) -> DistanceScore:
    """The score of DLD; ``scale`` as in ``common_scale``."""
    original, masked = common_scale(files, scale)
    return DistanceScore(original, masked, files.truth)


def linkage_within(files: Files, bounds: Bounds, score: Score) -> Linkage:
    """Link each record to the best of its candidates; a record with one candidate is linked without a score.

    Parameters
    ----------
    files : Files
    bounds : Bounds
    score : Score
        Ties are shared as ``nearest.tie_limit`` says. Where a record has no candidate, the intruder sees
        that the bounds are wrong and takes the best of the whole file.
    """
    n_known, n_masked = len(files.original), len(files.masked)
    if np.isinf(bounds.low).all() and np.isinf(bounds.high).all():
        return linkage(score.credit_anywhere(np.arange(n_known)), n_masked, np.full(n_known, n_masked))
    points = distinct_rows(files.masked)
    asked = distinct_rows(np.hstack([files.original, bounds.low, bounds.high]))
    best, tied, size = _best_candidates(points, asked, Bounds(bounds.low[asked.first], bounds.high[asked.first]), score)
    inside = np.flatnonzero(truth_inside(files, bounds))
    own = score.of_pairs(asked.first[asked.of[inside]], points.first[points.of[files.truth[inside]]])
    hit = inside[own <= tie_limit(best)[asked.of[inside]]]
    credit, sizes = np.zeros(n_known), size[asked.of]
    credit[hit] = 1 / tied[asked.of[hit]]
    lost = np.flatnonzero(sizes == 0)
    if len(lost):
        credit[lost] = score.credit_anywhere(lost)
    return linkage(credit, n_masked, sizes)


def truth_inside(files: Files, bounds: Bounds) -> Flags:
    """Whether each record's own masked record is among its candidates, shape (n_known_records,)."""
    own = files.masked[files.truth]
    inside: Flags = np.all((own >= bounds.low) & (own <= bounds.high), axis=1)
    return inside


def check_truth_inside(files: Files, bounds: Bounds, method: str) -> None:
    """Refuse bounds that a method is said to guarantee and does not.

    Raises
    ------
    ParameterError
        If some record's own masked record is not among its candidates.
    """
    outside = np.flatnonzero(~truth_inside(files, bounds))
    if len(outside):
        raise ParameterError(
            f"the masked file was not made by {method}",
            where=f"the intruder's {row_positions(outside)}",
            expected="every masked value within the bounds that the method guarantees",
            got=f"{len(outside)} records with a value beyond",
            fix="give the method and the parameters that the file was masked with",
        )


def _best_candidates(
    points: DistinctRows, asked: DistinctRows, bounds: Bounds, score: Score
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Best score among the candidates of each row asked for, records in its tie, and all candidates."""
    n_asked = len(asked.rows)
    best, tied, size = np.full(n_asked, np.inf), np.zeros(n_asked, np.int64), np.zeros(n_asked, np.int64)
    for row, point in candidate_pairs(points.rows, bounds):
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        held, counts = row[starts], points.counts[point]
        scores = score.of_pairs(asked.first[row], points.first[point])
        best[held] = np.minimum.reduceat(scores, starts)
        size[held] = np.add.reduceat(counts, starts)
        tied[held] = np.add.reduceat(counts * (scores <= tie_limit(best)[row]), starts)
    return best, tied, size


def candidate_pairs(points: Floats, bounds: Bounds) -> Iterator[tuple[Positions, Positions]]:
    """All pairs (row of the bounds, point within them), in blocks; the pairs of a row are together.

    Parameters
    ----------
    points : array of shape (n_points, n_attributes)
    bounds : Bounds
    """
    yield from _candidates(_boxes(points, bounds))


@dataclass(frozen=True)
class _Boxes:
    """Points and bounds as ranks of the distinct values; attributes in order of how few points their bounds leave."""

    codes: NDArray[np.int32]
    """Shape (n_attributes, n_points); points in order of the first attribute."""
    points: Positions
    """Number of each point, shape (n_points,)."""
    low: NDArray[np.int32]
    """Shape (n_attributes, n_rows)."""
    high: NDArray[np.int32]


def _boxes(points: Floats, bounds: Bounds) -> _Boxes:
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


def _candidates(boxes: _Boxes) -> Iterator[tuple[Positions, Positions]]:
    """All pairs of a row and a point in its box, in blocks; the pairs of a row are together."""
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
