"""Counts of every cell of every strategy: dense against naive counting, sparse against dense within its reach."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import BadInput
from tasks.microdata.cube import DenseCube, SparseCube, cells_at, count_cube, cube_cells, dense_cube
from tasks.microdata.hierarchy import Codes, Hierarchy, hierarchy_from_rows
from tasks.microdata.tuples import Tuples
from tests.support.examples import examples
from tests.support.worlds import World, worlds

QUICK = settings(deadline=None, max_examples=examples(40))


def all_cells(hierarchies: tuple[Hierarchy, ...]) -> Codes:
    return np.array(list(product(*(range(tree.axis_length) for tree in hierarchies))), dtype=np.int32)


def naive_count(people: Tuples, hierarchies: tuple[Hierarchy, ...], cell: Codes) -> int:
    total = 0
    for code, number in zip(people.codes, people.counts, strict=True):
        inside = [at in tree.positions[leaf] for at, leaf, tree in zip(cell, code, hierarchies, strict=True)]
        total += int(number) if all(inside) else 0
    return total


@QUICK
@given(world=st.one_of(worlds(), worlds(max_attributes=2, crossing=True)))
def test_dense_counts_are_those_of_naive_counting(world: World) -> None:
    hierarchies, people = world.hierarchies, world.tuples(world.people)
    cube = dense_cube(people, hierarchies)
    cells = all_cells(hierarchies)[:: max(1, cube_cells(hierarchies) // 200)]
    assert cube.count(cells).tolist() == [naive_count(people, hierarchies, cell) for cell in cells]
    assert len(cube) == cube_cells(hierarchies) == cube.counts.size
    assert cube.counts[tuple([-1] * len(hierarchies))] == people.total


@QUICK
@given(world=st.one_of(worlds(), worlds(crossing=True)))
def test_sparse_counts_are_the_dense_ones_for_all_cells_in_reach(world: World) -> None:
    hierarchies, people = world.hierarchies, world.tuples(world.people)
    reach = world.tuples(world.records)
    sparse = SparseCube(people, reach, hierarchies)
    dense = dense_cube(people, hierarchies)
    levels = np.array(list(product(*(range(tree.n_levels) for tree in hierarchies))), dtype=np.int32)
    cells = np.concatenate([cells_at(reach.codes, node, hierarchies) for node in levels])
    np.testing.assert_array_equal(sparse.count(cells), dense.count(cells))
    assert sum(len(sparse.node(tuple(node.tolist()))[0]) for node in levels) == len(sparse)
    assert len(sparse) == len(np.unique(cells, axis=0))
    np.testing.assert_array_equal(sparse.count(cells), dense.count(cells))


@QUICK
@given(world=worlds(max_attributes=2))
def test_sparse_counts_are_nothing_out_of_reach(world: World) -> None:
    hierarchies, people = world.hierarchies, world.tuples(world.people)
    reach = world.tuples(world.records)
    cells = all_cells(hierarchies)
    reached = np.array([naive_count(reach, hierarchies, cell) > 0 for cell in cells])
    expected = np.where(reached, dense_cube(people, hierarchies).count(cells), 0)
    np.testing.assert_array_equal(SparseCube(people, reach, hierarchies).count(cells), expected)


@QUICK
@given(world=worlds(), data=st.data())
def test_cells_by_levels_of_each_tuple_or_of_all(world: World, data: st.DataObject) -> None:
    hierarchies = world.hierarchies
    codes = world.codes(world.all_values)
    one = st.tuples(*(st.integers(0, tree.n_levels - 1) for tree in hierarchies))
    levels = np.array(data.draw(st.lists(one, min_size=len(codes), max_size=len(codes))), dtype=np.int32)
    cells = cells_at(codes, levels, hierarchies)
    for code, level, cell in zip(codes, levels, cells, strict=True):
        assert cell.tolist() == [
            tree.positions[leaf, at] for leaf, at, tree in zip(code, level, hierarchies, strict=True)
        ]
    np.testing.assert_array_equal(
        cells_at(codes, levels[0], hierarchies),
        cells_at(codes, np.tile(levels[0], (len(codes), 1)), hierarchies),
    )


@settings(deadline=None, max_examples=examples(15))
@given(world=worlds(max_attributes=2))
def test_the_form_follows_the_memory_limit(world: World) -> None:
    hierarchies, people = world.hierarchies, world.tuples(world.people)
    needed = cube_cells(hierarchies) * 8
    assert isinstance(count_cube(people, hierarchies, people, needed), DenseCube)
    assert isinstance(count_cube(people, hierarchies, people, needed - 1), SparseCube)


def test_no_cells_have_no_counts() -> None:
    """As where nobody else is in reach of the cells that are asked for."""
    tree = hierarchy_from_rows("a", [["x", "*"], ["y", "*"]], "test")
    people = Tuples(np.array([[0], [1]], dtype=np.int32), np.array([3, 4]), np.array([0, 1]))
    for cube in (SparseCube(people, people, [tree]), dense_cube(people, [tree])):
        assert cube.count(np.zeros((0, 1), dtype=np.int32)).tolist() == []


def test_counts_beyond_32_bits_do_not_overflow() -> None:
    tree = hierarchy_from_rows("a", [["x", "*"], ["y", "*"]], "test")
    codes = np.array([[0], [1]], dtype=np.int32)
    people = Tuples(codes=codes, counts=np.array([2**31 - 1, 2**31 - 1]), keys=np.array([0, 1]))
    cube = dense_cube(people, [tree])
    assert cube.counts.tolist() == [2**31 - 1, 2**31 - 1, 2**32 - 2]
    assert SparseCube(people, people, [tree]).count(np.array([[2]], dtype=np.int32)).tolist() == [2**32 - 2]
    small = dense_cube(Tuples(codes, np.array([2**30, 2**30 - 1]), people.keys), [tree])
    assert small.count(np.array([[2]], dtype=np.int32)).tolist() == [2**31 - 1]


def test_a_lattice_with_more_cells_than_numbers_is_refused() -> None:
    trees = [
        hierarchy_from_rows(f"q{number}", [[str(leaf), "*"] for leaf in range(2000)], "test") for number in range(6)
    ]
    one = Tuples(np.zeros((1, 6), dtype=np.int32), np.array([1]), np.array([0]))
    with pytest.raises(BadInput, match="more combinations"):
        count_cube(one, trees, one, 2**30).count(np.zeros((1, 6), dtype=np.int32))
