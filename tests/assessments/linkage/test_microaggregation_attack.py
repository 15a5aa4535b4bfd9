"""Attacks on microaggregation: brackets by hand, MDAV run again, who may do what."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.linkage.problem.figure import Floats
from tasks.assessments.linkage.problem.files import Knowledge, distance_linkage, files_to_link
from tasks.assessments.linkage.within import truth_inside
from tasks.core.errors import ParameterError
from tasks.masking.microaggregation import IndividualRanking, Mdav
from tests.reference.microaggregation_attacks import (
    Remask,
    bracketing_linkage,
    rank_brackets,
    rerun_linkage,
    value_brackets,
)
from tests.support.blocks import masked_in_blocks
from tests.support.casc_tables import casc_table
from tests.support.examples import examples

BLOCKS = [(0, 1), (2, 3), (4, 5)]


def remask(k: int) -> Remask:
    def again(values: Floats, block: int) -> Floats:  # noqa: ARG001
        return Mdav(k, standardised=False).mask(values, np.random.default_rng()).values

    return again


def test_brackets_by_hand() -> None:
    original = np.array([[1.0], [2.0], [6.0], [7.0], [8.0], [9.0]])
    masked = np.array([[3.0], [3.0], [3.0], [8.0], [8.0], [8.0]])
    by_rank = rank_brackets(original, masked)
    assert by_rank.low.ravel().tolist() == by_rank.high.ravel().tolist() == masked.ravel().tolist()
    by_value = value_brackets(original, masked)
    assert by_value.low.ravel().tolist() == [3, 3, 3, 3, 3, 8]
    assert by_value.high.ravel().tolist() == [3, 3, 8, 8, 8, 8]


def test_equal_values_may_be_in_each_group_that_has_some() -> None:
    original = np.array([[1.0], [2.0], [2.0], [2.0], [2.0], [5.0]])
    masked = np.array([[1.5], [1.5], [2.0], [2.0], [3.5], [3.5]])
    by_rank = rank_brackets(original, masked)
    assert by_rank.low[1:5].ravel().tolist() == [1.5] * 4
    assert by_rank.high[1:5].ravel().tolist() == [3.5] * 4
    by_value = value_brackets(original, masked)
    assert (by_value.low[2], by_value.high[2]) == (1.5, 3.5)


@settings(deadline=None, max_examples=examples(30))
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(6, 60), k=st.integers(2, 5), values=st.sampled_from([3, 20, 10**6])
)
def test_the_truth_is_always_within_the_brackets(seed: int, n: int, k: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(0, values, (n, 2)) ** 3.0
    original[0] = -1
    masked = IndividualRanking(min(k, n // 2)).mask(original, rng).values
    files = files_to_link(original, masked)
    assert truth_inside(files, rank_brackets(files.original, files.masked)).all()
    assert truth_inside(files, value_brackets(files.original, files.masked)).all()


def test_individual_ranking_gives_nearly_everybody_away() -> None:
    original = casc_table("census")[:, :3]
    masked = IndividualRanking(3).mask(original, np.random.default_rng(1)).values
    for known, least in ((2, 0.99), (3, 0.998)):
        files = files_to_link(original, masked, Knowledge(attributes=tuple(range(known))))
        by_rank, by_value = bracketing_linkage(files), bracketing_linkage(files, "value")
        assert by_rank.share_correct >= least
        assert by_rank.certain_matches >= by_value.certain_matches
        assert by_rank.expected_correct >= by_value.expected_correct >= 0.95 * by_rank.expected_correct


def test_mdav_run_again_finds_what_distance_does_not() -> None:
    original = casc_table("census")[:, :6]
    masked = masked_in_blocks(original, [(2, 25)] * 3)
    files = files_to_link(original, masked)
    by_distance, again = distance_linkage(files), rerun_linkage(files, BLOCKS, remask(25))
    assert again.share_correct > 2 * by_distance.share_correct
    assert again.certain_matches == again.single_candidates > 0.9 * again.n
    assert again.no_candidates == 0


def test_only_blocks_known_in_full_are_run_again() -> None:
    original = casc_table("census")[:200, :6]
    masked = masked_in_blocks(original, [(2, 5)] * 3)
    shares = []
    for known in ((0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)):
        files = files_to_link(original, masked, Knowledge(attributes=known))
        figure = rerun_linkage(files, BLOCKS, remask(5))
        shares.append(figure.share_correct)
        if known == (0,):
            assert figure.expected_correct == distance_linkage(files).expected_correct
    assert shares == sorted(shares)
    assert shares[-1] > 2 * shares[1] > 0


def test_another_k_leaves_no_candidates_and_falls_back_on_distance() -> None:
    original = casc_table("census")[:200, :2]
    masked = masked_in_blocks(original, [(2, 5)])
    files = files_to_link(original, masked)
    wrong = rerun_linkage(files, [(0, 1)], remask(7))
    assert wrong.no_candidates > 0.9 * wrong.n
    assert wrong.expected_correct > 0.5 * distance_linkage(files).expected_correct


def test_what_an_intruder_with_some_individuals_cannot_do() -> None:
    original = casc_table("census")[:60, :2]
    masked = IndividualRanking(3).mask(original, np.random.default_rng(1)).values
    few = files_to_link(original, masked, Knowledge(records=(3, 7)))
    with pytest.raises(ParameterError, match="cannot be run"):
        rerun_linkage(few, [(0, 1)], remask(3))
    with pytest.raises(ParameterError, match="cannot be run"):
        bracketing_linkage(few, "rank")
    assert bracketing_linkage(few) == bracketing_linkage(few, "value")


def test_what_does_not_fit_is_refused() -> None:
    original = casc_table("census")[:60, :2]
    files = files_to_link(original, original[:, ::-1])
    with pytest.raises(ParameterError, match="cannot be run"):
        bracketing_linkage(files)
    with pytest.raises(ParameterError, match="cannot be run"):
        rerun_linkage(files, [(0, 1), (1,)], remask(3))
    with pytest.raises(ParameterError, match="cannot be run"):
        rerun_linkage(files, [(0, 1)], lambda values, _: values[:-1])
