"""Groups of which only an expected share is in the external data: the least favourable rounding, monotone in π."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.decisions import access_pays
from tasks.adversary.exploiting import exploiting_among
from tasks.adversary.fmdp import sink_probability
from tasks.adversary.profile import AdversaryProfile, RangedProfile
from tasks.adversary.rounding import least_favourable
from tests.support.adversary_profiles import CASE_STUDY, profiles
from tests.support.examples import examples

PRIORS = st.floats(0.02, 0.99)


def plainly(profile: AdversaryProfile, people: int) -> tuple[float, float]:
    """V and P_reid of ⌈πn⌉ candidates among n people, by the recursion written out for one state after the other."""
    candidates = max(int(np.ceil(profile.prior * people - 1e-9)), 1)
    among = max(people, 1 / profile.prior)
    limit = np.inf if profile.max_penalties is None else profile.max_penalties

    @cache
    def state(made: int, fines: int) -> tuple[float, float]:
        """Worth, and probability of success from here on, of a state with so many exploits and detections behind."""
        if made == candidates:
            return 0.0, 0.0
        chance = float(profile.detection(made))
        right = min(profile.confirmation / (among - profile.confirmation * made), 1)
        fine = chance * profile.penalty * (fines < limit)
        caught, free = state(made + 1, fines + 1), state(made + 1, fines)
        later = [(1 - right) * (chance * one + (1 - chance) * other) for one, other in zip(caught, free, strict=True)]
        worth = -profile.exploit_cost + profile.discount * (right * profile.gain - fine + later[0])
        return (worth, right + later[1]) if worth > 1e-9 * profile.gain else (0.0, 0.0)

    worth, risk = state(0, 0)
    if profile.discount * worth <= profile.link_cost:
        return 0.0, 0.0
    return profile.discount * worth - profile.link_cost, min(risk, profile.confirmation * profile.prior)


@settings(deadline=None, max_examples=examples(60))
@given(profile=profiles(max_penalties=st.sampled_from([None, 1, 2])), people=st.integers(1, 60))
def test_is_the_recursion_on_the_people_themselves(profile: AdversaryProfile, people: int) -> None:
    found, (worth, risk) = least_favourable(profile, np.array([people])), plainly(profile, people)
    assert found.worth[0] == pytest.approx(worth, rel=1e-7, abs=1e-7 * profile.gain)
    if worth > 1e-6 * profile.gain:
        assert found.risk[0] == pytest.approx(risk, rel=1e-7)


LIMITED = profiles(penalty=st.floats(1, 20_000), max_penalties=st.sampled_from([1, 2, 3, 9]))


@settings(deadline=None, max_examples=examples(60))
@given(profile=LIMITED, wider=st.floats(0, 3) | st.none(), size=st.integers(1, 60), others=st.floats(1, 3))
def test_a_group_by_itself_has_the_figures_that_it_has_beside_others(
    profile: AdversaryProfile, wider: float | None, size: int, others: float
) -> None:
    if wider is not None:
        highest = profile.detection_intercept + wider, profile.detection_slope
        profile = RangedProfile(**vars(profile), highest=highest)
    sizes, people = np.array([size]), np.array([size * others])
    alone, beside = (
        exploiting_among(profile, sizes, people),
        exploiting_among(profile, sizes.repeat(2), people.repeat(2)),
    )
    assert (alone.value[0], alone.exploits[0]) == (beside.value[1], beside.exploits[1])


@settings(deadline=None, max_examples=examples(80))
@given(profile=profiles(), low=PRIORS, high=PRIORS)
def test_neither_risk_nor_worth_falls_as_the_prior_rises(profile: AdversaryProfile, low: float, high: float) -> None:
    people = np.arange(1, 120)
    few, many = (least_favourable(replace(profile, prior=prior), people) for prior in sorted((low, high)))
    assert (few.worth <= many.worth + 1e-9 * profile.gain).all()
    assert (few.risk <= many.risk + 1e-12).all()


@settings(deadline=None, max_examples=examples(40))
@given(profile=profiles())
def test_fewer_attempts_are_not_more_favourable(profile: AdversaryProfile) -> None:
    """Than ⌈πn⌉ candidates of which the target is one with probability π, or than ⌊πn⌋ among the same people."""
    people = np.arange(1, 80)
    above = np.maximum(np.ceil(profile.prior * people - 1e-9), 1)
    found = least_favourable(profile, people).risk
    assert (found >= sink_probability(profile, above) - 1e-12).all()
    fewer = above - 1
    possible = np.flatnonzero(fewer >= 1)
    for place in possible[::7].tolist():
        floor = replace(profile, prior=float(fewer[place] / people[place]))
        assert found[place] >= least_favourable(floor, people[place : place + 1]).risk[0] - 1e-12


def test_ten_people_are_not_counted_as_five() -> None:
    """At G/c = 6 one attempt pays on five people; on ten, 60r − 10Σ(10 − j) is not above 0 up to r = 9 attempts."""
    terms = {"gain": 60, "penalty": 0, "access_cost": 0, "link_cost": 0, "exploit_cost": 10, "detection_slope": 0}
    for prior in (0.1999, 0.2, 0.2001, 0.29, 0.3, 0.85):
        profile = AdversaryProfile(**terms, prior=prior, detection_intercept=0)
        assert least_favourable(profile, np.array([10])).risk[0] == 0
    all_but_one = AdversaryProfile(**terms, prior=0.95, detection_intercept=0)
    assert least_favourable(all_but_one, np.array([10])).risk[0] == 0.95, "60·10 − 10·55 is 50"


@pytest.mark.parametrize("people", [1, 5, 63, 64, 65, 500, 5000])
def test_a_group_alone_is_as_among_others(people: int) -> None:
    every = least_favourable(CASE_STUDY, np.arange(1, 5001))
    alone = least_favourable(CASE_STUDY, np.array([people]))
    assert (alone.risk[0], alone.worth[0]) == (every.risk[people - 1], every.worth[people - 1])


def test_no_group_past_the_table_is_worth_anything() -> None:
    far = np.array([400, 4000, 10**9])
    assert not least_favourable(CASE_STUDY, far).risk.any()
    assert not access_pays(CASE_STUDY, least_favourable(CASE_STUDY, far).worth).any()
