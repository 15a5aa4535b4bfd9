"""Cells by height: all that somebody is in, once each, their counts, and the cell above along each axis."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.microdata import cell_layers
from tasks.microdata.cell_layers import CellLayers, Layer
from tasks.microdata.cube import cells_at, dense_cube
from tasks.microdata.hierarchy import Hierarchy
from tests.support.examples import examples
from tests.support.worlds import PAIR_WORLD, World, worlds


@settings(deadline=None, max_examples=examples(40))
@given(world=worlds(), sparse=st.booleans(), few=st.booleans(), least=st.integers(0, 4))
def test_as_counted_node_by_node(world: World, sparse: bool, few: bool, least: int) -> None:
    trees, people, records = world.hierarchies, world.tuples(world.people), world.tuples(world.records)
    cubes = (world.cube(counts, sparse=sparse) for counts in (world.people, world.records))
    codes = np.concatenate([people.codes, records.codes])
    dense, filed = (dense_cube(one, trees) for one in (people, records))
    nodes = [np.array(levels, dtype=np.int32) for levels in product(*(range(tree.n_levels) for tree in trees))]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cell_layers, "_KEPT", 2**22 if few else 0)
        layers = CellLayers(trees, *cubes)
        made = list(layers.upward(least))
    levels_in_all = sum(tree.n_levels - 1 for tree in trees) + 1
    assert len(made) == (levels_in_all if few or sparse else len(nodes))
    leaves_out = least > 0 and not few and not sparse
    for height in range(levels_in_all):
        here = [layer for layer in made if layer.height == height]
        cells = np.unique(np.concatenate([cells_at(codes, at, trees) for at in nodes if at.sum() == height]), axis=0)
        if leaves_out:
            cells = cells[dense.count(cells) >= least]
        order = np.argsort(numbers := np.concatenate([layer.numbers for layer in here]))
        assert sparse <= (np.diff(numbers) > 0).all()
        for counted, expected in (("cells", cells), ("people", dense.count(cells)), ("records", filed.count(cells))):
            np.testing.assert_array_equal(np.concatenate([getattr(one, counted) for one in here])[order], expected)
        for layer in here:
            check_links(trees, made, layer)


def check_links(trees: tuple[Hierarchy, ...], made: list[Layer], layer: Layer) -> None:
    """Each part of each cell along an attribute is linked to it, and to no other."""
    whole_of = {tuple(cell): place for place, cell in enumerate(layer.cells.tolist())}
    expected = {
        (axis, part, whole)
        for below in made
        for part in map(tuple, below.cells.tolist() if below.height == layer.height - 1 else ())
        for axis, tree in enumerate(trees)
        if (level := int(tree.axis_levels[part[axis]]) + 1) < tree.n_levels
        for leaf in [int(np.flatnonzero((tree.positions == part[axis]).any(axis=1))[0])]
        if (whole := whole_of.get((*part[:axis], int(tree.positions[leaf, level]), *part[axis + 1 :]))) is not None
    }
    linked = [
        (axis, tuple(made[below].cells[row].tolist()), whole)
        for axis, below, rows, places in layer.links
        for row, whole in zip(rows.tolist(), places.tolist(), strict=True)
    ]
    assert len(linked) == len(expected)
    assert set(linked) == expected


def test_few_cells_are_found_once_and_many_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    cube = PAIR_WORLD.cube(PAIR_WORLD.people, sparse=True)
    layers = CellLayers(PAIR_WORLD.hierarchies, cube, cube)
    assert next(layers.upward()) is next(layers.upward())
    monkeypatch.setattr(cell_layers, "_KEPT", 35)  # 6 tuples at 2 · 3 strategies may have 36 cells
    many = CellLayers(PAIR_WORLD.hierarchies, cube, cube)
    assert next(many.upward()) is not next(many.upward())
