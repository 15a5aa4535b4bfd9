from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary import fmdp
from tasks.adversary.group_sizes import truncated_binomial
from tasks.adversary.planning.enumerated import (
    OVER,
    START,
    Action,
    ProcessState,
    accessed,
    enumerate_process,
    linked,
    reidentification,
    value_iteration,
)
from tasks.adversary.profile import AdversaryProfile
from tests.support.adversary_profiles import CASE_STUDY, REPEATED, RISING, profiles
from tests.support.beliefs import belief_of
from tests.support.examples import examples

# Two candidates of four people; half of the exploits are detected, and the first detection is fined.
HAND = AdversaryProfile(
    gain=100,
    penalty=50,
    access_cost=0.25,
    link_cost=0.25,
    exploit_cost=1,
    prior=0.5,
    detection_intercept=0,
    detection_slope=0,
    max_penalties=1,
    discount=0.5,
)
BELIEFS = st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any)


def _tried(group: int, remaining: int, penalties: int = 0, detected: bool = False) -> ProcessState:
    return linked(group)._replace(remaining=remaining, penalties=penalties, detected=detected)


def test_values_worked_out_by_hand():
    plan = value_iteration(enumerate_process(HAND, belief_of({2: 1.0})))
    after_fine = -1 + 0.5 * 100 / 3
    unfined = -1 + 0.5 * (100 / 3 - 0.5 * 50)
    start = -1 + 0.5 * (100 / 4 - 0.5 * 50 + 3 / 4 * (0.5 * after_fine + 0.5 * unfined))
    assert plan.value(_tried(2, 1)) == pytest.approx(unfined, abs=1e-12)
    assert plan.value(_tried(2, 1, detected=True)) == pytest.approx(-50 + after_fine, abs=1e-12)
    assert plan.value(linked(2)) == pytest.approx(start, abs=1e-12)
    assert plan.value(accessed(2)) == pytest.approx(0.5 * start - 0.25, abs=1e-12)
    assert plan.value(START) == pytest.approx(0.5 * (0.5 * start - 0.25) - 0.25, abs=1e-12)


def test_states_of_a_single_candidate():
    # Access, link, and one exploit that succeeds or not, is detected or not.
    process = enumerate_process(HAND, belief_of({1: 1.0}))
    outcomes = {
        ProcessState(False, detected, 0, success, True, True, 1, 0)
        for detected in (False, True)
        for success in (False, True)
    }
    assert set(process.number) == {START, OVER, accessed(1), linked(1)} | outcomes


def test_a_fine_is_counted_one_step_after_it_is_paid():
    process = enumerate_process(HAND, belief_of({3: 1.0}))
    detected = process.number[_tried(3, 2, detected=True)]
    assert process.rewards[detected, Action.TERMINATE] == -50
    followers = process.transitions[Action.EXPLOIT][[detected]].tocoo().coords[1]
    states = list(process.number)
    assert {states[place].penalties for place in followers} == {1}
    fined_before = process.number[_tried(3, 1, penalties=1, detected=True)]
    assert process.rewards[fined_before, Action.TERMINATE] == 0


def test_gain_and_fine_of_one_exploit_are_both_earned():
    process = enumerate_process(HAND, belief_of({1: 1.0}))
    both = process.number[ProcessState(False, True, 0, True, True, True, 1, 0)]
    assert process.rewards[both, Action.TERMINATE] == 100 - 50
    assert np.isneginf(process.rewards[both, [Action.EXPLOIT, Action.LINK, Action.ACCESS]]).all()


def test_transitions_are_probabilities():
    process = enumerate_process(RISING, belief_of({0: 0.25, 3: 0.5, 5: 0.25}), actual_sizes=[7])
    for action in Action:
        offered = np.isfinite(process.rewards[:, action])
        sums = process.transitions[action].sum(axis=1)
        np.testing.assert_allclose(sums[offered], 1.0, rtol=1e-14)
        assert not sums[~offered].any()


def test_ties_go_to_terminate():
    even = AdversaryProfile(
        gain=100,
        penalty=0,
        access_cost=50,
        link_cost=0,
        exploit_cost=0,
        prior=0.5,
        detection_intercept=0,
        detection_slope=0,
        discount=1,
    )
    plan = value_iteration(enumerate_process(even, belief_of({1: 1.0})))
    assert plan.action(START) is Action.TERMINATE
    cheaper = value_iteration(enumerate_process(replace(even, access_cost=49.99), belief_of({1: 1.0})))
    assert cheaper.action(START) is Action.ACCESS


@pytest.mark.parametrize(("profile", "threshold", "sunk"), [(CASE_STUDY, 48, 54), (REPEATED, 45, 51), (RISING, 29, 46)])
def test_thresholds_of_the_case_study(profile, threshold, sunk):
    for size, risk in ((threshold - 1, True), (threshold, False)):
        plan = value_iteration(enumerate_process(profile, belief_of({size: 1.0})))
        assert (reidentification(plan, size) > 0) is risk
    last = value_iteration(enumerate_process(profile, belief_of({sunk - 1: 0.5, sunk: 0.5})))
    assert last.value(accessed(sunk - 1)) > 0
    assert last.value(accessed(sunk)) == 0


def test_chain_follows_the_actual_size_and_not_the_belief():
    plan = value_iteration(enumerate_process(CASE_STUDY, belief_of({10: 0.5, 11: 0.5}), actual_sizes=[50, 0, 54]))
    assert reidentification(plan, 50) == pytest.approx(0.63, abs=1e-12)
    assert reidentification(plan, 0) == 0
    assert reidentification(plan, 54) == 0


def test_no_access_no_risk():
    assert reidentification(value_iteration(enumerate_process(CASE_STUDY, belief_of({60: 1.0}), [5])), 5) == 0


def test_the_probability_of_a_truncated_belief_is_worth_nothing():
    whole = value_iteration(enumerate_process(CASE_STUDY, belief_of({3: 1.0})))
    cut = value_iteration(enumerate_process(CASE_STUDY, belief_of({3: 1 - 1e-5})))
    assert cut.value(START) == pytest.approx(whole.value(START) - 1e-5 * 0.9 * whole.value(accessed(3)), abs=1e-9)


@settings(deadline=None, max_examples=examples(25))
@given(profile=profiles(), weights=BELIEFS, actual=st.integers(1, 10))
def test_recursion_agrees_with_value_iteration_and_eq_5(profile, weights, actual):
    belief = belief_of({size: weight / sum(weights) for size, weight in enumerate(weights)})
    plan = value_iteration(enumerate_process(profile, belief, [actual]))
    solution = fmdp.solve(profile, 10)
    expected = profile.discount * float(belief.probabilities @ solution.linked_value[belief.sizes])
    for size in {actual, *belief.sizes.tolist()} - {0}:
        assert plan.value(linked(size)) == pytest.approx(solution.start_value[size], abs=1e-8)
        assert plan.value(accessed(size)) == pytest.approx(solution.linked_value[size], abs=1e-8)
    assert plan.value(START) == pytest.approx(max(0.0, expected - profile.access_cost), abs=1e-8)
    if abs(expected - profile.access_cost) > 1e-6:
        accesses = expected > profile.access_cost
        closed = solution.success_probability[actual] if accesses else 0.0
        assert reidentification(plan, actual) == pytest.approx(closed, abs=1e-10)


@settings(deadline=None, max_examples=examples(15))
@given(profile=profiles(), size=st.integers(1, 10))
def test_known_group_agrees_with_eq_5(profile, size):
    found = reidentification(value_iteration(enumerate_process(profile, belief_of({size: 1.0}))), size)
    assert fmdp.reidentification_probability(profile, [size])[0] == pytest.approx(found, abs=1e-10)


@pytest.mark.parametrize("density", [0.002, 0.25, 0.6, 0.9])
@pytest.mark.parametrize("profile", [replace(RISING, access_cost=900), replace(CASE_STUDY, gain=2000, access_cost=150)])
def test_unknown_group_agrees_with_eq_5(profile, density):
    actual = [1, 4, 9, 14]
    belief = truncated_binomial(20, density, smallest=1e-300)
    plan = value_iteration(enumerate_process(profile, belief, actual))
    closed = fmdp.reidentification_probability_unknown(profile, actual, [density] * 4, 20)
    np.testing.assert_allclose([reidentification(plan, size) for size in actual], closed, rtol=0, atol=1e-10)


@settings(deadline=None, max_examples=examples(15))
@given(profile=profiles(confirmation=st.sampled_from([0.3, 0.8])), size=st.integers(1, 8))
def test_confirmation_is_a_smaller_prior(profile, size):
    # κ/(g/π − κj) = 1/(g/(κπ) − j): a target who is there with probability κπ and always recognised.
    certain = replace(profile, confirmation=1.0, prior=profile.confirmation * profile.prior)
    plans = [value_iteration(enumerate_process(adversary, belief_of({size: 1.0}))) for adversary in (profile, certain)]
    assert plans[0].value(linked(size)) == pytest.approx(plans[1].value(linked(size)), abs=1e-8)
    solved = [fmdp.solve(adversary, size).start_value for adversary in (profile, certain)]
    np.testing.assert_allclose(*solved, rtol=0, atol=1e-8)


def test_binomial_belief_is_cut_in_both_tails():
    belief = truncated_binomial(500_000, 0.001)
    assert belief.sizes[0] > 300
    assert belief.sizes[-1] < 700
    assert belief.probabilities.min() >= 2e-9
    assert 1 - 1e-6 < belief.probabilities.sum() < 1
    assert truncated_binomial(3, 0.5).probabilities.tolist() == pytest.approx([0.125, 0.375, 0.375, 0.125])
