"""Parameters of a family: where the search starts, which rivals it sees, and when it stops."""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.learning.certificate import Certificate, winnable
from tasks.assessments.linkage.learning.cone import cone
from tasks.assessments.linkage.learning.distance import LearnedDistance
from tasks.assessments.linkage.learning.family import MATRICES, Kind, lifted, parameters_of
from tasks.assessments.linkage.learning.hinge import hinge
from tasks.assessments.linkage.learning.pairs import Pairs, unbreakable_ties
from tasks.assessments.linkage.learning.rivals import Rivals, merged, minimal_rivals, nearest_rivals
from tasks.assessments.linkage.learning.rows import rows_of, unit
from tasks.assessments.linkage.learning.search import search
from tasks.assessments.linkage.learning.simplex import best_weights
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
CELLS = 8_000
"""Most cells of a proof for weights, where nothing else is said."""
_NEAR = 15
_MISSED = 3
_SINGULAR = 1e-12
_WHOLE = 1 - 1e-9
_WEIGHTS = {Kind.WEIGHTED_MEAN, Kind.OWA}


def fitted(kind: Kind, pairs: Pairs, generator: np.random.Generator) -> Floats:
    """Parameters of a family, the largest 1 in size; no worse than those of a poorer family.

    Raises
    ------
    ParameterError
        If no Mahalanobis distance exists, or the family has too many parameters.
    """
    if kind is Kind.ARITHMETIC_MEAN:
        return np.ones(pairs.n_attributes)
    if kind is Kind.MAHALANOBIS:
        return unit(mahalanobis(pairs))
    return Fit(kind, pairs, generator).parameters


def fitted_and_certified(
    kind: Kind, pairs: Pairs, generator: np.random.Generator, cells: int = CELLS
) -> tuple[Floats, Certificate | None]:
    """The same, or better parameters that the proof came upon, and how good they are; none where nothing is learned."""
    if kind in {Kind.ARITHMETIC_MEAN, Kind.MAHALANOBIS}:
        return fitted(kind, pairs, generator), None
    fit = Fit(kind, pairs, generator)
    certificate = fit.certificate(cells)
    return fit.parameters, certificate


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
        weights = fitted(Kind.WEIGHTED_MEAN, self._pairs, generator)
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
        starts = [self._allowed.inside(start) for start in starts]
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

    def certificate(self, cells: int = CELLS) -> Certificate:
        """Quality of the parameters; first bettered, if a better choice of weights is met on the way."""
        bound = winnable(self._rows, self._allowed, self.parameters, PROOF_PROGRAMS)
        if self._kind in _WEIGHTS and cells > 0:
            parameters, bound = best_weights(self._rows, self.parameters, bound, cells)
            self._offer(parameters)
        found = self.won_alone(self.parameters)
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
