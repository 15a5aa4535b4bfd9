"""Several recipients of one representation: by hand, against loops over the members, and what sharing costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.partition import partition
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.shared_follower import SharedFollower
from tests.support import slow
from tests.support.examples import examples
from tests.support.followers import shared, single
from tests.support.worlds import World, worlds

EASY = Payoffs(benefit=100, loss=30, gain=60, cost=10)
EAGER = Payoffs(benefit=50, loss=20, gain=80, cost=8)


def test_by_hand() -> None:
    # EASY attacks fewer than 6 people, EAGER fewer than 10.
    people, value = np.array([2, 6, 9, 10]), np.array([150.0, 150, 150, 150])
    both = SharedFollower.together([EASY, EAGER])
    assert both.benefit == 150
    assert both.safe_group == 10
    assert both.attacked(people).tolist() == [True, True, True, False]
    np.testing.assert_allclose(both.publisher(value, people), [150 - 15 - 10, 150 - 20 / 6, 150 - 20 / 9, 150])
    np.testing.assert_allclose(both.reidentified(people), [1, 1 / 6, 1 / 9, 0])
    np.testing.assert_allclose(both.adversary(people), [20 + 32, 80 / 6 - 8, 80 / 9 - 8, 0])
    either = SharedFollower.types([EASY, EAGER], [0.25, 0.75])
    assert either.benefit == 62.5
    np.testing.assert_allclose(either.publisher(value, people)[:2], [150 - 0.25 * 15 - 0.75 * 10, 150 - 0.75 * 20 / 6])
    larger = both.scaled(2, 3)
    assert larger.benefit == 300
    assert larger.members[0] == Payoffs(200, 90, 180, 10)


@settings(deadline=None, max_examples=examples(40))
@given(several=shared(population=60))
def test_as_a_loop_over_the_members(several: SharedFollower) -> None:
    for n in (0, 1, 3, 17, 60):
        people, value = np.array([n]), np.array([50.0])
        parts = list(zip(several.weights, several.members, strict=True))
        lost = sum(weight * (50 - one.publisher(value, people)[0]) for weight, one in parts)
        assert several.publisher(value, people)[0] == pytest.approx(50 - lost, abs=1e-9)
        assert several.attacked(people)[0] == any(one.attacked(people)[0] for _, one in parts)
        assert several.publisher(value, people)[0] <= 50
    assert several.attacked(np.zeros((2, 3), dtype=np.int64)).shape == (2, 3)
    assert several.publisher(np.ones((2, 3)), np.ones((2, 3), dtype=np.int64)).shape == (2, 3)


@settings(deadline=None, max_examples=examples(15))
@given(world=worlds(), rule=st.sampled_from(GameRule), data=st.data())
def test_sharing_never_pays_and_costs_nothing_among_equals(world: World, rule: GameRule, data: st.DataObject) -> None:
    people = sum(world.people.values())
    members = data.draw(st.lists(single(people), min_size=1, max_size=3))
    probabilities = [1 / len(members)] * len(members)
    codes, cube = world.codes(world.all_values), world.cube(world.people, sparse=False)

    def optimum(payoffs) -> tuple[np.ndarray, float]:
        problem = type(world.problem())(world.hierarchies, world.problem().loss, payoffs, cube)
        return solve(problem, codes, rule)[1], _total(problem, cube, rule)

    own = [optimum(member) for member in members]
    for several in (SharedFollower.together(members), SharedFollower.types(members, probabilities)):
        shared_record, shared_partition = optimum(several)
        for row in range(len(codes)):
            alone = [weight * one[0][row] for weight, one in zip(several.weights, own, strict=True)]
            if np.isfinite(shared_record[row]):
                assert sum(alone) - shared_record[row] >= -1e-6
        if np.isfinite(shared_partition):
            alone = [weight * one[1] for weight, one in zip(several.weights, own, strict=True)]
            assert sum(alone) - shared_partition >= -1e-6 * people
    twins = SharedFollower.together([members[0]] * 3)
    alone, together = own[0], optimum(twins)
    np.testing.assert_allclose(3 * alone[0], together[0], atol=1e-6)
    assert together[1] == pytest.approx(3 * alone[1], abs=1e-6 * people)


def _total(problem, cube, rule: GameRule) -> float:
    try:
        return partition(problem, cube, rule).total
    except StageFailed:
        return -np.inf


def test_one_member_alone_is_himself(pair_world: World) -> None:
    problem, codes = pair_world.problem(), pair_world.codes(pair_world.all_values)
    alone = SharedFollower.together([pair_world.payoffs])
    other = type(problem)(problem.hierarchies, problem.loss, alone, problem.people)
    np.testing.assert_array_equal(solve(problem, codes)[0], solve(other, codes)[0])
    assert slow.best_strategy(pair_world, ("a1", "b1"))[1] == pytest.approx(solve(other, codes)[1][0])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SharedFollower.together([]),
        lambda: SharedFollower.types([EASY, EAGER], [0.5, 0.6]),
        lambda: SharedFollower.types([EASY, EAGER], [1.0]),
        lambda: SharedFollower.types([EASY, EAGER], [1.0, 0.0]),
        lambda: SharedFollower(float("inf"), (EASY,), (1.0,)),
    ],
)
def test_impossible_groups_are_refused(wrong) -> None:
    with pytest.raises(ParameterError, match="cannot share"):
        wrong()
