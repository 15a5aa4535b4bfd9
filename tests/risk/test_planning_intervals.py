"""Risk over intervals of the terms: bounds hold, are attained where they claim it, and one term is an exception."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile
from tasks.risk.fmdp import (
    known_threshold,
    linked_values,
    reidentification_probability,
    reidentification_probability_unknown,
)
from tasks.risk.planning.intervals import corners, risk_bounds, risk_bounds_unknown, threshold_bounds

BASE = AdversaryProfile(
    gain=1000,
    penalty=800,
    access_cost=0,
    link_cost=0,
    exploit_cost=10,
    prior=0.95,
    detection_intercept=float(logit(0.3)),
    detection_slope=2,
    max_penalties=1,
)
"""At a size of 6: the first exploit pays, the second only for whoever has paid the penalty."""
MORE = replace(BASE, detection_intercept=float(logit(0.6)))
SIZES = np.array([1, 2, 3, 4, 6, 9, 14, 20, 30])
RANGES = {
    "gain": (100.0, 1000.0),
    "prior": (0.05, 0.95),
    "discount": (0.5, 1.0),
    "confirmation": (0.2, 1.0),
    "penalty": (0.0, 2000.0),
    "access_cost": (0.0, 50.0),
    "link_cost": (0.0, 20.0),
    "exploit_cost": (0.5, 50.0),
    "detection_intercept": (-5.0, 2.0),
    "detection_slope": (-0.5, 0.5),
}
LIMITS = [1, 2, 3, None]


@st.composite
def boxes(draw: st.DrawFn) -> tuple[AdversaryProfile, dict, list[AdversaryProfile]]:
    """A profile, intervals for some of its terms, and some profiles of the box."""
    ends = {
        name: sorted(low + (high - low) * draw(st.floats(0, 1)) for _ in range(2))
        for name, (low, high) in RANGES.items()
    }
    limits = sorted(draw(st.tuples(st.integers(0, 3), st.integers(0, 3))))
    known = {name: low for name, (low, _) in ends.items()}
    profile = AdversaryProfile(**known, max_penalties=LIMITS[limits[0]])
    open_terms = draw(st.sets(st.sampled_from([*RANGES, "max_penalties"]), min_size=1, max_size=4))
    intervals = {name: tuple(ends[name]) for name in open_terms - {"max_penalties"}}
    if "max_penalties" in open_terms:
        intervals["max_penalties"] = (LIMITS[limits[0]], LIMITS[limits[1]])
    inside = []
    for _ in range(4):
        terms = {
            name: LIMITS[draw(st.integers(*limits))] if name == "max_penalties" else draw(st.floats(*ends[name]))
            for name in sorted(open_terms)
        }
        inside.append(replace(profile, **terms))
    return profile, intervals, inside


@settings(deadline=None, max_examples=50)
@given(boxes())
def test_bounds_hold_for_every_profile_of_the_box(box: tuple[AdversaryProfile, dict, list[AdversaryProfile]]) -> None:
    profile, intervals, inside = box
    bounds = risk_bounds(profile, intervals, SIZES)
    low, high = threshold_bounds(profile, intervals)
    weakest, strongest = corners(profile, intervals)
    for one in inside:
        risk = reidentification_probability(one, SIZES)
        assert (bounds.low <= risk + 1e-9).all()
        assert (risk <= bounds.high + 1e-9).all()
        threshold = known_threshold(one)
        assert (low or np.inf) <= (threshold or np.inf) <= (high or np.inf)
        worth = linked_values(one, SIZES)
        assert (linked_values(weakest, SIZES) <= worth * (1 + 1e-9) + 1e-9).all()
        assert (worth <= linked_values(strongest, SIZES) * (1 + 1e-9) + 1e-9).all()
    if bounds.attained:
        assert bounds.low == pytest.approx(reidentification_probability(weakest, SIZES), rel=1e-12)
        assert bounds.high == pytest.approx(reidentification_probability(strongest, SIZES), rel=1e-12)


@settings(deadline=None, max_examples=20)
@given(boxes())
def test_bounds_hold_for_groups_not_known(box: tuple[AdversaryProfile, dict, list[AdversaryProfile]]) -> None:
    profile, intervals, inside = box
    densities = SIZES[::-1] / 20_000
    bounds = risk_bounds_unknown(profile, intervals, SIZES, densities, 10_000)
    for one in inside:
        risk = reidentification_probability_unknown(one, SIZES, densities, 10_000)
        assert (bounds.low <= risk + 1e-9).all()
        assert (risk <= bounds.high + 1e-9).all()


def test_risk_may_rise_with_detection_while_the_worth_of_the_attack_falls() -> None:
    # One exploit, and after a detected one the five others: 0.95/6 · (1 + 5·0.3), then 0.95/6 · (1 + 5·0.6).
    assert reidentification_probability(BASE, 6) == pytest.approx(0.95 / 6 * 2.5)
    assert reidentification_probability(MORE, 6) == pytest.approx(0.95 / 6 * 4.0)
    assert linked_values(MORE, 6) < linked_values(BASE, 6)


def test_risk_does_not_rise_with_detection_where_every_detection_costs() -> None:
    unlimited, more = replace(BASE, max_penalties=None), replace(MORE, max_penalties=None)
    sizes = np.arange(1, 60)
    less = reidentification_probability(unlimited, sizes)
    assert less.max() > 0
    assert (reidentification_probability(more, sizes) <= less).all()


def test_bounds_with_a_limit_of_penalties_contain_what_no_corner_has() -> None:
    interval = {"detection_intercept": (BASE.detection_intercept, MORE.detection_intercept)}
    bounds = risk_bounds(BASE, interval, [6])
    assert not bounds.attained
    assert bounds.low[0] <= 0.95 / 6 * 2.5
    assert bounds.high[0] == pytest.approx(0.95 / 6 * 4.0)
    known = risk_bounds(BASE, {"penalty": (700.0, 900.0)}, [6])
    assert known.attained


def test_corners_by_hand() -> None:
    weakest, strongest = corners(BASE, {"gain": (1.0, 2.0), "penalty": (3.0, 4.0), "max_penalties": (2, None)})
    assert (weakest.gain, weakest.penalty, weakest.max_penalties) == (1, 4, None)
    assert (strongest.gain, strongest.penalty, strongest.max_penalties) == (2, 3, 2)
    assert weakest.prior == strongest.prior == BASE.prior


def test_case_study_with_an_uncertain_penalty() -> None:
    profile = replace(BASE, gain=8000.0, access_cost=100.0, prior=0.63, detection_intercept=-4.59, detection_slope=0.0)
    assert threshold_bounds(profile, {"penalty": (10_000.0, 10_000.0)}) == (48, 48)
    low, high = threshold_bounds(profile, {"penalty": (8_000.0, 12_000.0)})
    assert low < 48 < high
    bounds = risk_bounds(profile, {"penalty": (8_000.0, 12_000.0)}, [low - 1, low, high - 1, high])
    assert bounds.low == pytest.approx([0.63, 0, 0, 0])
    assert bounds.high == pytest.approx([0.63, 0.63, 0.63, 0])
    assert (
        threshold_bounds(profile, {"penalty": (0.0, 1.0), "exploit_cost": (0.0, 10.0), "discount": (0.9, 1.0)})[1]
        is None
    )


def test_bounds_have_the_shape_of_the_sizes() -> None:
    interval = {"detection_slope": (0.0, 1.0)}
    assert risk_bounds(BASE, interval, [[1, 2], [3, 200]]).high.shape == (2, 2)
    assert risk_bounds(BASE, interval, 200).high.shape == ()
    assert risk_bounds(BASE, interval, []).high.shape == (0,)


@pytest.mark.parametrize(
    "intervals",
    [
        {"greed": (1.0, 2.0)},
        {"gain": (2.0, 1.0)},
        {"gain": (None, 1.0)},
        {"gain": (0.0, 1.0)},
        {"prior": (0.5, 1.0)},
        {"penalty": (float("nan"), 1.0)},
        {"max_penalties": (None, 2)},
        {"max_penalties": (3, 2)},
    ],
)
def test_impossible_intervals_are_refused(intervals: dict) -> None:
    with pytest.raises(ParameterError):
        corners(BASE, intervals)
