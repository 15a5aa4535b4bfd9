"""The intersection attack: the worked example, windows with ties, plain loops, what is guaranteed and what is not."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tasks.assessments.linkage.problem.files import (
    Files,
    Knowledge,
    common_scale,
    distance_linkage,
    files_to_link,
    tie_limit,
)
from tasks.assessments.linkage.within import rank_swap_linkage
from tasks.core.errors import ParameterError
from tasks.masking.rank_swapping import BucketSwapping, RankSwapping, Reading, window_bounds
from tests.reference.knowing_attacks import candidate_sets
from tests.support.examples import examples

# Torra 2016, slides 58 to 60: ten records, values may move by two ranks
ORIGINAL = np.array(
    [
        [8, 9, 1, 3],
        [6, 7, 10, 2],
        [10, 3, 4, 1],
        [7, 1, 2, 6],
        [9, 4, 6, 4],
        [2, 2, 8, 8],
        [1, 10, 3, 9],
        [4, 8, 7, 10],
        [5, 5, 5, 5],
        [3, 6, 9, 7],
    ]
)
MASKED = np.array(
    [
        [10, 10, 3, 5],
        [5, 5, 8, 1],
        [8, 4, 2, 2],
        [9, 2, 4, 4],
        [7, 3, 5, 6],
        [4, 1, 10, 10],
        [3, 9, 1, 7],
        [2, 6, 9, 8],
        [6, 7, 6, 3],
        [1, 8, 7, 9],
    ]
)
SETS = [
    {(4, 1, 10, 10), (5, 5, 8, 1), (6, 7, 6, 3), (7, 3, 5, 6), (8, 4, 2, 2)},
    {(5, 5, 8, 1), (2, 6, 9, 8), (6, 7, 6, 3), (1, 8, 7, 9), (3, 9, 1, 7)},
    {(5, 5, 8, 1), (2, 6, 9, 8), (4, 1, 10, 10)},
    {(5, 5, 8, 1), (8, 4, 2, 2), (6, 7, 6, 3), (9, 2, 4, 4)},
]


def slow_linkage(files: Files, window: int) -> tuple[float, int]:
    """Expected correct and certain matches, record by record from the definition of B_j."""
    original, masked = common_scale(files)
    expected, certain = 0.0, 0
    for record, own in enumerate(files.truth):
        candidates = set(range(len(masked)))
        for axis in range(masked.shape[1]):
            values = sorted(files.masked[:, axis])
            lowest = values.index(files.original[record, axis])
            highest = len(values) - 1 - values[::-1].index(files.original[record, axis])
            allowed = set(values[max(lowest - window, 0) : highest + window + 1])
            candidates &= {row for row in candidates if files.masked[row, axis] in allowed}
        certain += candidates == {own}
        distances = {row: float(np.sqrt(((original[record] - masked[row]) ** 2).sum())) for row in candidates}
        limit = float(tie_limit(np.array(min(distances.values()))))
        tied = [row for row, distance in distances.items() if distance <= limit]
        expected += 1 / len(tied) if own in tied else 0.0
    return expected, certain


def masked_by(reading: str, original: NDArray[np.float64], p: float, seed: int) -> NDArray[np.float64]:
    return RankSwapping(p, Reading(reading)).mask(original, np.random.default_rng(seed)).values


def test_the_worked_example_of_the_slides() -> None:
    sets = candidate_sets(ORIGINAL[[1]].astype(float), MASKED.astype(float), 2)[0]
    assert [{tuple(MASKED[row].tolist()) for row in np.flatnonzero(held)} for held in sets] == SETS
    assert MASKED[sets.all(axis=0)].tolist() == [[5, 5, 8, 1]]


def test_the_worked_example_is_a_certain_match() -> None:
    figure = rank_swap_linkage(files_to_link(ORIGINAL, MASKED, Knowledge(records=(1,))), 2)
    assert (figure.certain_matches, figure.expected_correct, figure.n) == (1, 1.0, 1)


def test_windows_with_ties_are_clipped_at_the_ends() -> None:
    values = np.array([[1.0], [2.0], [2.0], [3.0], [4.0], [9.0]])
    bounds = window_bounds(np.array([[2.0], [1.0], [9.0], [4.0]]), values, 1)
    assert bounds.low.tolist() == [[1.0], [1.0], [4.0], [3.0]]
    assert bounds.high.tolist() == [[3.0], [2.0], [9.0], [9.0]]


@settings(deadline=None, max_examples=examples(25))
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(5, 40),
    d=st.integers(1, 4),
    p=st.sampled_from([20, 40, 100]),
    reading=st.sampled_from(list(Reading)),
    values=st.sampled_from([4, 1000]),
)
def test_as_plain_loops_have_it(*, seed: int, n: int, d: int, p: float, reading: Reading, values: int) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(0, values, (n, d)).astype(float)
    original[0], original[1] = -1, values
    files = files_to_link(original, masked_by(reading, original, p, seed), Knowledge(attributes=tuple(range(d))))
    window = RankSwapping(p).ranks(n)
    figure = rank_swap_linkage(files, window)
    expected, certain = slow_linkage(files, window)
    assert figure.expected_correct == pytest.approx(expected)
    assert figure.certain_matches == figure.single_candidates == certain
    assert figure.no_candidates == 0


@pytest.mark.parametrize("reading", list(Reading))
def test_the_truth_is_always_a_candidate(reading: Reading) -> None:
    rng = np.random.default_rng(11)
    original = np.column_stack([rng.standard_normal(900), rng.integers(0, 5, 900), rng.exponential(size=900)])
    files = files_to_link(original, masked_by(reading, original, 3, 12))
    figure = rank_swap_linkage(files, RankSwapping(3).ranks(900))
    assert figure.single_candidates == figure.certain_matches
    with pytest.raises(ParameterError, match="rank swapping within 5 ranks"):
        rank_swap_linkage(files, 5)


def test_more_attributes_never_leave_more_candidates() -> None:
    rng = np.random.default_rng(13)
    original = rng.standard_normal((300, 4))
    masked = masked_by("pair", original, 10, 14)
    sets = candidate_sets(original, masked, 30)
    sizes = [sets[:, : 1 + known].all(axis=1).sum(axis=1) for known in range(4)]
    assert all((fewer <= more).all() for more, fewer in pairwise(sizes))


def test_buckets_take_the_guarantee_away() -> None:
    rng = np.random.default_rng(15)
    original = rng.standard_normal((400, 3))
    files = files_to_link(original, BucketSwapping(10).mask(original, rng).values)
    with pytest.raises(ParameterError, match="rank swapping"):
        rank_swap_linkage(files, 8)
    naive = rank_swap_linkage(files, 8, guaranteed=False)
    assert naive.certain_matches < naive.single_candidates
    assert naive.no_candidates > 0


def test_a_window_of_the_whole_file_leaves_distance_alone() -> None:
    rng = np.random.default_rng(16)
    original = rng.standard_normal((200, 3))
    files = files_to_link(original, BucketSwapping(5).mask(original, rng).values)
    assert rank_swap_linkage(files, 200).expected_correct == pytest.approx(distance_linkage(files).expected_correct)


def test_records_without_candidates_are_linked_as_if_nothing_were_known() -> None:
    original = np.array([[0.0, 3.0], [1.0, 2.0], [2.0, 1.0], [3.0, 0.0]])
    masked = np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 2.0], [3.0, 3.0]])
    figure = rank_swap_linkage(files_to_link(original, masked, Knowledge(records=(0,))), 1, guaranteed=False)
    assert (figure.no_candidates, figure.certain_matches, figure.expected_correct) == (1, 0, 0.5)


@pytest.mark.parametrize("window", [0, -1, 11, 2.5, True, "2"])
def test_windows_out_of_range(window: object) -> None:
    files = files_to_link(ORIGINAL, MASKED)
    with pytest.raises(ParameterError, match="parameter of rank swapping"):
        rank_swap_linkage(files, window)  # type: ignore[arg-type]


def test_percentages_are_taken_as_they_are_written() -> None:
    windows = [RankSwapping(p).ranks(n) for p, n in ((2, 1080), (0.29, 10_000), (100, 7), (14, 4092))]
    assert windows == [21, 29, 7, 572]
