"""Distance-based record linkage (DLD): each of the intruder's records is linked to the nearest masked one.

Exact with ties, for large files: equal records are compared once, and a k-d tree finds the nearest.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from tasks.assessments.linkage.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.files import Files, Positions, Scale, common_scale

TIE_RELATIVE = 1e-9
"""Two distances tie when they differ by at most this share of the smaller …"""
TIE_ABSOLUTE = 1e-12
"""… plus this many standard deviations: room for rounding, far below any difference between distinct values."""
_KEY_LIMIT = 2**62
_BALLS = 4096


def tie_limit(smallest: Floats) -> Floats:
    """Largest value that ties with the smallest; for distances and for scores that are better the smaller."""
    limit: Floats = smallest + TIE_RELATIVE * np.abs(smallest) + TIE_ABSOLUTE
    return limit


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of a file, in order of first appearance."""

    rows: Floats
    """Shape (n_distinct, n_attributes)."""
    first: Positions
    """Position in the file where each first appears, shape (n_distinct,)."""
    of: Positions
    """Distinct row of each record, shape (n_records,)."""
    counts: NDArray[np.int64]
    """Records of each distinct row, shape (n_distinct,)."""


def distinct_rows(values: Floats) -> DistinctRows:
    """Fold equal rows of an array of shape (n_records, n_attributes)."""
    keys, size = np.zeros(len(values), dtype=np.int64), 1
    for column in values.T:
        codes, found = pd.factorize(column)
        if size * len(found) >= _KEY_LIMIT:
            keys, distinct = pd.factorize(keys)
            size = len(distinct)
        keys, size = keys * len(found) + codes, size * len(found)
    keys, distinct = pd.factorize(keys)
    first = np.empty(len(distinct), dtype=np.intp)
    first[keys[::-1]] = np.arange(len(keys))[::-1]
    return DistinctRows(values[first], first, keys.astype(np.intp), np.bincount(keys).astype(np.int64))


def distance_linkage(files: Files, scale: Scale | None = None) -> Linkage:
    """Link by the Euclidean distance between standardised records (Torra 2016, slide 25).

    Parameters
    ----------
    files : Files
    scale : {"own", "masked"}, optional
        How the files are standardised; see ``common_scale``.

    Raises
    ------
    ParameterError
        If an attribute of the intruder's is the same in all records and it is to be standardised by itself.
    """
    original, masked = common_scale(files, scale)
    return linkage(nearest_credit(original, masked, files.truth), len(masked))


def nearest_credit(original: Floats, masked: Floats, truth: Positions) -> Floats:
    """Share of the tie of nearest records that the truth is: 1/size, or 0 where it is not among them.

    Parameters
    ----------
    original : array of shape (n_known_records, n_attributes)
    masked : array of shape (n_records, n_attributes)
        On the same scale; Euclidean distances between the two are compared.
    truth : array of shape (n_known_records,)
        Position in ``masked`` of each record's own.

    Returns
    -------
    array of shape (n_known_records,), 0 to 1

    Notes
    -----
    Distances tie within ``tie_limit``. A tie counts records, not distinct values: ten equal nearest records are a
    choice of ten.
    """
    points, asked = distinct_rows(masked), distinct_rows(original)
    tree: Any = scipy.spatial.cKDTree(points.rows)
    nearest = np.empty((len(asked.rows), min(2, len(points.rows))), dtype=np.intp)
    # Asked for from place to place, which keeps the tree in the processor's cache.
    order = scipy.spatial.cKDTree(asked.rows).indices
    nearest[order] = tree.query(asked.rows[order], k=list(range(1, nearest.shape[1] + 1)), workers=-1)[1]
    limit, tied = tie_limit(_distances(asked.rows, points.rows[nearest[:, 0]])), points.counts[nearest[:, 0]]
    hit = _distances(original, masked[truth]) <= limit[asked.of]
    several = np.unique(asked.of[hit])
    several = several[_distances(asked.rows[several], points.rows[nearest[several, -1]]) <= limit[several]]
    for start in range(0, len(several), _BALLS):
        part = several[start : start + _BALLS]
        inside = tree.query_ball_point(asked.rows[part], limit[part] * (1 + TIE_RELATIVE), workers=-1)
        row = np.repeat(np.arange(len(part)), [len(found) for found in inside])
        point = np.concatenate([np.asarray(found, dtype=np.intp) for found in inside])
        tie = _distances(asked.rows[part[row]], points.rows[point]) <= limit[part[row]]
        tied[part] = np.rint(np.bincount(row, points.counts[point] * tie, len(part)))
    return np.where(hit, 1 / tied[asked.of], 0.0)


def _distances(left: Floats, right: Floats) -> Floats:
    apart = left - right
    distances: Floats = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return distances
