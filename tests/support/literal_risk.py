"""The combined risk straight from its definition (Orooji & Knapp 2019, eq. 1 to 4), record by record, set by set."""

from itertools import combinations
from math import prod

import numpy as np

# Tables 1 and 2 of the paper: age, gender, race, income and disease of five people.
PAPER_CODES = np.array([[1, 0, 0, 3, 0], [0, 1, 1, 0, 0], [2, 0, 2, 1, 0], [1, 0, 0, 2, 1], [3, 1, 0, 4, 0]])
PAPER_PROBABILITIES = (0.3, 0.8, 0.7, 0.005, 0.001)
INCOME = 0.9 * np.array([1.0, 0.7, 0.7, 0.7, 0.7])
DISEASE = 1.0 * np.array([0.2, 1.0])
PAPER_WEIGHTS = (0, 0, 0, INCOME, DISEASE)
PAPER = (PAPER_CODES, PAPER_PROBABILITIES, PAPER_WEIGHTS)


def literal_sets(probabilities, epsilon):
    """All subsets that are kept, in no particular order."""
    attributes = range(len(probabilities))
    subsets = [known for size in range(len(probabilities) + 1) for known in combinations(attributes, size)]
    return [known for known in subsets if prod(probabilities[place] for place in known) > (epsilon or 0)]


def literal_weight(known, probabilities, exclusive):
    """PK(KS), or the probability that these attributes and no others are known."""
    weight = prod(probabilities[place] for place in known)
    if exclusive:
        weight *= prod(1 - chance for place, chance in enumerate(probabilities) if place not in known)
    return weight


def literal_parts(codes, probabilities, weights, alpha=1.0, epsilon=None, *, exclusive=False, counts=None):
    """What each (row, known set, unknown attribute) adds; ``weights`` has the shape of ``codes``."""
    counts = [1] * len(codes) if counts is None else counts
    rows = [tuple(row) for row in codes]
    parts = {}
    for known in literal_sets(probabilities, epsilon):
        weight = literal_weight(known, probabilities, exclusive)
        projections = [tuple(row[place] for place in known) for row in rows]
        for row, projection in enumerate(projections):
            matching = sum(count for other, count in zip(projections, counts, strict=True) if other == projection)
            for place in range(len(probabilities)):
                if place not in known:
                    parts[row, known, place] = weight / matching * alpha * weights[row][place]
    return parts


def literal_risk(codes, *arguments, **options):
    """D of each row."""
    risks = np.zeros(len(codes))
    for (row, _, _), part in literal_parts(codes, *arguments, **options).items():
        risks[row] += part
    return risks


def by_record(codes, weights):
    """Weight of each cell of a table, from weights by code."""
    return np.stack([own[codes[:, place]] for place, own in enumerate(weights)], axis=1)
