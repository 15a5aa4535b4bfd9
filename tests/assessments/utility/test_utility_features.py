"""Columns as features: scales, indicators, what is pooled, what is refused, and samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.utility.features import features, sample
from tasks.core.errors import ParameterError
from tests.support.examples import examples


def test_numbers_are_standardised_and_categories_become_indicators() -> None:
    found = features({"age": np.array([1, 3, 5]), "flat": np.array([7, 7, 7])}, {"sex": np.array([4, 2, 4])})
    assert found.n_numeric == 2
    assert found.matrix[:, 0] == pytest.approx([-(1.5**0.5), 0, 1.5**0.5])
    assert found.matrix[:, 1].tolist() == [0, 0, 0]
    assert found.matrix[:, 2:].tolist() == [[0, 1], [1, 0], [0, 1]]


def test_two_versions_can_share_a_scale() -> None:
    original = {"age": np.array([0.0, 2.0])}
    found = features({"age": np.array([4.0, 1.0])}, {}, scaled_as=original)
    assert found.matrix[:, 0].tolist() == [3, 0]
    assert features({"age": np.array([4.0, 1.0])}, {}, scaled_as={"age": np.ones(5)}).matrix.tolist() == [[0], [0]]


def test_rare_categories_share_an_indicator() -> None:
    codes = np.array([1] * 5 + [2] * 4 + [3] * 2 + [4, 5, 6])
    found = features({}, {"job": codes}, categories=3)
    assert found.matrix.shape == (14, 3)
    assert found.matrix.sum(axis=0).tolist() == [5, 4, 5]
    assert features({}, {"job": codes}, categories=6).matrix.shape == (14, 6)


@settings(deadline=None, max_examples=examples(40))
@given(codes=st.lists(st.integers(-3, 9), min_size=1, max_size=30), categories=st.integers(2, 6))
def test_every_record_has_one_indicator_and_no_more_columns_than_allowed(codes: list[int], categories: int) -> None:
    found = features({}, {"job": np.array(codes)}, categories=categories)
    assert (found.matrix.sum(axis=1) == 1).all()
    assert found.matrix.shape[1] == min(len(set(codes)), categories)


@pytest.mark.parametrize(
    ("numeric", "categorical", "options", "message"),
    [
        ({}, {}, {}, "nothing to make features of"),
        ({"x": np.array([])}, {}, {}, "nothing to make features of"),
        ({"x": np.array([1.0, np.nan])}, {}, {}, "missing, infinite or too large"),
        ({"x": np.array([31337.0, np.inf])}, {}, {}, "missing, infinite or too large"),
        ({"x": np.array([0, 1e30])}, {}, {"scaled_as": {"x": np.arange(2)}}, "too far from"),
    ],
)
def test_columns_that_cannot_be_used_are_refused(
    numeric: dict[str, np.ndarray], categorical: dict[str, np.ndarray], options: dict[str, object], message: str
) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        features(numeric, categorical, **options)  # type: ignore[arg-type]
    assert "31337" not in str(caught.value)


def test_a_sample_is_without_repetition_and_the_same_for_the_same_generator() -> None:
    drawn = sample(1_000, 50, np.random.default_rng(3))
    assert len(set(drawn.tolist())) == 50
    assert (np.diff(drawn) > 0).all()
    assert drawn.min() >= 0
    assert drawn.max() < 1_000
    assert np.array_equal(drawn, sample(1_000, 50, np.random.default_rng(3)))
    assert not np.array_equal(drawn, sample(1_000, 50, np.random.default_rng(4)))


def test_few_records_are_all_taken() -> None:
    assert sample(3, 3, np.random.default_rng(1)).tolist() == [0, 1, 2]
