"""One strategy for all: the same as by plain loops where levels cross and where the cube is sparse, and few counted."""

from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.generalization.game.payoffs import Floats, InformationLoss, Payoffs
from tasks.generalization.game.problem import Problem
from tasks.generalization.methods.common_strategy import common_strategy
from tasks.microdata.cube import SparseCube
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, distinct_tuples
from tests.support import adult_eight, slow
from tests.support.adult import PAYOFFS
from tests.support.examples import examples
from tests.support.worlds import World, worlds


def tree(name: str, groups: list[list[int]]) -> Hierarchy:
    labels = tuple(
        tuple(f"{name}{level}.{group}" for group in range(max(column) + 1))
        for level, column in enumerate(zip(*groups, strict=True))
    )
    return Hierarchy(name, labels, np.array(groups, dtype=np.int32))


CROSSING = tree("age", [[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 0, 0], [3, 1, 1, 0], [4, 2, 1, 0], [5, 2, 1, 0]])
"""Pairs on one level, halves on the next, and the pair in the middle is in both halves."""
NESTED = tree("band", [[0, 0, 0], [1, 0, 0], [2, 1, 0]])


@settings(deadline=None, max_examples=examples(20))
@given(world=worlds(max_attributes=2))
def test_a_sparse_cube_gives_that_of_plain_loops(world: World) -> None:
    chosen = common_strategy(world.problem(sparse=True), world.tuples(world.records))
    reached = {value: n for value, n in world.records.items() if value in world.people}
    if len(reached) == len(world.records):
        assert tuple(int(level) for level in chosen) == slow.common_strategy(world)


@settings(deadline=None, max_examples=examples(25))
@given(
    counts=st.lists(st.integers(0, 4), min_size=18, max_size=18).filter(any),
    gain=st.sampled_from([10, 30, 60]),
    loss=st.sampled_from([5, 60, 300]),
)
def test_levels_that_cross(counts: list[int], gain: int, loss: int) -> None:
    trees = (CROSSING, NESTED)
    world = {value: n for value, n in zip(product(range(6), range(3)), counts, strict=True) if n}
    people, _ = distinct_tuples(np.array(list(world), dtype=np.int32), trees, np.array(list(world.values())))
    payoffs = Payoffs(benefit=90, loss=loss, gain=gain, cost=10)
    problem = Problem(trees, InformationLoss(trees, np.ones(2)), payoffs, SparseCube(people, people, trees))

    def paid(levels: tuple[int, ...]) -> float:
        total = 0.0
        for value, n in world.items():
            parts = [
                np.flatnonzero(one.groups[:, level] == one.groups[leaf, level])
                for one, leaf, level in zip(trees, value, levels, strict=True)
            ]
            size = sum(m for other, m in world.items() if all(v in part for v, part in zip(other, parts, strict=True)))
            kept = 1 - sum(log(len(part)) for part in parts) / log(18)
            total += n * (90 * kept - (loss / size if 10 * size < gain else 0))
        return total

    worth = {levels: paid(levels) for levels in product(range(4), range(3))}
    best = max(worth.values())
    first = next(levels for levels, total in worth.items() if total >= best - 1e-9)
    assert tuple(int(level) for level in common_strategy(problem, people)) == first


def test_of_tens_of_thousands_of_strategies_few_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    table = adult_eight.table(0.0001, records=200, memory_limit=2**20)
    loss = InformationLoss(table.hierarchies, np.array([1.0, 1, 0, 1, 1, 1, 1, 1]))
    problem = Problem(table.hierarchies, loss, PAYOFFS, table.people)
    counted, evaluate = [], Problem.evaluate

    def counting(self: Problem, codes: Codes, levels: Codes) -> tuple[Floats, Counts]:
        counted.append(levels)
        return evaluate(self, codes, levels)

    monkeypatch.setattr(Problem, "evaluate", counting)
    chosen = common_strategy(problem, table.data)
    assert len(counted) < 200 < len(problem.lattice) == 55_296
    value, people = evaluate(problem, table.data.codes, chosen)
    best = table.data.counts @ PAYOFFS.publisher(value, people)
    nodes = problem.lattice.nodes
    for node in nodes[np.random.default_rng(8).choice(len(nodes), 300, replace=False)]:
        value, people = evaluate(problem, table.data.codes, node)
        assert table.data.counts @ PAYOFFS.publisher(value, people) <= best + 1e-6
