"""The partition past the count cube: the best recursive one where there is room, else sound and bounded."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.generalization.exact import Rule
from tasks.generalization.game import InformationLoss, Payoffs
from tasks.generalization.partition import partition
from tasks.generalization.problem import Problem
from tasks.generalization.wide_partition import WidePartition, wide_partition
from tasks.generalization.wide_partition.bound import upper_bound
from tasks.generalization.wide_partition.common import common_levels, common_tree
from tasks.generalization.wide_partition.graph import Explorer, whole
from tasks.generalization.wide_partition.improve import improved
from tasks.generalization.wide_partition.meets import Refined
from tasks.generalization.wide_partition.members import Division, Members
from tasks.generalization.wide_partition.prices import priced_bound
from tasks.generalization.wide_partition.tree import Tree, best_tree
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tests.reference.partitions import MOST_PLACES, best_of_all, places
from tests.support import slow
from tests.support.examples import examples
from tests.support.interlocking import interlocking_world
from tests.support.worlds import World, worlds

QUICK = settings(deadline=None, max_examples=examples(20))
RULES = st.sampled_from(Rule)
ROOM = 10**7


def feasible(world: World, rule: Rule) -> bool:
    payoffs = world.payoffs
    return rule is Rule.BASIC or payoffs.cost * sum(world.people.values()) >= payoffs.gain


def division_of(world: World, rule: Rule, *, by_records: bool = False) -> Division:
    population = world.tuples(world.people)
    weighted = world.tuples(world.records) if by_records else population
    return Division.of(world.problem(), Members.of(population, weighted), rule)


def greedy(division: Division, room: int) -> Tree:
    return best_tree(division, Explorer(division, room).explore(whole(division)))


def check(division: Division, tree: Tree) -> None:
    """Every member is in one cell, cells hold their people and no others, and the total is what they pay."""
    problem, members = division.problem, division.members
    cells = cells_at(members.codes, tree.levels(members.codes), problem.hierarchies)
    np.testing.assert_array_equal(cells, tree.positions[tree.of_member])
    distinct, number = np.unique(cells, axis=0, return_inverse=True)
    people = np.bincount(number.ravel(), weights=members.people).astype(np.int64)
    weights = np.bincount(number.ravel(), weights=members.weights).astype(np.int64)
    np.testing.assert_array_equal(problem.people.count(distinct), people)
    assert tree.total == pytest.approx(division.value(distinct, people, weights).sum(), abs=1e-6)
    if division.rule is Rule.NO_ATTACK:
        assert not problem.payoffs.attacked(people[people > 0]).any()


@QUICK
@given(world=worlds(), rule=RULES, by_records=st.booleans())
def test_with_room_it_is_the_best_recursive_partition(world: World, rule: Rule, by_records: bool) -> None:
    if not feasible(world, rule):
        return
    division = division_of(world, rule, by_records=by_records)
    graph = Explorer(division, ROOM).explore(whole(division))
    assert graph.complete
    tree = best_tree(division, graph)
    check(division, tree)
    weights = world.records if by_records else world.people
    best, _ = slow.partition(world, weights, no_attack=rule is Rule.NO_ATTACK)
    assert tree.total == pytest.approx(best, abs=1e-6)


@QUICK
@given(world=worlds(max_count=5), rule=RULES, by_records=st.booleans(), data=st.data())
def test_without_room_it_is_sound_and_what_is_improved_pays_no_less(
    world: World, rule: Rule, by_records: bool, data: st.DataObject
) -> None:
    if not feasible(world, rule):
        return
    division = division_of(world, rule, by_records=by_records)
    tree = greedy(division, 0)
    check(division, tree)
    best, _ = slow.partition(world, world.records if by_records else world.people, no_attack=rule is Rule.NO_ATTACK)
    assert tree.total <= best + 1e-6
    largest = data.draw(st.integers(1, 12), label="largest")
    better = improved(division, tree, largest, data.draw(st.integers(1, 12), label="together"), ROOM)
    check(division, better)
    assert tree.total - 1e-6 <= better.total <= best + 1e-6
    again = improved(division, better, len(division.members), 1, ROOM)
    assert again.total == pytest.approx(best, abs=1e-6)


def test_the_bound_counts_records_of_nobody_in_the_population() -> None:
    rows = ([["x", "a", "*"], ["y", "a", "*"], ["z", "b", "*"], ["u", "b", "*"]],)
    people = {("x",): 20, ("y",): 20, ("z",): 20}
    world = World(rows, people, {("x",): 2, ("u",): 100}, Payoffs(100, 1, 100, 10), (1.0,))
    division = division_of(world, Rule.NO_ATTACK, by_records=True)
    # x in full detail, and u as b, whose 20 people nobody attacks.
    assert greedy(division, ROOM).total == pytest.approx(2 * 100 + 100 * 50)
    assert upper_bound(division, 10**6, ROOM) == pytest.approx(5200)


def at_its_best(world: World, value: slow.Values, rule: Rule) -> float:
    """Most that a cell with people in it pays for a tuple; one that stays in a cell without people pays nothing."""
    cells = [slow.cell_of(world, value, levels) for levels in slow.strategies(world)]
    paid = [
        slow.payoff(world, cell)
        for cell in cells
        if slow.count(world.people, cell) and not (rule is Rule.NO_ATTACK and slow.attacked(world, cell))
    ]
    return max(paid if value in world.people else [*paid, 0.0])


@QUICK
@given(world=worlds(max_attributes=2), rule=RULES, by_records=st.booleans(), nodes=st.integers(0, 40))
def test_the_bound_is_above_and_falls_to_each_tuple_at_its_best(
    world: World, rule: Rule, by_records: bool, nodes: int
) -> None:
    if not feasible(world, rule):
        return
    division = division_of(world, rule, by_records=by_records)
    weights = world.records if by_records else world.people
    least = sum(n * at_its_best(world, value, rule) for value, n in weights.items())
    some, all_of_it = upper_bound(division, nodes, ROOM), upper_bound(division, 10**6, ROOM)
    assert all_of_it == pytest.approx(least, abs=1e-6)
    assert some >= all_of_it - 1e-6


@QUICK
@given(world=worlds(max_attributes=2), rule=RULES, by_records=st.booleans(), seed=st.integers(0, 9))
def test_from_any_prices_the_bound_is_above_every_partition(
    world: World, rule: Rule, by_records: bool, seed: int
) -> None:
    weights = world.records if by_records else world.people
    if not feasible(world, rule) or len(places(world, weights)) > MOST_PLACES:
        return
    people = world.tuples(world.people)
    weighted = world.tuples(world.records) if by_records else people
    division = Division.of(world.problem(), Members.of(people, weighted), rule)
    prices = np.random.default_rng(seed).normal(100, 100, len(division.members))
    bounds = [priced_bound(division, prices, passes, ROOM) for passes in (1, 2, 6)]
    assert bounds[0] >= bounds[1] >= bounds[2] >= best_of_all(world, rule, weights) - 1e-6
    assert priced_bound(division, prices, 6, 500) == np.inf
    if by_records:
        return
    # Where all prices are one, a pass gives each tuple the most that a cell with it pays.
    alone = sum(
        n * slow.best_strategy(world, value, no_attack=rule is Rule.NO_ATTACK)[1] for value, n in world.people.items()
    )
    assert priced_bound(division, np.full(len(people), 7.0), 1, ROOM) == pytest.approx(alone, abs=1e-6)


def test_prices_see_that_who_is_left_over_must_be_somewhere() -> None:
    people = {("x",): 20, ("y",): 10}
    world = World(([["x", "*"], ["y", "*"]],), people, people, Payoffs(90, 60, 20, 1), (1.0,))
    division = division_of(world, Rule.NO_ATTACK)
    # x by itself would leave y in a group of ten, so that all are released as one and keep nothing.
    assert greedy(division, ROOM).total == 0
    assert upper_bound(division, 10**6, ROOM) == pytest.approx(20 * 90)
    assert priced_bound(division, np.full(2, 90.0), 1, ROOM) == pytest.approx(20 * 90)
    assert priced_bound(division, np.full(2, 90.0), 30, ROOM) == pytest.approx(0, abs=1)


@QUICK
@given(world=worlds(max_count=30))
def test_the_common_strategy_is_the_best_of_all_that_nobody_attacks(world: World) -> None:
    division = division_of(world, Rule.NO_ATTACK)
    worth = [
        sum(n * slow.payoff(world, slow.cell_of(world, value, levels)) for value, n in world.people.items())
        for levels in slow.strategies(world)
        if not any(slow.attacked(world, slow.cell_of(world, value, levels)) for value in world.people)
    ]
    levels = common_levels(division)
    if levels is None:
        assert not worth
        return
    paid = sum(n * slow.payoff(world, slow.cell_of(world, value, levels)) for value, n in world.people.items())
    assert paid == pytest.approx(max(worth), abs=1e-6)
    tree = common_tree(division, levels)
    check(division, tree)
    assert tree.total >= paid - 1e-6


def test_who_is_not_in_the_population_stops_at_the_cell_without_people(pair_world: World) -> None:
    people = {("a1", "b1"): 6, ("a1", "b2"): 6}
    world = World(pair_world.rows, people, people, pair_world.payoffs, pair_world.weights)
    tree = greedy(division_of(world, Rule.NO_ATTACK), ROOM)
    levels = tree.levels(world.codes(world.all_values))
    at = dict(zip(world.all_values, levels.tolist(), strict=True))
    assert at["a1", "b1"] == at["a1", "b2"] == [0, 0]
    assert at["a2", "b1"] == [0, 2], "a2 leaves the way of the others at once"
    assert at["a1", "b3"] == [0, 1]


def test_nobody_can_be_released_without_an_attack(pair_world: World) -> None:
    eager = Payoffs(benefit=90, loss=60, gain=110.5, cost=10)
    world = World(pair_world.rows, pair_world.people, pair_world.records, eager, pair_world.weights)
    people = world.tuples(world.people)
    with pytest.raises(StageFailed, match="nobody would attack"):
        wide_partition(world.problem(), people, people, Rule.NO_ATTACK, 0)


class Moody:
    """Attacks groups of 3 and of 5 to 7 alone, whatever is larger or smaller."""

    benefit, safe_group = 90.0, 8.0

    def attacked(self, people: np.ndarray) -> np.ndarray:
        return np.isin(people, [3, 5, 6, 7])

    def publisher(self, value: np.ndarray, people: np.ndarray) -> np.ndarray:
        return value - np.where(self.attacked(people), 500.0 / np.maximum(people, 1), 0.0)


@QUICK
@given(world=worlds(max_count=4), rule=RULES)
def test_a_follower_who_prefers_some_sizes(world: World, rule: Rule) -> None:
    problem = replace(world.problem(), payoffs=Moody())
    try:
        best = partition(problem, problem.people, rule).total
    except StageFailed:
        best = -np.inf
    people = world.tuples(world.people)
    division = Division.of(problem, Members.of(people, people), rule)
    tree = greedy(division, ROOM)
    assert tree.total == pytest.approx(best, abs=1e-6)
    assert upper_bound(division, 5, ROOM) >= best - 1e-6


def crossing(name: str, groups: list[list[int]]) -> Hierarchy:
    labels = tuple(
        tuple(f"{name}{level}.{group}" for group in range(max(column) + 1))
        for level, column in enumerate(zip(*groups, strict=True))
    )
    return Hierarchy(name, labels, np.array(groups, dtype=np.int32))


AGES = crossing("age", [[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 0, 0], [3, 1, 1, 0], [4, 2, 1, 0], [5, 2, 1, 0]])
"""Six ages; pairs on one level, halves on the next, and the pair in the middle is in both halves."""


@settings(deadline=None, max_examples=examples(12))
@example(counts=[0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0], rule=Rule.BASIC)
@given(counts=st.lists(st.integers(0, 4), min_size=12, max_size=12), rule=RULES)
def test_levels_that_cross(counts: list[int], rule: Rule) -> None:
    if sum(counts) < 3:
        return
    sex = crossing("sex", [[0, 0], [1, 0]])
    trees = (AGES, sex)
    world = {value: n for value, n in zip(product(range(6), range(2)), counts, strict=True) if n}
    codes = np.array(list(world), dtype=np.int32)
    counted = np.array(list(world.values()))
    payoffs = Payoffs(benefit=90, loss=60, gain=30, cost=10)
    loss = InformationLoss(trees, np.ones(2))
    division = Division.of(Problem(trees, loss, payoffs, None), Members(codes, counted, counted), rule)
    tree = greedy(division, ROOM)

    def held(cell: tuple[frozenset[int], ...]) -> int:
        return sum(n for value, n in world.items() if all(v in part for v, part in zip(value, cell, strict=True)))

    def paid(cell: tuple[frozenset[int], ...]) -> float:
        kept = 1 - sum(np.log(len(part)) for part in cell) / np.log(12)
        n = held(cell)
        if n == 0:
            return 0.0
        attacked = 10 * n < 30
        return -np.inf if attacked and rule is Rule.NO_ATTACK else n * (90 * kept - (60 / n if attacked else 0))

    def groups(axis: int, level: int) -> set[frozenset[int]]:
        column = trees[axis].groups[:, level]
        return {frozenset(np.flatnonzero(column == group).tolist()) for group in set(column.tolist())}

    def best(cell: tuple[frozenset[int], ...]) -> float:
        most = paid(cell)
        if held(cell) == 0:
            return 0.0
        for axis, level in product(range(2), range(3)):
            if level < trees[axis].n_levels:
                parts = [part for part in groups(axis, level) if part & cell[axis]]
                if len(parts) > 1 and all(part <= cell[axis] for part in parts):
                    most = max(most, sum(best((*cell[:axis], part, *cell[axis + 1 :])) for part in parts))
                elif len(parts) == 1 and parts[0] < cell[axis]:
                    most = max(most, best((*cell[:axis], parts[0], *cell[axis + 1 :])))
        return most

    assert tree.total == pytest.approx(best((frozenset(range(6)), frozenset(range(2)))), abs=1e-6)
    assert upper_bound(division, 50, ROOM) >= tree.total - 1e-6
    assert priced_bound(division, np.zeros(len(counted)), 5, ROOM) >= tree.total - 1e-6
    cells = cells_at(codes, tree.levels(codes), trees)
    np.testing.assert_array_equal(cells, tree.positions[tree.of_member])
    assert common_levels(division) is None


@QUICK
@given(world=worlds(max_attributes=2, max_count=4, crossing=True), rule=RULES, by_records=st.booleans())
def test_with_room_no_recursive_division_along_levels_that_cross_pays_more(
    world: World, rule: Rule, by_records: bool
) -> None:
    if not feasible(world, rule):
        return
    division = division_of(world, rule, by_records=by_records)
    graph = Explorer(division, ROOM).explore(whole(division))
    assert graph.complete
    tree = best_tree(division, graph)
    check(division, tree)
    weights = world.records if by_records else world.people
    best = slow.crossing_partition(world, weights, no_attack=rule is Rule.NO_ATTACK)
    assert tree.total == pytest.approx(best, abs=1e-6)
    assert upper_bound(division, 20, ROOM) >= best - 1e-6
    without_room = greedy(division, 0)
    check(division, without_room)
    again = improved(division, without_room, len(division.members), 1, ROOM)
    assert without_room.total - 1e-6 <= again.total == pytest.approx(best, abs=1e-6)


@QUICK
@given(world=worlds(max_attributes=2, max_count=4, crossing=True), rule=RULES)
def test_what_crosses_is_divided_by_what_both_levels_leave_whole(world: World, rule: Rule) -> None:
    if not feasible(world, rule):
        return
    people, no_attack = world.tuples(world.people), rule is Rule.NO_ATTACK
    found = wide_partition(world.problem(), people, people, rule, ROOM)
    finer = replace(world, rows=tuple(slow.refined(rows) for rows in world.rows))
    best = slow.crossing_partition(finer, world.people, no_attack=no_attack)
    assert found.complete
    assert found.total == pytest.approx(best, abs=1e-6)
    assert best >= slow.crossing_partition(world, world.people, no_attack=no_attack) - 1e-6
    problem = world.problem()
    cells = cells_at(people.codes, found.levels(people.codes), problem.hierarchies)
    distinct, number = np.unique(problem.canonical(cells), axis=0, return_inverse=True)
    own = np.bincount(number.ravel(), weights=people.counts).astype(np.int64)
    np.testing.assert_array_equal(own, problem.people.count(distinct), "everybody who matches a cell is released in it")
    paid = problem.payoffs.publisher(problem.payoffs.benefit * problem.loss.kept(distinct), own)
    assert float(own @ paid) == pytest.approx(found.total, abs=1e-6)
    assert found.bound >= found.total - 1e-6


def test_the_meet_of_five_year_bands_and_minors_by_hand() -> None:
    rows = [
        [str(age), f"{age // 5 * 5}-{age // 5 * 5 + 4}", "minor" if age < 18 else "adult", "*"] for age in range(10, 30)
    ]
    ages = hierarchy_from_rows("age", rows, "a test", levels_may_cross=True)
    refined = Refined.of(ages)
    assert [len(labels) for labels in refined.hierarchy.labels] == [20, 8, 4, 2, 1]
    assert refined.hierarchy.labels[1] == ("10-14", "15", "16", "17", "18", "19", "20-24", "25-29")
    assert refined.levels[:, 1].tolist() == [1] * 5 + [0] * 5 + [1] * 10
    assert [refined.levels[0, level] for level in (0, 2, 3, 4)] == [0, 1, 2, 3]
    tree = hierarchy_from_rows("age", [[*row[:2], "*"] for row in rows], "a test")
    assert Refined.of(tree).hierarchy is tree


def test_what_people_share_does_not_close_off_a_level_that_crosses() -> None:
    # Nobody has d, so that everybody is in abc; the best groups of 3 people or more are ab, and c out of cd.
    rows = ([["a", "abc", "ab", "*"], ["b", "abc", "ab", "*"], ["c", "abc", "cd", "*"], ["d", "d", "cd", "*"]],)
    people = {("a",): 2, ("b",): 2, ("c",): 3}
    world = World(rows, people, people, Payoffs(100, 60, 30, 10), (1.0,), crossing=True)
    tree = greedy(division_of(world, Rule.NO_ATTACK), ROOM)
    assert tree.total == pytest.approx(4 * 50 + 3 * 100)
    assert tree.levels(world.codes([("a",), ("b",), ("c",)])).ravel().tolist() == [2, 2, 0]


def test_the_same_people_in_another_order_of_memory_give_the_same_partition(pair_world: World) -> None:
    people = pair_world.tuples(pair_world.people)
    found = [wide_partition(pair_world.problem(), people, people, Rule.BASIC, limit) for limit in (0, 0)]
    assert isinstance(found[0], WidePartition)
    np.testing.assert_array_equal(found[0].levels(people.codes), found[1].levels(people.codes))


@pytest.mark.parametrize(
    ("rule", "payoffs", "recursive"),
    # A cell of n people pays 90·n as single leaves, 60·n as a pair along one attribute, 30·n along two. Nobody is
    # attacked in twos. Interlocked: the two corners as they are, 2·2·90, and three pairs, 3·2·60, in all 720.
    # Recursive, No-Attack: some attribute halves the whole. Each half has a corner of 2 and three more people: one
    # pair stays whole in the other half's place, so that two single people must join others; at best 600.
    # Basic, losing 70 for each cell of one: as 720 again, and 640 where one attribute is split first.
    [
        (Rule.NO_ATTACK, Payoffs(benefit=90, loss=60, gain=20, cost=10), 600),
        (Rule.BASIC, Payoffs(benefit=90, loss=70, gain=20, cost=10), 640),
    ],
)
def test_cells_that_interlock_beat_every_recursive_split(rule: Rule, payoffs: Payoffs, recursive: float) -> None:
    world = interlocking_world(payoffs)
    by_loops, _ = slow.partition(world, world.people, no_attack=rule is Rule.NO_ATTACK)
    assert by_loops == pytest.approx(recursive)
    assert best_of_all(world, rule, world.people) == pytest.approx(720)
