from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tasks.adversary import fmdp
from tasks.adversary.group_sizes import known_size, truncated_binomial
from tasks.adversary.planning.enumerated import START, enumerate_process, linked, reidentification, value_iteration
from tasks.adversary.planning.two_level_lp import Program, TwoLevelLP, top_program
from tasks.core.errors import StageFailed
from tests.reference.plain_lp import plain_program, plain_value
from tests.support.adversary_profiles import CASE_STUDY, RISING, profiles
from tests.support.beliefs import belief_of
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("profile", "size", "value"),
    [
        (CASE_STUDY, 1, 3492.79),
        (CASE_STUDY, 10, 1895.71),
        (CASE_STUDY, 23, 781.09),
        (CASE_STUDY, 48, 0),
        (RISING, 10, 1551.61),
        (RISING, 23, 122.12),
        (RISING, 28, 8.23),
        (RISING, 29, 0),
    ],
)
def test_values_of_the_case_study(profile, size, value):
    assert TwoLevelLP(profile).value(known_size(size)) == pytest.approx(value, abs=0.005)


@settings(deadline=None, max_examples=examples(20))
@given(
    profile=profiles(),
    weights=st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any),
    actual=st.integers(1, 10),
)
def test_three_solvers_agree(profile, weights, actual):
    belief = belief_of({size: weight / sum(weights) for size, weight in enumerate(weights)})
    plan = value_iteration(enumerate_process(profile, belief, [actual]))
    program = TwoLevelLP(profile)
    solution = fmdp.solve(profile, 10)
    expected = profile.discount * float(belief.probabilities @ solution.linked_value[belief.sizes])
    for size in {actual, *belief.sizes.tolist()} - {0}:
        assert program.start_value(size) == pytest.approx(plan.value(linked(size)), abs=1e-8)
        assert program.start_value(size) == pytest.approx(solution.start_value[size], abs=1e-8)
    value = program.value(belief)
    assert value == pytest.approx(plan.value(START), abs=1e-8)
    assert value == pytest.approx(max(0.0, expected - profile.access_cost), abs=1e-8)
    assert plain_value(profile, belief) == pytest.approx(value, abs=1e-8)
    if abs(expected - profile.access_cost) > 1e-6:
        risk = program.reidentification_probability(belief, actual)
        assert risk == pytest.approx(reidentification(plan, actual), abs=1e-10)


@pytest.mark.parametrize("people", [20, 49, 60])
def test_unknown_group_agrees_with_the_recursion(people):
    density = people / 500_000
    belief = truncated_binomial(500_000, density)
    program = TwoLevelLP(CASE_STUDY)
    solution = fmdp.solve(CASE_STUDY, int(belief.sizes[-1]))
    expected = 0.9 * float(belief.probabilities @ solution.linked_value[belief.sizes]) - 100
    assert program.value(belief) == pytest.approx(max(0.0, expected), abs=1e-8)
    for actual in (10, 50, 53, 54):
        closed = fmdp.reidentification_probability_unknown(CASE_STUDY, [actual], [density], 500_000)[0]
        assert program.reidentification_probability(belief, actual) == pytest.approx(closed, abs=1e-10)


def test_detection_next_to_0_with_a_fine_beyond_measure_still_counts():
    # A coefficient that HiGHS would leave out carries 1e-11 · 1e13 = 100 in money a try.
    rare = replace(CASE_STUDY, detection_intercept=np.log(1e-11), penalty=1e13, max_penalties=None)
    expected = fmdp.solve(rare, 12).start_value
    program = TwoLevelLP(rare)
    assert program.start_value(12) == pytest.approx(expected[12], rel=1e-8)
    assert program.start_value(12) < 0.9 * TwoLevelLP(replace(rare, penalty=0)).start_value(12)


def test_clusters_are_solved_once():
    program = TwoLevelLP(CASE_STUDY)
    program.value(belief_of({2: 0.5, 3: 0.5}))
    assert program.clusters_solved == 2
    program.value(belief_of({3: 0.5, 2: 0.5}))
    program.value(belief_of({2: 0.25, 3: 0.25, 4: 0.5}))
    assert program.clusters_solved == 3


def test_sizes_past_the_first_worthless_one_are_not_solved():
    program = TwoLevelLP(CASE_STUDY)
    assert program.value(belief_of(dict.fromkeys(range(40, 81), 1 / 41))) == 0
    solved = program.clusters_solved
    assert program.start_value(53) > 0
    assert program.start_value(54) == 0
    assert program.start_value(1_000_000) == 0
    assert program.clusters_solved <= solved + 2


def test_a_large_cluster_is_not_solved_before_the_small_ones_are_known():
    program = TwoLevelLP(CASE_STUDY)
    assert program.start_value(10**9) == 0
    # 2, 4, …, 64: the first worthless of them is 64.
    assert program.clusters_solved == 6


def test_an_empty_group_is_worth_nothing_but_prunes_nothing():
    program = TwoLevelLP(CASE_STUDY)
    assert program.start_value(0) == 0
    assert program.start_value(1) == pytest.approx(4435.54, abs=0.005)
    assert program.value(belief_of({0: 0.5, 1: 0.5})) == pytest.approx(0.5 * (3492.79 + 100) - 100, abs=0.005)
    assert plain_value(CASE_STUDY, belief_of({0: 0.5, 1: 0.5})) == pytest.approx(
        program.value(belief_of({0: 0.5, 1: 0.5})), abs=1e-8
    )
    assert program.reidentification_probability(known_size(1), 0) == 0


def test_size_of_the_two_programs():
    belief = belief_of(dict.fromkeys(range(11, 31), 1 / 20))
    top = top_program(CASE_STUDY, belief, np.zeros(20))
    plain = plain_program(CASE_STUDY, belief)
    assert len(top.bounds) == 1 + 20
    # Per size: exploits made, fines counted (0, 1), detected, success.
    assert len(plain.bounds) == 21 + sum((size + 1) * 2 * 2 * 2 for size in range(11, 31))
    assert len(plain.costs) == 1 + 20 + sum(size * 2 * 2 for size in range(11, 31))


def test_a_program_without_an_optimum_is_a_failed_stage():
    # A state that pays for staying in it, without discount: its value has no bound.
    endless = Program(
        bounds=np.zeros(1),
        origin=np.zeros(1, dtype=np.int64),
        follow=sparse.csr_array(np.ones((1, 1))),
        costs=np.array([-1.0]),
        discount=1.0,
    )
    with pytest.raises(StageFailed, match="not solved"):
        endless.solved()
