"""Several external resources, consulted in order, with unequal candidates: against a planner of every choice."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tasks.adversary.consulting import consulted, freed
from tasks.adversary.decisions import linked_worth
from tasks.adversary.fmdp import known_threshold, sink_probability
from tasks.adversary.profile import AdversaryProfile, Resource
from tasks.adversary.rounding import least_favourable
from tasks.assessments.sequential.assessment import beliefs, judged_risks
from tasks.candidate.groups import Groups, within_reach
from tests.reference.several_resources import FilePlanner, Planner
from tests.support.adversary_profiles import CASE_STUDY, profiles
from tests.support.examples import examples

PEOPLE = np.arange(1, 60)


@st.composite
def consulting(draw: st.DrawFn, most: int = 3) -> AdversaryProfile:
    """Adversaries of up to three resources of up to two tiers each, likeliest first."""
    profile = draw(profiles(max_penalties=st.sampled_from([None, 1, 2])))
    sizes = draw(st.lists(st.integers(1, 2), min_size=1, max_size=most))
    number = sum(sizes)
    shares = [draw(st.floats(0.05, 0.9)) / number for _ in range(number)]
    densities = sorted((draw(st.floats(0.3, 1)) for _ in range(number)), reverse=True)
    tiers = [(share, share * density) for share, density in zip(shares, densities, strict=True)]
    cost = st.one_of(st.just(0.0), st.floats(0, 0.05).map(lambda part: part * profile.gain))
    resources = []
    for size in sizes:
        resources.append(Resource(draw(cost), tuple(tiers[:size])))
        tiers = tiers[size:]
    return replace(
        profile,
        resources=tuple(resources),
        prior=sum(prior for one in resources for _, prior in one.candidates),
        access_cost=resources[0].access_cost,
    )


@settings(deadline=None, max_examples=examples(150))
@given(profile=consulting(), people=st.integers(1, 9))
def test_is_the_best_of_all_choices(profile: AdversaryProfile, people: int) -> None:
    planner = Planner(profile, people)
    worth, risk = planner.start()
    found = consulted(profile, np.array([people]))
    assert found.value[0] == pytest.approx(worth, rel=1e-8, abs=1e-8 * profile.gain)
    assume(planner.margin > 1e-7 * profile.gain)
    assert found.found[0] == pytest.approx(min(risk, profile.confirmation * profile.prior), rel=1e-8, abs=1e-10)


@settings(deadline=None, max_examples=examples(60))
@given(profile=profiles(max_penalties=st.sampled_from([None, 1, 2, 3])))
def test_one_resource_whose_candidates_are_alike_is_the_paper_s(profile: AdversaryProfile) -> None:
    one = replace(profile, resources=(Resource(profile.access_cost, ((profile.prior, profile.prior),)),))
    plain, found = least_favourable(profile, PEOPLE), least_favourable(one, PEOPLE)
    for old, new in zip(vars(plain).values(), vars(found).values(), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-9 * profile.gain)


@settings(deadline=None, max_examples=examples(80))
@given(profile=consulting(most=2), share=st.floats(0.01, 0.3), density=st.floats(0.05, 1), cost=st.floats(0, 100))
def test_another_resource_or_a_cheaper_one_never_lowers_the_risk(
    profile: AdversaryProfile, share: float, density: float, cost: float
) -> None:
    last_share, last_prior = profile.resources[-1].candidates[-1]
    added = (share, share * density * last_prior / last_share)
    assume(profile.prior + added[1] < 0.99)
    more = replace(profile, resources=(*profile.resources, Resource(cost, (added,))), prior=profile.prior + added[1])
    few, many, free = (least_favourable(one, PEOPLE) for one in (profile, more, freed(more)))
    for lower, higher in ((few, many), (many, free)):
        assert (lower.worth <= higher.worth + 1e-9 * profile.gain).all()
        assert (lower.risk <= higher.risk + 1e-9).all()


def test_by_hand() -> None:
    """Of ten people one resource lists two, the target with 0.4, and another, for 20, three more with 0.3.

    G = 100, c = 5: the attempts bring 20 − 5 and 20 − 0.8·5; then 0.6 (0.5·… ): each of the three 10, less 5 times 0.6,
    0.5 and 0.4, is 22.5, of which access takes 0.6·20. Together 15 + 16 + 10.5.
    """
    terms = dict.fromkeys(("penalty", "link_cost", "detection_intercept", "detection_slope"), 0.0)
    resources = (Resource(0.0, ((0.2, 0.4),)), Resource(20.0, ((0.3, 0.3),)))
    profile = AdversaryProfile(gain=100, access_cost=0, exploit_cost=5, prior=0.7, resources=resources, **terms)
    found = consulted(profile, np.array([10]))
    assert (found.value[0], found.found[0], found.exploits[0]) == pytest.approx((15 + 16 + 22.5 - 12, 0.7, 5))
    assert found.opened[1, 0] == pytest.approx(22.5 / 0.6)
    dear = replace(profile, resources=(resources[0], Resource(37.5, resources[1].candidates)))
    assert (consulted(dear, np.array([10])).value[0], consulted(dear, np.array([10])).found[0]) == (31, 0.4)


def test_thresholds_are_of_people() -> None:
    """Half of the people are listed by one resource, half of the rest by another: as one that lists three quarters."""
    halves = (Resource(100.0, ((0.5, 0.5),)), Resource(0.0, ((0.25, 0.25),)))
    profile = replace(CASE_STUDY, prior=0.75, resources=halves)
    threshold = known_threshold(profile)
    assert threshold is not None
    worth = linked_worth(profile, consulted(profile, np.arange(1, 400)))
    assert (profile.discount * worth > 100)[threshold - 2]
    assert not (profile.discount * worth > 100)[threshold - 1 :].any()
    assert sink_probability(profile, threshold - 1) == pytest.approx(0.75, abs=0.02)


def groups_of(people: np.ndarray, records: np.ndarray) -> Groups:
    return Groups(people, people / 1000, records, 700, people, 1000)


@st.composite
def of_four(draw: st.DrawFn) -> AdversaryProfile:
    """Two resources that list whole numbers of four people, so that no share is rounded."""
    first, second = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1)]))
    likely, less = sorted((draw(st.floats(0.2, 0.99)), draw(st.floats(0.2, 0.99))), reverse=True)
    profile = draw(profiles(max_penalties=st.sampled_from([None, 1])))
    costs = [draw(st.floats(0, 1)) * profile.gain * scale for scale in (0.2, 1.0)]
    tiers = [(first / 4, likely * first / 4), (second / 4, less * second / 4)]
    return replace(
        profile,
        access_cost=costs[0],
        prior=tiers[0][1] + tiers[1][1],
        resources=tuple(Resource(cost, (tier,)) for cost, tier in zip(costs, tiers, strict=True)),
        discount=1.0,
        link_cost=0.0,
    )


@settings(deadline=None, max_examples=examples(60))
@given(profile=of_four())
def test_no_plan_for_a_file_finds_more_than_is_judged(profile: AdversaryProfile) -> None:
    """Of two records, each resource paid once for both, bought and tried in whatever order and after any outcome."""
    _, found = FilePlanner(profile, (4, 4)).start()
    judged = judged_risks(profile, groups_of(np.array([4]), np.array([2])))
    assert 2 * judged[0] >= found - 1e-9


@settings(deadline=None, max_examples=examples(60))
@given(profile=consulting(most=2), cost=st.floats(0, 1e5), cheaper=st.floats(0, 1))
def test_the_judged_risk_never_falls_with_more_or_cheaper_resources(
    profile: AdversaryProfile, cost: float, cheaper: float
) -> None:
    share, prior = profile.resources[-1].candidates[-1]
    assume(profile.prior + prior / 2 < 0.99)
    more = (*profile.resources, Resource(cost, ((share / 2, prior / 2),)))
    least = (*profile.resources, Resource(cost * cheaper, ((share / 2, prior / 2),)))
    profiles_ = [profile, *(replace(profile, resources=one, prior=profile.prior + prior / 2) for one in (more, least))]
    few, many, most = (judged_risks(one, groups_of(PEOPLE, np.full(len(PEOPLE), 3))) for one in profiles_)
    assert (few <= many + 1e-9).all()
    assert (many <= most + 1e-9).all()


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(100))
@given(profile=consulting(), dear=st.floats(0, 3), sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4))
def test_no_other_belief_has_a_higher_risk_than_is_judged(
    profile: AdversaryProfile, dear: float, sizes: list[int]
) -> None:
    first, *others = profile.resources
    later = tuple(replace(one, access_cost=dear * profile.gain) for one in others)
    profile = replace(profile, resources=(first, *later))
    people = np.array(sizes)
    known, unknown, shared = beliefs(profile, groups_of(people, np.ones(len(people), dtype=np.int64)))
    for one in (known, unknown):
        assert one.maximum_risk <= shared.maximum_risk + 1e-9
        assert one.expected_reidentifications <= shared.expected_reidentifications + 1e-9
        assert one.attacked_records <= shared.attacked_records


def test_what_can_pay_for_a_file_by_hand() -> None:
    """The second resource is worth 22.5/0.6 = 37.5 of each record for whom the first has failed; of ten, 375."""
    terms = dict.fromkeys(("penalty", "link_cost", "detection_intercept", "detection_slope"), 0.0)
    reached = {}
    for cost in (374.0, 375.0):
        resources = (Resource(0.0, ((0.2, 0.4),)), Resource(cost, ((0.3, 0.3),)))
        profile = AdversaryProfile(gain=100, access_cost=0, exploit_cost=5, prior=0.7, resources=resources, **terms)
        found = groups_of(np.array([10]), np.array([10]))
        reached[cost] = len(within_reach(profile, found).resources), float(judged_risks(profile, found)[0])
    assert reached == {374.0: (2, pytest.approx(0.7)), 375.0: (1, 0.4)}
