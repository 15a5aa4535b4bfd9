"""Parameters of a family: where the search starts, which rivals it sees, and when it stops."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.optimize import linprog

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.learning.cone import LinearCone, cone
from tasks.assessments.linkage.learning.distance import LearnedDistance
from tasks.assessments.linkage.learning.family import MATRICES, Kind, lifted, parameters_of
from tasks.assessments.linkage.learning.hinge import hinge
from tasks.assessments.linkage.learning.pairs import Pairs, unbreakable_ties
from tasks.assessments.linkage.learning.rivals import Rivals, merged, minimal_rivals, nearest_rivals
from tasks.assessments.linkage.learning.rows import MARGIN, Rows, rows_of, unit
from tasks.assessments.linkage.learning.search import search
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
    kind: Kind, pairs: Pairs, generator: np.random.Generator, *, certify: bool = False
) -> tuple[Floats, Certificate | None]:
    """Parameters of a family, the largest 1 in size; no worse than those of a poorer family.

    Also how good they are, if asked for; None where nothing is learned.

    Raises
    ------
    ParameterError
        If no Mahalanobis distance exists, or the family has too many parameters.
    """
    if kind is Kind.ARITHMETIC_MEAN:
        return np.ones(pairs.n_attributes), None
    if kind is Kind.MAHALANOBIS:
        return unit(mahalanobis(pairs)), None
    fit = Fit(kind, pairs, generator)
    return fit.parameters, fit.certificate() if certify else None


def winnable(rows: Rows, allowed: LinearCone, parameters: Floats, programs: int) -> float:
    """Credit of the records that some parameters win, each on its own: a bound for any family.

    A linear program a record that ``parameters`` do not win says whether any do; records beyond so many programs are
    taken to be won by some.
    """
    lost = np.flatnonzero(~rows.wins(parameters)[rows.records])[:programs]
    hopeless = [place for place in lost if not _can_win(rows, allowed, int(place))]
    return rows.sure + float(rows.credit.sum() - rows.credit[hopeless].sum())


def _can_win(rows: Rows, allowed: LinearCone, record: int) -> bool:
    """Whether parameters, their largest 1, clear the margin in all comparisons of a record; True where undecided."""
    own, size = rows.gains[:, rows.slice(record)].T, len(rows.gains)
    solution = linprog(
        np.zeros(size),
        A_ub=-np.vstack([own, allowed.rows]),
        b_ub=-np.repeat([1.0, 0.0], [len(own), len(allowed.rows)]),
        bounds=[(-1 / MARGIN, 1 / MARGIN)] * size,
        method="highs",
    )
    return bool(solution.status != _INFEASIBLE)


class Fit:
    """The search for the parameters of a family: starts, rounds, rivals, and the best so far."""

    def __init__(self, kind: Kind, pairs: Pairs, generator: np.random.Generator) -> None:
        self._kind, self._pairs = kind, pairs
        self._allowed = cone(kind, pairs.n_attributes)
        self._ties = unbreakable_ties(kind, pairs)
        known = self._known(generator)
        self._rivals = self._first_rivals(known)
        self._rows = rows_of(kind, pairs, self._rivals, self._ties)
        self.parameters, self._won = known[0], -1.0
        for parameters in known:
            self._offer(parameters)
        self._search(known, generator)

    def _known(self, generator: np.random.Generator) -> list[Floats]:
        """Starting parameters from a poorer family."""
        if self._kind in _WEIGHTS:
            return [np.ones(self._pairs.n_attributes)]
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
            parameters = search(self._rows, self._allowed, starts, generator, lines=lines, bound=bound)
            self._look_at_missed(parameters, self._offer(parameters))
            starts = [parameters]

    def _offer(self, parameters: Floats) -> Floats:
        """Keep the parameters if they are better, all rivals considered; what they win of each record."""
        credit = self._credit(parameters)
        total = math.fsum(credit.tolist())
        if total > self._won:
            self.parameters, self._won = unit(parameters), total
        return credit

    def _look_at_missed(self, parameters: Floats, credit: Floats) -> None:
        """Add the nearest rivals of records that were thought to be won and are not."""
        missed = np.flatnonzero(self._rows.wins(parameters) & (credit * self._ties < _WHOLE))
        if len(missed):
            found = nearest_rivals(self._kind, parameters, self._pairs.only(missed), _MISSED)
            found = Rivals(missed[found.records], found.points)
            self._rivals = merged(self._rivals, found, len(self._pairs.counts))
            self._rows = rows_of(self._kind, self._pairs, self._rivals, self._ties)

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

    Raises
    ------
    ParameterError
        If some combination of attributes differs by nothing, or by a constant, in all records.
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
