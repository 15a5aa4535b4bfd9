"""Groups of which only a least number of people is known: no size from there on is worse than what is judged."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.profile import AdversaryProfile
from tasks.adversary.rounding import least_favourable, least_favourable_from
from tasks.generalization.game.sequential_follower import SequentialFollower
from tests.support.adversary_profiles import CASE_STUDY, profiles
from tests.support.examples import examples

SIZES = np.arange(1, 400)


@settings(deadline=None, max_examples=examples(40))
@given(profile=profiles(exploit_cost=st.floats(1, 100)))
def test_no_larger_group_is_worse_than_one_known_from_below(profile: AdversaryProfile) -> None:
    exact, below = least_favourable(profile, SIZES), least_favourable_from(profile, SIZES)
    for name in ("worth", "risk", "exploits"):
        one, other = getattr(exact, name), getattr(below, name)
        worst = np.maximum.accumulate(one[::-1])[::-1]
        assert (other >= worst - 1e-9 * profile.gain).all()
        assert (np.diff(other) <= 1e-9 * profile.gain).all()
    assert (below.risk <= profile.confirmation * profile.prior + 1e-9).all()


def test_what_rises_with_the_people_is_judged_where_it_is_highest() -> None:
    """Two of two people are listed by a prior of 0.63, and one of one: the larger group is worth more."""
    exact, below = least_favourable(CASE_STUDY, SIZES), least_favourable_from(CASE_STUDY, SIZES)
    assert exact.worth[1] > exact.worth[0]
    assert below.worth[0] == exact.worth.max()
    assert (below.worth[2:] >= exact.worth[2:]).all()


def test_where_attacks_have_no_end_the_risk_is_bounded_by_the_prior() -> None:
    endless = AdversaryProfile(
        gain=100, penalty=0, access_cost=0, link_cost=0, exploit_cost=0, prior=0.5, detection_intercept=-5,
        detection_slope=0, max_penalties=None, discount=1,
    )  # fmt: skip
    below = least_favourable_from(endless, np.array([1, 10, 2**21]))
    assert below.risk.tolist() == [0.5, 0.5, 0.5]
    assert (below.worth > 0).all()


@settings(deadline=None, max_examples=examples(20))
@given(profile=profiles(exploit_cost=st.floats(1, 100)), population=st.integers(1, 300))
def test_a_follower_of_groups_known_from_below_attacks_wherever_a_larger_group_would_be(
    profile: AdversaryProfile, population: int
) -> None:
    sizes = np.arange(1, population + 1)
    below = SequentialFollower(100, 300, profile, population, from_below=True)
    larger = SequentialFollower(100, 300, profile, 2 * population)
    worst = np.maximum.accumulate(larger.reidentified(np.arange(1, 2 * population + 1))[::-1])[::-1]
    assert (below.reidentified(sizes) >= worst[:population] - 1e-9).all()
