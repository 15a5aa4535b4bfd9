"""The informed intruder on a whole release: rule, maskings and their parameters known, and the original file held.

A person's record is among those with the person's own cell, equal in what is released unchanged, and within what each
masking allows. Who holds the whole file can link everybody at once, for each masked record is one person's: pairs that
may belong together are scaled until each record and each masked record has its share (Sinkhorn 1967), which
approximates the probability of each pair among all one-to-one assignments; pairs that are in none vanish.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.assessments.linkage.problem.figure import Floats, Linkage, linkage, together
from tasks.assessments.linkage.problem.files import Cheapest, DistinctRows, Files, Positions, distinct_rows, places
from tasks.assessments.linkage.within import MaskedPart, PairScore, candidate_pairs, linkage_within
from tasks.core.errors import ParameterError
from tasks.generalization.kanonymity.classes import fold
from tasks.masking.method import MaskedRange
from tasks.microdata.tuples import Counts

_ROUNDS = 200
_CLOSE = 1e-3
_TINY = np.finfo(np.float64).tiny
_MOST_WORK = 2**27
"""Pairs that are scaled in all rounds together."""


def joint_linkage(files: Files, bounds: MaskedRange, score: PairScore, most_pairs: int) -> Linkage:
    """Link each record to the masked record that is its own in the largest share of one-to-one assignments.

    The intruder holds everybody; ``score`` is minus the log-likelihood of a pair. ParameterError if no pairs of
    distinct records are left to weigh, or more than ``most_pairs``.
    """
    points = distinct_rows(files.masked)
    asked = distinct_rows(np.hstack([files.original, bounds.low, bounds.high]))
    row, point = _pairs(points.rows, MaskedRange(bounds.low[asked.first], bounds.high[asked.first]), most_pairs)
    return _assigned(files, asked, points, (row, point), score)


def _assigned(
    files: Files, asked: DistinctRows, points: DistinctRows, pairs: tuple[Positions, Positions], score: PairScore
) -> Linkage:
    """Scale the weights of pairs, in order, to all one-to-one assignments, and link by them."""
    row, point = pairs
    scores = score(asked.first[row], points.first[point])
    n_asked, records = len(asked.rows), points.counts[point]
    likeliest, best = Cheapest(n_asked), Cheapest(n_asked)
    likeliest.add_pairs(row, scores, records)
    weight: Floats = np.exp(likeliest.cost[row] - scores) * records
    plan = scaled_to_marginals(row, point, weight, asked.counts, points.counts)
    # Minus the probability that one of a pair's masked records is a given one of its records.
    share = -plan / (asked.counts[row] * records)
    best.add_pairs(row, share, records)
    n_points = len(points.rows)
    place = places(row * n_points + point, asked.of * n_points + points.of[files.truth])
    own = np.where(place >= 0, share[place], np.inf)
    return linkage(best.credit(asked.of, own), len(files.masked), best.size[asked.of])


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


def scaled_to_marginals(
    row: Positions, point: Positions, weight: Floats, row_counts: Counts, point_counts: Counts
) -> Floats:
    """Weights of pairs, above 0, scaled so that each row and each point has its count in all (Sinkhorn 1967).

    Rows sum to their counts; points within a thousandth, or as near as 200 rounds come, fewer of very many pairs, if
    there is any assignment.
    """
    plan = weight.copy()
    for _ in range(max(min(_ROUNDS, _MOST_WORK // max(len(row), 1)), 1)):
        columns = np.bincount(point, plan, len(point_counts))
        off = np.abs(columns / point_counts - 1).max()
        plan *= (point_counts / np.maximum(columns, _TINY))[point]
        plan *= (row_counts / np.maximum(np.bincount(row, plan, len(row_counts)), _TINY))[row]
        if off <= _CLOSE:
            break
    return plan


def _total(score: PairScore, people: Positions, plus: Floats | float, records: Positions | None = None) -> Floats:
    """Logarithm of the sum of likelihoods of each row's people, (n_records, n_people); of all records by default."""
    rows = np.arange(len(people)) if records is None else records
    apart = score(people.ravel(), np.repeat(rows, people.shape[1])).reshape(people.shape) + plus
    least = apart.min(axis=1, keepdims=True)
    least = np.where(np.isfinite(least), least, 0.0)
    total: Floats = np.log(np.maximum(np.exp(least - apart).sum(axis=1), _TINY)) - least[:, 0]
    return total


_MOST_PAIRS = 2**22
"""Pairs that are weighed at once."""
_MOST_IN_BLOCKS = 2**24
"""Pairs that are weighed in all blocks together."""
_FEWEST_IN_BLOCK = 2**8
_NEAREST = 64
_MOST_EXPLAINING = 512
_BLOCK_PAIRS = 2**20
_APART = 1e6
"""More than coordinates of two records of one class are apart."""


@dataclass(frozen=True)
class InformedView:
    """A file as an intruder with the original one sees it; all records of the file, released or not.

    ``released`` holds the position of each released record; ``equal``, of shape (n_records, n_equal), numbers from 0
    that a person's own record must share: of the own cell, and of values released unchanged.
    """

    released: Positions
    equal: NDArray[np.int64]
    parts: tuple[MaskedPart, ...] = ()

    @cached_property
    def class_of(self) -> NDArray[np.int64]:
        """Number of the class of each released record: those equal in all that must be equal."""
        return fold(self.equal[self.released])[0]

    def equal_linkage(self) -> Linkage:
        """Guess among the records that are equal in all that must be."""
        size = np.bincount(self.class_of)[self.class_of]
        return linkage(1 / size, len(size), size)

    def candidate_linkage(self, people: Positions) -> Linkage:
        """Link people to the best candidates left; ParameterError if the masked values are not those of the method."""
        everybody = np.arange(len(self.released))
        return linkage_within(
            self._files(people, everybody, people), self._bounds(people), self._score(people, everybody, best=False)
        )

    def joint_linkage(self, generator: np.random.Generator) -> Linkage:
        """Link everybody at once: no two people have the same record.

        Records of different classes cannot be each other's. Where pairs that may belong together are too many, classes
        are attacked in blocks of people who are near each other, of which some are drawn where there are many. The
        intruder is told which records are of which block. Who is told more links no less, so that this is an upper
        bound on what everybody at once gives away; ``bound`` says so.
        """
        sizes = np.bincount(self.class_of)
        if (sizes**2).sum() <= _MOST_PAIRS or any(part.bounded for part in self.parts):
            with suppress(ParameterError):
                return self._joint(np.arange(len(self.released)), self.class_of, _MOST_PAIRS)
        most = max(min(_MOST_IN_BLOCKS // len(self.released), math.isqrt(_MOST_PAIRS)), _FEWEST_IN_BLOCK)
        block = self._blocks(most)
        pairs = np.bincount(block) ** 2
        order = generator.permutation(len(pairs))
        order = order[np.cumsum(pairs[order]) <= max(_MOST_IN_BLOCKS, pairs.max())]
        batches = np.cumsum(pairs[order]) // most**2
        found = [
            self._joint(np.flatnonzero(np.isin(block, order[batches == batch])), block, 2 * most**2)
            for batch in np.unique(batches)
        ]
        return together(found, 1 / len(block), bound=len(pairs) > len(sizes), drawn=len(order) < len(pairs))

    def _joint(self, people: Positions, block: NDArray[np.int64], most: int) -> Linkage:
        """Link the people of some blocks, each to a record of the own block."""
        files = self._files(people, people, np.arange(len(people)))
        own, bounds = block[people, None].astype(np.float64), self._bounds(people)
        files = replace(files, original=np.hstack([own, files.original]), masked=np.hstack([own, files.masked]))
        bounds = MaskedRange(np.hstack([own, bounds.low]), np.hstack([own, bounds.high]))
        return joint_linkage(files, bounds, self._score(people, people, best=True), most)

    def _blocks(self, most: int) -> NDArray[np.int64]:
        """Number of the block of each released record: classes, halved where they spread most until few enough."""
        near, block, found = self._near(np.arange(len(self.released)))[0], np.empty_like(self.class_of), 0
        left = np.split(np.argsort(self.class_of, kind="stable"), np.cumsum(np.bincount(self.class_of))[:-1])
        while left:
            members = left.pop()
            if len(members) <= most:
                block[members], found = found, found + 1
                continue
            axis = int(near[members].std(axis=0).argmax())
            left += np.array_split(members[np.argsort(near[members, axis], kind="stable")], 2)
        return block

    def _near(self, people: Positions) -> tuple[Floats, Floats]:
        """Coordinates of some people and of their records in which likely pairs of one class are near."""
        who, apart = self.released[people], _APART * self.class_of[people, None]
        before, after = (np.hstack([apart, *(part.near[side][who] for part in self.parts)]) for side in (0, 1))
        return before, after

    @property
    def crowded(self) -> bool:
        """Whether a masking bounds nothing, so that it matters how many others explain a masked record as well."""
        return not all(part.bounded for part in self.parts)

    def likeliest_linkage(self, people: Positions) -> Linkage:
        """Link people to the record of the greatest p(x'|x)/p(x'): the likeliest, but for those that many explain.

        p(x') is the sum over the people of the record's class, of whom few are looked at where they are many.
        """
        everybody = np.arange(len(self.released))
        score, explained = self._score(people, everybody, best=True), self._explained

        def ratio(records: Positions, masked: Positions) -> Floats:
            found: Floats = score(records, masked) + explained[masked]
            return found

        return linkage_within(self._files(people, everybody, people), self._bounds(people), ratio)

    @cached_property
    def _explained(self) -> Floats:
        """Logarithm of p(x') of each released record: its nearest people's, or that of some drawn if it is greater."""
        everybody = np.arange(len(self.released))
        score, generator = self._score(everybody, everybody, best=True), np.random.default_rng(0)
        original, masked = self._near(everybody)
        tree, count = scipy.spatial.cKDTree(original), np.arange(1, min(_NEAREST, len(masked)) + 1)
        near = np.asarray(tree.query(masked, k=count, workers=-1)[1], dtype=np.intp)
        alike = self.class_of[near] == self.class_of[:, None]
        found = _total(score, near, np.where(alike, 0.0, np.inf))
        order = np.argsort(self.class_of, kind="stable")
        for members in np.split(order, np.cumsum(np.bincount(self.class_of))[:-1]):
            if len(members) > _NEAREST:
                few = generator.choice(members, min(_MOST_EXPLAINING, len(members)), replace=False)
                for block in np.array_split(members, -(-len(members) * len(few) // _BLOCK_PAIRS)):
                    drawn = _total(score, np.tile(few, (len(block), 1)), 0.0, block) + np.log(len(members) / len(few))
                    found[block] = np.maximum(found[block], drawn)
        return found

    def _files(self, people: Positions, candidates: Positions, truth: Positions) -> Files:
        """Two files of some people and some released records, by position among the released."""
        who, what = self.released[people], self.released[candidates]
        before = np.hstack([self.equal[who].astype(np.float64), *(part.original[who] for part in self.parts)])
        after = np.hstack([self.equal[what].astype(np.float64), *(part.masked[what] for part in self.parts)])
        return Files(before, after, truth, ())

    def _bounds(self, people: Positions) -> MaskedRange:
        """Bounds of some people, by position among the released; what must be equal is bounded by itself."""
        who = self.released[people]
        equal = self.equal[who].astype(np.float64)
        low = np.hstack([equal, *(part.bounds.low[who] for part in self.parts)])
        return MaskedRange(low, np.hstack([equal, *(part.bounds.high[who] for part in self.parts)]))

    def _score(self, people: Positions, candidates: Positions, *, best: bool) -> PairScore:
        """Sum of the maskings' scores of a pair: the likelihood, or what chooses best among a few candidates."""
        scores = [part.likelihood if best else part.inside for part in self.parts]

        def score(records: Positions, masked: Positions) -> Floats:
            before, after = self.released[people[records]], self.released[candidates[masked]]
            return sum((one(before, after) for one in scores), np.zeros(len(records)))

        return score
