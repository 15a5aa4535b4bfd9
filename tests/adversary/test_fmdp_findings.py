"""The findings of Xia et al. 2015, section 7.2: theorems as properties with proofs, the others by counterexample.

Notation: N = g/π people could be the target, c_j = C_e + γ p_j C_p, and f_j(g) = γG − (N − j) c_j is N times what the
exploit after j others adds. With unlimited penalties V(g) = (π/g) max over L ≤ g of Σ_{j<L} γ^j f_j(g). Confirmation
κ < 1 is a prior κπ, so it is left out of the proofs.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.fmdp import (
    baseline_payoff,
    baseline_risk,
    reidentification_probability,
    reidentification_probability_unknown,
    solve,
)
from tasks.adversary.planning.enumerated import Action, ProcessPlan, enumerate_process, value_iteration
from tasks.adversary.profile import AdversaryProfile, Floats
from tests.support.adversary_profiles import CASE_STUDY, REPEATED, RISING, profiles
from tests.support.beliefs import belief_of
from tests.support.examples import examples

PROPERTY = settings(deadline=None, max_examples=examples(30))
SIZES = np.arange(1, 26)
SURE = st.just(1.0)
REGISTER = 6_018_999

HALVES = replace(CASE_STUDY, gain=1000, penalty=400, access_cost=0, prior=0.5, detection_intercept=0.0, discount=1.0)
"""Half of the exploits are detected, and one of them is fined; small enough to work out by hand."""


def _risk_after_access(profile: AdversaryProfile, largest: int = 25) -> Floats:
    return solve(profile, largest).success_probability[1:]


def _never_stops(plan: ProcessPlan, size: int) -> bool:
    """Whether the plan exploits the last candidate whatever is detected; told apart from almost always."""
    return all(
        plan.action(state) is Action.EXPLOIT
        for state in plan.process.number
        if state.group == size and state.linked and state.remaining and not state.success
    )


# Finding 1: "the baseline risk never exceeds the FMDP models".


@PROPERTY
@given(profile=profiles(discount=SURE, confirmation=SURE))
def test_finding_1_is_a_theorem_without_discount(profile):
    # One exploit, then the end, is among the plans, and is worth eq. 7. If that is greater than 0, access pays, and at
    # least the first candidate is exploited: π/g.
    attacked = baseline_payoff(profile, SIZES) > 1e-9 * profile.gain
    risk = reidentification_probability(profile, SIZES)
    assert (risk[attacked] >= baseline_risk(profile, SIZES)[attacked] - 1e-12).all()


@PROPERTY
@given(profile=profiles(confirmation=SURE))
def test_finding_1_is_a_theorem_if_the_baseline_discounts_as_well(profile):
    gamma, detected = profile.discount, float(profile.detection(0))
    exploit = gamma * (profile.gain * profile.prior / SIZES - detected * profile.penalty) - profile.exploit_cost
    attacked = gamma * (gamma * exploit - profile.link_cost) - profile.access_cost > 1e-9 * profile.gain
    assert (reidentification_probability(profile, SIZES)[attacked] >= profile.prior / SIZES[attacked] - 1e-12).all()


def test_finding_1_holds_in_the_case_study():
    sizes = np.arange(1, 101)
    baseline = baseline_risk(CASE_STUDY, sizes)
    assert np.flatnonzero(baseline)[-1] + 1 == 23
    for profile in (CASE_STUDY, REPEATED, RISING):
        assert (reidentification_probability(profile, sizes) >= baseline).all()


@pytest.mark.parametrize("profile", [CASE_STUDY, REPEATED, RISING])
def test_finding_1_fails_with_discount_for_a_small_gain(profile):
    # Eq. 7: 0.63 G − 0.01 · 10000 − 110 > 0 from G = 334; with three steps to wait, access pays from G = 395 only.
    small = replace(profile, gain=350)
    assert baseline_payoff(small, [1])[0] == pytest.approx(9.99, abs=0.005)
    assert baseline_risk(small, [1])[0] == 0.63
    assert solve(small, 1).access_value[1] == pytest.approx(-20.63, abs=0.005)
    assert reidentification_probability(small, [1])[0] == 0


# Finding 2: with a constant detection probability and unlimited penalties, all candidates are exploited or none.


@PROPERTY
@given(profile=profiles(max_penalties=st.none(), detection_slope=st.one_of(st.just(0.0), st.floats(-1, 0))))
def test_finding_2_is_a_theorem(profile):
    # c_j does not rise with j, so f_j rises with j: once an exploit pays, so does each after it, discounted or not.
    # Partial sums fall, then rise; the largest is the first, 0, or the last. It holds for h1 < 0 and κ < 1 as well.
    assert set(_risk_after_access(profile) / (profile.confirmation * profile.prior)) <= {0.0, 1.0}


# Finding 3: with rising detection or limited penalties a part is exploited; all below k, none from k' on.


def test_finding_3_holds_with_rising_detection():
    exploits = solve(RISING, 46).expected_exploits
    assert exploits[12:30].tolist() == [12, 13, 12, 10, 9, 8, 8, 7, 7, 6, 6, 5, 5, 5, 4, 4, 4, 4]
    assert (exploits[1:14] == np.arange(1, 14)).all()
    known = reidentification_probability(RISING, np.arange(1, 60))
    assert np.flatnonzero(known)[-1] + 1 == 28


def test_finding_3_part_of_the_candidates_is_possible_and_not_certain():
    # In the case study with a single penalty the adversary exploits all or none, as with unlimited ones.
    assert set(_risk_after_access(CASE_STUDY, 60)) == {0.63, 0.0}
    # Of four, with p = 1/2, he exploits three, and the fourth if one of them was fined: 4 − 1/8 in the mean.
    risk = _risk_after_access(HALVES, 16)
    assert risk[:3].tolist() == [0.5] * 3
    assert risk[3] == pytest.approx(0.5 / 4 * (4 - 1 / 8), abs=1e-12)
    assert ((risk[3:15] > 0) & (risk[3:15] < 0.5)).all()
    assert risk[15] == 0


@PROPERTY
@given(profile=profiles(detection_slope=st.one_of(st.just(0.0), st.floats(0, 4))))
def test_finding_3_all_below_k_and_never_all_from_k_on_is_a_theorem(profile):
    # Let A_m(j) be N − j times the worth of never stopping, m fines counted. It falls with each p_i: a detection costs
    # (N − i) C_p and saves one later fine at the most, which is worth less. From j + 1 on at g + 1, where
    # N' − (j + 1) > N − j and p_{j+1} ≥ p_j, it is thus no more than from j on at g. If at g he stops in (j, m), then
    # A_m(j) ≤ 0 there, hence A_m(j + 1) ≤ 0 at g + 1, so he does not always go on there either. Needs h1 ≥ 0.
    plan = value_iteration(enumerate_process(profile, belief_of(dict.fromkeys(range(9), 1 / 9))))
    never_stops = [_never_stops(plan, size) for size in range(1, 9)]
    assert never_stops == sorted(never_stops, reverse=True)


@PROPERTY
@given(profile=profiles(max_penalties=st.none()))
def test_finding_3_with_unlimited_penalties_a_larger_group_is_never_at_more_risk(profile):
    # For h1 ≥ 0 there is k, as above; from k on the best L never rises with g, since each f_j(g) falls; so πL/g never
    # rises. For h1 < 0 all or none are exploited (Finding 2), and none from the first V = 0 on.
    for risk in (_risk_after_access(profile), reidentification_probability(profile, SIZES)):
        assert (np.diff(risk) <= 1e-12).all()


@pytest.mark.parametrize(
    ("profile", "sizes", "risks"),
    [
        # The case study with a lower penalty, raised once, and a detection that rises steeply.
        (replace(CASE_STUDY, penalty=3000, detection_slope=4.0), [2, 3, 4, 5], [0.63, 0.49625, 0.62679, 0.63]),
        # The same with repeated penalties: nothing rises.
        (replace(REPEATED, penalty=3000, detection_slope=4.0), [2, 3, 4, 5], [0.63, 0.42, 0.315, 0.252]),
    ],
)
def test_with_limited_penalties_a_larger_group_may_be_at_more_risk(profile, sizes, risks):
    # Once the only fine is paid, the rest is free of it: with more candidates left, it pays to run into the fine.
    assert reidentification_probability(profile, sizes).tolist() == pytest.approx(risks, abs=5e-6)


def test_a_larger_group_may_triple_the_risk():
    jump = AdversaryProfile(
        gain=1000,
        penalty=853,
        access_cost=0,
        link_cost=0,
        exploit_cost=2,
        prior=0.88,
        detection_intercept=-6.15,
        detection_slope=4.37,
        max_penalties=1,
        discount=1.0,
    )
    assert reidentification_probability(jump, [11, 12]).tolist() == pytest.approx([0.26521, 0.84067], abs=5e-6)


def test_the_risk_may_rise_with_constant_detection_too():
    assert reidentification_probability(HALVES, [5, 6]).tolist() == pytest.approx([0.475, 47 / 96], abs=1e-12)


# "V decreases as the size of the equivalence group increases" (section 5.1.1, without proof).


@PROPERTY
@given(profile=profiles())
def test_value_does_not_rise_with_the_group_size(profile):
    # Detections do not depend on g, so a plan for g + 1 is a rule τ when to stop, and for g the same rule cut at g:
    # V = E Σ_{j<τ} γ^j [γGπ/g − (1 − jπ/g)(C_e + γ p_j C_p 1[m_j < n_f])]. At g each cost is no greater, none is added,
    # and (1/g) Σ_{j<min(τ,g)} γ^j ≥ (1/(g+1)) Σ_{j<τ} γ^j: a mean of falling terms, of which the last is dropped.
    values = solve(profile, 25).start_value
    assert (np.diff(values[1:]) <= 1e-10 * profile.gain).all()
    assert values[0] == 0


def test_value_does_not_always_fall():
    # Candidates who cost nothing, now or later: every group is worth πG. And an empty group is worth less than one.
    free = replace(CASE_STUDY, penalty=0, exploit_cost=0, discount=1.0)
    np.testing.assert_allclose(solve(free, 50).start_value[1:], 0.63 * 8000, rtol=1e-12)
    assert solve(free, 1).start_value[0] == 0


# Findings 4 and 5: the unknown group can yield lower risk than the known group, and higher risk.


def _unknown(profile: AdversaryProfile, size: int, expected_size: float) -> float:
    return float(reidentification_probability_unknown(profile, [size], [expected_size / REGISTER], REGISTER)[0])


@pytest.mark.parametrize(
    ("profile", "size", "expected_size", "known"),
    [
        (CASE_STUDY, 47, 50, 0.63),
        (CASE_STUDY, 1, 0.028, 0.63),
        (REPEATED, 44, 47, 0.63),
        (RISING, 28, 31, 0.09),
    ],
)
def test_finding_4_lower_risk_where_the_group_is_smaller_than_believed(profile, size, expected_size, known):
    assert reidentification_probability(profile, [size])[0] == pytest.approx(known, abs=1e-12)
    assert _unknown(profile, size, expected_size) == 0


@pytest.mark.parametrize(
    ("profile", "first", "last", "expected_size", "risk"),
    [(CASE_STUDY, 48, 53, 49, 0.63), (REPEATED, 45, 50, 46, 0.63), (RISING, 29, 45, 30, 0.08690)],
)
def test_finding_5_higher_risk_between_the_two_thresholds(profile, first, last, expected_size, risk):
    # The cost of access is sunk once the group is seen; the paper has 48 and 51 for the first of these adversaries.
    sizes = range(first, last + 1)
    assert not reidentification_probability(profile, list(sizes)).any()
    assert all(_unknown(profile, size, expected_size) > 0 for size in sizes)
    assert _unknown(profile, first, expected_size) == pytest.approx(risk, abs=5e-6)
    assert _unknown(profile, last + 1, expected_size) == 0


@PROPERTY
@given(profile=profiles(), density=st.floats(0.001, 0.999))
def test_an_unknown_group_differs_only_by_the_access(profile, density):
    # After access both see the group, so the unknown risk is 0 or that after access; where the known adversary has
    # access, the latter is his risk too.
    unknown = reidentification_probability_unknown(profile, SIZES, [density] * len(SIZES), 40)
    sunk, known = _risk_after_access(profile), reidentification_probability(profile, SIZES)
    assert (unknown == sunk).all() or not unknown.any()
    assert ((known == 0) | (known == sunk)).all()


@PROPERTY
@given(profile=profiles(access_cost=st.just(0.0)), density=st.floats(0.001, 0.999))
def test_findings_4_and_5_need_an_access_cost(profile, density):
    # If any size pays, size 1 does, and every size is believed possible: the expectation is greater than 0.
    unknown = reidentification_probability_unknown(profile, SIZES, [density] * len(SIZES), 40)
    np.testing.assert_array_equal(unknown, reidentification_probability(profile, SIZES))
