"""Records and the masked records they may be linked to: how each pair differs, attribute by attribute."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.distance import DistinctRows, distinct_rows
from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.files import Files, Positions, Scale, common_scale
from tasks.assessments.linkage.learning.family import MATRICES, Kind, features, n_parameters
from tasks.core.errors import ParameterError

_NUMBERS = 4_000_000


@dataclass(frozen=True)
class Components:
    """Distances by attribute of all pairs of records: hierarchies, numbers and words weighed together."""

    distances: Floats
    """Distance of the intruder's record i and masked record j in attribute k over the attribute's mean of all pairs;
    an attribute in which nothing differs is 0. Shape (n_known_records, n_records, n_attributes)."""
    truth: Positions
    """Masked record that each of the intruder's became, shape (n_known_records,)."""
    names: tuple[str, ...]
    """Names of the attributes."""


def scaled_components(distances: Floats, names: tuple[str, ...]) -> Components:
    """Bring distances to one scale, on which each attribute's mean over all pairs is 1.

    Parameters
    ----------
    distances : array of shape (n_records, n_records, n_attributes)
        From 0; [i, j, k] is how far the intruder's record i is from the masked record of j in attribute k: a squared
        difference of numbers, a distance on a hierarchy. The units of different attributes do not matter.
    names : tuple of str
        Names of the attributes.
    """
    mean = distances.mean(axis=(0, 1))
    # An attribute whose distances are too small for doubles to divide says nothing either.
    scaled = distances / np.where(mean > np.finfo(float).tiny, mean, np.inf)
    return Components(scaled, np.arange(len(distances)), names)


@dataclass(frozen=True)
class NumericPairs:
    """The intruder's records and the distinct masked records, standardised; equal masked records are one point."""

    original: Floats
    """Shape (n_records, n_attributes)."""
    points: DistinctRows
    """The distinct masked records."""
    own: Positions
    """Point that each record became, shape (n_records,)."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Masked records of each point."""
        return self.points.counts

    @property
    def n_attributes(self) -> int:
        """Attributes that are compared."""
        return int(self.original.shape[1])

    def only(self, records: Positions) -> "NumericPairs":
        """The same with some of the intruder's records."""
        return replace(self, original=self.original[records], own=self.own[records])

    def compared(self, kind: Kind, records: Positions, points: Positions) -> Floats:
        """Comparisons used by a family in matching positions, shape (n, n_attributes)."""
        return _signed_or_squared(kind, self.points.rows[points] - self.original[records])

    def block(self, kind: Kind, part: slice) -> Floats:
        """The same of some records and all points, shape (n_part, n_points, n_attributes)."""
        return _signed_or_squared(kind, self.points.rows - self.original[part, None, :])


@dataclass(frozen=True)
class ReadyPairs:
    """Distances that are given; every masked record is a point."""

    distances: Floats
    """Shape (n_records, n_points, n_attributes)."""
    own: Positions
    """Point that each record became, shape (n_records,)."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Masked records of each point."""
        return np.ones(self.distances.shape[1], dtype=np.int64)

    @property
    def n_attributes(self) -> int:
        """Attributes that are compared."""
        return int(self.distances.shape[2])

    def only(self, records: Positions) -> "ReadyPairs":
        """The same with some of the intruder's records."""
        return ReadyPairs(self.distances[records], self.own[records])

    def compared(self, kind: Kind, records: Positions, points: Positions) -> Floats:  # noqa: ARG002
        """Distances of matching positions, shape (n, n_attributes)."""
        return self.distances[records, points]

    def block(self, kind: Kind, part: slice) -> Floats:  # noqa: ARG002
        """Distances of some records and all points, shape (n_part, n_points, n_attributes)."""
        return self.distances[part]


Pairs = NumericPairs | ReadyPairs


def pairs_of(given: Files | Components, kind: Kind, scale: Scale | None = None) -> Pairs:
    """Records and points of two files, or of distances that are ready.

    Raises
    ------
    ParameterError
        If a family of matrices, which needs signed differences, is wanted of distances; if an attribute has no
        standard deviation; see ``common_scale`` for this and for ``scale``.
    """
    if isinstance(given, Components):
        if kind in MATRICES:
            raise ParameterError(
                "a matrix cannot be learned from distances",
                where="kind of distance",
                expected="a family that needs no signed differences",
                got=kind.value,
                fix="give two numeric files, or learn a weighted mean",
            )
        return ReadyPairs(given.distances, given.truth)
    original, masked = common_scale(given, scale)
    points = distinct_rows(masked)
    return NumericPairs(original, points, points.of[given.truth])


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
    """Masked records that no distance of the family can distinguish from a record's own, which is one of them.

    Such are equal masked records, and those that differ from the intruder's record as its own does in all attributes.
    """
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
