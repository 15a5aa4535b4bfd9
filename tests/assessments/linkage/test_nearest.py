"""The nearest records: beside plain loops, ties by hand, rounding, duplicates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tasks.assessments.linkage.problem.files import (
    TIE_ABSOLUTE,
    TIE_RELATIVE,
    Knowledge,
    distance_linkage,
    distinct_rows,
    files_to_link,
    nearest_credit,
)
from tests.support.examples import examples


def slow_credit(original: NDArray[np.float64], masked: NDArray[np.float64], truth: NDArray[np.intp]) -> list[float]:
    credit = []
    for record, own in zip(original, truth, strict=True):
        distances = [float(np.sqrt(((record - other) ** 2).sum())) for other in masked]
        limit = min(distances) * (1 + TIE_RELATIVE) + TIE_ABSOLUTE
        tied = [place for place, distance in enumerate(distances) if distance <= limit]
        credit.append(1 / len(tied) if own in tied else 0.0)
    return credit


@settings(deadline=None, max_examples=examples(40))
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), d=st.integers(1, 5), values=st.integers(2, 6))
def test_ties_as_plain_loops_count_them(seed: int, n: int, d: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(0, values, (n, d)) * 0.37
    masked = original + rng.integers(0, 2, (n, d)) * 0.37
    truth = rng.permutation(n)
    assert nearest_credit(original, masked, truth).tolist() == slow_credit(original, masked, truth)


@pytest.mark.parametrize("d", [2, 9, 13])
def test_heavy_tails_as_plain_loops(d: int) -> None:
    rng = np.random.default_rng(5)
    original = rng.standard_normal((250, d)) ** 7
    masked = original + 0.7 * rng.standard_normal(original.shape)
    truth = np.arange(250)
    assert nearest_credit(original, masked, truth).tolist() == slow_credit(original, masked, truth)


def test_points_that_single_precision_cannot_tell_apart() -> None:
    rng = np.random.default_rng(7)
    masked = 100 + 1e-7 * rng.standard_normal((250, 3))
    original, truth = masked + 1e-9 * rng.standard_normal(masked.shape), np.arange(250)
    assert nearest_credit(original, masked, truth).tolist() == slow_credit(original, masked, truth)


def test_a_tie_is_shared_by_hand() -> None:
    masked = np.array([[0.0], [2.0], [2.0], [5.0]])
    credit = nearest_credit(np.array([[1.0], [1.0], [5.0], [2.1]]), masked, np.array([0, 1, 0, 2]))
    assert credit.tolist() == [1 / 3, 1 / 3, 0.0, 0.5]


def test_distinct_rows_by_hand() -> None:
    rows = distinct_rows(np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]]))
    assert rows.rows.tolist() == [[2.0, 1.0], [0.0, 1.0]]
    assert (rows.first.tolist(), rows.of.tolist(), rows.counts.tolist()) == ([0, 1], [0, 1, 0, 1], [2, 2])


def test_many_attributes_of_many_values_are_numbered_without_overflow() -> None:
    values = np.random.default_rng(1).standard_normal((300, 12))
    rows = distinct_rows(np.vstack([values, values[:50]]))
    assert rows.counts.tolist() == [2] * 50 + [1] * 250
    assert np.array_equal(rows.rows, values)


def test_the_original_released_as_it_is_gives_everybody_away() -> None:
    table = np.array([[1.0, 3.0], [2.0, 8.0], [4.0, 5.0], [4.0, 5.0]])
    figure = distance_linkage(files_to_link(table, table))
    assert (figure.expected_correct, figure.n, figure.baseline) == (3.0, 4, 0.25)
    assert figure.proves_something


def test_a_masked_file_of_equal_records_but_one_is_no_better_than_guessing() -> None:
    rng = np.random.default_rng(2)
    masked = np.zeros((60, 2))
    masked[0] = 1
    figure = distance_linkage(files_to_link(rng.standard_normal((60, 2)), masked))
    assert not figure.proves_something


def test_an_intruder_with_one_person() -> None:
    rng = np.random.default_rng(4)
    original = rng.standard_normal((50, 3))
    masked = original + 0.01 * rng.standard_normal(original.shape)
    figure = distance_linkage(files_to_link(original, masked, Knowledge(records=(17,))))
    assert (figure.expected_correct, figure.n, figure.baseline) == (1.0, 1, 0.02)
