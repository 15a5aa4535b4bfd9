"""Everybody at once: what one-to-one reasoning adds, by hand, by all assignments, and on swapped files."""

from itertools import permutations

import numpy as np
import pytest

from tasks.assessments.linkage.informed import joint_linkage, scaled_to_marginals
from tasks.assessments.linkage.problem.figure import Floats, Linkage
from tasks.assessments.linkage.problem.files import Files, files_to_link
from tasks.assessments.linkage.within import (
    displacement_score,
    linkage_within,
    rank_swap_linkage,
    simulated_displacement,
    truth_inside,
)
from tasks.core.errors import ParameterError
from tasks.masking.method import Masked, MaskedRange
from tasks.masking.noise import AdditiveNoise
from tasks.masking.rank_swapping import BucketSwapping, RankSwapping, Reading, window_bounds
from tests.reference.knowing_attacks import joint_noise_linkage, joint_rank_swap_linkage, noise_linkage
from tests.support.casc_tables import casc_table


def swapped_files(reading: Reading, p: float, n: int = 1080) -> Files:
    original = casc_table("census")[:n, :6]
    return files_to_link(original, RankSwapping(p, reading).mask(original, np.random.default_rng(1)).values)


def moves(reading: Reading, p: float, n: int = 1080) -> Floats:
    return simulated_displacement(RankSwapping(p, reading), n)


def alike(files: Files, bounds: MaskedRange) -> Linkage:
    """Everybody at once, all pairs within the bounds being alike."""
    return joint_linkage(files, bounds, lambda records, _: np.zeros(len(records)), 2**20)


def test_a_chain_of_exclusions_by_hand() -> None:
    # The first record fits the first masked one only, so the second fits the second, so the third the third.
    values = np.array([[1.0], [2.0], [3.0]])
    low, high = np.array([[0.5], [0.5], [1.5]]), np.array([[1.5], [2.5], [3.5]])
    figure = alike(files_to_link(values, values), MaskedRange(low, high))
    assert (figure.expected_correct, figure.single_candidates) == (3.0, 1)


def assignment_probabilities(table: np.ndarray) -> np.ndarray:
    """Share of the one-to-one assignments within a table of booleans that hold each pair."""
    held, rows = np.zeros(table.shape), np.arange(len(table))
    for order in permutations(range(len(table))):
        held[rows, list(order)] += table[rows, list(order)].all()
    return held / held[0].sum()


def test_scaling_comes_near_the_share_of_assignments() -> None:
    rng = np.random.default_rng(2)
    for _ in range(8):
        table = rng.random((7, 7)) < 0.4
        table[np.arange(7), rng.permutation(7)] = True
        exact = assignment_probabilities(table)
        row, point = np.nonzero(table)
        ones = np.ones(7, dtype=np.int64)
        plan = np.zeros((7, 7))
        plan[row, point] = scaled_to_marginals(row, point, np.ones(len(row)), ones, ones)
        assert np.allclose(plan.sum(axis=1), 1)
        assert np.allclose(plan.sum(axis=0), 1, atol=0.02)
        assert np.abs(plan - exact).max() < 0.15
        assert (plan[table & (exact == 0)] < 0.02).all()


def test_equal_records_share_what_they_are_given() -> None:
    row, point = np.array([0, 0, 1]), np.array([0, 1, 1])
    plan = scaled_to_marginals(row, point, np.ones(3), np.array([3, 1]), np.array([2, 2]))
    assert plan == pytest.approx([2, 1, 1], abs=1e-2)


@pytest.mark.parametrize("reading", list(Reading))
def test_everybody_at_once_is_worse_than_one_by_one(reading: Reading) -> None:
    files = swapped_files(reading, 10)
    window = RankSwapping(10).ranks(1080)
    alone, joint = rank_swap_linkage(files, window), joint_rank_swap_linkage(files, window)
    assert joint.share_correct > alone.share_correct + 0.1
    assert joint.certain_matches == alone.certain_matches


def test_knowing_how_values_move_is_worse_still() -> None:
    files, displacement = swapped_files(Reading.SKIP, 14), moves(Reading.SKIP, 14)
    window = RankSwapping(14).ranks(1080)
    bounds = window_bounds(files.original, files.masked, window)
    near = rank_swap_linkage(files, window).share_correct
    likely = linkage_within(files, bounds, displacement_score(files, displacement)).share_correct
    joint = joint_rank_swap_linkage(files, window, displacement).share_correct
    assert near + 0.1 < likely < joint - 0.05


def test_buckets_have_no_window_but_a_distribution() -> None:
    original = casc_table("census")[:400, :6]
    method = BucketSwapping(20)
    files = files_to_link(original, method.mask(original, np.random.default_rng(1)).values)
    tried = simulated_displacement(method, 400)
    unbounded = MaskedRange(np.full_like(original, -np.inf), np.full_like(original, np.inf))
    likely = linkage_within(files, unbounded, displacement_score(files, tried))
    joint = joint_rank_swap_linkage(files, None, tried)
    assert likely.proves_something
    assert joint.expected_correct > likely.expected_correct


def test_displacement_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BucketSwapping, "mask", lambda _, table, __: Masked(np.roll(table, 1, axis=0), {}))
    tried = simulated_displacement(BucketSwapping(2), 4, columns=1)
    # Three values went down by one rank and one up by three: all within 3 ranks, each move seen or a hundredth spread.
    spread = 0.01 / 7
    assert tried == pytest.approx([spread] * 2 + [0.99 * 0.75 + spread] + [spread] * 3 + [0.99 / 4 + spread])


def test_the_score_of_ties_is_the_mean_over_their_ranks() -> None:
    values = np.array([[1.0], [2.0], [2.0], [5.0], [7.0]])
    probability = np.array([0.01, 0.04, 0.1, 0.2, 0.3, 0.2, 0.1, 0.03, 0.02])
    score = displacement_score(files_to_link(values, values), probability)
    ranks = [[0], [1, 2], [1, 2], [3], [4]]
    for record in range(5):
        for candidate in range(5):
            cells = [probability[4 + there - here] for here in ranks[record] for there in ranks[candidate]]
            got = score(np.array([record]), np.array([candidate]))
            assert got == pytest.approx([-np.log(np.mean(cells))])


def test_noise_on_everybody_at_once() -> None:
    original = casc_table("census")[:, :6]
    files = files_to_link(original, AdditiveNoise(0.05).mask(original, np.random.default_rng(1)).values)
    alone, joint = noise_linkage(files, 0.05), joint_noise_linkage(files, 0.05)
    assert joint.share_correct > alone.share_correct + 0.02


def test_the_same_attack_gives_the_same_bytes() -> None:
    files, displacement = swapped_files(Reading.PAIR, 10, 300), moves(Reading.PAIR, 10, 300)
    assert displacement.tobytes() == moves(Reading.PAIR, 10, 300).tobytes()
    assert joint_rank_swap_linkage(files, 30, displacement) == joint_rank_swap_linkage(files, 30, displacement)


def test_what_cannot_be_attacked_at_once() -> None:
    files = swapped_files(Reading.PAIR, 10, 100)
    outside = MaskedRange(files.original + 1e12, files.original + 2e12)
    assert not truth_inside(files, outside).any()
    with pytest.raises(ParameterError, match="everybody cannot be attacked"):
        alike(files, outside)
    anything = np.full_like(files.original, np.inf)
    with pytest.raises(ParameterError, match="everybody cannot be attacked"):
        joint_linkage(files, MaskedRange(-anything, anything), lambda records, _: np.zeros(len(records)), 100)
