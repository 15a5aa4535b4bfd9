"""Adversaries for the tests: the case study of Xia et al. 2015, and random ones."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tasks.adversary.profile import AdversaryProfile

CASE_STUDY = AdversaryProfile(
    gain=8000,
    penalty=10000,
    access_cost=100,
    link_cost=0,
    exploit_cost=10,
    prior=0.63,
    detection_intercept=-4.59,
    detection_slope=0.0,
    max_penalties=1,
    discount=0.9,
)
"""Section 7.2 with a single penalty; γ = 0.9 and C_l = 0 are the reading's."""
REPEATED = replace(CASE_STUDY, max_penalties=None)
"""A constant detection probability with repeated penalties."""
RISING = replace(REPEATED, detection_slope=0.18)
"""An increasing detection probability with repeated penalties."""


def profiles(**fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[AdversaryProfile]:
    """Adversaries of all kinds; ``fixed`` replaces the strategy of a term."""
    terms: dict[str, st.SearchStrategy[Any]] = {
        "gain": _money(100, 10_000),
        "penalty": st.one_of(st.just(0.0), _money(1, 20_000)),
        "access_cost": st.one_of(st.just(0.0), _money(1, 300)),
        "link_cost": st.one_of(st.just(0.0), _money(1, 100)),
        "exploit_cost": st.one_of(st.just(0.0), _money(1, 100)),
        "prior": st.floats(0.05, 0.99),
        "detection_intercept": st.floats(-6, 2),
        "detection_slope": st.one_of(st.just(0.0), st.floats(-1, 4)),
        "max_penalties": st.sampled_from([None, 1, 2, 3, 20]),
        "discount": st.sampled_from([1.0, 0.9, 0.5]),
        "confirmation": st.sampled_from([1.0, 0.7, 0.1]),
    }
    return st.builds(AdversaryProfile, **(terms | fixed))


def _money(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False)
