"""Estimates of population uniques: by hand, against the likelihood, and on samples of known populations."""

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

from tasks.assessments.singling_out.population_uniqueness import (
    ClassSizes,
    fit_pitman,
    pitman_share,
    snb_share,
    unique_people,
    zayatz_share,
)
from tests.support.adult import EXAMPLE


def sizes(counts: dict[int, int], fraction: float) -> ClassSizes:
    """From the number of classes of each size."""
    return ClassSizes(np.array(list(counts)), np.array(list(counts.values())), fraction)


def sampled(classes: np.ndarray, fraction: float, seed: int) -> ClassSizes:
    """A sample of people whose classes are given."""
    drawn = np.random.default_rng(seed).choice(len(classes), int(fraction * len(classes)), replace=False)
    return ClassSizes.of(np.unique(classes[drawn], return_counts=True)[1], fraction)


def unique_share(classes: np.ndarray) -> float:
    return float((np.bincount(classes)[classes] == 1).mean())


@cache
def adult(*names: str) -> np.ndarray:
    frame = pd.read_csv(EXAMPLE / "data" / "adult-tn.csv.gz", dtype=str, usecols=list(names))
    return frame.groupby(list(names), dropna=False).ngroup().to_numpy()


def restaurant(people: int, theta: float, alpha: float, seed: int) -> np.ndarray:
    """A population drawn from Pitman's sampling formula: whom each joins, or a class of their own."""
    generator = np.random.default_rng(seed)
    classes, counts = np.zeros(people, dtype=np.int64), [1]
    for one in range(1, people):
        if generator.random() < (theta + alpha * len(counts)) / (theta + one):
            classes[one] = len(counts)
            counts.append(1)
            continue
        while True:
            own = int(classes[generator.integers(one)])
            if generator.random() < 1 - alpha / counts[own]:
                break
        classes[one] = own
        counts[own] += 1
    return classes


def test_zayatz_by_hand() -> None:
    """N = 20, n = 10: two classes of one and four of two. P(f=1 | F=1) = 1/2, P(f=1 | F=2) = 2·10·10/(20·19) = 10/19.

    Of the sample's uniques (2/6·1/2) / (2/6·1/2 + 4/6·10/19) = 19/59 are unique in the population: 2·19/59 of ten.
    """
    assert zayatz_share(sizes({1: 2, 2: 4}, 0.5)) == pytest.approx(2 * 19 / 59 / 10)


def test_pitman_without_alpha_is_ewens() -> None:
    """Where α is 0 the expected uniques are θN/(θ+N−1); classes of equal size want no α above 0."""
    given = sizes({1: 2, 2: 2, 4: 2, 8: 2, 16: 2}, 0.1)
    theta, alpha = fit_pitman(given) or (0.0, 1.0)
    assert alpha == pytest.approx(0, abs=1e-6)
    assert pitman_share(given) == pytest.approx(theta / (theta + given.people - 1), rel=1e-4)


def test_pitman_is_most_likely() -> None:
    given = sampled(adult("age", "education", "occupation"), 0.05, 1)
    fitted = fit_pitman(given)
    assert fitted is not None

    def likelihood(theta: float, alpha: float) -> float:
        steps = np.arange(1, given.classes.sum())
        own = given.classes @ (gammaln(given.sizes - alpha) - gammaln(1 - alpha))
        return float(np.log(theta + alpha * steps).sum() - gammaln(theta + given.records) + gammaln(theta + 1) + own)

    best = likelihood(*fitted)
    for theta in (0.99, 1.01):
        for alpha in (0.99, 1.01):
            assert likelihood(fitted[0] * theta, fitted[1] * alpha) < best


def test_pitman_is_the_limit_that_hoshino_gives() -> None:
    given = sampled(adult("age", "education", "occupation"), 0.05, 1)
    theta, alpha = fit_pitman(given) or (0.0, 0.0)
    people = given.people
    limit = np.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * np.log(people)) / people
    assert pitman_share(given) == pytest.approx(limit, rel=0.05)


@pytest.mark.parametrize(("theta", "alpha"), [(50.0, 0.3), (500.0, 0.6), (1000.0, 0.0)])
def test_pitman_finds_its_own_population(theta: float, alpha: float) -> None:
    classes = restaurant(30_000, theta, alpha, 5)
    estimates = [pitman_share(sampled(classes, 0.1, seed)) or 0.0 for seed in range(20)]
    assert np.median(estimates) == pytest.approx(unique_share(classes), rel=0.15)


def test_the_slide_negative_binomial_finds_its_own_population() -> None:
    """20,000 classes of one more than a negative binomial number, α = 0.6 and β = 0.3."""
    counts = 1 + np.random.default_rng(2).negative_binomial(0.6, 0.3, 20_000)
    classes = np.repeat(np.arange(len(counts)), counts)
    estimates = [snb_share(sampled(classes, 0.5, seed)) or 0.0 for seed in range(10)]
    assert np.median(estimates) == pytest.approx(unique_share(classes), rel=0.1)


ADULT = [
    ("age", "education", "occupation"),
    ("age", "occupation", "hours-per-week"),
    ("age", "education", "occupation", "native-country", "marital-status"),
]
"""Columns by which 7, 16 and 25 percent of the people of Adult, taken as a population, are unique."""


@pytest.mark.parametrize("names", ADULT)
@pytest.mark.parametrize(
    "fraction", [0.05, 0.5, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.1, 0.3, 0.9))]
)
def test_the_rule_estimates_a_real_population(names: tuple[str, ...], fraction: float) -> None:
    """The relative error stays within 40 percent; Zayatz alone is wrong by three times in a sample of 5 percent."""
    classes = adult(*names)
    true = unique_share(classes)
    found = [unique_people(sampled(classes, fraction, seed)) for seed in range(5)]
    assert abs(np.median([one.share for one in found]) / true - 1) < (0.4 if fraction < 0.5 else 0.1)
    if fraction == 0.05:
        assert np.median([one.zayatz for one in found]) > 1.8 * true
        assert {one.chosen for one in found} == {"pitman"}
    if fraction > 0.1:
        assert all(one.share == min(one.zayatz, one.snb or 1.0) for one in found)


def test_a_sample_of_everybody_is_the_population() -> None:
    classes = adult("age", "education", "occupation")
    given = ClassSizes.of(np.bincount(classes), 1.0)
    found = unique_people(given)
    assert found.zayatz == pytest.approx(unique_share(classes))
    assert found.snb == pytest.approx(unique_share(classes))
    assert found.share == pytest.approx(unique_share(classes))


def test_larger_samples_of_one_file_are_of_smaller_populations() -> None:
    """The same classes stand for fewer unique people, the smaller the sampling fraction."""
    shares = [pitman_share(sizes({1: 500, 2: 60, 3: 10, 9: 4}, fraction)) or 0.0 for fraction in (1.0, 0.1, 0.01, 1e-4)]
    assert all(later < earlier for earlier, later in pairwise(shares))


def test_bounds() -> None:
    nobody, everybody = sizes({2: 10, 5: 3}, 0.05), sizes({1: 40}, 0.05)
    assert unique_people(nobody).share == 0.0
    assert unique_people(everybody).share == 1.0
    assert unique_people(sizes({1: 40}, 0.5)).chosen == "zayatz"
    one = unique_people(sizes({1: 1}, 0.01))
    assert one.share == 1.0
    few = unique_people(sizes({1: 1, 2: 1, 50: 10}, 0.2))
    assert 0 <= few.share <= 1 / 503
