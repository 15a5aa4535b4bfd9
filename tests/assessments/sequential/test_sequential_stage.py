"""The sequential stage on tables small enough for pen and paper.

The adversary of most tests gains 60, pays 10 an attempt and 10 for access, nothing else, does not discount, and finds
half of all people in the external data. All candidates are tried or none, so that (γ = 1, π = 1/2, no penalty)

    W(g) = π·(60 − 10·(g/π − (g − 1)/2)) = (55 − 15 g)/2:  20, 12.5, 5 for 1, 2, 3 candidates, and 0 from 4 on.
"""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.adversary.derived_profile import DerivedProfile
from tasks.adversary.planning.deterrence import Term, with_term
from tasks.adversary.profile import AdversaryProfile
from tasks.assessments.sequential.assessment import (
    PATIENCE,
    _histogram,
    beliefs,
    curve,
    deterrents,
    exhausted_below,
    gate_figures,
    is_attacked,
    patience,
    plan,
    sensitivities,
    thresholds,
)
from tasks.assessments.sequential.facts import BeliefFact, ExternalFact, SequentialFact
from tasks.candidate.groups import Groups
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.generalize import generalize
from tasks.request.model import Measure, Method
from tests.support.examples import examples
from tests.support.explaining import ROWS, table

WORTH = np.array([0, 20, 12.5, 5, 0, 0, 0, 0, 0, 0, 0])
"""W by number of candidates, of the ten people in the external data."""
PEOPLE = {("a",): 2, ("b",): 4, ("c",): 6, ("d",): 8}
POPULATION = ExternalFact(kind="population", source="made up", sha256=None, people=10)


def adversary(**terms: Any) -> AdversaryProfile:
    usual = {"gain": 60, "penalty": 0, "access_cost": 10, "link_cost": 0, "exploit_cost": 10, "prior": 0.5}
    others = {"detection_intercept": 0, "detection_slope": 0, "max_penalties": None, "discount": 1}
    return AdversaryProfile(**{**usual, **others, **terms})


def some(candidates: list[int], densities: list[float] | None = None, records: list[int] | None = None) -> Groups:
    return Groups(
        np.array(candidates),
        np.array(densities or [0.0] * len(candidates)),
        np.array(records or [1] * len(candidates)),
        10,
    )


def believed(density: float, listed: int = 10) -> float:
    """Expected W of ten people listed, or of nine at a prior of 0.475: πG − cg + πc(g − 1)/2 where that is above 0."""
    nine = np.array([0, 18.5, 10.875, 3.25, 0, 0, 0, 0, 0, 0])
    return float(binom.pmf(np.arange(listed + 1), listed, density) @ (WORTH if listed == 10 else nine))


def planned(
    profile: AdversaryProfile, *, on: CountIndex | None = None, kept: tuple[bool, ...] = (True,) * 4
) -> SequentialFact:
    """The game makes groups of 6 people safe, so a and b are released together: 6, 6, 6 and 8 people."""
    people = table((ROWS,), PEOPLE) if on is None else on
    generalization = generalize(
        people, Method.NO_ATTACK_PARTITION, Payoffs(benefit=90, loss=60, gain=60, cost=10), np.ones(1)
    )
    origins = {field.name: "a test" for field in dataclasses.fields(profile)}
    return plan(people, generalization, np.array(kept), DerivedProfile(profile, origins), POPULATION)


def figures(belief: BeliefFact) -> tuple[float, ...]:
    return (
        belief.maximum_risk,
        belief.mean_risk,
        belief.attacked_share,
        belief.attacked_records,
        belief.expected_reidentifications,
        belief.expected_exploits,
    )


def test_the_records_as_collected() -> None:
    """1, 2, 3 and 4 candidates: two are worth access by themselves, three once it is paid."""
    known, unknown, shared = planned(adversary()).initial
    assert [known.belief, unknown.belief, shared.belief] == ["known group", "unknown group", "access shared"]
    assert figures(known) == pytest.approx((1 / 2, 1 / 4, 1 / 2, 2, 1, 3 / 4))
    assert [believed(density) > 10 for density in (0.1, 0.2, 0.3, 0.4)] == [True, True, False, False]
    assert figures(unknown) == pytest.approx((1 / 2, 1 / 4, 1 / 2, 2, 1, 3 / 4))
    assert figures(shared) == pytest.approx((1 / 2, 3 / 8, 3 / 4, 3, 3 / 2, 6 / 4))


def test_the_released_records_are_safe_one_by_one_and_not_together() -> None:
    """3, 3, 3 and 4 candidates are worth 5, 5, 5 and 0: none pays for access, and all of them do."""
    found = planned(adversary())
    known, unknown, shared = found.residual
    assert figures(known) == figures(unknown) == (0, 0, 0, 0, 0, 0)
    assert figures(shared) == pytest.approx((1 / 2, 3 / 8, 3 / 4, 3, 3 / 2, 9 / 4))
    assert gate_figures(found.residual, 60.0) == pytest.approx(
        {
            Measure.SEQUENTIAL_MAXIMUM: 1 / 2,
            Measure.SEQUENTIAL_MEAN: 3 / 8,
            Measure.SEQUENTIAL_ATTACKED: 3 / 4,
            Measure.SEQUENTIAL_EXPECTED: 3 / 2,
            Measure.SEQUENTIAL_LOSS: 90,
        }
    )


def test_what_the_stage_says_beside() -> None:
    fact = planned(adversary())
    assert (fact.threshold_known, fact.threshold_linked, fact.exhausted_below) == (3, 4, 4)
    assert (fact.smallest_group, fact.largest_group) == (3, 4)
    assert fact.judged == "access shared"
    assert fact.external == POPULATION
    assert (fact.profile.gain, fact.profile.max_penalties, fact.profile.confirmation) == (60, None, 1)
    assert [(one.low, one.high, one.records) for one in fact.group_sizes] == [(0, 1, 0), (1, 2, 0), (2, 5, 4)]
    assert [(point.size, point.known, point.linked, point.exploits) for point in fact.curve] == [
        (1, 0.5, 0.5, 1),
        (2, 0.5, 0.5, 2),
        (3, 0, 0.5, 3),
        *((size, 0, 0, 0) for size in (4, 5, 6, 7)),
    ]
    assert (fact.baseline_maximum, fact.baseline_attacked_share) == (0, 0), "one attempt on three costs 20, brings 10"


def test_one_attempt_a_record() -> None:
    """At 9 an attempt and free access, three candidates bring 60·π/3 = 10, four bring 7.5."""
    fact = planned(adversary(exploit_cost=9, access_cost=0))
    assert fact.baseline_maximum == pytest.approx(1 / 6)
    assert fact.baseline_attacked_share == pytest.approx(3 / 4)


def test_suppressed_records_are_not_attacked() -> None:
    """All records together are worth access at 11, but not one of three candidates and one of four."""
    whole, part = (planned(adversary(access_cost=11), kept=kept) for kept in ((True,) * 4, (True, False, False, True)))
    assert figures(whole.residual[2]) == pytest.approx((1 / 2, 3 / 8, 3 / 4, 3, 3 / 2, 9 / 4))
    assert figures(part.residual[2]) == (0, 0, 0, 0, 0, 0)
    assert sum(one.records for one in part.group_sizes) == 2
    assert part.initial == whole.initial


@pytest.mark.parametrize(("records", "attacked"), [(1, 0), (2, 0), (3, 3), (4, 4)])
def test_similar_records_pay_for_access_together(records: int, attacked: int) -> None:
    """Each is worth 5 and access costs 10: two are a tie, which is no attack."""
    known, unknown, shared = beliefs(adversary(), some([3], records=[records]))
    assert (known.attacked_records, unknown.attacked_records, shared.attacked_records) == (0, 0, attacked)
    assert shared.maximum_risk == (0.5 if attacked else 0)


@pytest.mark.parametrize("scale", [0.1, 1 / 3, 0.7, 1e-7])
def test_a_tie_is_no_attack_in_any_currency(scale: float) -> None:
    money = {"gain": 60 * scale, "access_cost": 10 * scale, "exploit_cost": 10 * scale}
    assert beliefs(adversary(**money), some([3], records=[2]))[2].attacked_records == 0
    assert beliefs(adversary(**money), some([3] * 6, records=[1] * 6))[2].attacked_records == 6


def test_the_group_is_known_or_only_believed() -> None:
    """Whoever believes in ten people at a density of 0.1 expects 10.46, whatever the group turns out to be."""
    assert believed(0.1) == pytest.approx(10.46, abs=0.01)
    known, unknown, shared = beliefs(adversary(), some([3], [0.1]))
    assert (known.maximum_risk, unknown.maximum_risk, shared.maximum_risk) == (0, 0.5, 0.5)
    known, unknown, shared = beliefs(adversary(), some([1], [0.3]))
    assert (known.maximum_risk, unknown.maximum_risk, shared.maximum_risk) == (0.5, 0, 0.5)
    assert [one.maximum_risk for one in beliefs(adversary(), some([4], [0.1]))] == [0, 0, 0]


def test_nobody_listed_of_a_group() -> None:
    """The record cannot be found; it counts among the records all the same."""
    known, unknown, shared = beliefs(adversary(), some([0, 1], [0.1, 0.1], [3, 1]))
    for belief in (known, unknown, shared):
        assert figures(belief) == pytest.approx((1 / 2, 1 / 8, 1 / 4, 1, 1 / 2, 1 / 4))
    for belief in beliefs(adversary(access_cost=0), some([0, 0], [0.1, 0.2])):
        assert figures(belief) == (0, 0, 0, 0, 0, 0)


def test_a_release_of_which_nobody_is_listed() -> None:
    register = dataclasses.replace(table((ROWS,), PEOPLE, {("a",): 1, ("b",): 2}), listed=np.array([0, 0, 3, 5]))
    found = planned(adversary(access_cost=0), on=register, kept=(True, True))
    assert (found.smallest_group, found.largest_group) == (0, 0)
    assert set(gate_figures(found.residual, 60.0).values()) == {0}
    assert sum(one.records for one in found.group_sizes) == 3
    assert [one.needed for one in found.deterrents] == [0, 0, 0, 0]
    assert found.baseline_maximum == 0


def test_figures_of_gates_are_those_of_the_judged_belief_wherever_it_stands() -> None:
    residual = beliefs(adversary(), some([1, 3, 4], [0.3] * 3))
    assert gate_figures(tuple(reversed(residual)), 60.0) == gate_figures(residual, 60.0)
    assert gate_figures(residual, 60.0)[Measure.SEQUENTIAL_ATTACKED] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("candidates", "bins"),
    [
        ([1], [(0, 1, 1)]),
        ([0, 1], [(0, 1, 2)]),
        ([2, 3, 5, 6, 10, 11], [(0, 1, 0), (1, 2, 1), (2, 5, 2), (5, 10, 2), (10, 20, 1)]),
    ],
)
def test_records_by_candidates(candidates: list[int], bins: list[tuple[int, int, int]]) -> None:
    assert [(one.low, one.high, one.records) for one in _histogram(some(candidates))] == bins


def test_no_group_is_too_large_to_be_counted() -> None:
    bins = _histogram(some([10**9, 7 * 10**9, 2**50], records=[1, 2, 3]))
    assert sum(one.records for one in bins) == 6
    assert [(one.low, one.high, one.records) for one in bins if one.records] == [
        (5e8, 1e9, 1),
        (5e9, 1e10, 2),
        (1e15, 2e15, 3),
    ]


def test_thresholds_of_an_adversary_whom_nothing_deters() -> None:
    """Free attempts and no discount: every candidate of every group is tried."""
    greedy = adversary(exploit_cost=0)
    assert thresholds(greedy) == (None, None)
    assert exhausted_below(greedy, None) is None
    points = curve(greedy, None, None, 7)
    assert [point.size for point in points] == list(range(1, 118))
    assert all((point.known, point.linked, point.exploits) == (0.5, 0.5, point.size) for point in points)
    many = curve(greedy, None, None, 1000)
    assert (many[0].size, many[-1].size) == (1, 1153)
    sizes = [point.size for point in many]
    assert sizes == sorted(set(sizes))
    found = planned(greedy)
    assert found.threshold_known is found.threshold_linked is found.exhausted_below is None
    assert found.residual[0].maximum_risk == found.residual[2].maximum_risk == 0.5


def test_only_access_deters_whom_no_attempt_costs_anything() -> None:
    """All is won: each of the four records is worth 60·π = 30, also where the group is only believed in."""
    needed = {one.term: one.needed for one in planned(adversary(exploit_cost=0)).deterrents}
    assert needed["access_cost"] == pytest.approx(120)
    assert needed["detection"] is None, "there is no penalty"
    assert needed["exploit_cost"] is not None
    assert needed["penalty"] is not None


def test_an_adversary_who_does_not_begin() -> None:
    idle = adversary(exploit_cost=31)
    assert thresholds(idle) == (1, 1)
    assert exhausted_below(idle, 1) == 1
    assert [(point.size, point.linked) for point in curve(idle, 1, 1, 50)] == [(size, 0) for size in (1, 2, 3, 4)]


def test_access_alone_may_deter() -> None:
    """Access at 100 is worth no record, and at three candidates 5 are left once it is paid."""
    assert thresholds(adversary(access_cost=100)) == (1, 4)


def test_a_long_curve_holds_the_thresholds() -> None:
    """At 1 an attempt and 100 for access; (60 − (3 g + 1)/2)·π: 119/3 once paid. Scaled by a hundred for length."""
    patient = adversary(gain=6000, access_cost=1000, exploit_cost=1)
    known, linked = thresholds(patient)
    assert (known, linked) == (math.ceil((6000 - 2000 - 0.5) / 1.5), math.ceil((6000 - 0.5) / 1.5))
    points = {point.size: point for point in curve(patient, known, linked, 10)}
    assert len(points) < 200
    assert (points[known - 1].known, points[known].known) == (0.5, 0)
    assert (points[linked - 1].linked, points[linked].linked) == (0.5, 0)
    assert max(points) == int(1.15 * linked) + 3


def test_no_threshold_is_too_large_to_be_drawn() -> None:
    """Beyond 2^53 sizes are not told apart."""
    known, linked = thresholds(adversary(gain=1e12, exploit_cost=8e-5))
    assert linked is not None
    assert linked > 2**52
    points = curve(adversary(gain=1e12, exploit_cost=8e-5), known, linked, 10)
    assert (points[-1].size, points[-1].linked) == (2**53, 0)


def test_candidates_are_left_untried_where_detection_grows() -> None:
    """The paper's case study: from 14 candidates on some are left untried, from 29 on access is not paid."""
    study = AdversaryProfile(8000, 10000, 100, 0, 10, 0.63, -4.59, 0.18, None, 0.9)
    known, linked = thresholds(study)
    assert known == 29
    assert linked is not None
    assert linked > known
    assert exhausted_below(study, linked) == 14


def test_what_deters_by_hand() -> None:
    """Known, the records are worth 3·5; believed at densities of 0.3 and 0.4, more. So access deters from there.

    An attempt at c leaves (60 − 5 c)/2 of three candidates: nothing from 12 on, and just below it belief still pays.
    """
    found = {one.term: one for one in planned(adversary()).deterrents}
    # Below the declared prior of 0.5 nine of the 20 people are listed, with which belief is worth more yet.
    total = 3 * believed(0.3, 9) + believed(0.4, 9)
    assert total > 3 * believed(0.3) + believed(0.4)
    assert total > 15
    assert found["access_cost"].needed == pytest.approx(total)
    assert found["exploit_cost"].needed == pytest.approx(12)
    assert (found["access_cost"].current, found["exploit_cost"].current) == (10, 10)
    assert found["penalty"].needed is not None
    assert found["detection"].needed is None, "no penalty, so nobody is deterred by being noticed"


TERMS = st.fixed_dictionaries(
    {
        "gain": st.sampled_from([1.0, 60.0, 300.0]),
        "penalty": st.sampled_from([0.0, 5.0, 500.0]),
        "access_cost": st.sampled_from([0.0, 1.0, 10.0, 100.0]),
        "link_cost": st.sampled_from([0.0, 0.5, 7.0]),
        "exploit_cost": st.sampled_from([0.0, 0.1, 4.0]),
        "prior": st.sampled_from([0.1, 0.5, 0.99]),
        "detection_intercept": st.floats(-6, 3),
        "detection_slope": st.sampled_from([-0.2, 0.0, 0.18]),
        "max_penalties": st.sampled_from([None, 1, 3]),
        "discount": st.sampled_from([0.5, 0.9, 1.0]),
        "confirmation": st.sampled_from([0.5, 1.0]),
    }
)
GROUPS = st.lists(
    st.tuples(st.integers(0, 60), st.floats(0, 1) | st.floats(0, 0.1), st.integers(1, 40)), min_size=1, max_size=6
)


def drawn(groups: list[tuple[int, float, int]], people: int) -> Groups:
    candidates, densities, records = (np.array(part) for part in zip(*groups, strict=True))
    return Groups(candidates, densities, records, people)


@given(terms=TERMS, groups=GROUPS, people=st.integers(60, 400))
@settings(max_examples=examples(40), deadline=None)
def test_shared_access_is_never_below_the_others(
    terms: dict[str, Any], groups: list[tuple[int, float, int]], people: int
) -> None:
    """In no figure; and no risk exceeds what is left of the prior once a match is recognised."""
    profile = AdversaryProfile(**terms)
    known, unknown, shared = beliefs(profile, drawn(groups, people))
    for other in (known, unknown):
        for name in figures_of(other):
            assert getattr(shared, name) >= getattr(other, name) * (1 - 1e-12), name
    assert shared.maximum_risk <= profile.confirmation * profile.prior * (1 + 1e-12)
    assert 0 <= shared.mean_risk <= shared.maximum_risk * (1 + 1e-12)
    assert is_attacked(profile, drawn(groups, people)) == (shared.maximum_risk > 0)


def figures_of(belief: BeliefFact) -> list[str]:
    return [name for name in type(belief).model_fields if name != "belief"]


BELIEVED = dict.fromkeys(("penalty", "link_cost", "exploit_cost", "detection_intercept"), 0.0) | {
    "gain": 60.0,
    "access_cost": 10.0,
    "prior": 0.1,
    "detection_slope": -0.2,
    "max_penalties": None,
    "discount": 0.9,
    "confirmation": 0.5,
}
"""Who only believes the group is deterred later than who knows it, and before every group is worth nothing."""


@example(terms=BELIEVED, groups=[(2, 0.03125, 19)], people=60)
@given(terms=TERMS, groups=GROUPS, people=st.integers(60, 400))
@settings(max_examples=examples(12), deadline=None)
def test_what_deters_is_enough_and_nothing_less_is(
    terms: dict[str, Any], groups: list[tuple[int, float, int]], people: int
) -> None:
    profile, found = AdversaryProfile(**terms), drawn(groups, people)
    for one in deterrents(profile, found):
        term = Term(one.term)
        if one.needed is None:
            ends = [1.0] if term is Term.DETECTION else [1.0, 1e6, 1e12]
            assert all(is_attacked(with_term(profile, term, value), found) for value in ends)
            continue
        assert not is_attacked(with_term(profile, term, one.needed), found)
        if one.needed > 0:
            assert is_attacked(with_term(profile, term, one.needed * (1 - 1e-6)), found)


def test_sensitivity_holds_the_releases_own_value() -> None:
    facts = sensitivities(adversary(), 4)
    traits = ["prior", "discount", "confirmation", "max_penalties"]
    assert [fact.term for fact in facts] == ["access_cost", "exploit_cost", "penalty", "detection", *traits]
    for fact in facts:
        values = [point.value for point in fact.points]
        assert values == sorted(values)
        if fact.own is None:
            assert fact.term == "max_penalties"
            continue
        (own,) = (point for point in fact.points if point.value == pytest.approx(fact.own))
        assert (own.known_threshold, own.linked_threshold) == (3, 4)
    access = facts[0].points
    assert (access[0].value, access[0].known_threshold, access[0].linked_threshold) == (0, 4, 4)
    assert (access[-1].value, access[-1].known_threshold, access[-1].linked_threshold) == (100, 1, 4)


def test_risk_by_patience() -> None:
    """A group of three is worth 5 without a discount, and at 0.5 nothing."""
    found = {one.discount: one for one in patience(adversary(access_cost=0), some([1, 3, 4], records=[1, 2, 1]))}
    assert list(found) == sorted({*PATIENCE, 1.0})
    assert (found[1.0].attacked_records, found[1.0].expected_reidentifications) == (3, 1.5)
    assert (found[0.5].attacked_records, found[0.5].expected_reidentifications) == (1, 0.5)
    assert [one.threshold_linked for one in found.values()] == sorted(one.threshold_linked for one in found.values())


def test_risk_by_patience_has_the_declared_discount() -> None:
    hasty = patience(adversary(access_cost=0, discount=0.7), some([1, 3, 4]))
    assert [one.discount for one in hasty] == sorted({*PATIENCE, 0.7})


def test_sensitivity_of_one_whom_nothing_deters() -> None:
    free = {point.value: point for point in sensitivities(adversary(exploit_cost=0), 4)[0].points}
    assert free[0].known_threshold is free[0].linked_threshold is None
    assert free[100.0].known_threshold == 1
