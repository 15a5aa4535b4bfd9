"""The publisher's payoff over penalty and detection: each point as if it were played alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.planning.deterrence import Term, with_term
from tasks.adversary.profile import AdversaryProfile
from tasks.assessments.identity.other_terms import FileRule, penalty_map
from tasks.core.errors import StageFailed
from tasks.generalization.game.sequential_follower import SequentialFollower
from tasks.generalization.generalize import generalize
from tasks.request.model import Method, PenaltyGrid
from tests.support.adversary_profiles import CASE_STUDY
from tests.support.examples import examples
from tests.support.followers import sequential
from tests.support.generalization import table_of
from tests.support.worlds import PAIR_WORLD, World, worlds

METHODS = (
    Method.BASIC,
    Method.NO_ATTACK,
    Method.BASIC_PARTITION,
    Method.NO_ATTACK_PARTITION,
    Method.NO_ATTACK_REMAINDER,
)
MEBIBYTE = 2**20


def rule(method: Method, weights: tuple[float, ...] = (1.0, 1.0), least: int = 1) -> FileRule:
    return FileRule(method, np.array(weights), "population", least)


def grid(penalties: tuple[float, ...], detections: tuple[float, ...]) -> PenaltyGrid:
    return PenaltyGrid(penalties=penalties, detections=detections)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(8))
@given(world=worlds(max_attributes=2), method=st.sampled_from(METHODS), data=st.data())
def test_each_point_as_if_played_alone(world: World, method: Method, data: st.DataObject) -> None:
    follower = data.draw(sequential(sum(world.people.values())))
    table = table_of(world, (0,) * len(world.rows), MEBIBYTE)
    found = penalty_map(table, rule(method, world.weights), follower, grid((0.0, 50.0, 5000.0), (0.01, 0.4)))
    assert 1 <= found.games <= len(found.points) == 6
    records, total = table.data.counts, table.data.total
    for point in found.points:
        profile = with_term(with_term(follower.profile, Term.DETECTION, point.value), Term.PENALTY, point.penalty)
        alone = replace(follower, profile=profile)
        try:
            weights = np.array(world.weights)
            generalization = generalize(table_of(world, (0,) * len(world.rows), MEBIBYTE), method, alone, weights)
        except StageFailed:
            assert point.publisher_payoff is None
            continue
        payoff = alone.publisher(alone.benefit * generalization.kept, generalization.effective)
        assert point.publisher_payoff == pytest.approx(records @ payoff / total, rel=1e-5)
        assert point.attacked_share == pytest.approx(
            records @ alone.attacked(generalization.effective) / total, rel=1e-5
        )
        assert point.recipient_payoff == pytest.approx(
            records @ alone.adversary(generalization.effective) / total, rel=1e-5
        )
        assert point.information_kept == pytest.approx(records @ generalization.kept / total, rel=1e-5)
        assert point.safe_group == pytest.approx(alone.safe_group, rel=1e-5) or point.safe_group is None


@settings(deadline=None, max_examples=examples(10))
@given(
    world=worlds(max_attributes=2),
    columns=st.sampled_from(
        (("discounts", "discount"), ("confirmations", "confirmation"), ("priors", "prior"), ("max_penalties",) * 2)
    ),
    data=st.data(),
)
def test_each_column_as_if_played_alone(world: World, columns: tuple[str, str], data: st.DataObject) -> None:
    follower = data.draw(sequential(sum(world.people.values())))
    key, term = columns
    values = (1, 3) if key == "max_penalties" else (0.4, 0.9)
    asked = PenaltyGrid.model_validate({"penalties": (0.0, 50.0), key: values})
    table = table_of(world, (0,) * len(world.rows), MEBIBYTE)
    found = penalty_map(table, rule(Method.BASIC, world.weights), follower, asked)
    own = getattr(follower.profile, term)
    assert (found.term, found.values, found.own.value) == (term, values, own and float(f"{own:.6g}"))
    assert [(point.penalty, point.value) for point in found.points] == [(p, v) for p in (0, 50) for v in values]
    for point in found.points:
        profile = replace(
            follower.profile, penalty=point.penalty, **{term: point.value and type(values[0])(point.value)}
        )
        alone = replace(follower, profile=profile)
        table = table_of(world, (0,) * len(world.rows), MEBIBYTE)
        generalization = generalize(table, Method.BASIC, alone, np.array(world.weights))
        payoff = table.data.counts @ alone.publisher(alone.benefit * generalization.kept, generalization.effective)
        assert point.publisher_payoff == pytest.approx(payoff / table.data.total, rel=1e-5)
        assert point.safe_group == pytest.approx(alone.safe_group, rel=1e-5) or point.safe_group is None


@pytest.mark.parametrize(
    ("columns", "safe"),
    [
        # κG·g > c(n·g − κ·g(g − 1)/2) with g = n candidates: κ = 1 is 6 > (n + 1)/2, κ = 0.5 is 3 > (3n + 1)/4.
        ({"confirmations": (0.5, 1.0)}, [4, 11]),
        # γ = 0.5, n = 3: the gains 30(1 + ½ + ¼) = 52.5 fall short of the costs 10(3 + 2/2 + 1/4) = 42.5 from n = 4 on:
        # 30 · 15/8 = 56.25 against 10(4 + 3/2 + 2/4 + 1/8) = 61.25.
        ({"discounts": (0.5, 1.0)}, [4, 11]),
        # π = 0.5, ⌈n/2⌉ candidates among n: 6 > n − (⌈n/2⌉ − 1)/2 holds of 7 and not of 8.
        ({"priors": (0.5, 0.99)}, [8, 11]),
    ],
)
def test_safe_groups_by_hand(columns: dict[str, tuple[float, ...]], safe: list[int]) -> None:
    follower = SequentialFollower(90, 60, replace(_planner(gain=60.0, cost=10.0), discount=1.0), population=10)
    asked = PenaltyGrid.model_validate({"penalties": (0.0,), **columns})
    found = penalty_map(table_of(PAIR_WORLD, (0, 0), MEBIBYTE), rule(Method.BASIC), follower, asked)
    assert [point.safe_group for point in found.points] == safe


def test_a_second_penalty_deters_where_one_is_soon_paid() -> None:
    profile = replace(_planner(gain=60.0, cost=10.0), discount=1.0, detection_intercept=700.0)
    follower = SequentialFollower(90, 60, profile, population=10)
    asked = PenaltyGrid(penalties=(25.0,), max_penalties=(1, 2, 100))
    found = penalty_map(table_of(PAIR_WORLD, (0, 0), MEBIBYTE), rule(Method.BASIC), follower, asked)
    # Every attempt is detected. n_f = 1: 60n > 5n(n + 1) + 25n holds below 6 people. n_f = 2: 60n > 5n(n + 1) + 25n +
    # 25(n − 1) of 2 and not of 3. No more than n penalties: 60n > 35n(n + 1)/2 likewise.
    assert [point.safe_group for point in found.points] == [6, 3, 3]


def test_a_higher_penalty_never_costs_the_publisher() -> None:
    # Its records are its people, so that what a partition maximises is the mean over the records.
    world = replace(PAIR_WORLD, records=PAIR_WORLD.people)
    follower = SequentialFollower(90, 60, _planner(gain=60.0, cost=1.0), population=10)
    for method in (Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION):
        table = table_of(world, (0, 0), MEBIBYTE)
        points = penalty_map(table, rule(method), follower, grid((0.0, 50.0, 500.0, 5000.0), (0.1,))).points
        pays = [point.publisher_payoff for point in points if point.publisher_payoff is not None]
        assert (np.diff(pays) >= -1e-9).all()
        assert pays[-1] == 90
        assert pays[0] <= 72


def test_without_a_penalty_detection_changes_nothing() -> None:
    follower = SequentialFollower(90, 60, replace(_planner(gain=60.0, cost=10.0), penalty=0.0), population=10)
    table = table_of(PAIR_WORLD, (0, 0), MEBIBYTE)
    found = penalty_map(table, rule(Method.BASIC), follower, grid((0.0,), (0.01, 0.1, 0.3)))
    assert found.games == 1
    assert {point.publisher_payoff for point in found.points} == {found.own.publisher_payoff}


def test_records_of_small_classes_are_suppressed() -> None:
    follower = SequentialFollower(90, 60, _planner(gain=60.0, cost=10.0), population=10)
    table = table_of(replace(PAIR_WORLD, records=PAIR_WORLD.people), (0, 0), MEBIBYTE)
    sizes, one = table.data.counts, grid((5000.0,), (0.1,))
    least = int(sizes.max())
    assert sizes.min() < least
    (point,) = penalty_map(table, rule(Method.BASIC, least=least), follower, one).points
    assert point.safe_group == 1, "everything is released as it is"
    assert point.publisher_payoff == pytest.approx(90 * sizes[sizes == least].sum() / sizes.sum())
    nothing = penalty_map(table, rule(Method.BASIC, least=least + 1), follower, one)
    assert nothing.points[0].publisher_payoff is nothing.own.publisher_payoff is None
    assert nothing.points[0].safe_group == nothing.own.safe_group == 1


def _planner(gain: float, cost: float) -> AdversaryProfile:
    return replace(CASE_STUDY, gain=gain, exploit_cost=cost, access_cost=0.0, prior=0.99)
