"""Agreement of clusterings: pairs counted by hand and by plain loops, clear groups found again, refusals."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.utility.analyses import cluster_agreement, pair_agreement
from tasks.core.errors import ParameterError
from tests.support.examples import examples


def _blobs(seed: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Three groups far apart, and the group of each record."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    return np.array([[0, 0], [10, 0], [0, 10]])[group] + rng.normal(size=(n, 2)), group


def test_pairs_by_hand() -> None:
    # Pairs together: first {01, 23}, second {01, 02, 12}; of 6 pairs one in both, three in one, two in neither.
    found = pair_agreement(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 7]))
    assert found == (0.5, 0.25, 0.4)


@settings(deadline=None, max_examples=examples(60))
@given(labels=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12))
def test_pairs_by_plain_loops(labels: list[tuple[int, int]]) -> None:
    both = only_first = only_second = apart = 0
    for (a, x), (b, y) in combinations(labels, 2):
        both += a == b and x == y
        only_first += a == b and x != y
        only_second += a != b and x == y
        apart += a != b and x != y
    rand, jaccard, f_measure = pair_agreement(*(np.array(column) for column in zip(*labels, strict=True)))
    assert rand == pytest.approx((both + apart) / (both + apart + only_first + only_second))
    if both + only_first + only_second:
        assert jaccard == pytest.approx(both / (both + only_first + only_second))
        assert f_measure == pytest.approx(2 * both / (2 * both + only_first + only_second))


@settings(deadline=None, max_examples=examples(30))
@given(labels=st.lists(st.integers(0, 4), min_size=2, max_size=15))
def test_the_same_partition_agrees_with_itself_however_numbered(labels: list[int]) -> None:
    first = np.array(labels)
    assert pair_agreement(first, 9 - first) == (1, 1, 1)


def test_clear_groups_are_found_again_under_noise_and_not_after_shuffling() -> None:
    original, group = _blobs(1)
    noisy = original + np.random.default_rng(2).normal(scale=0.1, size=original.shape)
    found = cluster_agreement(original, noisy, 3, np.random.default_rng(1))
    assert (found.clusters, found.records) == (3, len(group))
    assert (found.rand, found.jaccard, found.f_measure) == (1, 1, 1)
    assert (found.repeated_rand, found.repeated_f_measure) == (1, 1)
    shuffled = np.random.default_rng(3).permutation(original)
    # By chance 1/3 of the pairs are together in either, and 5/9 agree.
    assert abs(cluster_agreement(original, shuffled, 3, np.random.default_rng(1)).rand - 5 / 9) < 0.1


def test_the_same_generator_gives_the_same_figures_and_files_may_differ_in_width() -> None:
    rng = np.random.default_rng(4)
    original, released = rng.normal(size=(200, 3)), rng.normal(size=(200, 5))
    once = cluster_agreement(original, released, 5, np.random.default_rng(8))
    assert once == cluster_agreement(original, released, 5, np.random.default_rng(8))
    assert once.repeated_rand is not None
    assert once.repeated_rand > once.rand


def test_as_many_clusters_as_points_end_quietly() -> None:
    points = np.repeat(np.eye(3), 4, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cluster_agreement(points, points, 3, np.random.default_rng(1))
    assert found.rand == 1


@pytest.mark.parametrize(
    ("original", "released", "clusters", "message"),
    [
        (np.eye(4), np.eye(4), 1, "number of clusters"),
        (np.eye(4), np.eye(4), 5, "number of clusters"),
        (np.eye(4), np.repeat(np.eye(2), 2, axis=0), 3, "released features"),
    ],
)
def test_what_cannot_be_clustered_is_refused(
    original: np.ndarray, released: np.ndarray, clusters: int, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        cluster_agreement(original, released, clusters, np.random.default_rng(1))
