"""Paid access by one who does not know the groups: no risk falls as a declared prior rises, and the bound is close."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.adversary.fmdp import linked_values
from tasks.adversary.group_sizes import expected_candidates, expected_listed
from tasks.adversary.profile import AdversaryProfile
from tasks.adversary.unsure_access import least_favourable_belief
from tasks.assessments.sequential.assessment import judged_risks
from tasks.candidate.groups import Groups
from tests.support.adversary_profiles import CASE_STUDY, profiles
from tests.support.examples import examples

POPULATIONS = st.sampled_from([100, 400])
"""A small one, of which each number listed is a cell, and one with wider cells."""
PRIORS = st.floats(0.02, 0.99)
GROUPS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 5)), min_size=1, max_size=4)
# One attempt of worth π/g is all that pays, for the second is detected for certain.
ONCE = AdversaryProfile(
    gain=100,
    penalty=10_000,
    access_cost=19,
    link_cost=0,
    exploit_cost=0,
    prior=0.6,
    detection_intercept=-700,
    detection_slope=1000,
)


def released(prior: float, groups: list[tuple[int, int]], population: int = 400) -> Groups:
    people, records = (np.array(column) for column in zip(*groups, strict=True))
    return Groups(
        expected_candidates(prior, people),
        people / population,
        records,
        expected_listed(prior, population),
        people,
        population,
    )


def believed(profile: AdversaryProfile, groups: list[tuple[int, int]], population: int = 400) -> float:
    """Σ records · E[W] at the profile's prior, W at all sizes one by one."""
    listed = expected_listed(profile.prior, population)
    worth = np.append(0.0, linked_values(profile, np.arange(1, listed + 1)))
    return sum(
        records * float(binom.pmf(np.arange(listed + 1), listed, people / population) @ worth)
        for people, records in groups
    )


def test_hope_for_fewer_candidates_at_a_lower_prior_is_not_lost_at_a_higher() -> None:
    """Of six people 4.2 are listed at π = 0.7 and 5.7 at 0.95: π·E[1/g] is 0.2154 and 0.2086, and access costs 0.21."""
    group, dear = [(6, 1)], replace(ONCE, access_cost=21)
    few, many = (believed(replace(dear, prior=prior), group) for prior in (0.7, 0.95))
    assert many < 21 < few
    for prior in (0.6, 0.7, 0.8, 0.9, 0.95):
        risk = judged_risks(replace(dear, prior=prior), released(prior, group))
        assert risk == pytest.approx(1 / 6)


@settings(deadline=None, max_examples=examples(80))
@given(profile=profiles(), groups=GROUPS, low=PRIORS, high=PRIORS, population=POPULATIONS)
@example(profile=replace(ONCE, access_cost=21), groups=[(6, 1)], low=0.7, high=0.95, population=400)
def test_the_judged_risk_never_falls_as_the_prior_rises(
    profile: AdversaryProfile, groups: list[tuple[int, int]], low: float, high: float, population: int
) -> None:
    few, many = (
        judged_risks(replace(profile, prior=prior), released(prior, groups, population))
        for prior in sorted((low, high))
    )
    assert (few <= many + 1e-12).all()


def bounded(
    profile: AdversaryProfile, groups: list[tuple[int, int]], population: int = 400, threshold: float | None = None
) -> float:
    people, records = (np.array(column) for column in zip(*groups, strict=True))
    return least_favourable_belief(profile, people / population, records, population, threshold)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(80))
@given(profile=profiles(), groups=GROUPS, share=st.floats(0.02, 1), population=POPULATIONS)
def test_the_bound_holds_of_every_lower_prior_and_never_falls(
    profile: AdversaryProfile, groups: list[tuple[int, int]], share: float, population: int
) -> None:
    bound, lower = bounded(profile, groups, population), replace(profile, prior=profile.prior * share)
    assert bound >= believed(lower, groups, population) - 1e-9 * profile.gain
    assert bound >= bounded(lower, groups, population) - 1e-9 * profile.gain


def test_the_bound_is_close_to_the_worth_at_the_best_prior() -> None:
    for profile, group in ((ONCE, [(6, 1)]), (CASE_STUDY, [(40, 3)]), (CASE_STUDY, [(5, 1), (60, 9)])):
        priors = np.linspace(0.01, profile.prior, 40)
        most = max(believed(replace(profile, prior=prior), group) for prior in priors.tolist())
        assert most <= bounded(profile, group) <= 1.06 * most


def test_in_a_small_population_the_bound_is_the_worth_at_the_best_prior() -> None:
    """Of 100 people n are listed at priors from (n − ½)/100 to (n + ½)/100, and each size is worth most at the last."""
    profile = replace(ONCE, prior=0.9)
    tops = [min((listed + 0.49999999) / 100, 0.9) for listed in range(1, 91)]
    most = max(believed(replace(profile, prior=top), [(6, 1)], 100) for top in tops)
    assert bounded(profile, [(6, 1)], 100) == pytest.approx(most, rel=1e-6)
    assert most > 1.01 * believed(profile, [(6, 1)], 100)


@settings(deadline=None, max_examples=examples(40))
@given(profile=profiles(), groups=GROUPS, share=st.floats(0.5, 1.5), population=POPULATIONS)
def test_a_threshold_is_passed_by_what_the_bound_is(
    profile: AdversaryProfile, groups: list[tuple[int, int]], share: float, population: int
) -> None:
    bound = bounded(profile, groups, population)
    found = bounded(profile, groups, population, bound * share)
    assert (found > bound * share) == (bound > bound * share)
