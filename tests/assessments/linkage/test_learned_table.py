"""The table of Torra 2016, slide 40, as expected for these samples; a benchmark has all of it, and seconds."""

import numpy as np
import pytest

from tasks.assessments.linkage.learning.comparisons import minimal_rivals, pairs_of, rows_of, unbreakable_ties
from tasks.assessments.linkage.learning.family import Kind
from tasks.assessments.linkage.learning.learn import learn
from tests.reference.best_weights import best_weights
from tests.reference.linkage_means import mean_share
from tests.support.learning_problems import SAMPLES, sampled_problem

# Percent of correct links by the arithmetic mean.
UNWEIGHTED = {"M4-33": 84.1, "M4-28": 74.7, "M4-82": 72.4, "M5-38": 36.5, "M6-385": 77.6, "M6-853": 79.2}


def percent(name: str, kind: Kind) -> float:
    figures = [
        learn(sampled_problem(name, seed), kind, np.random.default_rng(seed)).in_sample for seed in range(SAMPLES)
    ]
    return round(100 * mean_share(figures), 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNWEIGHTED)
def test_arithmetic_mean(name: str) -> None:
    assert percent(name, Kind.ARITHMETIC_MEAN) == UNWEIGHTED[name]


@pytest.mark.parametrize(("name", "expected"), [("M4-82", 94.7)])
@pytest.mark.slow
def test_weighted_mean(name: str, expected: float) -> None:
    assert percent(name, Kind.WEIGHTED_MEAN) >= expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Kind.CHOQUET, Kind.BILINEAR])
def test_richer_families_reach_what_none_exceeds(kind: Kind) -> None:
    learned = learn(sampled_problem("M6-385", 0), kind, np.random.default_rng(0), certificate=True)
    assert learned.certificate is not None
    assert learned.certificate.proven
    assert learned.in_sample.expected_correct == 397


@pytest.mark.slow
def test_weights_are_the_best_of_all() -> None:
    files = sampled_problem("M6-853", 0)
    learned = learn(files, Kind.WEIGHTED_MEAN, np.random.default_rng(0), certificate=True)
    pairs = pairs_of(files, Kind.WEIGHTED_MEAN)
    ties = unbreakable_ties(Kind.WEIGHTED_MEAN, pairs)
    rows = rows_of(Kind.WEIGHTED_MEAN, pairs, minimal_rivals(Kind.WEIGHTED_MEAN, pairs), ties)
    assert learned.certificate is not None
    _, bound = best_weights(rows, learned.distance.parameters, learned.certificate.upper_bound, 8_000)
    assert learned.in_sample.expected_correct == learned.certificate.found == bound == 397
    assert max(learned.distance.attribute_shares, key=learned.distance.attribute_shares.__getitem__) == "attribute 5"
