"""One strategy for all at which nobody is attacked: the best of all strategies, tried one by one, within a budget."""

from itertools import product
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.generalization.budget import full_domain
from tasks.generalization.budget.limits import SUPPRESSED
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.generalize import generalize
from tasks.request.model import BudgetPolicy, Method
from tests.generalization.test_budget_records import WORLDS, budgets, floored
from tests.support import slow
from tests.support.examples import examples
from tests.support.generalization import table_of
from tests.support.worlds import World

COMMON = Method.NO_ATTACK_COMMON


@settings(deadline=None, max_examples=examples(80))
@given(world=WORLDS, dense=st.booleans(), stepwise=st.booleans(), data=st.data())
def test_it_is_the_best_of_all_strategies_within_the_budget(
    world: World, dense: bool, stepwise: bool, data: st.DataObject
) -> None:
    """Records of nobody in the population included; found step by step it keeps the budget, and its bound is true."""
    budget = data.draw(budgets(world, partition=True))
    table = table_of(world, (0,) * len(world.rows), 2**20 if dense else 0)
    if table.people.form == "sparse" and any(values not in world.people for values in world.records):
        return  # cells that the population does not reach are not counted
    table = table.within(budget)
    safe = world.payoffs.safe_group
    people = max(ceil(safe - 1e-9), budget.least_people or 1) if np.isfinite(safe) else 0
    floors = dict(zip(floored(budget), budget.utility_floor.values(), strict=True))
    most_out = (budget.suppression or 0) * table.data.total
    best, levels = slow.full_domain(world, people, budget.least_records or 1, most_out, floors)
    try:
        with pytest.MonkeyPatch.context() as patch:
            if stepwise:
                patch.setattr(full_domain, "_MOST_SEARCHED", 0)
            made = generalize(table, COMMON, world.payoffs, np.array(world.weights))
    except StageFailed:
        assert levels is None or not np.isfinite(safe) or sum(world.people.values()) < ceil(safe - 1e-9) or floors
        return
    assert levels is not None
    assert made.budget is not None
    kept = np.ones(len(table.data), dtype=np.bool_) if made.withheld is None else ~made.withheld
    assert len(np.unique(made.levels, axis=0)) == 1
    out = {tuple(codes) for codes in table.data.codes[~kept].tolist()}
    left = [values for values in world.records if tuple(world.codes([values])[0].tolist()) in out]
    cost = slow.common_cost(world, tuple(made.levels[0].tolist()), left)
    assert cost >= best - 1e-9
    if not floors and not stepwise:
        assert cost == pytest.approx(best, abs=1e-9)
    assert made.budget.payoff <= made.budget.bound + 1e-9
    assert (made.people[kept] >= people).all()
    assert not world.payoffs.attacked(made.people[kept]).any()
    assert table.data.counts[~kept].sum() <= most_out + 1e-8
    assert all(use.used <= use.limit + 1e-8 for use in made.budget.limits)


def test_a_record_left_out_keeps_the_others_precise(pair_world: World) -> None:
    """Groups of six people are safe; the halves of b have six and four. Whoever is in the second can be left out.

    That costs 10/2 · (1/61 of a1 + half of the values of b), less than the half that b keeps of its logarithm saves.
    """
    records = {("a1", "b1"): 60, ("a1", "b4"): 1}
    world = World(pair_world.rows, pair_world.people, records, pair_world.payoffs, pair_world.weights)
    table = table_of(world, (0, 0), 2**20)
    nothing = generalize(table, COMMON, world.payoffs, np.ones(2))
    assert nothing.levels.tolist() == [[1, 2]] * 2
    assert nothing.withheld is None
    limited = table.within(BudgetPolicy(suppression=0.34))
    made = generalize(limited, COMMON, world.payoffs, np.ones(2))
    assert made.levels.tolist() == [[1, 1]] * 2
    assert made.withheld is not None
    assert made.withheld.tolist() == [False, True]
    assert made.budget is not None
    assert {use.name: use.used for use in made.budget.limits} == {SUPPRESSED: 1}
    assert made.budget.payoff == pytest.approx(60 / 61 * 30)  # b in halves keeps ln 2 of 3 ln 2, of V = 90


def test_records_of_a_rare_value_are_kept_by_wider_groups_of_others() -> None:
    """Ages in four decades with a yes or no, which 4 of 204 say, one in each decade: safe are groups of two.

    Left out, these are 2 % of the records, and all who say yes. With the ages in halves nobody is left out.
    """
    rows = (
        [[f"{age}0s", f"{age // 2}", "*"] for age in range(4)],
        [["yes", "*"], ["no", "*"]],
    )
    people = {(age[0], answer): 1 if answer == "yes" else 50 for age in rows[0] for answer in ("yes", "no")}
    payoffs = Payoffs(benefit=90, loss=60, gain=20, cost=10)
    table = table_of(World(rows, people, people, payoffs, (1, 1)), (0, 0), 2**20).within(BudgetPolicy(suppression=0.02))
    made = generalize(table, COMMON, payoffs, np.ones(2))
    assert made.levels.tolist()[0] == [1, 0]
    assert made.withheld is None or not made.withheld.any()


def test_weights_choose_the_column_that_keeps_its_values(pair_world: World) -> None:
    """Groups of three are safe: a has groups of three and seven, b1 and b4 have three people each."""
    payoffs = type(pair_world.payoffs)(benefit=90, loss=60, gain=30, cost=10)
    records = {("a1", "b1"): 1, ("a2", "b4"): 1}
    world = World(pair_world.rows, pair_world.people, records, payoffs, pair_world.weights)
    table = table_of(world, (0, 0), 2**20)
    heavy = [generalize(table, COMMON, payoffs, np.array(weights)).levels.tolist()[0] for weights in ((5, 1), (1, 5))]
    assert heavy == [[0, 2], [1, 0]]


def test_no_column_is_withheld_while_another_keeps_its_finest_values() -> None:
    """Sixteen ages, also in two groups of eight, a yes or no and one of two towns; safe are groups of four people.

    In sum most would be kept by the ages as collected and nothing else, 4 ln 2, where the groups with the others keep
    3 ln 2. Their ages keep a quarter: nothing else is worth that where ages weigh ten times as much as both others.
    """
    rows = (
        [[f"age {age}", f"eight {age // 8}", "*"] for age in range(16)],
        [["yes", "*"], ["no", "*"]],
        [["east", "*"], ["west", "*"]],
    )
    people = {(age[0], answer[0], town[0]): 1 for age, answer, town in product(*rows)}
    payoffs = Payoffs(benefit=90, loss=60, gain=40, cost=10)
    table = table_of(World(rows, people, people, payoffs, (1, 1, 1)), (0, 0, 0), 2**20)
    made = [generalize(table, COMMON, payoffs, np.array(weights)) for weights in ((1.0, 1.0, 1.0), (20.0, 1.0, 1.0))]
    assert [one.levels.tolist()[0] for one in made] == [[1, 0, 0], [0, 1, 1]]


def test_what_cannot_be_kept_is_said(pair_world: World) -> None:
    table = table_of(pair_world, (0, 0), 2**20)
    with pytest.raises(StageFailed) as caught:
        generalize(table.within(BudgetPolicy(utility_floor={"q0": 0.5})), COMMON, pair_world.payoffs, np.ones(2))
    assert "records in classes" in str(caught.value.expected)
    few = type(pair_world.payoffs)(benefit=90, loss=60, gain=600, cost=10)
    with pytest.raises(StageFailed, match="nobody would attack"):
        generalize(table, COMMON, few, np.ones(2))
