"""Hierarchies in integer form: groups are nested runs of leaves with names of their own; all else is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import HierarchyError
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.support.silence import CANARY, assert_silent
from tests.support.worlds import Rows, hierarchy_rows

QUICK = settings(deadline=None, max_examples=50)
ANY_ROWS = hierarchy_rows(max_leaves=9, max_levels=5)
RACE = [
    ["White", "White", "White", "*"],
    ["Asian", "Other races", "Non-White", "*"],
    ["Black", "Black", "Non-White", "*"],
    ["Other", "Other races", "Non-White", "*"],
]


def test_by_hand() -> None:
    tree = hierarchy_from_rows("race", RACE, "test")
    assert tree.labels == (
        ("White", "Asian", "Other", "Black"),
        ("White", "Other races", "Black"),
        ("White", "Non-White"),
        ("*",),
    )
    assert tree.groups.tolist() == [[0, 0, 0, 0], [1, 1, 1, 0], [2, 1, 1, 0], [3, 2, 1, 0]]
    assert (tree.n_leaves, tree.n_levels, tree.axis_length) == (4, 4, 10)
    assert tree.offsets.tolist() == [0, 4, 7, 9, 10]
    assert tree.positions.tolist() == [[0, 4, 7, 9], [1, 5, 8, 9], [2, 5, 8, 9], [3, 6, 8, 9]]
    assert tree.axis_levels.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]
    assert tree.sizes.tolist() == [1, 1, 1, 1, 1, 2, 1, 1, 3, 4]
    assert tree.finest.tolist() == [0, 1, 2, 3, 0, 5, 3, 0, 8, 9]
    assert [tree.starts(level).tolist() for level in range(4)] == [[0, 1, 2, 3], [0, 1, 3], [0, 1], [0]]
    assert [tree.child_starts(level).tolist() for level in (1, 2, 3)] == [[0, 1, 3], [0, 1], [0]]
    assert tree.axis_labels.index("White") == 0
    assert tree.axis_labels.index("Non-White") == 8
    assert tree.encode(["Black", "White", "Martian", "White"]).tolist() == [3, 0, -1, 0]
    assert tree.encode([]).tolist() == []


@QUICK
@given(rows=ANY_ROWS)
def test_groups_are_runs_nested_and_cover_the_domain(rows: Rows) -> None:
    tree = hierarchy_from_rows("a", rows, "test")
    assert sorted(tree.labels[0]) == sorted(row[0] for row in rows)
    own = {row[0]: row for row in rows}
    for leaf, value in enumerate(tree.labels[0]):
        assert [tree.labels[level][group] for level, group in enumerate(tree.groups[leaf])] == own[value]
    for level in range(tree.n_levels):
        steps = np.diff(tree.groups[:, level], prepend=-1)
        assert set(steps.tolist()) <= {0, 1}, "groups are numbered along the leaves, each a run"
        at_level = tree.sizes[tree.offsets[level] : tree.offsets[level + 1]]
        assert at_level.sum() == tree.n_leaves
        assert at_level.tolist() == [sum(1 for row in rows if row[level] == label) for label in tree.labels[level]]
    for level in range(1, tree.n_levels):
        children = tree.child_starts(level)
        assert len(children) == len(tree.labels[level])
        for group, first in enumerate(children):
            below = tree.groups[tree.groups[:, level] == group, level - 1]
            assert first == below.min()
    assert len(tree.labels[-1]) == 1


@QUICK
@given(rows=ANY_ROWS)
def test_finest_names_the_lowest_level_with_the_same_leaves(rows: Rows) -> None:
    tree = hierarchy_from_rows("a", rows, "test")
    members = {
        position: frozenset(np.flatnonzero(tree.positions[:, level] == position).tolist())
        for level in range(tree.n_levels)
        for position in tree.positions[:, level].tolist()
    }
    for position in range(tree.axis_length):
        assert tree.finest[position] == min(p for p, leaves in members.items() if leaves == members[position])
        label = tree.axis_labels[position]
        assert members[tree.axis_labels.index(label)] == members[position], "a label means one set of values"


@QUICK
@given(rows=ANY_ROWS, data=st.data())
def test_row_order_changes_the_numbers_and_nothing_else(rows: Rows, data: st.DataObject) -> None:
    other = hierarchy_from_rows("a", data.draw(st.permutations(rows)), "test")
    tree = hierarchy_from_rows("a", rows, "test")
    leaf = other.encode(tree.labels[0])
    for level in range(tree.n_levels):
        here = [tree.labels[level][group] for group in tree.groups[:, level]]
        there = [other.labels[level][group] for group in other.groups[leaf, level]]
        assert here == there


REFUSED = {
    "empty": ([], "is empty", ""),
    "unequal depth": ([["a", "x", "*"], ["b", "*"], ["c", "x", "*"]], "unequal depth", "row 2"),
    "no level": ([["a"], ["b"]], "no level above", ""),
    "hole in a level": ([["a", "x", "*"], ["b", "", "*"], ["c", "x", "*"]], "has a hole", "level 1, row 2"),
    "hole in a leaf": ([["a", "x", "*"], ["", "x", "*"]], "has a hole", "level 0, row 2"),
    "hole at the top": ([["a", "x", ""], ["b", "x", "*"]], "has a hole", "level 2, row 1"),
    "leaf twice": ([["a", "x", "*"], ["b", "x", "*"], ["a", "x", "*"]], "occurs twice", "row 3"),
    "two tops": ([["a", "x"], ["b", "y"], ["c", "y"]], "last level of the hierarchy is not one group", ""),
    "two parents": (
        [["a", "x", "p", "*"], ["b", "x", "q", "*"], ["c", "y", "q", "*"], ["d", "x", "q", "*"]],
        "two parents",
        "level 2, rows 2, 4",
    ),
    "cycle": ([["a", "b", "a"], ["b", "b", "a"]], "cycle", "level 1"),
    "value named as another group": ([["a", "b", "*"], ["b", "y", "*"]], "different groups", "level 1"),
    "group named as a smaller one": (
        [["a", "x", "x", "*"], ["b", "y", "x", "*"], ["c", "z", "z", "*"]],
        "different groups",
        "level 2",
    ),
    "top named as a value": ([["a", "x", "a"], ["b", "x", "a"]], "different groups", "level 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_tree_is_refused_at_its_place(case: str) -> None:
    rows, what, where = REFUSED[case]
    with pytest.raises(HierarchyError, match=what) as caught:
        hierarchy_from_rows("a", rows, "the file")
    assert caught.value.where.startswith("the file")
    assert where in caught.value.where
    assert caught.value.expected
    assert caught.value.fix


@pytest.mark.parametrize("case", [case for case in REFUSED if case != "empty"])
def test_no_refusal_shows_a_label(case: str) -> None:
    rows, _, _ = REFUSED[case]
    secret = [[label and f"{CANARY}{label}" for label in row] for row in rows]
    with pytest.raises(HierarchyError) as caught:
        hierarchy_from_rows("a", secret, "the file")
    assert_silent(caught.value)


def test_a_group_that_grows_no_further_may_keep_its_label() -> None:
    tree = hierarchy_from_rows("a", [["a", "a", "*"], ["b", "x", "*"], ["c", "x", "*"]], "test")
    assert tree.labels[1] == ("a", "x")
    alone = hierarchy_from_rows("a", [["only", "only"]], "test")
    assert alone.finest.tolist() == [0, 0]
