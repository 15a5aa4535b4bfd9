"""The sweep over many stakes gives what the exact solver gives at each of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.partition import partition
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.problem import Problem
from tasks.generalization.paper_searches import backward_induction
from tasks.generalization.sensitivity.means import GameMeans, StakesPoints, around, fixed_file
from tasks.generalization.sensitivity.staircase import staircases
from tasks.generalization.sensitivity.sweep import sweep, sweep_partition
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples
from tests.reference.chosen_nodes import chosen_nodes
from tests.support import adult, slow
from tests.support.examples import examples
from tests.support.worlds import World, stakes, worlds


def points_of(every: list[Payoffs]) -> StakesPoints:
    columns = ([getattr(one, name) for one in every] for name in ("benefit", "loss", "gain", "cost"))
    return StakesPoints(*(np.array(column, dtype=np.float64) for column in columns))


def check_means(problem: Problem, data: Tuples, nodes: NDArray[np.intp], got: GameMeans, terms: StakesPoints) -> None:
    """Figures of the chosen strategies at the point with the problem's stakes, added up one by one."""
    payoffs, total = problem.payoffs, data.total
    (point,) = [place for place in range(len(terms)) if terms.payoffs(place) == payoffs]
    if (nodes < 0).any():
        assert np.isnan([got.kept[point], got.attacked[point], got.intensity[point], got.publisher(terms)[point]]).all()
        return
    levels = problem.lattice.nodes[nodes]
    value, people = problem.evaluate(data.codes, levels)
    assert got.publisher(terms)[point] == pytest.approx(
        data.counts @ payoffs.publisher(value, people) / total, abs=1e-8
    )
    assert got.adversary(terms)[point] == pytest.approx(data.counts @ payoffs.adversary(people) / total, abs=1e-8)
    assert got.attacked[point] == pytest.approx(data.counts @ payoffs.attacked(people) / total)
    assert got.intensity[point] == pytest.approx(data.counts @ problem.lattice.intensity(levels) / total)
    assert got.kept[point] == pytest.approx(data.counts @ value / total / payoffs.benefit)


def check_world(world: World, every: list[Payoffs], rule: GameRule, floor: Codes | None, *, sparse: bool) -> None:
    problem, data = world.problem(sparse=sparse), world.tuples(dict.fromkeys(world.all_values, 1))
    terms = points_of(every)
    stairs = staircases(problem, data, int(terms.safe.max()), floor)
    nodes, means = chosen_nodes(stairs, terms, rule), sweep(stairs, terms, rule)
    for point, payoffs in enumerate(every):
        there = replace(problem, payoffs=payoffs)
        expected, _ = solve(there, data.codes, rule, floor)
        np.testing.assert_array_equal(nodes[point], expected)
        check_means(there, data, expected, means, terms)


@settings(deadline=None, max_examples=examples(40))
@given(
    world=st.one_of(worlds(), worlds(crossing=True)),
    every=st.lists(stakes(), min_size=1, max_size=4, unique=True),
    rule=st.sampled_from(GameRule),
    sparse=st.booleans(),
)
def test_each_point_is_solved_as_by_itself(world: World, every: list[Payoffs], rule: GameRule, sparse: bool) -> None:
    check_world(world, every, rule, None, sparse=sparse)


@settings(deadline=None, max_examples=examples(25))
@given(world=worlds(max_attributes=2), every=st.lists(stakes(), min_size=1, max_size=4, unique=True), data=st.data())
def test_with_a_floor(world: World, every: list[Payoffs], data: st.DataObject) -> None:
    one_floor = st.tuples(*(st.integers(0, height - 1) for height in slow.heights(world)))
    number = len(world.all_values)
    floors = np.array(data.draw(st.lists(one_floor, min_size=number, max_size=number)), dtype=np.int32)
    check_world(world, every, GameRule.BASIC, floors, sparse=False)


@settings(deadline=None, max_examples=examples(25))
@given(world=worlds(), own=stakes(), factor=st.sampled_from([1e-3, 0.3, 7.0, 1e4]))
def test_only_ratios_of_the_stakes_matter(world: World, own: Payoffs, factor: float) -> None:
    data = world.tuples(world.records)
    scaled = Payoffs(own.benefit * factor, own.loss * factor, own.gain * factor, own.cost * factor)
    terms = points_of([own, scaled])
    stairs = staircases(world.problem(), data, int(terms.safe.max()))
    nodes = chosen_nodes(stairs, terms)
    np.testing.assert_array_equal(nodes[0], nodes[1])
    earned = sweep(stairs, terms).publisher(terms)
    assert earned[1] == pytest.approx(factor * earned[0])


@settings(deadline=None, max_examples=examples(60))
@given(
    gain=st.floats(1e-3, 1e6),
    cost=st.one_of(st.floats(1e-3, 1e3), st.sampled_from([0.1, 0.3, 0.7, 3.0])),
    exact=st.integers(0, 200),
)
def test_safe_group_is_where_the_attack_stops(gain: float, cost: float, exact: int) -> None:
    for stake in (gain, cost * exact or gain):
        payoffs = Payoffs(benefit=1.0, loss=1.0, gain=stake, cost=cost)
        (safe,) = points_of([payoffs]).safe
        assert not payoffs.attacked(np.array([safe]))[0]
        assert safe == 1 or payoffs.attacked(np.array([safe - 1]))[0]


PAIR = Payoffs(benefit=90, loss=60, gain=60, cost=10)


def test_worked_by_hand(pair_world: World) -> None:
    # (1,0) pays 60 − 60/3 = 40 under the declared stakes; with L at a quarter everything pays 90 − 15 in full detail;
    # at ten times the cost nobody attacks; where V is 9, hiding among 6 people pays 3.
    data = pair_world.tuples(pair_world.records)
    terms = around(PAIR, benefit=[1, 1, 1, 0.1], loss=[1, 0.25, 1, 1], cost=[1, 1, 10, 1])
    stairs = staircases(pair_world.problem(), data, int(terms.safe.max()))
    means = sweep(stairs, terms)
    np.testing.assert_allclose(means.publisher(terms), [40, 75, 90, 3], atol=1e-9)
    np.testing.assert_allclose(means.adversary(terms), [10, 5, 0, 0], atol=1e-9)
    np.testing.assert_array_equal(means.attacked, [1, 1, 0, 0])
    np.testing.assert_allclose(means.intensity, [1 / 3, 0, 0, 2 / 3], atol=1e-12)


def test_adult_at_random_stakes() -> None:
    problem, table = adult.problem(), adult.table()
    floor = np.column_stack([axis.floor[table.data.codes[:, at]] for at, axis in enumerate(table.safe_harbor)])
    rng = np.random.default_rng(8)
    terms = around(adult.PAYOFFS, *(10.0 ** rng.uniform(-1, 1, (3, 2))))
    for below, rule in ((None, GameRule.BASIC), (None, GameRule.NO_ATTACK), (floor, GameRule.BASIC)):
        stairs = staircases(problem, table.data, int(terms.safe.max()), below)
        nodes, means = chosen_nodes(stairs, terms, rule), sweep(stairs, terms, rule)
        for point in range(len(terms)):
            payoffs = terms.payoffs(point)
            there = replace(problem, payoffs=payoffs)
            expected, _ = solve(there, table.data.codes, rule, below)
            np.testing.assert_array_equal(nodes[point], expected)
            check_means(there, table.data, expected, means, terms)


@settings(deadline=None, max_examples=examples(15))
@given(
    world=worlds(max_attributes=2),
    every=st.lists(stakes(), min_size=1, max_size=3, unique=True),
    rule=st.sampled_from(GameRule),
)
def test_partition_at_each_point(world: World, every: list[Payoffs], rule: GameRule) -> None:
    problem, data, terms = world.problem(), world.tuples(world.records), points_of(every)
    means = sweep_partition(problem, problem.people, data, terms, rule)
    for point, payoffs in enumerate(every):
        there = replace(problem, payoffs=payoffs)
        if rule is GameRule.NO_ATTACK and payoffs.attacked(np.array([sum(world.people.values())]))[0]:
            assert np.isnan(means.kept[point]), "a population smaller than any safe group"
            continue
        levels = partition(there, there.people, rule).levels(data.codes)
        check_means(there, data, there.lattice.number(levels), means, terms)


@settings(deadline=None, max_examples=examples(25))
@given(world=worlds(), every=st.lists(stakes(), min_size=1, max_size=3, unique=True))
def test_a_file_as_it_was_made(world: World, every: list[Payoffs]) -> None:
    problem, data, terms = world.problem(), world.tuples(world.records), points_of(every)
    nodes, _, _ = backward_induction(problem, data.codes)
    levels = problem.lattice.nodes[nodes]
    cells = cells_at(data.codes, levels, problem.hierarchies)
    people, kept, intensity = problem.people.count(cells), problem.loss.kept(cells), problem.lattice.intensity(levels)
    file = fixed_file(people, kept, intensity, data.counts, data.total)
    for payoffs in every:
        check_means(replace(problem, payoffs=payoffs), data, nodes, file.means(terms), terms)


def test_suppressed_records_keep_nothing_and_are_not_attacked() -> None:
    file = fixed_file(np.array([2, 8]), np.array([0.5, 1.0]), np.array([0.25, 0.0]), np.array([4, 4]), 16)
    means = file.means(points_of([Payoffs(benefit=8, loss=4, gain=4, cost=1)]))
    assert (means.kept[0], means.attacked[0], means.reidentified[0]) == (0.375, 0.25, 0.125)
    assert means.intensity[0] == 0.5625
