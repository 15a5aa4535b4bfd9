"""Expected disclosure: how much of what is sensitive of a record somebody is expected to learn who finds it by chance.

Somebody knows each column of a person with a probability, and not who is in the file. Where the request states none, a
quasi-identifier is known, and any other column with a small probability: nobody has looked. The figure is a probability
in the sense of the informed recipient's: where exactly the quasi-identifiers are known, it is the same, 1/n_T.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.combined.disclosure import mean_contributions
from tasks.assessments.combined.known_sets import Floats
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition
from tasks.microdata.coded import coded_rows, known_probabilities, presumed_columns, value_weights

PRESUMED = 0.1
"""Probability that a column is known of which the request does not say how likely that is."""
LEAST_SET = 0.02
"""Sets of columns that are known together with at most this probability are not counted, but bounded."""


def presumed_probabilities(candidate: Candidate) -> dict[str, float]:
    """Probability that each outbound column is known of a person."""
    presumed = presumed_columns(candidate.request)
    chances = known_probabilities(candidate.request)
    return {name: PRESUMED if name in presumed else chances[name] for name in candidate.request.outbound}


def expected_disclosure(candidate: Candidate, coalition: Coalition | None = None) -> Floats:
    """Expected share of each released record's sensitive weight that is learned, shape (n_records,); 0 without any.

    Raises
    ------
    ParameterError
        If more sets of columns may be known than can be counted.

    Notes
    -----
    The exclusive form of Orooji & Knapp's D over ΣW·W of the record, times the share in the file of the people whom its
    cell could be. Sets that are not counted are bounded (``mean_contributions``): the figure is an upper bound.
    """
    request, prepared, names = candidate.request, candidate.as_masked, expected_names(candidate)
    cells = candidate.generalization.cells if coalition is None else coalition.cells
    codes = coded_rows(request, prepared, cells, candidate.rows, names)
    weights = value_weights(request, prepared, names, codes)
    seen = candidate.generalization if coalition is None else coalition.copy
    return expected_of_rows(candidate, codes, weights, candidate.presence(seen.effective, coalition))


def expected_names(candidate: Candidate) -> list[str]:
    """Columns that may be known or are sensitive, in the order of the request."""
    request, columns, chances = candidate.request, candidate.prepared.columns, presumed_probabilities(candidate)
    quasi = request.quasi_identifiers
    return [
        name
        for name in request.outbound
        if name in quasi or (name in columns and (chances[name] > 0 or columns[name].weights.any()))
    ]


def expected_of_rows(
    candidate: Candidate, codes: NDArray[np.integer], weights: Sequence[Floats], presence: Floats
) -> Floats:
    """The same of rows in codes, (n_rows, n_names), by ``expected_names`` and the share in the file of each row."""
    chances = presumed_probabilities(candidate)
    sensitive = sum((own[column] for own, column in zip(weights, codes.T, strict=True)), np.zeros(len(codes)))
    if not sensitive.any():
        return np.zeros(len(codes))
    known = np.array([chances[name] for name in expected_names(candidate)])
    least = max(LEAST_SET, candidate.request.policy.combined.epsilon or 0.0)
    found = mean_contributions(codes, known, weights, epsilon=least, exclusive=True)
    learned = found.risks + found.left_out
    share: Floats = np.divide(learned, sensitive, out=np.zeros(len(codes)), where=sensitive > 0)
    return np.minimum(share, 1.0) * presence


def highest_expected(candidate: Candidate, alone: float | None = None) -> float:
    """The highest of any record, in the copy alone or as a coalition sees it; errors as of ``expected_disclosure``.

    ``alone`` is the highest in the copy alone, where that is known already.
    """
    first = float(expected_disclosure(candidate).max()) if alone is None else alone
    return max(first, *(float(expected_disclosure(candidate, one).max()) for one in candidate.coalitions), 0.0)
