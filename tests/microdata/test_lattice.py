"""The lattice of strategies, numbered in lexicographic order."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.microdata.cube import Lattice
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.support.examples import examples


@settings(deadline=None, max_examples=examples(30))
@given(heights=st.lists(st.integers(2, 5), min_size=1, max_size=4).map(tuple))
def test_nodes_are_all_combinations_in_lexicographic_order(heights: tuple[int, ...]) -> None:
    lattice = Lattice(heights)
    nodes = list(product(*(range(height) for height in heights)))
    assert [tuple(node) for node in lattice.nodes.tolist()] == nodes
    assert lattice.number(lattice.nodes).tolist() == list(range(len(lattice)))
    intensity = lattice.intensity(lattice.nodes)
    np.testing.assert_allclose(intensity, [sum(node) / (sum(heights) - len(heights)) for node in nodes])
    assert (intensity[0], intensity[-1]) == (0, 1)


def test_heights_are_the_levels_of_the_hierarchies() -> None:
    short = hierarchy_from_rows("a", [["x", "*"]], "test")
    tall = hierarchy_from_rows("b", [["x", "y", "z", "*"]], "test")
    assert Lattice.of([tall, short]).heights == (4, 2)
