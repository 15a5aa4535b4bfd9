"""Group sizes that deter: searched, scanned, out of reach, or none."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary import exploiting
from tasks.adversary.fmdp import (
    AdversaryProfile,
    exploits_made,
    known_threshold,
    linked_values,
    reidentification_probability,
    reidentification_probability_unknown,
    sink_probability,
    solve,
)
from tasks.core.errors import ParameterError
from tests.support.examples import examples

CASE = AdversaryProfile(
    gain=8000,
    penalty=10_000,
    access_cost=100,
    link_cost=0,
    exploit_cost=10,
    prior=0.63,
    detection_intercept=-4.59,
    detection_slope=0.18,
    discount=0.9,
)
UNDETERRED = replace(CASE, penalty=0, exploit_cost=0, access_cost=0)


def test_risk_rises_with_the_size_where_penalties_are_limited():
    # Of 3 or of 4 candidates the last is left alone, unless the one penalty is behind: 8730 < 4·2314, or 5·2314.
    profile = replace(
        CASE,
        gain=9700,
        penalty=3500,
        exploit_cost=11,
        prior=0.5,
        detection_intercept=1,
        detection_slope=0,
        max_penalties=1,
    )
    undetected = 1 - 1 / (1 + exp(-1))
    made = [2 + 1 - undetected**2, 3 + 1 - undetected**3]
    np.testing.assert_allclose(exploits_made(profile, [3, 4]), made, rtol=1e-14)
    risk = reidentification_probability(profile, np.arange(1, 20))
    np.testing.assert_allclose(risk[2:4], [made[0] / 6, made[1] / 8], rtol=1e-14)
    assert risk[3] > risk[2]
    assert risk[2] < 0.49 < risk[3]


@settings(max_examples=examples(50), deadline=None)
@given(
    st.builds(
        AdversaryProfile,
        gain=st.floats(100, 5000),
        penalty=st.floats(0, 3000),
        access_cost=st.floats(0, 100),
        link_cost=st.floats(0, 20),
        exploit_cost=st.floats(5, 50),
        prior=st.floats(0.1, 0.9),
        detection_intercept=st.floats(-3, 2),
        detection_slope=st.sampled_from([-0.3, 0.0, 0.2]),
        max_penalties=st.sampled_from([None, 1, 2]),
        discount=st.sampled_from([0.5, 0.9, 1.0]),
        confirmation=st.sampled_from([0.6, 1.0]),
    )
)
def test_thresholds_are_those_of_a_scan(profile):
    risk = reidentification_probability(profile, np.arange(1, 5001))
    assert known_threshold(profile) == int(np.flatnonzero(risk > 0).max(initial=-1)) + 2


@pytest.mark.parametrize("discount", [0.2, 0.9, 1])
def test_nothing_deters_who_risks_nothing(discount):
    profile = replace(UNDETERRED, discount=discount, confirmation=0.5)
    sizes = [1, 2, 1000, 10**9, 2**53]
    assert reidentification_probability(profile, sizes).tolist() == [0.315] * 5
    assert exploits_made(profile, sizes).tolist() == sizes
    assert known_threshold(profile) is None
    assert solve(profile, 1000).sink_threshold is None


def test_a_fee_deters_who_risks_nothing_else_but_has_to_wait():
    # γ²·πγG·(1 − γ^g)/((1 − γ)g) > C_d
    profile = replace(UNDETERRED, access_cost=0.01)
    threshold = known_threshold(profile)
    bound = 0.9**3 * 0.63 * 8000 / (0.1 * 0.01)
    assert threshold == pytest.approx(bound, abs=1)
    assert reidentification_probability(profile, [threshold - 1, threshold]).tolist() == [0.63, 0]
    assert sink_probability(profile, [threshold]) == 0.63


@pytest.mark.parametrize(("fee", "threshold"), [(0.63 * 8000 - 1e-6, None), (0.63 * 8000, 1), (6000, 1)])
def test_without_discount_and_cost_a_fee_deters_from_all_groups_or_none(fee, threshold):
    assert known_threshold(replace(UNDETERRED, access_cost=fee, discount=1)) == threshold


def test_undetected_exploits_that_cost_nothing_are_never_fined():
    profile = replace(CASE, exploit_cost=0, access_cost=0, detection_intercept=-800, detection_slope=0)
    assert known_threshold(profile) is None
    assert reidentification_probability(profile, [10**9]) == 0.63


def test_the_formula_of_equal_costs_is_the_recursion():
    sizes = np.arange(1, 2000)
    for discount in (0.3, 0.9, 0.999999, 1.0):
        profile = replace(CASE, gain=30_000, exploit_cost=20, penalty=0, discount=discount, confirmation=0.8)
        table = exploiting._recursion(profile, sizes, sizes / profile.prior)
        formula = exploiting.exploiting(profile, sizes)
        np.testing.assert_allclose(formula.value, table.value, rtol=1e-10, atol=1e-9)
        np.testing.assert_array_equal(formula.exploits, table.exploits)
        assert 0 < np.count_nonzero(table.value) < len(sizes)


@pytest.mark.parametrize(("discount", "size"), [(0.9, 10**9), (1 - 1e-9, 99_999), (1.0, 65_536), (1e-5, 12_345)])
def test_discounted_sums(discount, size):
    times, places = exploiting._discounted_sums(discount, np.array([1, 2, 3, size]))
    assert times[:3] == pytest.approx([1, 1 + discount, 1 + discount + discount**2], rel=1e-15)
    assert places[:3] == pytest.approx([0, discount, discount + 2 * discount**2], rel=1e-15)
    made = np.arange(min(size, 10**5), dtype=np.longdouble)
    power = np.longdouble(discount) ** made
    assert times[3] == pytest.approx(float(power.sum()), rel=1e-13)
    assert places[3] == pytest.approx(float((made * power).sum()), rel=1e-13)


def test_small_groups_are_solved_however_large_the_threshold():
    profile = replace(CASE, gain=1e9, detection_slope=0, max_penalties=1)
    small = reidentification_probability(profile, [1, 2, 100])
    np.testing.assert_allclose(small, 0.63, rtol=1e-12)
    np.testing.assert_array_less(0, linked_values(profile, [1, 500]))


def test_a_plan_out_of_reach_says_so(monkeypatch):
    monkeypatch.setattr(exploiting, "_MOST_STEPS", 1e5)
    profile = replace(CASE, gain=2e7, detection_slope=0, max_penalties=1)
    with pytest.raises(ParameterError, match="no longer pays on groups of 316 candidates"):
        known_threshold(profile)
    with pytest.raises(ParameterError, match="reasonable time"):
        reidentification_probability(profile, [10**6])
    with pytest.raises(ParameterError, match="reasonable time"):
        reidentification_probability_unknown(profile, [5], [1e-3], 10**6)
    assert reidentification_probability(profile, [316]) == pytest.approx(0.63)
    # no more people than can be solved: nothing is out of reach
    assert reidentification_probability_unknown(profile, [5], [0.1], 300) == pytest.approx(0.63)


def test_values_too_many_for_a_belief_are_refused():
    with pytest.raises(ParameterError, match="too large to believe in"):
        reidentification_probability_unknown(UNDETERRED, [5], [1e-3], 10**8)


@pytest.mark.parametrize("slope", [0, 0.1, -0.1])
@pytest.mark.parametrize("limit", [1, None])
def test_penalties_that_are_soon_over_do_not_deter_a_patient_adversary(slope, limit):
    profile = replace(
        CASE, gain=8000, penalty=100, exploit_cost=0, discount=1, detection_slope=slope, max_penalties=limit
    )
    if limit is None and slope >= 0:
        assert known_threshold(profile) is not None
        return
    assert known_threshold(profile) is None
    sizes = np.array([1, 10, 100, 1000, 2000])
    # κπG less all the penalties there can be
    assert np.all(solve(profile, 2000).start_value[sizes] >= 0.63 * 8000 - 100)
    assert reidentification_probability(profile, [2000]) == pytest.approx(0.63, rel=1e-3)


def test_penalties_that_outweigh_the_gain_deter_a_patient_adversary():
    profile = replace(CASE, gain=2000, exploit_cost=0, discount=1, detection_slope=0, max_penalties=1)
    threshold = known_threshold(profile)
    sizes = np.arange(1, 2 * threshold)
    np.testing.assert_array_equal(reidentification_probability(profile, sizes) > 0, sizes < threshold)
