"""Nearest masked record of each of the intruder's records, exact with ties, for large files.

Equal records are compared once. A k-d tree finds the nearest for few attributes. For many, blocks of a matrix product
do; its rounding only decides which pairs are looked at again in double precision, never a result.
"""

from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.assessments.linkage.distinct import DistinctRows, distinct_rows
from tasks.assessments.linkage.figure import Floats

Path = Literal["tree", "product"]

TIE_RELATIVE = 1e-9
"""Two distances tie when they differ by at most this share of the smaller …"""
TIE_ABSOLUTE = 1e-12
"""… plus this many standard deviations: room for rounding, far below any difference between distinct values."""
_MOST_TREE_ATTRIBUTES = 8
_MOST_PRODUCT_PAIRS = 2**34
_TILE_ROWS = 16
_TILE_POINTS = 1024
_BALLS = 4096


def tie_limit(smallest: Floats) -> Floats:
    """Largest value that ties with the smallest; for distances and for scores that are better the smaller."""
    limit: Floats = smallest + TIE_RELATIVE * np.abs(smallest) + TIE_ABSOLUTE
    return limit


def nearest_credit(
    original: Floats, masked: Floats, truth: NDArray[np.intp], path: Path | None = None, workers: int = -1
) -> Floats:
    """Share of the tie of nearest records that the truth is: 1/size, or 0 where it is not among them.

    Parameters
    ----------
    original : array of shape (n_known_records, n_attributes)
    masked : array of shape (n_records, n_attributes)
        On the same scale; Euclidean distances between the two are compared.
    truth : array of shape (n_known_records,)
        Position in ``masked`` of each record's own.
    path : {"tree", "product"}, optional
        How to find the nearest; the result is the same. Where not given, the tree up to 8 attributes, and beyond for
        files so large that it is cheaper even then.
    workers : int
        Processor cores for the tree; −1 is all. The result does not depend on it.

    Returns
    -------
    array of shape (n_known_records,), 0 to 1

    Notes
    -----
    Distances tie within ``tie_limit``. A tie counts records, not distinct values: ten equal nearest records are a
    choice of ten.
    """
    points, asked = distinct_rows(masked), distinct_rows(original)
    if path is None:
        few = masked.shape[1] <= _MOST_TREE_ATTRIBUTES
        path = "tree" if few or len(points.rows) * len(asked.rows) > _MOST_PRODUCT_PAIRS else "product"
    own = _distances(original, masked[truth])
    closest = np.full(len(asked.rows), np.inf)
    np.minimum.at(closest, asked.of, own)
    if path == "tree":
        smallest, tied = _by_tree(asked.rows, points, closest, workers)
    else:
        smallest, tied = _by_product(asked.rows, points)
    hit = own <= tie_limit(smallest)[asked.of]
    return np.where(hit, 1 / tied[asked.of], 0.0)


def _distances(left: Floats, right: Floats) -> Floats:
    apart = left - right
    distances: Floats = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return distances


def _by_tree(asked: Floats, points: DistinctRows, closest: Floats, workers: int) -> tuple[Floats, NDArray[np.int64]]:
    """Smallest distance of each row asked for and the records in its tie; counted only where ``closest`` is in it."""
    tree: Any = scipy.spatial.cKDTree(points.rows)
    nearest = _neighbours(tree, asked, 1, workers)[:, 0]
    smallest = _distances(asked, points.rows[nearest])
    limit, tied = tie_limit(smallest), points.counts[nearest]
    hit = np.flatnonzero(closest <= limit)
    if len(points.rows) > 1 and len(hit):
        second = _neighbours(tree, asked[hit], 2, workers)[:, 1]
        hit = hit[_distances(asked[hit], points.rows[second]) <= limit[hit]]
        for start in range(0, len(hit), _BALLS):
            part = hit[start : start + _BALLS]
            tied[part] = _in_balls(tree, points, asked[part], limit[part], workers)
    return smallest, tied


def _neighbours(tree: Any, asked: Floats, k: int, workers: int) -> NDArray[np.intp]:
    """The k nearest points; asked for from place to place, which keeps the tree in the processor's cache."""
    order = scipy.spatial.cKDTree(asked).indices
    found = np.empty((len(asked), k), dtype=np.intp)
    found[order] = tree.query(asked[order], k=list(range(1, k + 1)), workers=workers)[1]
    return found


def _in_balls(tree: Any, points: DistinctRows, asked: Floats, limit: Floats, workers: int) -> NDArray[np.int64]:
    inside = tree.query_ball_point(asked, limit * (1 + TIE_RELATIVE), workers=workers)
    row = np.repeat(np.arange(len(asked)), [len(found) for found in inside])
    point = np.concatenate([np.asarray(found, dtype=np.intp) for found in inside])
    return _tied(row, points.counts[point], _distances(asked[row], points.rows[point]) <= limit[row], len(asked))


def _tied(row: NDArray[np.intp], counts: NDArray[np.int64], tie: NDArray[np.bool_], n: int) -> NDArray[np.int64]:
    return np.rint(np.bincount(row, counts * tie, n)).astype(np.int64)


def _by_product(asked: Floats, points: DistinctRows) -> tuple[Floats, NDArray[np.int64]]:
    """Smallest distance of each row asked for and the records in its tie.

    The nearest point y of x has the largest x·y − |y|²/2, whose rounding is bounded; all points within twice the bound
    of the largest are measured again. Small tiles keep the products in cache and on one core.
    """
    tiles = _tiles(points.rows)
    reach = float(np.sqrt(np.einsum("ij,ij->i", points.rows, points.rows).max()))
    smallest, tied = np.empty(len(asked)), np.empty(len(asked), dtype=np.int64)
    for start in range(0, len(asked), _TILE_ROWS):
        rows = asked[start : start + _TILE_ROWS]
        left = np.column_stack([rows, np.ones(len(rows))]).astype(np.float32)
        closeness = np.matmul(left, tiles)
        least = _least_closeness(rows, closeness.max(axis=2).max(axis=0).astype(np.float64), reach)
        kept = np.flatnonzero(closeness >= least[:, None])
        tile, row, place = np.unravel_index(kept, closeness.shape)
        point = tile * _TILE_POINTS + place
        distance = _distances(rows[row], points.rows[point])
        found = np.full(len(rows), np.inf)
        np.minimum.at(found, row, distance)
        part = slice(start, start + _TILE_ROWS)
        smallest[part] = found
        tied[part] = _tied(row, points.counts[point], distance <= tie_limit(found)[row], len(rows))
    return smallest, tied


def _tiles(points: Floats) -> NDArray[np.float32]:
    """Points with −|y|²/2 as a last coordinate, shape (n_tiles, n_attributes + 1, _TILE_POINTS), the rest at −∞."""
    n_points, n_attributes = points.shape
    padded = np.zeros((-(-n_points // _TILE_POINTS) * _TILE_POINTS, n_attributes + 1), dtype=np.float32)
    padded[:n_points, :-1] = points
    padded[:n_points, -1] = -np.einsum("ij,ij->i", points, points) / 2
    padded[n_points:, -1] = -np.inf
    return np.ascontiguousarray(padded.reshape(-1, _TILE_POINTS, n_attributes + 1).transpose(0, 2, 1))


def _least_closeness(rows: Floats, best: Floats, reach: float) -> NDArray[np.float32]:
    """Closeness below which no point can be the nearest, nor tie with it, given the largest that was computed."""
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    unit = 2 * (rows.shape[1] + 4) * float(np.finfo(np.float32).eps)
    farthest = unit * (size + reach) ** 2
    distance = tie_limit(np.sqrt(np.maximum(size**2 - 2 * best, 0) + 2 * farthest))
    rounding = unit * (size + np.minimum(reach, size + distance)) ** 2
    tie = distance * (TIE_RELATIVE * distance + TIE_ABSOLUTE)
    least: NDArray[np.float32] = np.nextafter((best - 2 * (rounding + tie)).astype(np.float32), np.float32(-np.inf))
    return least
