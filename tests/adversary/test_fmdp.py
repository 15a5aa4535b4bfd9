"""The printed figures of Xia et al. 2015 and what the known group model says of single sizes."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from tasks.adversary.fmdp import (
    AdversaryProfile,
    access_densities,
    access_values,
    baseline_payoff,
    baseline_risk,
    expected_linked_values,
    exploits_made,
    known_threshold,
    linked_values,
    reidentification_probability,
    reidentification_probability_unknown,
    sink_probability,
    solve,
)
from tasks.core.errors import ParameterError

FINED_ONCE = AdversaryProfile(
    gain=8000,
    penalty=10_000,
    access_cost=100,
    link_cost=0,
    exploit_cost=10,
    prior=0.63,
    detection_intercept=-4.59,
    detection_slope=0,
    max_penalties=1,
    discount=0.9,
)
ALWAYS_FINED = replace(FINED_ONCE, max_penalties=None)
WATCHED = replace(ALWAYS_FINED, detection_slope=0.18)
VOTERS = 6_018_999


@pytest.mark.parametrize(("profile", "known", "sunk"), [(FINED_ONCE, 48, 54), (ALWAYS_FINED, 45, 51)])
def test_thresholds_of_the_case_study(profile, known, sunk):
    assert known_threshold(profile) == known
    assert solve(profile, 100).sink_threshold == sunk
    assert solve(profile, sunk).sink_threshold == sunk
    assert solve(profile, sunk - 1).sink_threshold is None
    sizes = np.arange(1, 200)
    np.testing.assert_array_equal(reidentification_probability(profile, sizes) > 0, sizes < known)
    np.testing.assert_array_equal(sink_probability(profile, sizes) > 0, sizes < sunk)


def test_partial_exploitation_between_14_and_29():
    sizes = np.arange(1, 40)
    risk = reidentification_probability(WATCHED, sizes)
    assert np.all(risk[sizes < 14] == 0.63)
    between = risk[(sizes >= 14) & (sizes < 29)]
    assert np.all((between > 0) & (between < 0.63))
    assert np.all(risk[sizes >= 29] == 0)
    assert known_threshold(WATCHED) == 29


def test_exploits_of_figure_8():
    sizes = np.arange(12, 30)
    exploits = np.where(reidentification_probability(WATCHED, sizes) > 0, exploits_made(WATCHED, sizes), 0)
    assert exploits.tolist() == [12, 13, 12, 10, 9, 8, 8, 7, 7, 6, 6, 5, 5, 5, 4, 4, 4, 0]


@pytest.mark.parametrize("profile", [FINED_ONCE, ALWAYS_FINED])
def test_constant_detection_exploits_all_or_none_in_the_case_study(profile):
    sizes = np.arange(1, 60)
    exploits = exploits_made(profile, sizes)
    np.testing.assert_array_equal(exploits, np.where(exploits > 0, sizes, 0))
    assert set(reidentification_probability(profile, sizes)) == {0.0, 0.63}


@pytest.mark.parametrize(
    ("profile", "sizes", "values"),
    [
        (FINED_ONCE, [1, 10, 23, 48], [3492.79, 1895.71, 781.09, -9.90]),
        (WATCHED, [1, 10, 23, 28], [3492.79, 1551.61, 122.12, 8.23]),
    ],
)
def test_access_values_of_the_case_study(profile, sizes, values):
    np.testing.assert_allclose(access_values(profile, sizes), values, atol=0.005)
    np.testing.assert_array_equal(solve(profile, 60).access_value[sizes], access_values(profile, sizes))


def test_baseline_of_figure_7():
    np.testing.assert_allclose(baseline_payoff(FINED_ONCE, [1, 10, 23, 24]), [4829.49, 293.49, 8.62, -0.51], atol=0.005)
    np.testing.assert_allclose(baseline_risk(FINED_ONCE, [1, 10, 23, 24, 10**9]), [0.63, 0.063, 0.63 / 23, 0, 0])


@pytest.mark.parametrize(
    ("profile", "least", "most"), [(FINED_ONCE, 0.0283, 49.13), (ALWAYS_FINED, 0.0283, 46.84), (WATCHED, 0.0283, 30.46)]
)
def test_access_without_knowing_the_group_pays_between_two_densities(profile, least, most):
    low, high = access_densities(profile, VOTERS)
    assert low * VOTERS == pytest.approx(least, abs=5e-5)
    assert high * VOTERS == pytest.approx(most, abs=5e-3)
    densities = np.array([low * (1 - 1e-9), low * (1 + 1e-9), high * (1 - 1e-9), high * (1 + 1e-9)])
    worth = profile.discount * expected_linked_values(profile, densities, VOTERS) - profile.access_cost
    np.testing.assert_array_equal(worth > 0, [False, True, True, False])
    risk = reidentification_probability_unknown(profile, [5, 5, 5, 5], densities, VOTERS)
    assert risk.tolist() == [0, 0.63, 0.63, 0]


@pytest.mark.parametrize(("penalty", "threshold", "printed"), [(10_000, 12, 9), (50_000, 3, 2)])
def test_section_7_3_with_a_prior_next_to_1_is_not_reproduced(penalty, threshold, printed):
    # A prior of exactly 1 is refused. P_det is not printed there; with that of the case study the thresholds differ.
    profile = replace(FINED_ONCE, gain=1000, penalty=penalty, prior=1 - 1e-12)
    assert known_threshold(profile) == threshold != printed


def test_one_candidate_by_hand():
    detection = 1 / (1 + exp(4.59))
    value = 0.63 * 0.9 * 8000 - 10 - 0.9 * detection * 10_000
    solution = solve(FINED_ONCE, 1)
    assert solution.start_value[1] == pytest.approx(value, rel=1e-14)
    assert solution.linked_value[1] == pytest.approx(0.9 * value, rel=1e-14)
    assert solution.access_value[1] == pytest.approx(0.81 * value - 100, rel=1e-14)
    assert solution.expected_exploits[1] == 1
    assert solution.success_probability[1] == 0.63


def test_solution_by_size_agrees_with_the_look_ups():
    solution = solve(replace(WATCHED, link_cost=30), 80)
    profile, sizes = replace(WATCHED, link_cost=30), np.arange(1, 81)
    np.testing.assert_array_equal(solution.linked_value[1:], linked_values(profile, sizes))
    np.testing.assert_array_equal(solution.expected_exploits[1:], exploits_made(profile, sizes))
    np.testing.assert_array_equal(solution.success_probability[1:], sink_probability(profile, sizes))
    assert {array.shape for array in vars(solution).values() if isinstance(array, np.ndarray)} == {(81,)}
    for array, start in ((solution.start_value, 0), (solution.linked_value, 0), (solution.access_value, -100)):
        assert array[0] == start
    assert solution.expected_exploits[0] == solution.success_probability[0] == 0


def test_who_would_exploit_but_not_link_exploits_nothing():
    profile = replace(FINED_ONCE, link_cost=100)
    value = solve(profile, 60)
    unlinked = (value.start_value > 0) & (value.linked_value == 0)
    assert unlinked.any()
    assert np.all(value.expected_exploits[unlinked] == 0)
    assert np.all(value.success_probability[unlinked] == 0)
    assert value.sink_threshold == np.flatnonzero(unlinked)[0] == np.argmax(value.linked_value[1:] == 0) + 1


def test_a_tie_in_decimals_is_no_attack():
    # πγG = 0.63 · 0.9 · 100 = 56.7; the products differ in their last binary digit.
    tie = replace(FINED_ONCE, gain=100, penalty=0, access_cost=0, exploit_cost=56.7)
    assert sink_probability(tie, [1]) == 0
    assert sink_probability(replace(tie, exploit_cost=56.7 - 1e-9), [1]) == 0.63
    # one step later for the link, two for access
    linked = replace(tie, exploit_cost=6.7, link_cost=45)
    assert sink_probability(linked, [1]) == 0
    assert sink_probability(replace(linked, link_cost=45 - 1e-9), [1]) == 0.63
    fee = replace(tie, exploit_cost=6.7, access_cost=40.5)
    assert sink_probability(fee, [1]) == 0.63
    assert reidentification_probability(fee, [1]) == 0
    assert access_values(fee, [1]) <= 0
    assert reidentification_probability(replace(fee, access_cost=40.5 - 1e-9), [1]) == 0.63


def test_baseline_never_exceeds_the_planner_in_the_case_study():
    sizes = np.arange(1, 200)
    for profile in (FINED_ONCE, ALWAYS_FINED, WATCHED):
        assert np.all(baseline_risk(profile, sizes) <= reidentification_probability(profile, sizes))


def test_baseline_exceeds_a_planner_who_discounts():
    # Finding 1 is no theorem: eq. 7 does not discount, so it attacks where a patient fee does not come back.
    profile = replace(FINED_ONCE, discount=0.5, access_cost=1500)
    assert baseline_risk(profile, [1]) == 0.63
    assert reidentification_probability(profile, [1]) == 0


def test_large_sizes_and_repeats_in_any_shape():
    sizes = np.array([[1, 47, 10**9], [48, 1, 2**53]], dtype=np.int64)
    risk = reidentification_probability(FINED_ONCE, sizes)
    np.testing.assert_array_equal(risk, [[0.63, 0.63, 0], [0, 0.63, 0]])
    assert reidentification_probability(FINED_ONCE, 47).shape == ()
    assert reidentification_probability(FINED_ONCE, np.array([1.0, 48.0])).tolist() == [0.63, 0]
    assert reidentification_probability(FINED_ONCE, np.array([1, 48], dtype=np.uint8)).tolist() == [0.63, 0]


@pytest.mark.parametrize("empty", [[], np.zeros((0,), dtype=np.int64), np.zeros((3, 0))])
def test_no_records(empty):
    for score in (reidentification_probability, sink_probability, linked_values, exploits_made, baseline_risk):
        assert score(FINED_ONCE, empty).shape == np.shape(empty)
    risk = reidentification_probability_unknown(FINED_ONCE, empty, empty, 100)
    assert risk.shape == np.shape(empty)
    assert expected_linked_values(FINED_ONCE, empty, 100).shape == np.shape(empty)


@pytest.mark.parametrize(
    "sizes",
    [
        [3, 0],
        [-1],
        [1.5],
        [float("nan")],
        [float("inf")],
        ["2"],
        [True],
        [None],
        [2**60],
        [2**70],
        [1e300],
        np.array([2**64 - 1], dtype=np.uint64),
        [[1], [2, 3]],
    ],
)
def test_impossible_group_sizes_are_refused(sizes):
    for score in (
        reidentification_probability,
        sink_probability,
        linked_values,
        access_values,
        exploits_made,
        baseline_risk,
        baseline_payoff,
    ):
        with pytest.raises(ParameterError, match="group_sizes"):
            score(FINED_ONCE, sizes)
    with pytest.raises(ParameterError, match="group_sizes"):
        reidentification_probability_unknown(FINED_ONCE, sizes, np.zeros(len(sizes)), 100)


def test_refused_group_sizes_are_named_by_row():
    with pytest.raises(ParameterError, match="rows 2, 4"):
        reidentification_probability(FINED_ONCE, [5, 0, 7, -3])


@pytest.mark.parametrize("densities", [[-0.1], [1.1], [float("nan")], [float("inf")], ["0.5"], [True], [None]])
def test_impossible_densities_are_refused(densities):
    with pytest.raises(ParameterError, match="densities"):
        reidentification_probability_unknown(FINED_ONCE, [3], densities, 100)
    with pytest.raises(ParameterError, match="densities"):
        expected_linked_values(FINED_ONCE, densities, 100)


@pytest.mark.parametrize("densities", [[0.1, 0.2], 0.1, [[0.1]], []])
def test_densities_must_match_the_group_sizes(densities):
    with pytest.raises(ParameterError, match="one density for each"):
        reidentification_probability_unknown(FINED_ONCE, [3], densities, 100)


@pytest.mark.parametrize("people", [0, -5, 1.0, True, None, "9", float("nan"), 2**60])
def test_impossible_numbers_of_people_are_refused(people):
    with pytest.raises(ParameterError, match="external_size"):
        reidentification_probability_unknown(FINED_ONCE, [3], [0.1], people)
    with pytest.raises(ParameterError, match="external_size"):
        expected_linked_values(FINED_ONCE, [0.1], people)
    with pytest.raises(ParameterError, match="external_size"):
        access_densities(FINED_ONCE, people)
    with pytest.raises(ParameterError, match="max_group_size"):
        solve(FINED_ONCE, people)


def test_a_solution_that_would_not_fit_is_refused():
    with pytest.raises(ParameterError, match="max_group_size"):
        solve(FINED_ONCE, 10**7 + 1)


@pytest.mark.parametrize(
    "terms",
    [
        {"gain": 1e308},
        {"gain": 1e308, "penalty": 0.0},
        {"penalty": 1e308, "prior": 1e-3},
        {"exploit_cost": 1e308, "prior": 1e-3},
        {"exploit_cost": 1e308, "prior": 1e-3, "penalty": 0.0},
        {"prior": 1e-320},
    ],
)
def test_terms_that_overflow_are_refused_and_not_taken_for_no_risk(terms):
    for limit in (None, 1):
        with pytest.raises(ParameterError, match="too far apart"):
            reidentification_probability(replace(FINED_ONCE, max_penalties=limit, **terms), [1, 2, 60])


def test_terms_are_kept_in_double_precision():
    narrow = replace(FINED_ONCE, gain=np.int16(8000), penalty=np.float32(10_000), max_penalties=np.int64(1))
    assert narrow == FINED_ONCE
    assert {type(narrow.gain), type(narrow.penalty)} == {float}
    assert type(narrow.max_penalties) is int
    with pytest.raises(ParameterError, match="gain"):
        replace(FINED_ONCE, gain=10**400)
