"""The unknown group: binomial beliefs against direct sums, exact decimals and the edges of what they can hold."""

import decimal
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.adversary.fmdp import (
    AdversaryProfile,
    access_densities,
    expected_linked_values,
    exploits_made,
    known_threshold,
    linked_values,
    reidentification_probability,
    reidentification_probability_unknown,
    sink_probability,
    solve,
)
from tasks.adversary.group_sizes import expected_values, worthwhile_densities
from tests.support.examples import examples

CASE = AdversaryProfile(
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
PEOPLE = 500_000


def direct(profile, density, people):
    """Expected W by the definition, over all sizes that are worth something."""
    linked = solve(profile, 400).linked_value
    sizes = np.arange(min(len(linked), people + 1))
    return float(linked[sizes] @ binom.pmf(sizes, people, density))


profiles = st.builds(
    AdversaryProfile,
    gain=st.floats(100, 9000),
    penalty=st.floats(0, 10_000),
    access_cost=st.one_of(st.just(0.0), st.floats(1e-9, 3000)),
    link_cost=st.sampled_from([0.0, 5.0]),
    exploit_cost=st.floats(25, 300),
    prior=st.floats(0.1, 0.9),
    detection_intercept=st.floats(-5, 1),
    detection_slope=st.sampled_from([0.0, 0.1, -0.1]),
    max_penalties=st.sampled_from([None, 1, 2]),
    discount=st.sampled_from([0.5, 0.9, 1.0]),
    confirmation=st.sampled_from([0.7, 1.0]),
)


@settings(max_examples=examples(80), deadline=None)
@given(
    profiles,
    st.integers(1, 7_000_000),
    st.lists(st.tuples(st.floats(1e-3, 900), st.integers(1, 60)), min_size=1, max_size=8),
)
def test_agrees_with_a_direct_sum(profile, people, records):
    densities = np.array([min(mean / people, 1.0) for mean, _ in records])
    sizes = np.array([size for _, size in records])
    expected = np.array([direct(profile, density, people) for density in densities])
    found = expected_linked_values(profile, densities, people)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-200)
    worth = profile.discount * expected
    decided = np.abs(worth - profile.access_cost) > 1e-10 * profile.access_cost
    risk = np.where(worth > profile.access_cost, sink_probability(profile, sizes), 0)
    np.testing.assert_array_equal(
        reidentification_probability_unknown(profile, sizes, densities, people)[decided], risk[decided]
    )


@pytest.mark.parametrize("people", [1, 5, 60, PEOPLE, 6_018_999])
@pytest.mark.parametrize("mean", [1e-12, 0.3, 20.0, 49.0, 200.0, 700.0])
def test_expectations_are_exact_to_rounding(people, mean):
    decimal.getcontext().prec = 50
    density = min(mean / people, 0.75)
    values = linked_values(CASE, np.arange(1, 54))
    share = decimal.Decimal(density)
    exact = sum(
        decimal.Decimal(float(value)) * comb(people, size) * share**size * (1 - share) ** (people - size)
        for size, value in enumerate(values, start=1)
        if size <= people
    )
    found = expected_linked_values(CASE, [density], people)[0]
    assert abs(decimal.Decimal(float(found)) / exact - 1) < decimal.Decimal("1e-12")


def test_expectations_over_thousands_of_sizes():
    values = np.append(0.0, np.linspace(5000, 1, 20_000))
    densities = np.array([1e-9, 1e-5, 1e-3, 3e-3, 0.0033, 0.004, 0.5])
    sizes = np.arange(len(values))
    expected = [values @ binom.pmf(sizes, 6_018_999, density) for density in densities]
    np.testing.assert_allclose(expected_values(values, densities, 6_018_999), expected, rtol=1e-11)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("people", [1, 2, 40, 700, 10**7])
def test_densities_of_every_order_in_one_call(people):
    densities = np.concatenate([np.geomspace(1e-307, 0.5, 700), 1 - np.geomspace(1e-16, 0.5, 100), [0.0, 1.0]])
    values = np.append(0.0, np.geomspace(5000, 1e-3, 300))
    sizes = np.arange(min(people, 300) + 1)
    expected = [values[sizes] @ binom.pmf(sizes, people, max(density, 1e-200)) for density in densities]
    found = expected_values(values, densities, people)
    usual = densities > 1e-199
    np.testing.assert_allclose(found[usual], np.array(expected)[usual], rtol=1e-11, atol=1e-200)
    np.testing.assert_allclose(found[~usual], 5000 * people * densities[~usual], rtol=1e-12)


def test_expectations_keep_order_and_repeats():
    densities = np.random.default_rng(5).permutation(np.repeat(np.linspace(0, 3e-4, 9000), 2)).reshape(2, -1)
    found = expected_linked_values(CASE, densities, PEOPLE)
    assert found.shape == densities.shape
    for place in [(0, 0), (1, 17), (0, 8999)]:
        assert found[place] == pytest.approx(direct(CASE, densities[place], PEOPLE), rel=1e-11)


@settings(max_examples=examples(60), deadline=None)
@given(profiles.filter(lambda profile: profile.access_cost > 0), st.integers(1, 10**7))
def test_densities_at_which_access_pays_are_an_interval(profile, people):
    interval = access_densities(profile, people)
    densities = np.minimum(np.geomspace(1e-9, 3000, 400) / people, 1 - 1e-12)
    worth = profile.discount * expected_linked_values(profile, densities, people)
    decided = np.abs(worth - profile.access_cost) > 1e-9 * profile.access_cost
    low, high = interval or (1.0, 0.0)
    np.testing.assert_array_equal(
        ((densities > low) & (densities < high))[decided], (worth > profile.access_cost)[decided]
    )


def test_interval_of_two_people_by_hand():
    # one or two candidates: E = 2d(1 − d)·w1 + d²·w2
    low, high = worthwhile_densities(np.array([0.0, 10.0, 2.0]), 4.0, 2)
    roots = np.roots([-20 + 2, 20, -4])
    assert [low, high] == pytest.approx(sorted(roots), rel=1e-12)
    assert worthwhile_densities(np.array([0.0, 10.0]), 4.0, 1) == (pytest.approx(0.4, rel=1e-12), 1.0)
    assert worthwhile_densities(np.array([0.0, 10.0, 2.0]), 6.0, 2) is None
    assert worthwhile_densities(np.array([0.0]), 6.0, 2) is None


def test_a_density_of_0_or_1_is_a_known_size():
    for people, risk in ((47, 0.63), (48, 0.0), (53, 0.0), (54, 0.0), (10**6, 0.0)):
        assert reidentification_probability_unknown(CASE, [people], [1.0], people) == risk
        assert reidentification_probability_unknown(CASE, [people], [1.0], people) == reidentification_probability(
            CASE, [people]
        )
        expected = linked_values(CASE, [people])[0]
        assert expected_linked_values(CASE, [0.0, 1.0], people).tolist() == [0, expected]
    assert reidentification_probability_unknown(CASE, [3], [0.0], 100) == 0


def test_free_access_is_taken_however_improbable_a_small_group_is():
    free = replace(CASE, access_cost=0)
    densities = np.array([5e-324, 1e-300, 0.5, 1 - 1e-16])
    risk = reidentification_probability_unknown(free, [5] * 4, densities, 6_018_999)
    assert risk.tolist() == [0.63] * 4
    assert expected_linked_values(free, [0.5], 6_018_999) == 0
    assert reidentification_probability_unknown(free, [5, 53, 54], [0.0, 0.1, 0.1], 100).tolist() == [0, 0.63, 0]
    assert reidentification_probability_unknown(free, [5], [1.0], 100) == 0
    worthless = replace(free, gain=100)
    assert reidentification_probability_unknown(worthless, [5], [0.5], 100) == 0


def test_access_that_is_almost_free_or_never_paid():
    first = linked_values(CASE, [1])[0]
    for cost in (1e-310, 1e-220, 1e-180, 1e-30, 1e-9):
        low, high = access_densities(replace(CASE, access_cost=cost), PEOPLE)
        assert low == pytest.approx(cost / 0.9 / first / PEOPLE, rel=1e-10, abs=1e-323)
        assert 50 / PEOPLE < high < 2000 / PEOPLE
        assert expected_linked_values(CASE, [low], PEOPLE) == pytest.approx(cost / 0.9, rel=1e-10, abs=1e-314)
    assert access_densities(replace(CASE, access_cost=6000), PEOPLE) is None
    assert not reidentification_probability_unknown(replace(CASE, access_cost=6000), [1, 2], [1e-6, 1.0], PEOPLE).any()


def test_not_knowing_the_size_may_raise_or_lower_the_risk():
    # Findings 4 and 5: he may stay away from a group that is smaller than he thinks, and attack one that is larger.
    sizes, densities = np.array([47, 53, 60]), np.array([60.0, 40.0, 40.0]) / PEOPLE
    assert reidentification_probability(CASE, sizes).tolist() == [0.63, 0, 0]
    assert reidentification_probability_unknown(CASE, sizes, densities, PEOPLE).tolist() == [0, 0.63, 0]


def test_the_actual_size_decides_what_is_exploited():
    watched = replace(CASE, max_penalties=None, detection_slope=0.18)
    sizes = np.arange(1, 60)
    risk = reidentification_probability_unknown(watched, sizes, np.full(59, 20 / PEOPLE), PEOPLE)
    np.testing.assert_allclose(risk, 0.63 / sizes * exploits_made(watched, sizes), rtol=1e-14)
    assert known_threshold(watched) == 29
    assert np.flatnonzero(risk == 0)[0] + 1 == solve(watched, 60).sink_threshold == 46
