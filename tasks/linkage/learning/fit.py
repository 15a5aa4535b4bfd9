"""Parameters of a family: where the search starts, which rivals it sees, and when it stops."""

from collections.abc import Sequence

import numpy as np

from tasks.errors import ParameterError
from tasks.linkage.figure import Floats
from tasks.linkage.learning.cone import cone
from tasks.linkage.learning.distance import LearnedDistance
from tasks.linkage.learning.family import MATRICES, Kind, lifted, parameters_of
from tasks.linkage.learning.hinge import hinge
from tasks.linkage.learning.pairs import Pairs, unbreakable_ties
from tasks.linkage.learning.rivals import Rivals, merged, minimal_rivals, nearest_rivals
from tasks.linkage.learning.rows import rows_of, unit
from tasks.linkage.learning.search import search

WEIGHT_LINES = 1500
"""Lines searched for weights."""
LINES = 4000
"""Lines searched for the parameters of the richer families."""
ROUNDS = 4
"""Parts of the search, after each of which the rivals that were missed are added."""
_NEAR = 30
_MISSED = 3
_SMALLEST_WEIGHT = 1e-6
_SINGULAR = 1e-12
_WHOLE = 1 - 1e-9


def fitted(kind: Kind, pairs: Pairs, generator: np.random.Generator) -> Floats:
    """Parameters of a family, the largest 1 in size; no worse than those of a poorer family.

    Raises
    ------
    ParameterError
        If no Mahalanobis distance exists, or the family has too many parameters.
    """
    n_attributes = pairs.n_attributes
    equal = np.ones(n_attributes)
    if kind is Kind.ARITHMETIC_MEAN:
        return equal
    if kind is Kind.MAHALANOBIS:
        return unit(mahalanobis(pairs))
    if kind in {Kind.WEIGHTED_MEAN, Kind.OWA}:
        return _searched(kind, pairs, minimal_rivals(kind, pairs), [equal], generator, WEIGHT_LINES)
    cone(kind, n_attributes)  # refuses too many attributes before the work starts
    weights = fitted(Kind.WEIGHTED_MEAN, pairs, generator)
    if kind not in MATRICES:
        rivals = minimal_rivals(kind, pairs)
        return _searched(kind, pairs, rivals, [lifted(kind, weights)], generator, LINES)
    starts = [lifted(kind, weights), *_mahalanobis_if_any(pairs)]
    rivals = nearest_rivals(kind, starts[0], pairs, _NEAR)
    for start in starts[1:]:
        rivals = merged(rivals, nearest_rivals(kind, start, pairs, _NEAR), len(pairs.counts))
    return _searched(kind, pairs, rivals, starts, generator, LINES)


def _searched(
    kind: Kind,
    pairs: Pairs,
    rivals: Rivals,
    known: Sequence[Floats],
    generator: np.random.Generator,
    lines: int,
) -> Floats:
    """The best of the parameters that are known and of those found from them, by the credit that they really win."""
    allowed, ties = cone(kind, pairs.n_attributes), unbreakable_ties(kind, pairs)
    rows = rows_of(kind, pairs, rivals, ties)
    best, most = known[0], -1.0
    for parameters in known:
        total = float(_credit(kind, parameters, pairs).sum())
        if total > most:
            best, most = unit(parameters), total
    starts = [*known, *(found for start in known for found in hinge(rows, allowed, start))]
    starts = [allowed.inside(start) for start in starts]
    for _ in range(ROUNDS):
        parameters = search(rows, allowed, starts, generator, -(-lines // ROUNDS))
        credit = _credit(kind, parameters, pairs)
        if credit.sum() > most:
            best, most = parameters, float(credit.sum())
        missed = np.flatnonzero(rows.wins(parameters, len(credit)) & (credit * ties < _WHOLE))
        if len(missed):
            found = nearest_rivals(kind, parameters, pairs.only(missed), _MISSED)
            rivals = merged(rivals, Rivals(missed[found.records], found.points), len(pairs.counts))
            rows = rows_of(kind, pairs, rivals, ties)
        starts = [parameters]
    return best


def _credit(kind: Kind, parameters: Floats, pairs: Pairs) -> Floats:
    return LearnedDistance(kind, parameters, ()).credit(pairs)


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
