"""Terms of which only a range is known: what is worst at an end, and the bound where no end is worst."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.fmdp import exploits_made, linked_values, sink_probability
from tasks.adversary.profile import AdversaryProfile, RangedProfile
from tests.support.adversary_profiles import profiles
from tests.support.examples import examples

SIZES = np.arange(1, 60)
LIMITED = profiles(
    penalty=st.floats(1, 20_000), max_penalties=st.sampled_from([1, 2, 3]), detection_intercept=st.floats(-6, 1)
)


@settings(deadline=None, max_examples=examples(60))
@given(profile=LIMITED, wider=st.floats(0, 3), steeper=st.floats(0, 1), share=st.floats(0, 1))
def test_no_detection_in_the_range_has_a_higher_risk(
    profile: AdversaryProfile, wider: float, steeper: float, share: float
) -> None:
    """Where penalties are limited the risk may be highest between the ends."""
    intercept, slope = profile.detection_intercept, profile.detection_slope
    ranged = RangedProfile(**vars(profile), highest=(intercept + wider, slope + steeper))
    inside = replace(profile, detection_intercept=intercept + share * wider, detection_slope=slope + share * steeper)
    assert (linked_values(ranged, SIZES) >= linked_values(inside, SIZES) - 1e-9 * profile.gain).all()
    assert (exploits_made(ranged, SIZES) >= exploits_made(inside, SIZES) - 1e-9).all()
    assert (sink_probability(ranged, SIZES) >= sink_probability(inside, SIZES) - 1e-12).all()


def test_a_range_of_one_detection_is_that_detection() -> None:
    profile = AdversaryProfile(1000, 853, 0, 0, 2, 0.88, -6.15, 4.37, 2)
    ranged = RangedProfile(**vars(profile), highest=(-6.15, 4.37))
    np.testing.assert_array_equal(sink_probability(ranged, SIZES), sink_probability(profile, SIZES))


@settings(deadline=None, max_examples=examples(60))
@given(profile=profiles(), patience=st.floats(0.3, 1), confirmation=st.floats(0.05, 1), limit=st.integers(1, 20))
def test_patience_recognition_and_fewer_penalties_never_lower_the_risk(
    profile: AdversaryProfile, patience: float, confirmation: float, limit: int
) -> None:
    freer = replace(
        profile,
        discount=max(profile.discount, patience),
        confirmation=max(profile.confirmation, confirmation),
        max_penalties=min(profile.max_penalties or limit, limit),
    )
    assert (linked_values(freer, SIZES) >= linked_values(profile, SIZES) - 1e-9 * profile.gain).all()
    assert (sink_probability(freer, SIZES) >= sink_probability(profile, SIZES) - 1e-12).all()
