"""The figure of an attack: counts by hand, Wilson's interval beside SciPy's, what proves something."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from tasks.assessments.linkage.problem.figure import Linkage, linkage
from tasks.core.errors import ParameterError
from tasks.core.wilson import wilson
from tests.reference.linkage_means import mean_share
from tests.support.examples import examples


@settings(deadline=None, max_examples=examples(40))
@given(counts=st.tuples(st.integers(0, 60), st.integers(1, 60)).map(sorted).filter(lambda pair: pair[1] > 0))
def test_wilson_as_scipy_has_it(counts: list[int]) -> None:
    correct, n = counts
    expected = binomtest(correct, n).proportion_ci(method="wilson")
    assert wilson(correct, n) == pytest.approx((expected.low, expected.high))


def test_counts_by_hand() -> None:
    credit, sizes = np.array([1.0, 0.0, 0.5, 0.0]), np.array([1, 1, 2, 0])
    figure = linkage(credit, 8, sizes)
    assert (figure.expected_correct, figure.n, figure.baseline) == (1.5, 4, 0.125)
    assert (figure.certain_matches, figure.single_candidates, figure.no_candidates) == (1, 2, 1)
    assert (figure.share_correct, figure.certain_share) == (0.375, 0.25)


def test_without_sets_nothing_is_certain() -> None:
    figure = linkage(np.ones(3), 3)
    assert (figure.certain_matches, figure.single_candidates, figure.no_candidates) == (0, 0, 0)


def test_an_attack_as_good_as_guessing_proves_nothing() -> None:
    assert not Linkage(expected_correct=1.0, n=100, baseline=0.01).proves_something
    assert not Linkage(expected_correct=0.0, n=100, baseline=0.01).proves_something
    assert Linkage(expected_correct=10.0, n=100, baseline=0.01).proves_something


def test_mean_over_attacks() -> None:
    assert mean_share([Linkage(1.0, 4, 0.25), Linkage(3.0, 4, 0.25)]) == 0.5
    with pytest.raises(ParameterError, match="no attack to average"):
        mean_share([])
