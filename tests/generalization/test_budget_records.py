"""Budgets over the whole file, a strategy for each record: equal to trying every assignment; Adult-TN's figures."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.budget.limits import ATTACKED, REIDENTIFICATIONS, SUPPRESSED, Plan
from tasks.generalization.budget.records import RecordPlan, plan_records
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.facts import LimitFact
from tasks.generalization.game.payoffs import Payoffs
from tasks.request.model import BudgetPolicy
from tests.support import adult, slow
from tests.support.examples import examples
from tests.support.followers import attacked_everywhere, worlds_with_followers
from tests.support.worlds import World, worlds

Use = tuple[float, ...]
WORLDS = st.one_of(worlds(max_attributes=2), worlds_with_followers(max_attributes=2))


def reidentified(world: World, cell: slow.Cell) -> float:
    people, follower = max(slow.count(world.people, cell), 1), world.payoffs
    if isinstance(follower, Payoffs):
        return 1 / people if slow.attacked(world, cell) else 0.0
    return float(follower.reidentified(np.array([people]))[0])


def one_record(world: World, values: slow.Values, budget: BudgetPolicy, *, no_attack: bool) -> list[tuple[float, Use]]:
    """Payoff and use of the limits (re-identifications, attacked, suppressed, lost…) of every choice for a record."""
    choices = []
    for levels in slow.strategies(world):
        cell = slow.cell_of(world, values, levels)
        people, hit = slow.count(world.people, cell), slow.attacked(world, cell)
        if (no_attack and hit) or people < (budget.least_people or 0):
            continue
        lost = [np.log(len(cell[axis])) / np.log(len(world.rows[axis])) for axis in floored(budget)]
        choices.append((slow.payoff(world, cell), (reidentified(world, cell), float(hit), 0.0, *lost)))
    if budget.suppression is not None:
        choices.append((0.0, (0.0, 0.0, 1.0, *(1.0 for _ in budget.utility_floor))))
    return choices


def floored(budget: BudgetPolicy) -> list[int]:
    """Attributes with a floor, by number."""
    return [int(name.removeprefix("q")) for name in budget.utility_floor]


def capacities(budget: BudgetPolicy, n_records: int) -> Use:
    shares = (budget.attacked_share, budget.suppression)
    return (
        np.inf if budget.reidentifications is None else budget.reidentifications,
        *(np.inf if share is None else share * n_records for share in shares),
        *((1 - floor) * n_records for floor in budget.utility_floor.values()),
    )


def best_of_all(records: Iterable[list[tuple[float, Use]]], capacity: Use) -> float:
    """Greatest sum of payoffs over all assignments, partial sums with the same use taken together; −inf if none."""
    most = tuple(limit + 1e-9 * max(limit, 1) for limit in capacity)
    reached = {tuple(0.0 for _ in most): 0.0}
    for choices in records:
        after: dict[Use, float] = {}
        for used, payoff in reached.items():
            for more, use in choices:
                total = tuple(round(a + b, 10) for a, b in zip(used, use, strict=True))
                if all(have <= limit for have, limit in zip(total, most, strict=True)):
                    after[total] = max(after.get(total, -np.inf), payoff + more)
        reached = after
    return max(reached.values(), default=-np.inf)


@st.composite
def budgets(draw: st.DrawFn, world: World, *, partition: bool = False) -> BudgetPolicy:
    shares = st.sampled_from([0.0, 0.25, 0.5, 0.6, 1.0])
    wide = [axis for axis, rows in enumerate(world.rows) if len(rows) > 1]
    limited = draw(st.lists(st.sampled_from(wide), max_size=2, unique=True))
    return BudgetPolicy.model_construct(
        reidentifications=draw(st.none() | st.sampled_from([0.0, 0.3, 0.5, 1.0, 1.75])),
        attacked_share=draw(st.none() | shares),
        least_people=draw(st.none() | st.integers(1, 8)),
        least_records=draw(st.none() | st.integers(1, 4)) if partition else None,
        suppression=draw(st.none() | shares),
        utility_floor={f"q{axis}": draw(st.sampled_from([0.0, 0.2, 0.5, 0.8])) for axis in limited},
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(world=WORLDS, rule=st.sampled_from(GameRule), data=st.data())
def test_as_every_assignment(world: World, rule: GameRule, data: st.DataObject) -> None:
    few = {values: min(count, 2) for values, count in list(world.records.items())[:3]}
    world = World(world.rows, world.people, few, world.payoffs, world.weights)
    budget = data.draw(budgets(world))
    n_records = sum(few.values())
    each = {values: one_record(world, values, budget, no_attack=rule is GameRule.NO_ATTACK) for values in few}
    records = [
        [(count * payoff, tuple(count * one for one in use)) for payoff, use in each[values]]
        for values, count in few.items()
    ]
    expected = best_of_all(records, capacities(budget, n_records))
    problem, tuples = world.problem(), world.tuples(few)
    if expected == -np.inf:
        with pytest.raises(StageFailed):
            plan_records(problem, tuples, budget, rule)
        return
    try:
        plan = plan_records(problem, tuples, budget, rule)
    except StageFailed:  # the relaxation mixes strategies, and rounding them leaves the limits
        return
    assert plan.payoff <= expected + 1e-6 <= plan.bound + 2e-6
    check_plan(world, plan, budget)


def check_plan(world: World, plan: RecordPlan, budget: BudgetPolicy) -> None:
    """What the plan says it uses and pays is what its strategies use and pay, added up record by record."""
    tuples = world.tuples(world.records)
    leaves = [tree.labels[0] for tree in world.hierarchies]
    total, used = 0.0, np.zeros(3)
    for codes, many, node in zip(tuples.codes, tuples.counts.tolist(), plan.nodes.tolist(), strict=True):
        values = tuple(labels[code] for labels, code in zip(leaves, codes, strict=True))
        if node < 0:
            used[2] += many
            continue
        cell = slow.cell_of(world, values, tuple(int(level) for level in world.problem().lattice.nodes[node]))
        total += many * slow.payoff(world, cell)
        used += many * np.array([reidentified(world, cell), slow.attacked(world, cell), 0])
        assert slow.count(world.people, cell) >= (budget.least_people or 0)
    assert plan.payoff == pytest.approx(total, abs=1e-6)
    for name, use in zip((REIDENTIFICATIONS, ATTACKED, SUPPRESSED), used, strict=True):
        told = [spent for spent in uses(plan) if spent.name == name]
        assert all(spent.used == pytest.approx(use, abs=1e-9) for spent in told)
        assert all(spent.used <= spent.limit * (1 + 1e-9) + 1e-9 for spent in told)


def uses(plan: Plan) -> tuple[LimitFact, ...]:
    return plan.outcome(1, 1).limits


def test_who_cannot_be_left_out_is_released_at_a_loss() -> None:
    world = World(
        ([["x", "*"], ["y", "*"]],), {("x",): 1, ("y",): 1}, {("x",): 2, ("y",): 2}, Payoffs(10, 100, 100, 1), (1,)
    )
    plan = plan_records(world.problem(), world.tuples(world.records), BudgetPolicy(suppression=0.5))
    # Both tuples lose: 10 − 100 in full detail, −100/2 together. Half of the four records can be left out.
    assert plan.payoff == pytest.approx(-100)
    assert plan.bound == pytest.approx(-100)
    assert [spent.used for spent in uses(plan)] == [2]


@settings(deadline=None, max_examples=examples(20))
@given(world=WORLDS, rule=st.sampled_from(GameRule))
def test_without_limits_it_is_the_optimum_of_each_record(world: World, rule: GameRule) -> None:
    assume(rule is GameRule.BASIC or not attacked_everywhere(world))
    plan = plan_records(world.problem(), world.tuples(world.records), BudgetPolicy.model_construct(), rule)
    assert plan.payoff == pytest.approx(plan.without_budget, abs=1e-6)
    assert uses(plan) == ()


def two_tuples(records: int) -> World:
    """Two single people, so that each record is worth 100 - 60 as it is, attacked, and 0 in the group of both."""
    payoffs = Payoffs(benefit=100, loss=60, gain=60, cost=40)
    return World(([["a", "*"], ["b", "*"]],), {("a",): 1, ("b",): 1}, {("a",): records}, payoffs, (1.0,))


def test_records_of_one_tuple_stay_together() -> None:
    world = two_tuples(5)
    plan = plan_records(world.problem(), world.tuples(world.records), BudgetPolicy(reidentifications=2.5))
    assert plan.payoff == 0
    assert plan.nodes.tolist() == [1]
    assert plan.without_budget == pytest.approx(5 * 40)


def test_what_cannot_be_kept_is_said_in_words() -> None:
    world = two_tuples(4)
    problem, tuples = world.problem(), world.tuples(world.records)
    with pytest.raises(StageFailed, match="keeps the budget") as caught:
        plan_records(problem, tuples, BudgetPolicy(reidentifications=1, utility_floor={"q0": 0.5}))
    assert "reidentifications at most 1" in caught.value.expected
    assert "information lost of q0 at most 2" in caught.value.expected
    with pytest.raises(StageFailed, match="no strategy that the policy allows") as caught:
        plan_records(problem, tuples, BudgetPolicy(least_people=3))
    assert "none for 4 records" in caught.value.got
    half = plan_records(problem, tuples, BudgetPolicy(least_people=3, suppression=1.0))
    assert half.nodes.tolist() == [-1]
    with pytest.raises(StageFailed, match="keeps the budget"):
        plan_records(problem, tuples, BudgetPolicy(least_people=3, suppression=0.5))


def test_limits_that_do_not_fit_the_file_or_the_method() -> None:
    world = two_tuples(2)
    with pytest.raises(ParameterError, match="outside its range"):
        plan_records(world.problem(), world.tuples(world.records), BudgetPolicy(utility_floor={"q1": 0.5}))


@pytest.mark.parametrize(("most", "mean"), [(100.0, 1186.86), (10.0, 1177.22)])
def test_adult(most: float, mean: float) -> None:
    data = adult.table().data
    plan = plan_records(adult.problem(), data, BudgetPolicy(reidentifications=most))
    assert plan.payoff / data.total >= mean
    assert plan.bound >= plan.payoff
    assert (plan.bound - plan.payoff) / data.total < 0.002
    assert uses(plan)[0].used <= most * (1 + 1e-9)
    assert round(plan.without_budget / data.total, 2) == 1195.29
