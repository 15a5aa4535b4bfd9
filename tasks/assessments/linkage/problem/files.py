"""Files of the intruder: the masked file, and original records with some attributes of some people; their distances.

Distance-based record linkage (DLD) links each of the intruder's records to the nearest masked one, exactly with ties.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from tasks.assessments.linkage.problem.figure import Floats, Linkage, linkage
from tasks.core.errors import ParameterError, row_positions

Positions = NDArray[np.intp]
Scale = Literal["own", "masked"]


@dataclass(frozen=True)
class Knowledge:
    """The part of the original file that the intruder has.

    Positions of known attributes and individuals' records; None is all.
    """

    attributes: tuple[int, ...] | None = None
    records: tuple[int, ...] | None = None


EVERYTHING = Knowledge()
"""The worst case: the original file."""


@dataclass(frozen=True)
class Files:
    """Two numeric files over the attributes that the intruder knows, checked; made by ``files_to_link``.

    Shapes are (n_known_records, n_attributes) and (n_records, n_attributes). ``truth`` is each own masked record, to
    score.
    """

    original: Floats
    masked: Floats
    truth: Positions
    names: tuple[str, ...]

    @property
    def knows_everybody(self) -> bool:
        """Whether the intruder's file lists everybody who is in the masked file."""
        return len(self.original) == len(self.masked)


def files_to_link(
    original: ArrayLike, masked: ArrayLike, knowledge: Knowledge = EVERYTHING, names: Sequence[str] | None = None
) -> Files:
    """Check the two files and keep what the intruder knows.

    Arrays of shape (n_records, n_attributes); record i of the masked file is record i of the original. ParameterError
    if they are empty, differ in shape, are not numeric, hold missing or infinite values, if a known attribute is the
    same in all masked records, or if the knowledge names what is not there.
    """
    before, after = _numbers(original, "original file"), _numbers(masked, "masked file")
    if before.shape != after.shape:
        raise ParameterError(
            "the two files cannot be paired",
            where="original and masked file",
            expected="the same number of records and of attributes",
            got=f"{before.shape[0]} × {before.shape[1]} and {after.shape[0]} × {after.shape[1]}",
            fix="give the masked file of the same records and attributes, in the same order",
        )
    n_records, n_attributes = before.shape
    called = tuple(names) if names is not None else tuple(f"attribute {i + 1}" for i in range(n_attributes))
    if len(called) != n_attributes:
        raise _refused("names", f"{n_attributes} names, one an attribute", f"{len(called)}", "name every attribute")
    attributes = known_positions(knowledge.attributes, n_attributes, "known attributes")
    truth = known_positions(knowledge.records, n_records, "known records")
    known = tuple(called[attribute] for attribute in attributes)
    after = np.ascontiguousarray(after[:, attributes])
    before = np.ascontiguousarray(before[np.ix_(truth, attributes)])
    _check_finite(before, known, "original file")
    _check_finite(after, known, "masked file")
    _check_varies(after, known, "masked file")
    return Files(before, after, truth, known)


def common_scale(files: Files, scale: Scale | None = None) -> tuple[Floats, Floats]:
    """Both files in standard deviations, so that attributes can be added up.

    "own" standardises each file by its own mean and standard deviation, as in the literature; "masked" both by the
    masked file's, which an intruder needs who holds a few individuals only. Where not given, the first for an intruder
    who holds everybody, else the second. ParameterError if an attribute is the same in all records of a file that is to
    be standardised by itself.
    """
    mean, spread = files.masked.mean(axis=0), files.masked.std(axis=0)
    masked = (files.masked - mean) / spread
    if scale == "masked" or (scale is None and not files.knows_everybody):
        return (files.original - mean) / spread, masked
    _check_varies(files.original, files.names, "original file")
    return (files.original - files.original.mean(axis=0)) / files.original.std(axis=0), masked


def _numbers(values: ArrayLike, where: str) -> Floats:
    given = np.asarray(values)
    if given.dtype.kind not in "iuf":
        raise ParameterError(
            "record linkage of numeric files needs numbers",
            where=where,
            expected="whole or floating-point numbers",
            got="another type of value",
            fix="leave out attributes that are not numeric",
        )
    if given.ndim != 2 or 0 in given.shape:
        raise ParameterError(
            "there is nothing to link",
            where=where,
            expected="a table of at least one record and one attribute",
            got=f"an array of shape {given.shape}",
            fix="give records in rows and attributes in columns",
        )
    return np.asarray(given, dtype=np.float64)


def known_positions(wanted: ArrayLike | None, available: int, where: str, fewest: int = 1) -> Positions:
    """Positions that an intruder knows, all where not given; ParameterError if too few, repeated or not there."""
    positions = np.arange(available) if wanted is None else np.asarray(wanted)
    fits = positions.ndim == 1 and positions.dtype.kind in "iu" and len(positions) >= fewest
    if not fits or positions.min() < 0 or positions.max() >= available or len(np.unique(positions)) < len(positions):
        expected = f"at least {fewest} different positions from 0 to {available - 1}"
        raise _refused(where, expected, f"{positions.size} positions", "name enough positions of the file, each once")
    return positions.astype(np.intp)


def _check_finite(values: Floats, names: Sequence[str], where: str) -> None:
    for name, column in zip(names, values.T, strict=True):
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise ParameterError(
                "a value is missing or infinite",
                where=f"{where}, {name}, {row_positions(bad)}",
                expected="a finite number in every record",
                got=f"{len(bad)} without",
                fix="complete the records or leave them out of both files",
            )


def _check_varies(values: Floats, names: Sequence[str], where: str) -> None:
    with np.errstate(over="ignore", under="ignore"):
        spread = values.std(axis=0)
    for name, column, deviation in zip(names, values.T, spread, strict=True):
        if column.min() == column.max() or not 0 < deviation < np.inf:
            raise ParameterError(
                "an attribute has no standard deviation",
                where=f"{where}, {name}",
                expected="two values that differ, neither too little nor too much for a double to square",
                got="an attribute that is the same in all records, or beyond such numbers",
                fix="leave the attribute out of the attack; it tells records from one another in no way",
            )


def _refused(where: str, expected: str, got: str, fix: str) -> ParameterError:
    return ParameterError("what the intruder knows cannot be used", where=where, expected=expected, got=got, fix=fix)


TIE_RELATIVE = 1e-9
"""Two distances tie when they differ by at most this share of the smaller …"""
TIE_ABSOLUTE = 1e-12
"""… plus this many standard deviations: room for rounding, far below any difference between distinct values."""
_KEY_LIMIT = 2**62
_BALLS = 4096
NEAREST = 256
"""Records that are compared by a distance without coordinates: the nearest by one that has them."""


def tie_limit(smallest: Floats) -> Floats:
    """Largest value that ties with the smallest; for distances and for scores that are better the smaller."""
    return smallest + TIE_RELATIVE * np.abs(smallest) + TIE_ABSOLUTE


class Cheapest:
    """The best candidates of each row: least cost, records at it and records of all candidates, shape (n_rows,)."""

    def __init__(self, n_rows: int) -> None:
        self.cost = np.full(n_rows, np.inf)
        self.tied, self.size = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)

    def add_pairs(self, row: Positions, cost: Floats, records: NDArray[np.int64]) -> None:
        """Look at all candidates of some rows, each with its records; those of a row are together."""
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        if len(starts):
            held = row[starts]
            self.cost[held] = np.minimum.reduceat(cost, starts)
            self.tied[held] = np.add.reduceat(records * (cost <= tie_limit(self.cost[row])), starts)
            self.size[held] = np.add.reduceat(records, starts)

    def add_table(self, rows: Positions | slice, cost: Floats, records: NDArray[np.int64]) -> None:
        """Look at the candidates of some rows, which are the same for all: costs (n_rows, n_candidates)."""
        self.cost[rows] = cost.min(axis=1)
        self.tied[rows] = (cost <= tie_limit(self.cost[rows])[:, None]) @ records
        self.size[rows] = records.sum()

    def credit(self, row: Positions | slice, own: Floats) -> Floats:
        """1/size of the tie in each of some rows that a candidate of the ``own`` cost is in; 0 where it is not."""
        tied = self.tied[row]
        hit = (own <= tie_limit(self.cost[row])) & (tied > 0)
        return np.where(hit, 1 / np.maximum(tied, 1), 0.0)


def cheapest_credit(cost: Floats, own: Positions | int, records: NDArray[np.int64]) -> Floats:
    """1/size of the tie of each row's least costs that its ``own`` column is in; costs (n_rows, n_candidates)."""
    at, limit, credit = cost[np.arange(len(cost)), own], tie_limit(cost.min(axis=1)), np.zeros(len(cost))
    hit = np.flatnonzero(at <= limit)  # most own records are not among the nearest, and their ties are not counted
    credit[hit] = 1 / ((cost[hit] <= limit[hit, None]) @ records)
    return credit


def places(ordered: NDArray[np.int64], wanted: NDArray[np.int64]) -> Positions:
    """Place of each wanted number in an ordered array; −1 where it is not there."""
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[place] == wanted, place, -1)


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of a file by first appearance: where each is first, the row of each record, its records."""

    rows: Floats
    first: Positions
    of: Positions
    counts: NDArray[np.int64]


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
    """Link by the Euclidean distance between standardised records (Torra 2016, slide 25)."""
    original, masked = common_scale(files, scale)
    return linkage(nearest_credit(original, masked, files.truth), len(masked))


def nearest_credit(original: Floats, masked: Floats, truth: Positions) -> Floats:
    """1/size of the tie of nearest records that holds the truth, 0 where none does; shape (n_known_records,).

    Rows are on the same scale; Euclidean distances tie within ``tie_limit``. A tie counts records, not distinct values.
    """
    points, asked = distinct_rows(masked), distinct_rows(original)
    tree: Any = scipy.spatial.cKDTree(points.rows)
    nearest = np.empty((len(asked.rows), min(2, len(points.rows))), dtype=np.intp)
    # Asked for from place to place, which keeps the tree in the processor's cache.
    order = scipy.spatial.cKDTree(asked.rows).indices
    nearest[order] = tree.query(asked.rows[order], k=list(range(1, nearest.shape[1] + 1)), workers=-1)[1]
    limit, tied = tie_limit(distances_between(asked.rows, points.rows[nearest[:, 0]])), points.counts[nearest[:, 0]]
    hit = distances_between(original, masked[truth]) <= limit[asked.of]
    several = np.unique(asked.of[hit])
    several = several[distances_between(asked.rows[several], points.rows[nearest[several, -1]]) <= limit[several]]
    for start in range(0, len(several), _BALLS):
        part = several[start : start + _BALLS]
        inside = tree.query_ball_point(asked.rows[part], limit[part] * (1 + TIE_RELATIVE), workers=-1)
        row = np.repeat(np.arange(len(part)), [len(found) for found in inside])
        point = np.concatenate([np.asarray(found, dtype=np.intp) for found in inside])
        tie = distances_between(asked.rows[part[row]], points.rows[point]) <= limit[part[row]]
        tied[part] = np.rint(np.bincount(row, points.counts[point] * tie, len(part)))
    return np.where(hit, 1 / tied[asked.of], 0.0)


def distances_between(left: Floats, right: Floats) -> Floats:
    """Euclidean distance of each row of two arrays."""
    apart = left - right
    distances: Floats = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return distances
