"""The known-k attack on noise: the likelihood by plain loops, correlated noise, an intruder with one person."""

import numpy as np
import pytest

from tasks.assessments.linkage.problem.files import Files, distance_linkage, files_to_link
from tasks.masking.noise import AdditiveNoise, CorrelatedNoise
from tests.reference.knowing_attacks import noise_linkage
from tests.support.casc_tables import casc_table


def slow_linkage(files: Files, covariance: np.ndarray) -> float:
    """Records whose own masked record has the greatest likelihood over the mean likelihood of all originals."""
    inverse = np.linalg.inv(covariance)

    def log_likelihood(record: np.ndarray, other: np.ndarray) -> float:
        return float(-(other - record) @ inverse @ (other - record) / 2)

    table = np.array([[log_likelihood(record, other) for other in files.masked] for record in files.original])
    ratio = table - np.log(np.exp(table - table.max(axis=0)).mean(axis=0)) - table.max(axis=0)
    return float((ratio.argmax(axis=1) == files.truth).sum())


@pytest.mark.parametrize("correlated", [False, True])
def test_the_greatest_likelihood_ratio_as_plain_loops(correlated: bool) -> None:
    rng = np.random.default_rng(1)
    original = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 3))
    method = CorrelatedNoise(0.1) if correlated else AdditiveNoise(0.1)
    files = files_to_link(original, method.mask(original, rng).values)
    covariance = np.cov(original.T, bias=True) * 0.1
    slow = slow_linkage(files, covariance if correlated else np.diag(np.diag(covariance)))
    assert noise_linkage(files, 0.1, correlated=correlated).expected_correct == slow


def test_who_knows_the_noise_links_more() -> None:
    original = casc_table("census")[:, :6]
    for method, correlated in ((AdditiveNoise(0.1), False), (CorrelatedNoise(0.1), True)):
        files = files_to_link(original, method.mask(original, np.random.default_rng(1)).values)
        informed = noise_linkage(files, 0.1, correlated=correlated)
        assert informed.share_correct > 1.2 * distance_linkage(files).share_correct


def test_attributes_that_determine_one_another_are_no_obstacle() -> None:
    rng = np.random.default_rng(3)
    original = rng.standard_normal((100, 2))
    original = np.column_stack([original, original.sum(axis=1)])
    files = files_to_link(original, CorrelatedNoise(0.01).mask(original, rng).values)
    assert noise_linkage(files, 0.01, correlated=True).share_correct > 0.5
