"""The recursion against the process as the paper describes it: states, rewards and chances, in fractions."""

from fractions import Fraction
from functools import cache
from math import exp

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tasks.adversary.fmdp import AdversaryProfile, reidentification_probability, solve
from tests.support.examples import examples

LARGEST = 6


class Process:
    """Expected reward and success of the best plan for one record, state by state (sections 4.1 to 4.4)."""

    def __init__(self, profile, size):
        numbers = vars(profile).items() - {("resources", ()), ("max_penalties", profile.max_penalties)}
        self.terms = {name: Fraction(value) for name, value in numbers}
        self.limit, self.size = profile.max_penalties, size
        self.closest = Fraction(1)
        self.state = cache(self._state)

    def chances(self, remaining):
        """Probability that the next exploit is detected, and that it is recognised as right."""
        made = self.size - remaining
        detected = Fraction(
            1 / (1 + exp(-float(self.terms["detection_intercept"] + made * self.terms["detection_slope"])))
        )
        people = self.size / self.terms["prior"]
        return detected, self.terms["confirmation"] / (people - self.terms["confirmation"] * made)

    def _state(self, penalties, detected, success, remaining):
        """Value of a linked state that is not terminated, exploits and success probability from it on."""
        fined = detected and (self.limit is None or penalties < self.limit)
        reward = (self.terms["gain"] if success else 0) - (self.terms["penalty"] if fined else 0)
        if success or remaining == 0:
            return reward, Fraction(0), Fraction(success)
        p_detected, p_success = self.chances(remaining)
        later = made = found = Fraction(0)
        for caught, p_caught in ((True, p_detected), (False, 1 - p_detected)):
            for right, p_right in ((True, p_success), (False, 1 - p_success)):
                value, exploits, reached = self.state(penalties + fined, caught, right, remaining - 1)
                later += p_caught * p_right * value
                found += p_caught * p_right * reached
                if not right:
                    made += p_caught * exploits
        benefit, cost = self.terms["discount"] * later, self.terms["exploit_cost"]
        if not self.worth(benefit, cost):
            return Fraction(reward), Fraction(0), Fraction(0)
        return reward + benefit - cost, 1 + made, found

    def worth(self, benefit, cost):
        """Whether an action pays; remembers how near the decision was."""
        scale = self.terms["gain"] * self.terms["prior"] / self.size + cost
        if benefit != cost:
            self.closest = min(self.closest, abs(benefit - cost) / scale)
        return benefit > cost

    def solve(self):
        start, exploits, found = self.state(0, False, False, self.size)
        discount = self.terms["discount"]
        if not self.worth(discount * start, self.terms["link_cost"]):
            return start, Fraction(0), Fraction(0), -self.terms["access_cost"], False
        linked = discount * start - self.terms["link_cost"]
        accessed = self.worth(discount * linked, self.terms["access_cost"])
        return start, exploits, found, discount * linked - self.terms["access_cost"], accessed


money = st.floats(0, 5000).map(lambda amount: round(amount, 2))
profiles = st.builds(
    AdversaryProfile,
    gain=st.floats(1, 9000).map(lambda amount: round(amount, 2)),
    penalty=st.one_of(st.just(0.0), money),
    access_cost=st.one_of(st.just(0.0), st.floats(0, 500)),
    link_cost=st.one_of(st.just(0.0), st.floats(0, 200)),
    exploit_cost=st.one_of(st.just(0.0), st.floats(0, 300)),
    prior=st.floats(0.05, 0.999),
    detection_intercept=st.floats(-5, 3),
    detection_slope=st.one_of(st.just(0.0), st.floats(-1.5, 1.5)),
    max_penalties=st.one_of(st.none(), st.integers(1, 7)),
    discount=st.one_of(st.just(1.0), st.floats(0.1, 1)),
    confirmation=st.one_of(st.just(1.0), st.floats(0.1, 1)),
)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(profiles)
def test_the_plan_is_that_of_the_process(profile):
    solution = solve(profile, LARGEST)
    known = reidentification_probability(profile, np.arange(1, LARGEST + 1))
    for size in range(1, LARGEST + 1):
        process = Process(profile, size)
        start, exploits, found, access, accessed = process.solve()
        assume(process.closest > 1e-9)
        near = {"rel": 1e-10, "abs": 1e-10 * profile.gain}
        assert solution.start_value[size] == pytest.approx(float(start), **near)
        assert solution.access_value[size] == pytest.approx(float(access), **near)
        assert solution.expected_exploits[size] == pytest.approx(float(exploits), rel=1e-12)
        assert solution.success_probability[size] == pytest.approx(float(found), rel=1e-12)
        assert known[size - 1] == (solution.success_probability[size] if accessed else 0)


@settings(max_examples=examples(60), deadline=None)
@given(profiles.filter(lambda profile: profile.exploit_cost > 1))
def test_values_do_not_increase_with_the_size(profile):
    solution = solve(profile, 100)
    rounding = 1e-12 * profile.gain
    assert np.all(np.diff(solution.start_value[1:]) <= rounding)
    assert np.all(np.diff(solution.linked_value[1:]) <= rounding)
    assert np.all(np.diff(solution.access_value[1:]) <= rounding)
    assert np.all(solution.start_value >= 0)
    if solution.sink_threshold is not None:
        assert np.all(solution.linked_value[solution.sink_threshold :] == 0)
        assert np.all(solution.linked_value[1 : solution.sink_threshold] > 0)


@settings(max_examples=examples(60), deadline=None)
@given(profiles.filter(lambda profile: profile.exploit_cost > 1), st.floats(1, 3))
def test_values_fall_as_it_gets_dearer_and_rise_with_the_gain(profile, factor):
    fields = vars(profile)
    value = solve(profile, 40).access_value
    rounding = 1e-11 * profile.gain
    for dearer in ("penalty", "access_cost", "link_cost", "exploit_cost"):
        other = AdversaryProfile(**{**fields, dearer: fields[dearer] * factor})
        assert np.all(solve(other, 40).access_value <= value + rounding)
    richer = AdversaryProfile(**{**fields, "gain": profile.gain * factor})
    assert np.all(solve(richer, 40).access_value >= value - rounding * factor)


@settings(max_examples=examples(60), deadline=None)
@given(profiles)
def test_success_is_bounded_and_needs_an_attack(profile):
    solution = solve(profile, 50)
    sizes = np.arange(51)
    assert np.all(solution.expected_exploits <= sizes)
    assert np.all(solution.success_probability <= profile.confirmation * profile.prior)
    attacked = solution.linked_value > 0
    assert np.all(solution.expected_exploits[attacked] >= 1)
    assert np.all(solution.success_probability[~attacked] == 0)
    known = reidentification_probability(profile, sizes[1:])
    np.testing.assert_array_equal(known, np.where(solution.access_value > 0, solution.success_probability, 0)[1:])


@settings(max_examples=examples(60), deadline=None)
@given(profiles, st.floats(1e-6, 1e6))
def test_the_currency_does_not_matter(profile, rate):
    fields = vars(profile)
    priced = {name: fields[name] * rate for name in ("gain", "penalty", "access_cost", "link_cost", "exploit_cost")}
    ours, theirs = solve(profile, 30), solve(AdversaryProfile(**{**fields, **priced}), 30)
    np.testing.assert_allclose(theirs.start_value, ours.start_value * rate, rtol=1e-9, atol=1e-9 * profile.gain * rate)
    np.testing.assert_allclose(
        theirs.access_value, ours.access_value * rate, rtol=1e-9, atol=1e-9 * profile.gain * rate
    )


@settings(max_examples=examples(40), deadline=None)
@given(
    profiles.filter(lambda profile: profile.penalty > 0),
    st.integers(65, 200),
    st.sampled_from([None, 1, 3, 70, 150, 300]),
)
def test_large_groups_solved_in_blocks_are_those_solved_one_by_one(profile, size, limit):
    profile = AdversaryProfile(**{**vars(profile), "max_penalties": limit, "exploit_cost": 0.0, "discount": 1.0})
    assert solve(profile, size).start_value[size] == pytest.approx(_one_size(profile, size), rel=1e-9, abs=1e-9)


def _one_size(profile, size):
    """V of one size, with a row for every number of penalties."""
    people, scale = size / profile.prior, profile.confirmation
    after = [0.0] * (size + 2)
    for made in range(size - 1, -1, -1):
        detected = 1 / (1 + exp(-(profile.detection_intercept + profile.detection_slope * made)))
        now = []
        for penalties in range(made + 1):
            fined = profile.max_penalties is None or penalties < profile.max_penalties
            cost = profile.exploit_cost + (profile.discount * detected * profile.penalty if fined else 0)
            later = profile.discount * (detected * after[penalties + 1] + (1 - detected) * after[penalties])
            now.append(max(0.0, scale * profile.discount * profile.gain - (people - scale * made) * cost + later))
        after = [*now, 0.0, 0.0]
    return after[0] / people
