"""Learn the distance that links most of the intruder's records correctly: the worst case of distance-based linkage.

Source: Torra 2016, slides 22 to 42. The intruder of the worst case knows which masked record each original one became
and picks the distance with hindsight, so that no intruder who has to guess it does better within the family. The share
on the records that were learned from is therefore an upper bound; the share on others says what the distance is worth.

Departures: records that tie with their own masked record whatever the distance share the link, and are weighted so
while learning; the search is by lines and random, from a linear program's start, where the paper solves one large
integer program. The work is limited by counts, never by time, so that the result is the same on any machine.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.optimize import linprog

from tasks.assessments.linkage.learning.comparisons import (
    MARGIN,
    Components,
    Pairs,
    Rivals,
    Rows,
    merged,
    minimal_rivals,
    nearest_rivals,
    pairs_of,
    rows_of,
    unbreakable_ties,
    unit,
)
from tasks.assessments.linkage.learning.distance import LearnedDistance
from tasks.assessments.linkage.learning.family import MATRICES, Kind, LinearCone, cone, lifted, parameters_of
from tasks.assessments.linkage.learning.search import hinge, search
from tasks.assessments.linkage.problem.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.problem.files import Files, Positions, Scale, known_positions
from tasks.core.errors import ParameterError

WORK = 80_000_000
"""Comparisons that the search for parameters looks at in all: lines times rows …"""
FEWEST_LINES, MOST_LINES = 200, 10_000
"""… within these numbers of lines, and no more than three a parameter and record."""
WEIGHT_LINES = 1_500
"""Most lines for weights."""
ROUNDS, MATRIX_ROUNDS = 4, 6
"""Parts of the search, after each of which the rivals that were missed are added; under a matrix more are missed."""
PROGRAMS, PROOF_PROGRAMS = 60, 1_000
"""Most records that a linear program looks at, to stop the search where no more can be won, and for a proof."""
LEAST_STEP = 1e-4
"""Credits that differ by less are equal."""
_INFEASIBLE = 2
_GIVEN = 16
_NEAR = 15
_MISSED = 3
_SINGULAR = 1e-12
_WHOLE = 1 - 1e-9
_WEIGHTS = {Kind.WEIGHTED_MEAN, Kind.OWA}


@dataclass(frozen=True)
class Certificate:
    """Upper bound over all parameters of the family: the records that some parameters win, each on its own.

    A record counts when its own masked record is nearer than every rival by ``learning.rows.MARGIN``;
    ties that other parameters could break count nothing here, while the figure of the linkage shares them.
    """

    found: float
    """Credit of the parameters."""
    upper_bound: float
    """Credit that no parameters exceed; at least ``found``."""
    rivals: int
    """Comparisons of a record and a rival that were looked at."""

    @property
    def gap(self) -> float:
        """Records by which better parameters could do better."""
        return self.upper_bound - self.found

    @property
    def proven(self) -> bool:
        """Whether the parameters are the best there are."""
        return self.gap <= LEAST_STEP


def fitted(
    kind: Kind,
    pairs: Pairs,
    generator: np.random.Generator,
    *,
    certify: bool = False,
    weights: Floats | None = None,
) -> tuple[Floats, Certificate | None]:
    """Parameters of a family, the largest 1 in size; no worse than those of a poorer family.

    That family's ``weights`` are learned first where they are not given. Also how good they are, if asked for; None
    where nothing is learned.

    Raises ParameterError if no Mahalanobis distance exists, or the family has too many parameters.
    """
    if kind is Kind.ARITHMETIC_MEAN:
        return np.ones(pairs.n_attributes), None
    if kind is Kind.MAHALANOBIS:
        return unit(mahalanobis(pairs)), None
    fit = Fit(kind, pairs, generator, weights)
    return fit.parameters, fit.certificate() if certify else None


def winnable(rows: Rows, allowed: LinearCone, parameters: Floats, programs: int) -> float:
    """Credit of the records that some parameters win, each on its own: a bound for any family.

    A linear program a record that ``parameters`` do not win says whether any do; those that other records' programs
    gave are tried first. So many such records are looked at, and the others are assumed to be won by some.
    """
    lost, given = np.flatnonzero(~rows.wins(parameters)[rows.records])[:programs], deque[Floats](maxlen=_GIVEN)
    hopeless = [place for place in lost if not _can_win(rows, allowed, int(place), given)]
    return rows.sure + float(rows.credit.sum() - rows.credit[hopeless].sum())


def _can_win(rows: Rows, allowed: LinearCone, record: int, given: deque[Floats]) -> bool:
    """Whether parameters, their largest 1, clear the margin in all comparisons of a record; True where undecided.

    ``given`` are parameters that may do; those that the program gives are added.
    """
    own, size = rows.gains[:, rows.slice(record)].T, len(rows.gains)
    if any(_clear(own, allowed, parameters) for parameters in given):
        return True
    solution = linprog(
        np.zeros(size),
        A_ub=-np.vstack([own, allowed.rows]),
        b_ub=-np.repeat([1.0, 0.0], [len(own), len(allowed.rows)]),
        bounds=[(-1 / MARGIN, 1 / MARGIN)] * size,
        method="highs",
    )
    if solution.x is not None:
        given.append(solution.x)
    return bool(solution.status != _INFEASIBLE)


def _clear(own: Floats, allowed: LinearCone, parameters: Floats) -> bool:
    """Whether parameters are allowed and, their largest brought to 1, clear the margin in all comparisons."""
    least = MARGIN * np.abs(parameters).max()
    return bool(least > 0 and (own @ parameters >= least).all() and (allowed.rows @ parameters >= 0).all())


class Fit:
    """The search for the parameters of a family: starts, rounds, rivals, and the best so far."""

    def __init__(self, kind: Kind, pairs: Pairs, generator: np.random.Generator, weights: Floats | None = None) -> None:
        self._kind, self._pairs = kind, pairs
        self._allowed = cone(kind, pairs.n_attributes)
        self._ties = unbreakable_ties(kind, pairs)
        known = self._known(generator, weights)
        self._rivals = self._first_rivals(known)
        self._rows = rows_of(kind, pairs, self._rivals, self._ties)
        self.parameters, self._won = known[0], -1.0
        for parameters in known:
            self._offer(parameters)
        self._search(known, generator)

    def _known(self, generator: np.random.Generator, weights: Floats | None) -> list[Floats]:
        """Starting parameters from a poorer family."""
        if self._kind in _WEIGHTS:
            return [np.ones(self._pairs.n_attributes)]
        if weights is None:
            weights, _ = fitted(Kind.WEIGHTED_MEAN, self._pairs, generator)
        known = [lifted(self._kind, weights)]
        if self._kind in MATRICES:
            known += _mahalanobis_if_any(self._pairs)
        return known

    def _first_rivals(self, known: Sequence[Floats]) -> Rivals:
        """All that can bind, or, as any can bind under a matrix, those that are near under what is known."""
        if self._kind not in MATRICES:
            return minimal_rivals(self._kind, self._pairs)
        near = [nearest_rivals(self._kind, parameters, self._pairs, _NEAR) for parameters in known]
        return reduce(lambda one, other: merged(one, other, len(self._pairs.counts)), near)

    def _search(self, known: Sequence[Floats], generator: np.random.Generator) -> None:
        starts = [*known, *(found for start in known for found in hinge(self._rows, self._allowed, start))]
        bound = winnable(self._rows, self._allowed, self.parameters, PROGRAMS)
        most = WEIGHT_LINES if self._kind in _WEIGHTS else MOST_LINES
        most = min(most, 3 * len(self._rows.gains) * len(self._ties))
        rounds = MATRIX_ROUNDS if self._kind in MATRICES else ROUNDS
        for _ in range(rounds):
            lines = max(min(WORK // max(len(self._rivals), 1), most), FEWEST_LINES) // rounds
            before = self._won
            parameters = search(self._rows, self._allowed, starts, generator, lines=lines, bound=bound)
            missed = self._look_at_missed(parameters, self._offer(parameters))
            if not missed and self._won <= before + LEAST_STEP:
                break
            starts = [parameters]

    def _offer(self, parameters: Floats) -> Floats:
        """Keep the parameters if they are better, all rivals considered; returns their credit of each record."""
        credit = self._credit(parameters)
        total = math.fsum(credit.tolist())
        if total > self._won:
            self.parameters, self._won = unit(parameters), total
        return credit

    def _look_at_missed(self, parameters: Floats, credit: Floats) -> bool:
        """Add the nearest rivals of records that were thought to be won and are not; returns whether there are any."""
        missed = np.flatnonzero(self._rows.wins(parameters) & (credit * self._ties < _WHOLE))
        if len(missed):
            found = nearest_rivals(self._kind, parameters, self._pairs.only(missed), _MISSED)
            found = Rivals(missed[found.records], found.points)
            self._rivals = merged(self._rivals, found, len(self._pairs.counts))
            self._rows = rows_of(self._kind, self._pairs, self._rivals, self._ties)
        return bool(len(missed))

    def certificate(self) -> Certificate:
        """Quality of the parameters."""
        found = self.won_alone(self.parameters)
        bound = winnable(self._rows, self._allowed, self.parameters, PROOF_PROGRAMS)
        return Certificate(found, max(found, bound), len(self._rivals))

    def won_alone(self, parameters: Floats) -> float:
        """Credit of the records that are nearer to their own masked record than to any rival, in records."""
        credit = self._credit(parameters)
        return math.fsum(credit[credit * self._ties >= _WHOLE].tolist())

    def _credit(self, parameters: Floats) -> Floats:
        return LearnedDistance(self._kind, parameters, ()).credit(self._pairs)


def mahalanobis(pairs: Pairs) -> Floats:
    """The inverse of Cov(A − B) as parameters of a matrix.

    Raises ParameterError if some combination of attributes differs by nothing, or by a constant, in all records.
    """
    found = _mahalanobis_if_any(pairs)
    if not found:
        raise ParameterError(
            "there is no Mahalanobis distance of these files",
            where="differences of original and masked records",
            expected="more records than attributes, and no combination of attributes that was left as it is",
            got="a covariance matrix that has no inverse",
            fix="leave out attributes that are not masked or that repeat others, or learn another distance",
        )
    return found[0]


def _mahalanobis_if_any(pairs: Pairs) -> list[Floats]:
    apart = pairs.compared(Kind.MAHALANOBIS, np.arange(len(pairs.own)), pairs.own)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(apart.T)))
    if not values[0] > _SINGULAR * values[-1]:
        return []
    return [parameters_of((vectors / values) @ vectors.T)]


MOST_PAIRS = 2**25
"""Pairs of a record to learn from and a distinct masked record."""


@dataclass(frozen=True)
class Learned:
    """A distance that was learned, and how well it links."""

    distance: LearnedDistance
    """The distance; its ``link`` says what it is worth elsewhere."""
    in_sample: Linkage
    """Links of the records that it was learned from: the worst case."""
    out_of_sample: Linkage | None
    """Links of the intruder's other records, None where it was learned from all."""
    certificate: Certificate | None
    """Greatest distance from the best of its family; None where that was not asked for or nothing is learned."""


def learn(
    given: Files | Components,
    kind: Kind,
    generator: np.random.Generator,
    *,
    records: Positions | None = None,
    certificate: bool = False,
    scale: Scale | None = None,
    weights: Floats | None = None,
) -> Learned:
    """Learn the distance of a family that links most records to their own masked one.

    Parameters
    ----------
    given : Files or Components
        Two numeric files, or distances that are ready, of which all but matrices can be learned.
    kind : Kind
    generator : numpy Generator
        The only source of chance.
    records : array of int, optional
        Positions among the intruder's records to learn from; all where not given. The rivals are all masked records.
    certificate : bool
        Whether to say how far from the best of the family the parameters may be, which takes longer.
    scale : {"own", "masked"}, optional
        See ``common_scale``; only for files.
    weights : array of shape (n_attributes,), optional
        Learned weights of a mean of the same records, to start a richer family from; learned again where not given.

    Raises
    ------
    ParameterError
        If there are fewer than two records to learn from, or positions that do not fit, or more than ``MOST_PAIRS``
        pairs; if an attribute of a numeric file is constant; if there are too many attributes for a Choquet integral;
        if a matrix is wanted of distances; if no Mahalanobis distance exists.
    """
    whole = pairs_of(given, kind, scale)
    everyone = np.arange(len(whole.own))
    chosen = np.sort(known_positions(records, len(everyone), "records to learn from", 2))
    pairs = whole.only(chosen)
    size = len(pairs.own) * len(pairs.counts)
    if size > MOST_PAIRS:
        raise ParameterError(
            "there are too many records to learn a distance from",
            where="records to learn from",
            expected=f"at most {MOST_PAIRS:,} pairs with distinct masked records",
            got=f"{size:,}",
            fix="learn from some of the records; the distance can then link all of them",
        )
    parameters, proof = fitted(kind, pairs, generator, certify=certificate, weights=weights)
    distance = LearnedDistance(kind, parameters, given.names)
    n_masked, others = int(whole.counts.sum()), np.setdiff1d(everyone, chosen)
    return Learned(
        distance,
        linkage(distance.credit(pairs), n_masked),
        linkage(distance.credit(whole.only(others)), n_masked) if len(others) else None,
        proof,
    )
