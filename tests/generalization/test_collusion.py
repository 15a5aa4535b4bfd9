"""A copy for each of several recipients who may collude: against every combination, tried in plain loops."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import ParameterError, StageFailed
from tasks.generalization.collusion import records
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.collusion.nested import nested_partitions
from tasks.generalization.collusion.records import solve_separately
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import Payoffs
from tasks.generalization.partition import partition
from tests.support import slow
from tests.support.followers import single
from tests.support.worlds import World, worlds

QUICK = settings(deadline=None, max_examples=25)
RULES = st.sampled_from(Rule)
NEAR = 1e-9


@st.composite
def colluding(draw: st.DrawFn, population: int, most: int = 3) -> Colluders:
    members = draw(st.lists(single(population), min_size=1, max_size=most))
    made = draw(st.sampled_from([Colluders.all_or_none, Colluders.one_pair]))
    found = made(members, draw(st.sampled_from([0.0, 0.2, 0.7, 1.0])))
    return replace(found, weights=tuple(draw(st.sampled_from([1.0, 0.5])) for _ in members))


def lost(one, people: int) -> float:
    return float(one.publisher(np.zeros(1), np.array([people]))[0])


def attacked(one, people: int) -> bool:
    return bool(one.attacked(np.array([people]))[0])


def worth(world: World, colluders: Colluders, cells: list[slow.Cell], rule: Rule) -> float:
    """Payoff of a record that each recipient has in a cell of its own."""
    pairs = zip(colluders.weights, colluders.members, cells, strict=True)
    total = sum(weight * one.benefit * slow.kept(world, cell) for weight, one, cell in pairs)
    for hand, probability in colluders.hands:
        seen = tuple(frozenset.intersection(*parts) for parts in zip(*(cells[j] for j in hand), strict=True))
        people = slow.count(world.people, seen)
        if rule is Rule.NO_ATTACK and any(attacked(colluders.members[j], people) for j in hand):
            return -np.inf
        total += sum(probability * colluders.weights[j] * lost(colluders.members[j], people) for j in hand)
    return total


@QUICK
@given(world=worlds(max_attributes=2), rule=RULES, sparse=st.booleans(), data=st.data())
def test_record_by_record_as_every_combination(world: World, rule: Rule, sparse: bool, data: st.DataObject) -> None:
    strategies, values = slow.strategies(world), world.all_values[:3]
    colluders = data.draw(colluding(sum(world.people.values()), most=3 if len(strategies) <= 9 else 2))
    floor = data.draw(st.sampled_from([strategies[0], strategies[len(strategies) // 2]]))
    floors = np.array([floor] * len(values), dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_FEW_COMBINATIONS", data.draw(st.sampled_from([0, 64])))
        nodes, payoffs = solve_separately(world.problem(sparse=sparse), world.codes(values), colluders, rule, floors)
    for row, value in enumerate(values):
        tried = {}
        for combination in product(range(len(strategies)), repeat=len(colluders.members)):
            levels = [strategies[number] for number in combination]
            if all(at >= least for one in levels for at, least in zip(one, floor, strict=True)):
                cells = [slow.cell_of(world, value, one) for one in levels]
                tried[combination] = worth(world, colluders, cells, rule)
        best = max(tried.values())
        assert payoffs[row] == pytest.approx(best, abs=NEAR)
        if np.isfinite(best):
            first = next(combination for combination, payoff in tried.items() if payoff >= best - NEAR)
            assert tuple(nodes[row].tolist()) == first
        else:
            assert (nodes[row] == -1).all()


@QUICK
@given(world=worlds(max_attributes=2), rule=RULES, data=st.data())
def test_between_one_copy_for_all_and_each_his_own(world: World, rule: Rule, data: st.DataObject) -> None:
    colluders = data.draw(colluding(sum(world.people.values())))
    problem, codes = world.problem(), world.codes(world.all_values)
    _, separate = solve_separately(problem, codes, colluders, rule)
    _, shared = solve(replace(problem, payoffs=colluders.shared), codes, rule)
    assert (separate >= shared - 1e-6).all()
    if len(colluders.members) > 1 and all(len(hand) == len(colluders.members) for hand, _ in colluders.hands):
        np.testing.assert_allclose(separate, shared, atol=1e-6)
    if all(len(hand) == 1 for hand, _ in colluders.hands):
        own = [solve(replace(problem, payoffs=one), codes, rule)[1] for one in colluders.members]
        np.testing.assert_allclose(separate, np.array(colluders.weights) @ np.stack(own), atol=1e-6)


def test_too_many_combinations_are_solved_in_parts_or_refused(
    pair_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, codes = pair_world.problem(), pair_world.codes(pair_world.all_values)
    colluders = Colluders.all_or_none([pair_world.payoffs] * 3, 0.5)
    whole = solve_separately(problem, codes, colluders)
    monkeypatch.setattr(records, "_MOST_COMBINATIONS", 6**3)
    parts = solve_separately(problem, codes, colluders)
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[1], parts[1])
    monkeypatch.setattr(records, "_MOST_COMBINATIONS", 0)
    with pytest.raises(ParameterError, match="too many combinations"):
        solve_separately(problem, codes, colluders)


def policies(
    world: World, colluders: Colluders, levels: tuple[int, ...], cell: slow.Cell, left: tuple[int, ...]
) -> Iterator[dict[slow.Values, dict[int, slow.Cell]]]:
    """Every way to divide a cell for the recipients who are left, over one tree: cells by value and recipient."""
    inside = list(product(*cell))
    for chosen in product([False, True], repeat=len(left)):
        given_now = [j for j, now in zip(left, chosen, strict=True) if now]
        rest = tuple(j for j, now in zip(left, chosen, strict=True) if not now)
        here = {value: dict.fromkeys(given_now, cell) for value in inside}
        if not rest:
            yield here
            continue
        for axis, level in enumerate(levels):
            if level == 0:
                continue
            down = (*levels[:axis], level - 1, *levels[axis + 1 :])
            groups = sorted({slow.group(world, axis, value, level - 1) for value in cell[axis]}, key=sorted)
            children = [(*cell[:axis], part, *cell[axis + 1 :]) for part in groups]
            for parts in product(*(list(policies(world, colluders, down, child, rest)) for child in children)):
                below = {value: cells for part in parts for value, cells in part.items()}
                yield {value: here[value] | below[value] for value in inside}


def total(world: World, colluders: Colluders, released: dict[slow.Values, dict[int, slow.Cell]], rule: Rule) -> float:
    everybody = range(len(colluders.members))
    worths = [
        number * worth(world, colluders, [released[value][j] for j in everybody], rule)
        for value, number in world.people.items()
    ]
    return sum(worths)


@st.composite
def tiny_worlds(draw: st.DrawFn) -> World:
    world = draw(worlds(max_attributes=2, max_count=9))
    leaves = [len(rows) for rows in world.rows]
    levels = [len(rows[0]) for rows in world.rows]
    if len(leaves) == 2 and (max(leaves) > 3 or max(levels) > 2):
        people = {value[:1]: number for value, number in world.people.items()}
        world = World(world.rows[:1], people, people, world.payoffs, (1.0,))
    return world


@QUICK
@given(world=tiny_worlds(), rule=RULES, sparse=st.booleans(), data=st.data())
def test_nested_partitions_as_every_tree(world: World, rule: Rule, sparse: bool, data: st.DataObject) -> None:
    colluders = data.draw(colluding(sum(world.people.values()), most=2))
    whole = tuple(frozenset(row[0] for row in rows) for rows in world.rows)
    top = tuple(len(rows[0]) - 1 for rows in world.rows)
    everybody = tuple(range(len(colluders.members)))
    best = max(
        total(world, colluders, released, rule) for released in policies(world, colluders, top, whole, everybody)
    )
    problem, people = world.problem(sparse=sparse), world.cube(world.people, sparse=sparse)
    if not np.isfinite(best):
        with pytest.raises(StageFailed, match="nobody would attack"):
            nested_partitions(problem, people, colluders, rule)
        return
    found = nested_partitions(problem, people, colluders, rule)
    assert found.total == pytest.approx(best, abs=1e-6)


@QUICK
@given(world=worlds(), rule=RULES, sparse=st.booleans(), data=st.data())
def test_released_cells_bring_what_is_claimed(world: World, rule: Rule, sparse: bool, data: st.DataObject) -> None:
    colluders = data.draw(colluding(sum(world.people.values())))
    problem, people = world.problem(sparse=sparse), world.cube(world.people, sparse=sparse)
    try:
        found = nested_partitions(problem, people, colluders, rule)
    except StageFailed:
        return
    values = list(world.people)
    levels = found.levels(world.codes(values))
    released = {
        value: {j: slow.cell_of(world, value, tuple(levels[j, row])) for j in range(len(levels))}
        for row, value in enumerate(values)
    }
    assert total(world, colluders, released, rule) == pytest.approx(found.total, abs=1e-6)
    for j in range(len(levels)):
        sizes: dict[slow.Cell, int] = {}
        for value, number in world.people.items():
            sizes[released[value][j]] = sizes.get(released[value][j], 0) + number
        assert all(slow.count(world.people, cell) == size for cell, size in sizes.items()), "cells do not overlap"
    shared = _shared_total(problem, people, colluders, rule)
    assert found.total >= shared - 1e-6
    if len(colluders.members) == 1 and colluders.weights == (1.0,):
        one = partition(replace(problem, payoffs=colluders.members[0]), people, rule)
        assert one.total == pytest.approx(found.total, abs=1e-6)
        np.testing.assert_array_equal(one.levels(world.codes(values)), levels[0])


def _shared_total(problem, people, colluders: Colluders, rule: Rule) -> float:
    try:
        return partition(replace(problem, payoffs=colluders.shared), people, rule).total
    except StageFailed:
        return -np.inf


def test_by_hand(pair_world: World) -> None:
    # EASY leaves groups from 2 people alone, EAGER from 6. b12 of all has 6 people, a1 with b12 has 2.
    easy, eager = Payoffs(benefit=90, loss=60, gain=20, cost=10), Payoffs(benefit=90, loss=60, gain=60, cost=10)
    problem, codes = pair_world.problem(), pair_world.codes([("a1", "b1")])
    lattice = problem.lattice.nodes

    def play(probability: float) -> tuple[list[list[int]], float]:
        nodes, payoffs = solve_separately(
            problem, codes, Colluders.all_or_none([easy, eager], probability), Rule.NO_ATTACK
        )
        return lattice[nodes[0]].tolist(), float(payoffs[0])

    # Alone: EASY gets (a1, b12) or (*, b1), worth 60; EAGER (*, b12), 30. Together they would see EASY's 2 or 3 people.
    assert play(0.0) == ([[0, 1], [1, 1]], pytest.approx(90))
    assert play(0.1) == ([[1, 1], [1, 1]], pytest.approx(60))
    assert play(1.0) == ([[1, 1], [1, 1]], pytest.approx(60))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda one: Colluders.all_or_none([one][:0], 0.5),
        lambda one: Colluders.all_or_none([one] * 7, 0.5),
        lambda one: Colluders.one_pair([one, one], 1.5),
        lambda one: Colluders((one, one), (1.0, 1.0), (((0,), 1.0),)),
        lambda one: Colluders((one, one), (1.0, 1.0), (((1, 0), 1.0),)),
        lambda one: Colluders((one,), (0.0,), (((0,), 1.0),)),
    ],
)
def test_impossible_hands_are_refused(wrong, pair_world: World) -> None:
    with pytest.raises(ParameterError, match="cannot collude"):
        wrong(pair_world.payoffs)


def test_cells_are_divided_for_four_recipients_at_most(pair_world: World) -> None:
    problem = pair_world.problem()
    with pytest.raises(ParameterError, match="too many recipients"):
        nested_partitions(problem, problem.people, Colluders.one_pair([pair_world.payoffs] * 5, 0.5), Rule.BASIC)
    with pytest.raises(TypeError, match="same form"):
        nested_partitions(
            problem,
            pair_world.cube(pair_world.people, sparse=True),
            Colluders.one_pair([pair_world.payoffs], 0.0),
            Rule.BASIC,
        )
