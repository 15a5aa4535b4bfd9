"""Every method, played on small random worlds, gives each tuple the cell and the group sizes of plain loops."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.safe_harbor import safe_harbor_axis
from tasks.generalization.game.zip3 import ZipTable
from tasks.generalization.generalize import generalize, overlapping
from tasks.generalization.methods.common_strategy import common_strategy
from tasks.generalization.methods.registry import MOST_BY_RECORD, compared_with
from tasks.request.model import Method, SafeHarborRule
from tests.support import slow
from tests.support.examples import examples
from tests.support.generalization import NO_ATTACK, cells_as_sets, slow_rule, table_of, values_of
from tests.support.worlds import WITHOUT_TERMS, World, worlds

QUICK = settings(deadline=None, max_examples=examples(50))
MEBIBYTE = 2**20


@QUICK
@given(
    world=worlds(max_attributes=2),
    method=st.sampled_from(WITHOUT_TERMS),
    dense=st.booleans(),
    cell_weights=st.sampled_from(["population", "data"]),
    data=st.data(),
)
def test_as_plain_loops(world: World, method: Method, dense: bool, cell_weights: str, data: st.DataObject) -> None:
    floors = data.draw(st.tuples(*(st.integers(0, height - 1) for height in slow.heights(world))), label="floors")
    table = table_of(world, floors, MEBIBYTE if dense else 0)
    assert table.people.form == table.records.form == ("dense" if dense else "sparse")
    payoffs, weights = world.payoffs, np.array(world.weights)
    if method in NO_ATTACK and payoffs.cost * sum(world.people.values()) < payoffs.gain:
        with pytest.raises(StageFailed):
            generalize(table, method, payoffs, weights, cell_weights)
        return
    generalization = generalize(table, method, payoffs, weights, cell_weights)
    own = slow_rule(world, method, floors, cell_weights)
    sizes = slow.informed(world, own)
    values = values_of(table, table.data.codes)
    for row, (value, cell) in enumerate(zip(values, cells_as_sets(table, generalization), strict=True)):
        assert cell == own(value)
        assert cell == slow.cell_of(world, value, tuple(int(level) for level in generalization.levels[row]))
        assert generalization.kept[row] == pytest.approx(slow.kept(world, cell), abs=1e-12)
        assert generalization.people[row] == slow.count(world.people, cell)
        assert generalization.effective[row] == sizes(cell)
    assert generalization.withheld is None
    assert generalization.k_anonymity is None
    for axis, tree in enumerate(table.hierarchies):
        np.testing.assert_array_equal(tree.finest[generalization.cells[:, axis]], generalization.cells[:, axis])
    assert (generalization.effective <= generalization.people).all()
    if not overlapping(table, method):
        np.testing.assert_array_equal(generalization.effective, generalization.people)


@settings(deadline=None, max_examples=examples(25))
@given(world=worlds(max_attributes=2))
def test_common_strategy_is_that_of_plain_loops(world: World) -> None:
    chosen = common_strategy(world.problem(), world.tuples(world.records))
    assert tuple(int(level) for level in chosen) == slow.common_strategy(world)


def test_safe_harbor_groups_that_no_level_has_count_their_people_and_their_values() -> None:
    rows = [["37010", "370**", "*"], ["37011", "370**", "*"], ["38001", "380**", "*"], ["03601", "036**", "*"]]
    people = {("37010",): 3, ("37011",): 4, ("38001",): 5, ("03601",): 6}
    world = World((rows,), people, {("37010",): 1, ("03601",): 2}, Payoffs(90, 60, 60, 10), (2.0,))
    zips = ZipTable("test", "", {"370": 30_000, "380": 20_000})
    tree = world.hierarchies[0]
    axis = safe_harbor_axis(tree, SafeHarborRule.ZIP, zips)
    table = CountIndex((tree,), (axis,), world.tuples(world.records), world.tuples(people), MEBIBYTE)
    generalization = generalize(table, Method.SAFE_HARBOR, world.payoffs, np.array(world.weights))
    released = [table.axis_labels[0][position] for position in generalization.cells[:, 0]]
    by_label = dict(zip(released, range(2), strict=True))
    assert set(by_label) == {"370**", "000"}
    zeros, shown = by_label["000"], by_label["370**"]
    assert generalization.people[zeros] == generalization.effective[zeros] == 11
    assert generalization.people[shown] == generalization.effective[shown] == 7
    np.testing.assert_allclose(generalization.kept[[zeros, shown]], [0.5, 0.5])
    assert table.axis_sizes == (tree.axis_length + 1,)


def test_a_partition_pays_for_the_people_or_for_the_records(pair_world: World) -> None:
    # All 6 people of b12 together pay 180, more than in any split of theirs; its one record, 90 - 110/2 by itself, does
    # best as a leaf.
    payoffs = Payoffs(benefit=90, loss=110, gain=60, cost=10)
    world = World(pair_world.rows, pair_world.people, {("a2", "b1"): 1}, payoffs, pair_world.weights)
    for memory_limit in (MEBIBYTE, 0):
        table = table_of(world, (0, 0), memory_limit)
        by_people = generalize(table, Method.BASIC_PARTITION, payoffs, np.ones(2))
        assert by_people.levels.tolist() == [[1, 1]]
        assert by_people.people.tolist() == [6]
        by_records = generalize(table, Method.BASIC_PARTITION, payoffs, np.ones(2), "data")
        assert by_records.levels.tolist() == [[0, 0]]
        assert by_records.people.tolist() == [2]


def test_k_anonymity_without_terms_fails(pair_world: World) -> None:
    table = table_of(pair_world, (0, 0), MEBIBYTE)
    with pytest.raises(StageFailed, match="k-anonymity has no terms"):
        generalize(table, Method.K_ANONYMITY, pair_world.payoffs, np.ones(2))


def test_without_a_strategy_for_somebody_the_stage_fails(pair_world: World) -> None:
    table = table_of(pair_world, (0, 0), MEBIBYTE)
    eager = Payoffs(benefit=90, loss=60, gain=100.5, cost=10)
    for method in NO_ATTACK:
        with pytest.raises(StageFailed, match="nobody would attack") as caught:
            generalize(table, method, eager, np.ones(2))
        assert "at least 11 people" in caught.value.expected
    just_enough = Payoffs(benefit=90, loss=60, gain=100, cost=10)
    assert generalize(table, Method.NO_ATTACK, just_enough, np.ones(2)).people.tolist() == [10]


def test_what_was_played_is_shared_only_between_equal_stakes(pair_world: World) -> None:
    table = table_of(pair_world, (0, 0), MEBIBYTE)
    stakes = [Payoffs(benefit=90, loss=loss, gain=60, cost=10) for loss in range(5, 130, 5)]
    weights = (np.ones(2), np.array([2.0, 1.0]))

    def outcomes(table: CountIndex) -> list[tuple[float, list[int]]]:
        generalization = [generalize(table, Method.BASIC, payoffs, weight) for payoffs in stakes for weight in weights]
        return [(float(one.kept[0]), one.people.tolist()) for one in generalization]

    fresh = [
        (float(one.kept[0]), one.people.tolist())
        for payoffs in stakes
        for weight in weights
        for one in [generalize(table_of(pair_world, (0, 0), MEBIBYTE), Method.BASIC, payoffs, weight)]
    ]
    assert outcomes(table) == outcomes(table) == fresh
    assert len({kept for kept, _ in fresh}) > 2
    again = generalize(table, Method.COMMON, stakes[0], weights[0], "data")
    assert generalize(table, Method.COMMON, stakes[0], weights[0], "population") is again
    by_people = generalize(table, Method.BASIC_PARTITION, stakes[0], weights[0], "population")
    assert generalize(table, Method.BASIC_PARTITION, stakes[0], weights[0], "data") is not by_people


def test_methods_are_compared_only_where_that_is_quick() -> None:
    def compared(choices: int, *, kept: bool = True, chosen: Method = Method.COMMON) -> set[Method]:
        return set(compared_with(chosen, cast(CountIndex, SimpleNamespace(choices=choices, keeps_cells=kept))))

    few = compared(MOST_BY_RECORD)
    assert few == set(Method) - {Method.NO_ATTACK_REMAINDER}
    assert few - compared(MOST_BY_RECORD + 1) == {
        Method.BASIC,
        Method.NO_ATTACK,
        Method.NO_ATTACK_COMMON,
        Method.SH_FRIENDLY,
    }
    assert Method.BASIC in compared(MOST_BY_RECORD + 1, chosen=Method.BASIC)
    assert few - compared(MOST_BY_RECORD, kept=False) == {Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION}


def test_cells_of_a_cube_or_of_few_tuples_are_kept(pair_world: World) -> None:
    dense, sparse = (table_of(pair_world, (0, 0), limit) for limit in (MEBIBYTE, 0))
    assert (dense.people.form, sparse.people.form) == ("dense", "sparse")
    assert dense.keeps_cells
    assert sparse.keeps_cells
