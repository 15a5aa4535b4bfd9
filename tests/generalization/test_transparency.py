"""What a recipient gains who knows the rule: effective sizes by hand, and by plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import BadInput
from tasks.generalization.game.transparency import cell_numbers, effective_sizes
from tests.support.examples import examples


def test_effective_sizes_by_hand() -> None:
    own, people = np.array([7, 7, 2, 9]), np.array([10, 5, 1, 100])
    assert effective_sizes(np.array([7, 2, 9, 7]), own, people).tolist() == [15, 1, 100, 15]


def test_a_cell_that_is_nobodys_own_has_nobody_in_it() -> None:
    own, people = np.array([3, 5]), np.array([4, 6])
    assert effective_sizes(np.array([1, 4, 8, 5]), own, people).tolist() == [0, 0, 0, 6]


@settings(deadline=None, max_examples=examples(50))
@given(
    own=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 50)), min_size=1, max_size=20),
    released=st.lists(st.integers(0, 11), max_size=10),
)
def test_effective_sizes_as_plain_loops(own: list[tuple[int, int]], released: list[int]) -> None:
    cells, people = (np.array(column) for column in zip(*own, strict=True))
    got = effective_sizes(np.array(released, dtype=np.int64), cells, people)
    assert got.tolist() == [sum(n for cell, n in own if cell == asked) for asked in released]


@settings(deadline=None, max_examples=examples(50))
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_every_cell_has_a_number_of_its_own(sizes: list[int]) -> None:
    cells = np.array(list(np.ndindex(*sizes)), dtype=np.int32)
    numbers = cell_numbers(cells, sizes)
    assert numbers.tolist() == list(range(len(cells)))


def test_more_cells_than_can_be_numbered_are_refused() -> None:
    with pytest.raises(BadInput, match="more combinations than can be numbered"):
        cell_numbers(np.zeros((1, 4), dtype=np.int32), [2**16] * 4)
