"""The planning recipient as a follower: the plan of ``tasks.adversary.fmdp`` at each group size, and its limits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.fmdp import access_densities, sink_probability
from tasks.adversary.profile import AdversaryProfile
from tasks.adversary.rounding import least_favourable
from tasks.core.errors import ParameterError
from tasks.generalization.game import sequential_follower
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.partition import partition
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.sequential_follower import Belief, SequentialFollower
from tests.support.adversary_profiles import CASE_STUDY, REPEATED, RISING
from tests.support.examples import examples
from tests.support.followers import one_attempt, sequential
from tests.support.worlds import World, stakes, worlds

TENNESSEE = 6_018_999
SIZES = np.arange(0, 120)


def follower(profile: AdversaryProfile, belief: Belief = Belief.KNOWN, population: int = TENNESSEE):
    return SequentialFollower(1200, 300, profile, population, belief)


def candidates(profile: AdversaryProfile) -> np.ndarray:
    return np.array([max(int(np.ceil(profile.prior * max(n, 1) - 1e-9)), 1) for n in SIZES.tolist()])


@pytest.mark.parametrize("profile", [CASE_STUDY, REPEATED, RISING])
def test_is_the_plan_at_the_people_of_each_group(profile: AdversaryProfile) -> None:
    known, sunk = follower(profile), follower(profile, Belief.SUNK)
    attack = least_favourable(profile, np.maximum(SIZES, 1))
    worth = -profile.access_cost + profile.discount * attack.worth
    np.testing.assert_array_equal(known.reidentified(SIZES), np.where(worth > 0, attack.risk, 0))
    np.testing.assert_array_equal(known.adversary(SIZES), np.maximum(worth, 0))
    np.testing.assert_array_equal(known.attacked(SIZES), worth > 0)
    np.testing.assert_array_equal(sunk.reidentified(SIZES), attack.risk)
    value = np.linspace(0, 1200, len(SIZES))
    np.testing.assert_allclose(known.publisher(value, SIZES), value - 300 * known.reidentified(SIZES), atol=0)


def test_thresholds_of_the_case_study() -> None:
    # 48 candidates are left alone (Xia et al. 2015): of 76 people 63 % are 47.88. Access paid: 54, the 63 % of 86.
    assert follower(CASE_STUDY).safe_group == 76
    assert follower(CASE_STUDY, Belief.SUNK).safe_group == 86
    assert follower(REPEATED).safe_group == 72
    assert follower(CASE_STUDY).reidentified(np.array([75, 76])).tolist() == [0.63, 0]
    assert follower(CASE_STUDY).adversary(np.array([1]))[0] == pytest.approx(3492.79, abs=0.005)


def test_who_does_not_know_the_group_pays_for_access_by_the_density() -> None:
    unknown = follower(CASE_STUDY, Belief.UNKNOWN)
    listed = round(0.63 * TENNESSEE)
    low, high = access_densities(CASE_STUDY, listed) or (1, 0)
    inside = (SIZES[1:] / TENNESSEE > low) & (SIZES[1:] / TENNESSEE < high)
    found = sink_probability(CASE_STUDY, candidates(CASE_STUDY)[1:])
    np.testing.assert_array_equal(unknown.reidentified(SIZES)[1:], np.where(inside, found, 0))
    assert unknown.safe_group == np.flatnonzero(unknown.attacked(SIZES)).max() + 1
    assert (unknown.adversary(SIZES)[unknown.attacked(SIZES)] > 0).all()


def test_a_group_of_one_may_be_believed_absent_and_left_alone_where_larger_ones_are_attacked() -> None:
    # Of one person the register lists 0.3 on average: 8000·0.3·0.9² less the costs is worth less than access.
    dear = replace(CASE_STUDY, prior=0.3, access_cost=600.0)
    attacked = follower(dear, Belief.UNKNOWN).attacked(SIZES)
    assert not attacked[1]
    assert attacked[3]
    assert follower(dear, Belief.UNKNOWN).safe_group == np.flatnonzero(attacked).max() + 1


def test_risk_may_rise_with_the_group_below_the_size_that_is_left_alone() -> None:
    # The terms of docs/methods/sequential-adversary.md under which 11 and 12 candidates have a risk of 0.265 and 0.841.
    steep = AdversaryProfile(1000, 853, 0, 0, 2, 0.88, -6.15, 4.37, 1, 1.0)
    risk = follower(steep).reidentified(np.array([24, 25, 26]))
    np.testing.assert_allclose(risk, [0.880, 0.197, 0.839], atol=5e-4)


@settings(deadline=None, max_examples=examples(40))
@given(planner=sequential(population=400))
def test_no_group_from_the_safe_one_on_is_attacked(planner: SequentialFollower) -> None:
    sizes = np.arange(1, 401)
    attacked = np.flatnonzero(planner.attacked(sizes)) + 1
    last = int(attacked.max(initial=0))
    if planner.safe_group <= 400:
        assert planner.safe_group == last + 1
    else:
        assert last == 400
    risk = planner.reidentified(sizes)
    assert (risk <= planner.profile.prior * planner.profile.confirmation + 1e-12).all()
    assert (planner.adversary(sizes) >= 0).all()


@pytest.mark.parametrize("belief", Belief)
def test_sizes_past_the_table_are_solved_as_they_are_asked_for(belief: Belief, monkeypatch: pytest.MonkeyPatch) -> None:
    people = np.array([[1, 5, 30, 60], [70, 75, 78, 90]])
    whole = follower(CASE_STUDY, belief, 1000)
    expected, safe = whole.reidentified(people), whole.safe_group
    sequential_follower._plan.cache_clear()
    monkeypatch.setattr(sequential_follower, "_LONGEST_TABLE", 20)
    cut = follower(CASE_STUDY, belief, 1000)
    np.testing.assert_array_equal(cut.reidentified(people), expected)
    assert cut.safe_group == safe
    sequential_follower._plan.cache_clear()


def test_who_is_never_deterred_leaves_no_group_safe() -> None:
    free = replace(CASE_STUDY, penalty=0.0, exploit_cost=0.0, access_cost=0.0)
    for belief in Belief:
        eager = follower(free, belief, 3000)
        assert eager.safe_group == np.inf
        assert eager.attacked(np.array([3000])).all()


def test_a_group_larger_than_the_population_is_refused() -> None:
    with pytest.raises(ParameterError, match="larger than the population"):
        follower(CASE_STUDY, population=100).attacked(np.array([101]))


@pytest.mark.parametrize("wrong", [{"benefit": 0.0}, {"loss": -1.0}, {"loss": float("nan")}, {"population": 0}])
def test_terms_outside_their_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="outside its range"):
        replace(follower(CASE_STUDY), **wrong)


@settings(deadline=None, max_examples=examples(25))
@given(payoffs=stakes(), discount=st.sampled_from([1.0, 0.9, 0.5]))
def test_with_one_attempt_the_planner_is_the_attacker_of_wan(payoffs: Payoffs, discount: float) -> None:
    planner, sizes = one_attempt(payoffs, discount=discount), np.arange(0, 500)
    np.testing.assert_array_equal(planner.attacked(sizes), payoffs.attacked(sizes))
    np.testing.assert_allclose(planner.reidentified(sizes), payoffs.reidentified(sizes), rtol=1e-12)
    np.testing.assert_allclose(planner.adversary(sizes), discount**2 * payoffs.adversary(sizes), rtol=1e-9, atol=1e-9)
    assert planner.safe_group == int(np.flatnonzero(payoffs.attacked(sizes)).max(initial=0)) + 1


@settings(deadline=None, max_examples=examples(20))
@given(world=worlds(), rule=st.sampled_from(GameRule))
def test_and_then_the_publisher_plays_the_same_strategies(world: World, rule: GameRule) -> None:
    problem, codes = world.problem(), world.codes(world.all_values)
    other = replace(problem, payoffs=one_attempt(world.payoffs))
    nodes, payoffs = solve(problem, codes, rule)
    same, close = solve(other, codes, rule)
    np.testing.assert_array_equal(nodes, same)
    np.testing.assert_allclose(payoffs, close, rtol=0, atol=1e-9)
    if (nodes >= 0).all():
        people = world.cube(world.people, sparse=False)
        mine, theirs = partition(problem, people, rule), partition(other, people, rule)
        assert mine.total == pytest.approx(theirs.total, abs=1e-6)
        np.testing.assert_array_equal(mine.levels(codes), theirs.levels(codes))


def test_without_the_penalty_nearly_twice_the_group_is_attacked() -> None:
    single = Payoffs(benefit=1200, loss=300, gain=300, cost=4)
    planner = one_attempt(single)
    patient = replace(planner, profile=replace(planner.profile, penalty=0.0))
    assert single.safe_group == planner.safe_group == 75
    assert patient.safe_group == 149
    assert patient.reidentified(np.array([148]))[0] == pytest.approx(1)


def test_scaled_stakes_keep_the_gain_in_its_ratio_to_the_loss() -> None:
    larger = follower(CASE_STUDY).scaled(2.0, 0.5)
    assert (larger.benefit, larger.loss, larger.profile.gain) == (2400, 150, 4000)
    assert larger.profile.penalty == CASE_STUDY.penalty
