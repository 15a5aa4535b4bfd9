"""Risk in a population that a file is a random sample of: limits by enumeration, estimates by sums, intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom, nbinom

from tasks.assessments.identity.sampled import (
    Sample,
    expected_risk,
    people_limits,
    sample_fact,
    sample_figures,
    uniques,
)
from tasks.request.model import Measure


@pytest.mark.parametrize(("people", "records", "cells"), [(30, 6, 1.0), (30, 15, 4.0), (40, 39, 10.0), (12, 12, 5.0)])
def test_the_limits_miss_a_cell_as_rarely_as_they_say(people: int, records: int, cells: float) -> None:
    """For each number of people of a cell, all draws are enumerated by their hypergeometric probability."""
    found = np.arange(records + 1)
    lower, upper = people_limits(Sample(records, people, cells), np.maximum(found, 1))
    for truth in range(1, people + 1):
        drawn = hypergeom.pmf(found, people, truth, records)
        drawn[0] = 0.0  # a cell without records is not released
        assert drawn[lower > truth].sum() <= 0.025 / cells
        assert drawn[upper < truth].sum() <= 0.025 / cells
    assert (np.diff(lower[1:]) >= 0).all()
    assert (lower[1:] >= found[1:]).all()
    assert (upper[1:] <= people - (records - found[1:])).all()


def test_the_limits_of_a_whole_population_are_what_was_found() -> None:
    lower, upper = people_limits(Sample(50, 50, 100.0), np.array([1, 7, 50]))
    assert lower.tolist() == upper.tolist() == [1, 7, 50]


def test_a_class_of_twelve_in_a_small_sample_has_many_people() -> None:
    """One record in a hundred: twelve records are hardly ever drawn of fewer than 135 people, whichever cell it is."""
    (lower,), (upper,) = people_limits(Sample(10_000, 1_000_000, 1e7), np.array([12]))
    assert 100 < lower < 200
    assert upper > 1200 > lower


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.9, 1.0])
def test_the_expected_risk_is_the_sum_over_the_people_that_there_may_be(fraction: float) -> None:
    sizes, failures = np.array([1, 2, 5, 29, 30, 200]), np.arange(60_000)
    summed = [(nbinom.pmf(failures, size, fraction) / (size + failures)).sum() for size in sizes]
    assert expected_risk(fraction, sizes) == pytest.approx(summed, rel=1e-6)


def test_the_expected_risk_of_a_single_record_has_a_closed_form() -> None:
    assert expected_risk(0.1, np.array([1]))[0] == pytest.approx(0.1 / 0.9 * np.log(10))


@pytest.mark.slow
@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.floats(0.01, 1.0))
def test_every_estimate_lies_in_its_interval_and_no_more_are_unique_than_alone(sizes: list[int], share: float) -> None:
    classes = np.array(sizes)
    total = int(classes.sum())
    sample = Sample(total, max(round(total / share), total), 50.0)
    fact = sample_fact(sample, classes, classes, classes, np.random.default_rng(5))
    for one in (fact.mean_risk, fact.uniques.estimate):
        assert 0 <= one.interval.low <= one.figure <= one.interval.high <= 1
    assert fact.uniques.estimate.interval.high <= fact.uniques.alone == (classes == 1).sum() / total
    assert fact.mean_risk.interval.high <= fact.maximum_risk <= 1
    assert classes.min() <= fact.least_people
    assert sample_figures(fact) == {
        Measure.ESTIMATED_MAXIMUM: fact.maximum_risk,
        Measure.ESTIMATED_MEAN: fact.mean_risk.interval.high,
        Measure.ESTIMATED_UNIQUE: fact.uniques.estimate.interval.high,
    }


def test_the_interval_of_the_uniques_is_as_wide_as_samples_differ() -> None:
    """Of six samples of one population nearly all intervals hold the mean of the estimates; the model errs besides."""
    generator = np.random.default_rng(20)
    people = np.repeat(np.arange(1000), generator.geometric(0.3, 1000))
    found = []
    for number in range(6):
        classes = np.bincount(generator.permutation(people)[: len(people) // 3])
        found.append(uniques(classes[classes > 0], 1 / 3, np.random.default_rng(number)))
    mean = np.mean([one.estimate.figure for one in found])
    held = [one.estimate.interval.low <= mean <= one.estimate.interval.high for one in found]
    assert sum(held) >= 5
    widths = [one.estimate.interval.high - one.estimate.interval.low for one in found]
    assert np.std([one.estimate.figure for one in found]) < np.mean(widths) < 0.5 * found[0].alone


def test_tuples_of_one_class_are_counted_as_one_class() -> None:
    """Two tuples of 1 and 2 records share a class of three; nobody is alone in it."""
    fact = sample_fact(
        Sample(4, 40, 5.0), np.array([3, 3, 1]), np.array([3, 3, 1]), np.array([1, 2, 1]), np.random.default_rng(1)
    )
    assert fact.uniques.alone == 0.25
