"""Expected disclosure: the share of a record's sensitive values that somebody is expected to learn.

Somebody knows each column of a person with a probability, and not who is in the file. Where the request states none, a
quasi-identifier is known, and any other column with a small probability: nobody has looked. The figure is a probability
in the sense of the informed recipient's: where exactly the quasi-identifiers are known, it is the same, 1/n_T.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.combined.disclosure import mean_contributions
from tasks.assessments.combined.known_sets import Floats
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition
from tasks.microdata.coded import Prepared, coded_rows, known_probabilities, presumed_columns, value_weights
from tasks.request.model import ReleaseRequest, SensitivityWeights

PRESUMED = 0.1
"""Probability that a column is known where the request states none."""
LEAST_SET = 0.02
"""Sets of columns known together with at most this probability are bounded, not counted."""


def presumed_probabilities(candidate: Candidate) -> dict[str, float]:
    """Probability that each outbound column is known of a person."""
    presumed = presumed_columns(candidate.request)
    chances = known_probabilities(candidate.request)
    return {name: PRESUMED if name in presumed else chances[name] for name in candidate.request.outbound}


def expected_disclosure(candidate: Candidate, coalition: Coalition | None = None) -> Floats:
    """Expected share of each released record's sensitive weight that is learned, shape (n_records,); 0 without any.

    Without a sensitive column, that of the columns of which the request does not say how likely they are known.

    The exclusive form of Orooji & Knapp's D over ΣW·W of the record, times the share in the file of the people whom its
    cell could be. Sets that are not counted are bounded (``mean_contributions``): the figure is an upper bound. Raises
    ParameterError if more sets of columns may be known than can be counted.
    """
    request, prepared, names = candidate.request, candidate.as_masked, expected_names(candidate)
    cells = candidate.generalization.cells if coalition is None else coalition.cells
    codes = coded_rows(request, prepared, cells, candidate.rows, names)
    weights = [value_weights(request, prepared, names, codes, lightest=lightest) for lightest in (False, True)]
    seen = candidate.generalization if coalition is None else coalition.copy
    return expected_of_rows(candidate, codes, weights, candidate.presence(seen.effective, coalition))


def expected_names(candidate: Candidate) -> tuple[str, ...]:
    """Columns that may be known or are sensitive, in the order of the request."""
    return counted_names(candidate.request, candidate.prepared, presumed_probabilities(candidate))


def counted_names(request: ReleaseRequest, prepared: Prepared, chances: Mapping[str, float]) -> tuple[str, ...]:
    """Columns that are known with some of these probabilities or are sensitive, in the order of the request."""
    quasi, columns = set(request.quasi_identifiers), prepared.columns
    return tuple(
        name
        for name in request.outbound
        if name in quasi or (name in columns and (chances[name] > 0 or columns[name].weights.any()))
    )


def events_weights(request: ReleaseRequest) -> list[float]:
    """Greatest weight of each sensitive attribute of rows, 0 to 1.

    At it the share that is learned is highest, since nobody knows any of them before.
    """
    telling = (one for one in map(request.attributes.__getitem__, request.events) if one.tells)
    given = (one.sensitivity or SensitivityWeights() for one in telling)
    return [one.attribute * max(one.default, *one.values.values(), 0.0) for one in given]


def expected_of_rows(
    candidate: Candidate, codes: NDArray[np.integer], weights: Sequence[Sequence[Floats]], presence: Floats
) -> Floats:
    """Expected disclosure of rows in codes, (n_rows, n_names) by ``expected_names``, and each row's share in the file.

    ``weights``: of each value of each column the greatest and the least. A group of a sensitive quasi-identifier weighs
    between its lightest value and its heaviest; a share of the whole, unlike a score, may be highest at either.
    """
    heaviest, lightest = weights
    chances, names = presumed_probabilities(candidate), expected_names(candidate)
    known = np.array([chances[name] for name in names])
    of_rows = events_weights(candidate.request)
    if not of_rows and not any(one.any() for one in heaviest):
        presumed = presumed_columns(candidate.request)
        equal = [np.ones_like(one) if name in presumed else one for name, one in zip(names, heaviest, strict=True)]
        heaviest, lightest = equal, equal
    if of_rows:  # columns that nobody knows, of which everything is learned of a person who is found
        codes = np.column_stack([codes, np.zeros((len(codes), len(of_rows)), dtype=codes.dtype)])
        known = np.append(known, np.zeros(len(of_rows)))
        heaviest, lightest = ([*one, *map(np.atleast_1d, of_rows)] for one in (heaviest, lightest))
    least = max(LEAST_SET, candidate.request.policy.combined.epsilon or 0.0)

    def learned(of_values: Sequence[Floats]) -> Floats:
        if not any(one.any() for one in of_values):
            return np.zeros(len(codes))
        found = mean_contributions(codes, known, of_values, epsilon=least, exclusive=True)
        return found.risks + found.left_out

    open_to = [not np.array_equal(most, fewest) for most, fewest in zip(heaviest, lightest, strict=True)]
    fixed = [one * (not ranges) for one, ranges in zip(heaviest, open_to, strict=True)]
    whole = sum((own[column] for own, column in zip(fixed, codes.T, strict=True)), np.zeros(len(codes)))
    part, ranging = learned(fixed), []
    for place in np.flatnonzero(open_to).tolist():
        alone = [np.full(len(one), float(other == place)) for other, one in enumerate(heaviest)]
        ends = (one[place][codes[:, place]] for one in (heaviest, lightest))
        ranging.append((learned(alone), *ends))
    share = np.zeros(len(codes))
    # Each column adds to the share at its greatest weight if it is better told than the share, else at its least.
    for _ in range(len(ranging) + 1):
        chosen = [(told, np.where(told > share, most, fewest)) for told, most, fewest in ranging]
        above = part + sum(told * weight for told, weight in chosen)
        below = whole + sum(weight for _, weight in chosen)
        share = np.divide(above, below, out=np.zeros(len(codes)), where=below > 0)
    return np.minimum(share, 1.0) * presence


def highest_expected(candidate: Candidate, alone: float | None = None) -> float:
    """The highest of any record, in the copy alone or as a coalition sees it; errors as of ``expected_disclosure``.

    ``alone`` is the highest in the copy alone, where that is known already.
    """
    first = float(expected_disclosure(candidate).max()) if alone is None else alone
    return max(first, *(float(expected_disclosure(candidate, one).max()) for one in candidate.coalitions), 0.0)
