"""Comparisons of records with the masked records they may be linked to, and the learning problem they make.

Rivals are the masked records whose comparison with a record's own can decide whether it is linked. Maximise Σ credit_i
over the records i with w·Δ_ij > 0 for all rivals j, where Δ_ij = φ_ij − φ_ii (Torra 2016, slide 33, whose K_i is 1 for
a record that is not won). Each row is divided by its largest entry and compared with ``MARGIN`` instead of 0, so that
rounding does not decide.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.learning.family import MATRICES, Kind, features, n_parameters
from tasks.assessments.linkage.problem.figure import Flags, Floats
from tasks.assessments.linkage.problem.files import DistinctRows, Files, Positions, Scale, common_scale, distinct_rows
from tasks.core.errors import ParameterError

_NUMBERS = 4_000_000


@dataclass(frozen=True)
class Components:
    """Distances by attribute of all pairs of records: hierarchies, numbers and words weighed together.

    Shape (n_known_records, n_records, n_attributes), 1 on average; ``truth`` is the masked record of each known one.
    """

    distances: Floats
    truth: Positions
    names: tuple[str, ...]


def scaled_components(distances: Floats, names: tuple[str, ...]) -> Components:
    """Bring distances of record i and j's masked one at [i, j], in any units, to a mean of 1 an attribute, or 0."""
    mean = distances.mean(axis=(0, 1))
    # An attribute whose distances are too small for doubles to divide says nothing either.
    scaled = distances / np.where(mean > np.finfo(float).tiny, mean, np.inf)
    return Components(scaled, np.arange(len(distances)), names)


@dataclass(frozen=True)
class Pairs:
    """The intruder's records and the points that they may be linked to: distinct masked records, or ready distances.

    ``own`` is the point that each record became, ``counts`` are the masked records of each point. ``original`` holds
    the standardised records, (n_records, n_attributes), or the distances, (n_records, n_points, n_attributes), where
    there are no ``points``.
    """

    original: Floats
    own: Positions
    counts: NDArray[np.int64]
    points: DistinctRows | None = None

    @property
    def n_attributes(self) -> int:
        """Attributes that are compared."""
        return int(self.original.shape[-1])

    def only(self, records: Positions) -> "Pairs":
        """The pairs of some of the intruder's records."""
        return replace(self, original=self.original[records], own=self.own[records])

    def compared(self, kind: Kind, records: Positions, points: Positions) -> Floats:
        """Comparisons used by a family in matching positions, shape (n, n_attributes)."""
        if self.points is None:
            return self.original[records, points]
        return _signed_or_squared(kind, self.points.rows[points] - self.original[records])

    def block(self, kind: Kind, part: slice) -> Floats:
        """Distances of some records to all points, shape (n_part, n_points, n_attributes)."""
        if self.points is None:
            return self.original[part]
        return _signed_or_squared(kind, self.points.rows - self.original[part, None, :])


def pairs_of(given: Files | Components, kind: Kind, scale: Scale | None = None) -> Pairs:
    """Records and points; ParameterError if a matrix is wanted of distances, or ``common_scale`` raises it."""
    if isinstance(given, Components):
        if kind in MATRICES:
            raise ParameterError(
                "a matrix cannot be learned from distances",
                where="kind of distance",
                expected="a family that needs no signed differences",
                got=kind.value,
                fix="give two numeric files, or learn a weighted mean",
            )
        return Pairs(given.distances, given.truth, np.ones(given.distances.shape[1], dtype=np.int64))
    original, masked = common_scale(given, scale)
    points = distinct_rows(masked)
    return Pairs(original, points.of[given.truth], points.counts, points)


def blocks(pairs: Pairs, kind: Kind) -> Iterator[tuple[slice, Floats]]:
    """Comparisons used by a family, a few records at a time against all points, so that memory use stays small."""
    per_record = len(pairs.counts) * n_parameters(kind, pairs.n_attributes)
    few = max(_NUMBERS // per_record, 1)
    for start in range(0, len(pairs.own), few):
        part = slice(start, min(start + few, len(pairs.own)))
        yield part, pairs.block(kind, part)


def distances(kind: Kind, parameters: Floats, pairs: Pairs) -> Iterator[tuple[slice, Floats]]:
    """Squared distances of a few records at a time and all points, shape (few, n_points)."""
    for part, compared in blocks(pairs, kind):
        yield part, features(kind, compared) @ parameters


def unbreakable_ties(kind: Kind, pairs: Pairs) -> NDArray[np.int64]:
    """Masked records, a record's own among them, that no distance of the family can distinguish from it."""
    size = np.empty(len(pairs.own), dtype=np.int64)
    for part, compared in blocks(pairs, kind):
        size[part] = same_as_own(kind, compared, pairs.own[part]) @ pairs.counts
    return size


def same_as_own(kind: Kind, compared: Floats, own: Positions) -> NDArray[np.bool_]:
    """Points whose features equal those of the record's own, in a block; shape (n_part, n_points)."""
    if kind is Kind.OWA:
        compared = np.sort(compared, axis=-1)
    mine = compared[np.arange(len(own)), own][:, None, :]
    same: NDArray[np.bool_] = np.all(compared == mine, axis=-1)
    if kind in MATRICES:
        same |= np.all(compared == -mine, axis=-1)
    return same


def _signed_or_squared(kind: Kind, differences: Floats) -> Floats:
    return differences if kind in MATRICES else np.square(differences)


_MOST_ROWS = 2**17
_MOST_NEAR = 2_000
_FEWEST = 3


@dataclass(frozen=True)
class Rivals:
    """Pairs of a record and a rival, sorted by record."""

    records: Positions
    points: Positions

    def __len__(self) -> int:
        """Pairs."""
        return len(self.records)


def minimal_rivals(kind: Kind, pairs: Pairs) -> Rivals:
    """The rivals that can bind under a distance that is monotone in each attribute's: the Pareto-minimal ones.

    One that is farther than the record's own in every attribute is never as near. In large files only the nearest by
    the plain sum are kept, ``_MOST_ROWS`` in all, out of the ``_MOST_NEAR`` nearest of each record: parameters may then
    win less than these rivals say.
    """
    if kind in MATRICES:
        raise ValueError(f"any rival can bind for {kind.value}")
    most = max(_MOST_ROWS // len(pairs.own), _FEWEST)
    records, points = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for part, compared in blocks(pairs, kind):
        same = same_as_own(kind, compared, pairs.own[part])
        apart = np.sort(compared, axis=-1) if kind is Kind.OWA else compared
        for place, record in enumerate(range(part.start, part.stop)):
            farther = np.all(apart[place] > apart[place, pairs.own[record]], axis=1)
            near = np.flatnonzero(~farther & ~same[place])
            found = near[_pareto_minimal(apart[place, near], most)]
            records.append(np.full(len(found), record))
            points.append(found)
    return Rivals(np.concatenate(records), np.concatenate(points))


def _pareto_minimal(values: Floats, most: int) -> NDArray[np.intp]:
    """The first ``most`` rows by ascending sum that no other is at most as large as in every column; one of equals."""
    kept: list[np.intp] = []
    order = np.argsort(values.sum(axis=1), kind="stable")[:_MOST_NEAR]
    left = values[order]
    while len(order) and len(kept) < most:
        kept.append(order[0])
        beaten = np.all(left >= left[0], axis=1)
        order, left = order[~beaten], left[~beaten]
    return np.array(kept, dtype=np.intp)


def nearest_rivals(kind: Kind, parameters: Floats, pairs: Pairs, count: int) -> Rivals:
    """The ``count`` rivals of each record that are nearest to it, those that are always tied left out."""
    count = min(count, len(pairs.counts))
    records, points = [], []
    for (part, apart), (_, compared) in zip(distances(kind, parameters, pairs), blocks(pairs, kind), strict=True):
        apart[same_as_own(kind, compared, pairs.own[part])] = np.inf
        nearest = np.sort(np.argpartition(apart, count - 1, axis=1)[:, :count], axis=1)
        row, place = np.nonzero(np.isfinite(np.take_along_axis(apart, nearest, axis=1)))
        records.append(row + part.start)
        points.append(nearest[row, place])
    return Rivals(np.concatenate(records), np.concatenate(points))


def merged(rivals: Rivals, others: Rivals, n_points: int) -> Rivals:
    """Rivals that are in either."""
    keys = np.concatenate([one.records * n_points + one.points for one in (rivals, others)])
    records, points = np.divmod(np.unique(keys), n_points)
    return Rivals(records, points)


MARGIN = 1e-7
"""A rival has to be farther than the record's own by this share of the largest term of the difference."""


@dataclass(frozen=True)
class Rows:
    """Comparisons of records that have rivals, sorted by record.

    ``gains`` is Δ, (n_parameters, n_rows); ``starts`` the first row of each record, ``records`` its position among all,
    (n_records,); ``of`` the record of each row; ``ties`` the size of the tie that no parameters break, of all records.
    """

    gains: Floats
    starts: NDArray[np.intp]
    of: NDArray[np.intp]
    records: NDArray[np.intp]
    ties: NDArray[np.int64]

    @cached_property
    def credit(self) -> Floats:
        """Credit of each record: 1 over the size of its tie, shape (n_records,)."""
        return 1 / self.ties[self.records]

    @cached_property
    def sure(self) -> float:
        """Credit of the records without rivals, which are won whatever the parameters."""
        return math.fsum((1 / np.delete(self.ties, self.records)).tolist())

    def scores(self, parameters: Floats) -> Floats:
        """w·Δ less the margin, shape (n_rows,); parameters whose largest is 1."""
        return combined(parameters, self.gains) - MARGIN

    def won(self, scores: Floats) -> Flags:
        """Records with all scores above 0, shape (n_records,)."""
        return np.minimum.reduceat(scores, self.starts) > 0

    def slice(self, record: int) -> slice:
        """Rows of a record."""
        ends = self.starts[record + 1 : record + 2]
        return slice(self.starts[record], ends[0] if len(ends) else len(self.of))

    def wins(self, parameters: Floats) -> Flags:
        """Records that the parameters win, of all records, including those without rivals."""
        result = np.ones(len(self.ties), dtype=np.bool_)
        if len(self.starts):
            result[self.records] = self.won(self.scores(unit(parameters)))
        return result


def rows_of(kind: Kind, pairs: Pairs, rivals: Rivals, ties: NDArray[np.int64]) -> Rows:
    """The comparisons of a set of rivals; ``ties`` is the size of each record's unbreakable tie."""
    everyone = np.arange(len(pairs.own))
    own = features(kind, pairs.compared(kind, everyone, pairs.own))
    gains = features(kind, pairs.compared(kind, rivals.records, rivals.points)) - own[rivals.records]
    largest = np.abs(gains).max(axis=1, initial=0.0)
    gains /= np.where(largest > 0, largest, 1.0)[:, None]
    record, starts, of = np.unique(rivals.records, return_index=True, return_inverse=True)
    return Rows(np.ascontiguousarray(gains.T), starts, of, record, ties)


def lowest(scores: Floats, of: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Positions of the lowest scores of each record, ``most`` a record; ``of`` is in ascending order."""
    order = np.lexsort((scores, of))
    place = np.arange(len(order)) - np.searchsorted(of, of)
    return order[place < most]


def unit(parameters: Floats) -> Floats:
    """A vector of the same direction with a largest entry of 1; zero stays zero."""
    largest = np.abs(parameters).max()
    return parameters / largest if largest > 0 else parameters


def combined(weights: Floats, columns: Floats) -> Floats:
    """Σ weights·columns, added in order: the number of processors changes no bit."""
    total = np.zeros(columns.shape[1])
    for place in np.flatnonzero(weights):
        total += weights[place] * columns[place]
    return total
