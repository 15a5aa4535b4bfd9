"""Several external resources: against courses of events person by person, the group model, and figures by hand."""

import math
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile
from tasks.risk.fmdp import exploits_made, linked_values, reidentification_probability
from tasks.risk.planning.resources import Resource, plan_resources

TERMS = {
    "gain": 100.0,
    "penalty": 30.0,
    "access_cost": 0.0,
    "link_cost": 0.0,
    "exploit_cost": 3.0,
    "prior": 0.5,
    "detection_intercept": -1.0,
    "detection_slope": 0.4,
    "max_penalties": 1,
}


def profiled(**terms: float | None) -> AdversaryProfile:
    return AdversaryProfile(**{**TERMS, **terms})


World = tuple[int, tuple[tuple[int, ...], ...], float]
"""Who the target is, whom each resource lists, and how likely that is."""


class Done(NamedTuple):
    """What the adversary has done."""

    accessed: frozenset[int] = frozenset()
    pool: frozenset[int] = frozenset()
    tried: frozenset[int] = frozenset()
    penalties: int = 0


class Histories:
    """The attack without any shortcut: worlds, weighed by what the adversary has seen of them.

    He knows the name of everybody in the pool and chooses whom to exploit. Nothing is assumed about what his
    knowledge can be reduced to.
    """

    def __init__(self, profile: AdversaryProfile, people: int, resources: list[Resource]) -> None:
        self.profile, self.people, self.resources = profile, people, resources

    def start(self) -> float:
        worlds: list[World] = []
        for target in range(self.people):
            for lists in product(product((0, 1), repeat=self.people), repeat=len(self.resources)):
                weight = 1.0
                for resource, listed in zip(self.resources, lists, strict=True):
                    weight *= math.prod(resource.coverage if one else 1 - resource.coverage for one in listed)
                worlds.append((target, lists, weight / self.people))
        return self.value(worlds, Done())

    def value(self, worlds: list[World], done: Done) -> float:
        options = [self.exploit(worlds, done, person) for person in done.pool - done.tried]
        options += [self.access(worlds, done, k) for k in range(len(self.resources)) if k not in done.accessed]
        return max([0.0, *options])

    def access(self, worlds: list[World], done: Done, k: int) -> float:
        done = done._replace(accessed=done.accessed | {k})
        expected = 0.0
        for listed in {lists[k] for _, lists, _ in worlds}:
            seen = [world for world in worlds if world[1][k] == listed]
            wider = done._replace(pool=done.pool | {person for person, one in enumerate(listed) if one})
            linked = self.profile.discount * self.value(seen, wider) - self.resources[k].link_cost
            expected += total(seen) / total(worlds) * max(self.value(seen, done), linked)
        return self.profile.discount * expected - self.resources[k].access_cost

    def exploit(self, worlds: list[World], done: Done, person: int) -> float:
        kappa, limit = self.profile.confirmation, self.profile.max_penalties
        hit = kappa * total([world for world in worlds if world[0] == person]) / total(worlds)
        missed = [
            (target, lists, weight * (1 - kappa if target == person else 1))
            for target, lists, weight in worlds
            if target != person or kappa < 1
        ]
        detected = float(self.profile.detection(len(done.tried)))
        fine = self.profile.penalty if limit is None or done.penalties < limit else 0.0
        reward = hit * self.profile.gain - detected * fine
        for counted, chance in ((1, detected), (0, 1 - detected)) if missed else ():
            after = done._replace(tried=done.tried | {person}, penalties=done.penalties + counted)
            reward += (1 - hit) * chance * self.value(missed, after)
        return self.profile.discount * reward - self.profile.exploit_cost


def total(worlds: list[World]) -> float:
    return sum(weight for *_, weight in worlds)


@pytest.mark.parametrize("limit", [1, 2, None])
@pytest.mark.parametrize("confirmation", [1.0, 0.6])
@pytest.mark.parametrize(
    ("costs", "coverages"),
    [
        (((4.0, 0.0), (9.0, 0.0)), (0.3, 0.8)),
        (((1.0, 6.0), (20.0, 2.0)), (0.5, 0.9)),
        (((6.0, 1.0), (6.0, 1.0)), (0.5, 0.5)),
    ],
)
def test_two_resources_person_by_person(
    limit: int | None,
    confirmation: float,
    costs: tuple[tuple[float, float], tuple[float, float]],
    coverages: tuple[float, float],
) -> None:
    profile = profiled(max_penalties=limit, confirmation=confirmation)
    resources = [
        Resource(name, access, link, coverage)
        for name, (access, link), coverage in zip("ab", costs, coverages, strict=True)
    ]
    for people in (1, 2):
        expected = Histories(profile, people, resources).start()
        assert plan_resources(profile, people, resources).value == pytest.approx(expected, rel=1e-9)
        assert expected > 0


def test_three_people_person_by_person() -> None:
    profile = profiled(exploit_cost=6.0, max_penalties=1)
    resources = [Resource("a", 2.0, 3.0, 0.4), Resource("b", 8.0, 0.5, 0.7)]
    expected = Histories(profile, 3, resources).start()
    assert expected > 0
    assert plan_resources(profile, 3, resources).value == pytest.approx(expected, rel=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    st.builds(
        profiled,
        gain=st.floats(1, 1000),
        penalty=st.floats(0, 2000),
        access_cost=st.floats(0, 50),
        link_cost=st.floats(0, 20),
        exploit_cost=st.floats(0, 100),
        prior=st.floats(0.05, 0.95),
        detection_intercept=st.floats(-4, 2),
        detection_slope=st.floats(-1, 1),
        max_penalties=st.sampled_from([None, 1, 2, 3]),
        discount=st.floats(0.5, 1),
        confirmation=st.floats(0.2, 1),
    ),
    st.integers(1, 12),
)
def test_one_resource_of_known_size_is_the_group_model(profile: AdversaryProfile, size: int) -> None:
    resource = Resource("register", profile.access_cost, profile.link_cost, listed=size)
    plan = plan_resources(profile, size / profile.prior, [resource])
    expected = max(0.0, profile.discount * float(linked_values(profile, size)) - profile.access_cost)
    assert plan.value == pytest.approx(expected, abs=1e-9 * profile.gain)
    if expected > 1e-9 * profile.gain:
        assert plan.first == "register"
        assert plan.access_probabilities == {"register": 1.0}
        assert plan.exploits == pytest.approx(float(exploits_made(profile, size)), rel=1e-9)
        risk = float(reidentification_probability(profile, size))
        assert plan.reidentification_probability == pytest.approx(risk, rel=1e-9)


def test_a_second_resource_by_hand() -> None:
    # γ = 1 and no penalty. Ten people, a lists 2 of them for 5, b 6 others for 1: all eight exploits at 1 each.
    profile = profiled(penalty=0.0, exploit_cost=1.0, discount=1.0)
    plan = plan_resources(profile, 10, [Resource("a", 5, listed=2), Resource("b", 1, listed=6)])
    tries = sum(1 - j / 10 for j in range(8))
    # b first: a is paid for only if the six were wrong, which has probability 4/10.
    assert plan.value == pytest.approx(0.8 * 100 - tries - 1 - 0.4 * 5)
    assert plan.first == "b"
    assert plan.access_probabilities == {"a": pytest.approx(0.4), "b": 1.0}
    assert plan.exploits == 8
    assert plan.reidentification_probability == pytest.approx(0.8)


def test_further_resources_add_to_risk_and_worth() -> None:
    profile = profiled(gain=400.0)
    resources = [Resource("a", 4.0, 1.0, 0.3), Resource("b", 7.0, 2.0, 0.4), Resource("c", 9.0, 0.0, 0.6)]
    plans = [plan_resources(profile, 12, resources[:count]) for count in range(4)]
    values = [plan.value for plan in plans]
    assert values == sorted(values)
    assert values[0] == 0
    assert plans[0].first is None
    assert values[3] > values[2] > values[1] > 0


def test_the_order_is_chosen_not_taken_from_the_list() -> None:
    profile = profiled()
    resources = [Resource("dear", 30.0, 0.0, 0.5), Resource("cheap", 1.0, 0.0, 0.5)]
    there, back = plan_resources(profile, 6, resources), plan_resources(profile, 6, resources[::-1])
    assert there.first == back.first == "cheap"
    assert there.value == pytest.approx(back.value)
    assert there.access_probabilities["dear"] < there.access_probabilities["cheap"] == 1


def test_a_resource_that_is_not_worth_its_cost_is_left() -> None:
    plan = plan_resources(profiled(), 6, [Resource("a", 1000.0, 0.0, 0.9)])
    assert (plan.value, plan.first, plan.exploits, plan.reidentification_probability) == (0, None, 0, 0)
    assert plan.access_probabilities == {"a": 0.0}


def test_full_coverage_lists_everybody() -> None:
    profile = profiled(max_penalties=2)
    sure, listed = Resource("a", 2.0, 1.0, coverage=1.0), Resource("a", 2.0, 1.0, listed=5)
    one, other = plan_resources(profile, 5, [sure]), plan_resources(profile, 5, [listed])
    assert one.value == pytest.approx(other.value)
    assert one.reidentification_probability == pytest.approx(other.reidentification_probability)


@pytest.mark.parametrize(
    ("terms", "where"),
    [
        ({"access_cost": -1.0, "coverage": 0.5}, "access_cost"),
        ({"access_cost": float("inf"), "coverage": 0.5}, "access_cost"),
        ({"access_cost": 1.0, "link_cost": float("nan"), "coverage": 0.5}, "link_cost"),
        ({"access_cost": 1.0}, "coverage"),
        ({"access_cost": 1.0, "coverage": 0.5, "listed": 3}, "coverage"),
        ({"access_cost": 1.0, "coverage": 0.0}, "coverage"),
        ({"access_cost": 1.0, "coverage": 1.5}, "coverage"),
        ({"access_cost": 1.0, "listed": 0}, "listed"),
        ({"access_cost": 1.0, "listed": 2.5}, "listed"),
    ],
)
def test_an_impossible_resource_is_refused(terms: dict[str, float], where: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Resource("register", **terms)
    assert refused.value.where == f"register: {where}"


@pytest.mark.parametrize(
    ("people", "resources", "got"),
    [
        (10, [Resource("a", 1.0, coverage=0.5), Resource("a", 1.0, coverage=0.5)], "twice"),
        (10, [Resource("a", 1.0, coverage=0.5), Resource("b", 1.0, listed=3)], "some of each"),
        (5.5, [Resource("a", 1.0, coverage=0.5)], "5.5"),
        (4, [Resource("a", 1.0, listed=3), Resource("b", 1.0, listed=3)], "4"),
        (0, [], "0"),
        (float("nan"), [], "nan"),
        (5000, [Resource("a", 1.0, coverage=0.5), Resource("b", 1.0, coverage=0.5)], "1000800160008"),
    ],
)
def test_what_does_not_fit_together_is_refused(people: float, resources: list[Resource], got: str) -> None:
    with pytest.raises(ParameterError) as refused:
        plan_resources(profiled(), people, resources)
    assert got in refused.value.got


def test_terms_that_overflow_are_not_taken_for_no_attack() -> None:
    profile = profiled(gain=1e308, exploit_cost=1.5e308, penalty=1.5e308, detection_intercept=5.0)
    with pytest.raises(ParameterError, match="too far apart"):
        plan_resources(profile, 3, [Resource("a", 1.0, coverage=0.5)])
