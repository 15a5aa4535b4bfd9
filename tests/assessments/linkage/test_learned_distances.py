"""Learned distances: worked cases, baselines, ties, ready distances, other records, refusals."""

from collections import deque

import numpy as np
import pytest
from numpy.typing import NDArray

from tasks.assessments.linkage.learning.comparisons import (
    Components,
    minimal_rivals,
    pairs_of,
    rows_of,
    scaled_components,
    unbreakable_ties,
)
from tasks.assessments.linkage.learning.family import Kind, cone
from tasks.assessments.linkage.learning.learn import _can_win, learn, winnable
from tasks.assessments.linkage.problem.files import Files, Knowledge, common_scale, distance_linkage, files_to_link
from tasks.core.errors import ParameterError
from tests.reference.cross_validation import cross_validated
from tests.support.slow_distances import shared_links

NAMES = ("a", "b", "c")


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def noisy(n: int = 40, m: int = 3, seed: int = 1) -> Files:
    """Records of which the first attribute is masked least and the last most; two masked records are equal."""
    rng = generator(seed)
    original = rng.standard_normal((n, m))
    masked = original + rng.standard_normal((n, m)) * np.linspace(0.1, 1.5, m)
    masked[1] = masked[0]
    return files_to_link(original, masked)


def three_attributes() -> Components:
    """The first attribute tells all records apart, the second misleads, the third says nothing."""
    distances = np.zeros((4, 4, 3))
    distances[:, :, 0] = 1 - np.eye(4)
    distances[:, :, 1] = 100 * np.eye(4)
    return scaled_components(distances, ("good", "bad", "constant"))


@pytest.mark.parametrize("kind", [Kind.WEIGHTED_MEAN, Kind.CHOQUET])
def test_the_attribute_that_tells_people_apart_is_found(kind: Kind) -> None:
    baseline = learn(three_attributes(), Kind.ARITHMETIC_MEAN, generator())
    learned = learn(three_attributes(), kind, generator(), certificate=True)
    assert baseline.in_sample.expected_correct == 0
    assert learned.in_sample.expected_correct == 4
    assert learned.certificate is not None
    assert learned.certificate.proven
    shares = learned.distance.attribute_shares
    assert sum(shares.values()) == pytest.approx(1)
    # Over their means, which are 0.75 and 25, the two differ by 4/3 and 4 where they differ.
    assert shares["good"] > 3 * shares["bad"]


def test_owa_worked_by_hand() -> None:
    # Own distances (0, 9) and (9, 0) against rivals' (2, 2): the smallest distance links, the mean does not.
    distances = np.array([[[0.0, 9.0], [2.0, 2.0]], [[2.0, 2.0], [9.0, 0.0]]])
    given = scaled_components(distances, ("a", "b"))
    assert learn(given, Kind.ARITHMETIC_MEAN, generator()).in_sample.expected_correct == 0
    learned = learn(given, Kind.OWA, generator())
    assert learned.in_sample.expected_correct == 2
    smallest, largest = learned.distance.weights
    # The mean over all pairs is 13/4 in either attribute: 2a + 2b > 9b.
    assert 2 * smallest > 7 * largest


def slow_table(files: Files, distance: NDArray[np.float64]) -> NDArray[np.float64]:
    original, masked = common_scale(files)
    return np.array([[(a - b) @ distance @ (a - b) for b in masked] for a in original])


@pytest.mark.parametrize("kind", [Kind.WEIGHTED_MEAN, Kind.OWA, Kind.CHOQUET])
def test_what_other_records_programs_gave_changes_no_bound(kind: Kind) -> None:
    """Each record's program by itself says what some parameters win."""
    pairs, allowed = pairs_of(noisy(), kind), cone(kind, 3)
    rows = rows_of(kind, pairs, minimal_rivals(kind, pairs), unbreakable_ties(kind, pairs))
    nothing = np.zeros(len(rows.gains))
    apart = [_can_win(rows, allowed, record, deque()) for record in range(len(rows.starts))]
    assert 0 < sum(apart) < len(apart)
    assert winnable(rows, allowed, nothing, len(apart)) == pytest.approx(rows.sure + rows.credit[apart].sum())


@pytest.mark.parametrize("kind", [Kind.WEIGHTED_MEAN, Kind.BILINEAR, Kind.MAHALANOBIS])
def test_figure_by_plain_loops(kind: Kind) -> None:
    files = noisy()
    learned = learn(files, kind, generator())
    slow = shared_links(slow_table(files, learned.distance.matrix), list(range(40)))
    assert learned.in_sample.expected_correct == pytest.approx(slow)
    assert learned.distance.link(files) == learned.in_sample
    assert learned.in_sample.baseline == 1 / 40


def test_baselines() -> None:
    files = noisy()
    assert learn(files, Kind.ARITHMETIC_MEAN, generator()).in_sample == distance_linkage(files)
    original, masked = common_scale(files)
    inverse = np.linalg.inv(np.cov((original - masked).T))
    matrix = learn(files, Kind.MAHALANOBIS, generator()).distance.matrix
    assert matrix == pytest.approx(inverse / np.abs(inverse).max())


def test_a_richer_family_links_no_fewer() -> None:
    for seed in range(2):
        files = noisy(24, seed=seed)
        found = {kind: learn(files, kind, generator(seed)).in_sample.expected_correct for kind in Kind}
        assert found[Kind.ARITHMETIC_MEAN] <= found[Kind.WEIGHTED_MEAN] <= found[Kind.CHOQUET]
        assert max(found[Kind.WEIGHTED_MEAN], found[Kind.MAHALANOBIS]) <= found[Kind.BILINEAR]


def test_equal_masked_records_share_the_link() -> None:
    original = np.array([[0.0], [1.0], [10.0]])
    learned = learn(files_to_link(original, [[0.5], [0.5], [10.0]]), Kind.WEIGHTED_MEAN, generator(), certificate=True)
    assert learned.in_sample.expected_correct == 2
    assert learned.certificate is not None
    assert learned.certificate.upper_bound == 2


def test_records_that_nothing_tells_apart_share_the_link() -> None:
    given = scaled_components(np.zeros((5, 5, 2)), ("a", "b"))
    learned = learn(given, Kind.WEIGHTED_MEAN, generator(), certificate=True)
    assert learned.in_sample.expected_correct == pytest.approx(1)
    assert not learned.in_sample.proves_something
    assert learned.certificate is not None
    assert learned.certificate.proven


@pytest.mark.parametrize("kind", list(Kind))
def test_same_generator_same_distance(kind: Kind) -> None:
    one, other = (learn(noisy(30), kind, generator(7)) for _ in range(2))
    assert one.distance.parameters.tolist() == other.distance.parameters.tolist()
    assert one.in_sample == other.in_sample


def test_units_of_ready_distances_do_not_matter() -> None:
    original, masked = common_scale(noisy())
    squared = (original[:, None, :] - masked) ** 2
    one = learn(scaled_components(squared, NAMES), Kind.WEIGHTED_MEAN, generator())
    other = learn(scaled_components(squared * [2.0**-10, 1.0, 2.0**12], NAMES), Kind.WEIGHTED_MEAN, generator())
    assert one.distance.parameters.tolist() == other.distance.parameters.tolist()
    numeric = learn(noisy(), Kind.WEIGHTED_MEAN, generator())
    assert one.in_sample.expected_correct == pytest.approx(numeric.in_sample.expected_correct, abs=1)


@pytest.mark.parametrize("kind", [Kind.WEIGHTED_MEAN, Kind.OWA, Kind.CHOQUET, Kind.BILINEAR])
def test_identical_and_unmasked_attributes_are_no_obstacle(kind: Kind) -> None:
    files = noisy()
    original, masked = files.original[:, [0, 0, 2]], files.masked[:, [0, 0, 2]].copy()
    masked[:, 2] = original[:, 2]
    learned = learn(files_to_link(original, masked), kind, generator())
    # Mixed with rounding, an unmasked attribute links everybody.
    assert learned.in_sample.expected_correct > 35


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 12])
def test_one_attribute_and_a_dozen(m: int) -> None:
    files = noisy(n=60, m=m)
    for kind in (Kind.WEIGHTED_MEAN, Kind.BILINEAR):
        learned = learn(files, kind, generator())
        assert learned.in_sample.expected_correct >= distance_linkage(files).expected_correct
        assert len(learned.distance.attribute_shares) == m


def test_what_is_learned_is_worth_less_on_other_records() -> None:
    files = noisy(120, 4, seed=5)
    half = np.arange(0, 120, 2)
    learned = learn(files, Kind.BILINEAR, generator(), records=half)
    assert learned.out_of_sample is not None
    assert (learned.in_sample.n, learned.out_of_sample.n) == (60, 60)
    assert learned.in_sample.share_correct > learned.out_of_sample.share_correct
    assert learned.distance.link(files, records=np.arange(1, 120, 2)) == learned.out_of_sample
    both = learned.in_sample.expected_correct + learned.out_of_sample.expected_correct
    assert learned.distance.link(files).expected_correct == pytest.approx(both)


def test_cross_validation_links_every_record_once() -> None:
    files = noisy(60, 3)
    figure = cross_validated(files, Kind.WEIGHTED_MEAN, generator(), folds=3)
    assert figure.n == 60
    assert (
        figure.baseline < figure.share_correct <= learn(files, Kind.WEIGHTED_MEAN, generator()).in_sample.share_correct
    )


def test_an_intruder_with_some_individuals() -> None:
    whole = noisy(50)
    files = files_to_link(whole.original, whole.masked, Knowledge(records=tuple(range(0, 50, 5))))
    learned = learn(files, Kind.CHOQUET, generator())
    assert learned.in_sample.n == 10
    assert learned.in_sample.baseline == 1 / 50


def test_refused() -> None:
    files = noisy()
    with pytest.raises(ParameterError, match="at least 2 different positions"):
        learn(files, Kind.WEIGHTED_MEAN, generator(), records=np.array([3]))
    with pytest.raises(ParameterError, match="positions from 0 to 39"):
        learn(files, Kind.WEIGHTED_MEAN, generator(), records=np.array([3, 40]))
    with pytest.raises(ParameterError, match="from distances"):
        learn(three_attributes(), Kind.BILINEAR, generator())
    with pytest.raises(ParameterError, match="does not fit"):
        learn(files, Kind.OWA, generator()).distance.link(three_attributes())
    with pytest.raises(ParameterError, match="no Mahalanobis distance"):
        learn(files_to_link(files.original[:, [0, 0]], files.masked[:, [0, 0]]), Kind.MAHALANOBIS, generator())
    with pytest.raises(ParameterError, match="at most 8"):
        learn(noisy(20, 9), Kind.CHOQUET, generator())
