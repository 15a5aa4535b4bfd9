"""Rivals: the masked records whose comparison with a record's own can decide whether it is linked."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.files import Positions
from tasks.assessments.linkage.learning.family import MATRICES, Kind
from tasks.assessments.linkage.learning.pairs import Pairs, blocks, distances, same_as_own

_MOST_ROWS = 2**17
_MOST_NEAR = 2_000
_FEWEST = 3


@dataclass(frozen=True)
class Rivals:
    """Pairs of a record and a rival, sorted by record."""

    records: Positions
    """Shape (n_rivals,)."""
    points: Positions
    """Shape (n_rivals,)."""

    def __len__(self) -> int:
        """Pairs."""
        return len(self.records)


def minimal_rivals(kind: Kind, pairs: Pairs) -> Rivals:
    """The rivals that can bind under a distance that is monotone in each attribute's: the Pareto-minimal ones.

    A rival that is at least as far as another in every attribute is never nearer; one that is farther than the
    record's own in every attribute is never as near as that. In large files only the nearest of them by the plain sum
    are kept, ``_MOST_ROWS`` in all, out of the ``_MOST_NEAR`` nearest of each record: parameters may then win less than
    these rivals say.
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
