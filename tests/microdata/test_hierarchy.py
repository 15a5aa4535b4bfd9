"""Hierarchies in integer form: groups are nested runs of leaves with names of their own; all else is refused, but for
levels that cross where that is declared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import HierarchyError
from tasks.microdata.hierarchy import MISSING, Hierarchy, check_trees, from_level, hierarchy_from_rows, with_leaf_apart
from tests.support.examples import examples
from tests.support.silence import CANARY, assert_silent
from tests.support.worlds import Rows, crossing_rows, hierarchy_rows

QUICK = settings(deadline=None, max_examples=examples(50))
ANY_ROWS = hierarchy_rows(max_leaves=9, max_levels=5)
RACE = [
    ["White", "White", "White", "*"],
    ["Asian", "Other races", "Non-White", "*"],
    ["Black", "Black", "Non-White", "*"],
    ["Other", "Other races", "Non-White", "*"],
]


def children(tree: Hierarchy, level: int) -> np.ndarray:
    """First group of the next lower level in each group of a level."""
    return tree.groups[tree.starts(level), level - 1]


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
    assert [children(tree, level).tolist() for level in (1, 2, 3)] == [[0, 1, 3], [0, 1], [0]]
    assert tree.axis_labels.index("White") == 0
    assert tree.axis_labels.index("Non-White") == 8
    assert tree.encode(["Black", "White", "Martian", "White"]).tolist() == [3, 0, -1, 0]
    assert tree.encode([]).tolist() == []


def test_a_hierarchy_from_a_level_on_takes_the_values_below_it() -> None:
    """Race by two groups: values and the groups' own names are known, those between are not."""
    tree = with_leaf_apart(from_level(hierarchy_from_rows("race", RACE, "test"), 2), MISSING)
    assert tree.labels == (("White", "Non-White", MISSING), ("*",))
    assert tree.groups.tolist() == [[0, 0], [1, 0], [2, 0]]
    assert tree.values == (("White",), ("Asian", "Other", "Black"), (MISSING,))
    assert tree.domain == {"White": 0, "Asian": 1, "Other": 1, "Black": 1, MISSING: 2}
    asked = ["Black", "White", "Non-White", "Other races", "Martian", MISSING]
    assert tree.encode(asked).tolist() == [1, 0, 1, -1, -1, 2]
    assert tree.encode(asked, groups=False).tolist() == [1, 0, -1, -1, -1, 2]
    assert (tree.sizes.tolist(), tree.missing_leaf) == ([1, 1, 1, 3], 2)
    whole = hierarchy_from_rows("race", RACE, "test")
    assert from_level(whole, 0) is whole


def test_levels_that_tell_nothing_or_cross_are_no_finest_level() -> None:
    with pytest.raises(HierarchyError, match=r"attributes\.race\.level") as caught:
        from_level(hierarchy_from_rows("race", RACE, "test"), 3)
    assert (caught.value.expected, caught.value.got) == ("0 to 2", "3")
    rows = [[str(age), f"{age // 5}", "minor" if age < 7 else "adult", "*"] for age in range(10)]
    rows = [[row[0], f"band {row[1]}", *row[2:]] for row in rows]
    crossing = hierarchy_from_rows("age", rows, "test", levels_may_cross=True)
    with pytest.raises(HierarchyError, match="parts in several groups"):
        from_level(crossing, 1)
    assert from_level(crossing, 2).labels == (("minor", "adult"), ("*",))


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
        firsts = children(tree, level)
        assert len(firsts) == len(tree.labels[level])
        for group, first in enumerate(firsts):
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


MINORS = [
    ["16", "15-17", "minor", "*"],
    ["17", "15-17", "minor", "*"],
    ["18", "18-19", "adult", "*"],
    ["19", "18-19", "adult", "*"],
]
BANDS = [
    [age, "15-17" if age < "18" else "18-20", "15-16" if age < "17" else "17-20", "*"]
    for age in map(str, range(15, 21))
]


def test_levels_that_cross_by_hand() -> None:
    ages = hierarchy_from_rows("age", BANDS, "test", levels_may_cross=True)
    assert not ages.is_tree
    assert ages.labels[1:] == (("15-17", "18-20"), ("15-16", "17-20"), ("*",))
    assert ages.groups[:, 1].tolist() == [0, 0, 0, 1, 1, 1]
    assert ages.groups[:, 2].tolist() == [0, 0, 1, 1, 1, 1]
    assert ages.sizes.tolist() == [1, 1, 1, 1, 1, 1, 3, 3, 2, 4, 6]
    assert ages.finest.tolist() == list(range(11)), "equal sizes of groups are not equal groups"
    assert [ages.nested_below(level) for level in (1, 2, 3)] == [0, 0, 2]
    with pytest.raises(HierarchyError, match="needs trees") as caught:
        check_trees("this needs trees", [hierarchy_from_rows("race", RACE, "test"), ages])
    assert caught.value.where == "attributes with levels that cross: age"


def test_levels_that_may_cross_and_do_not_are_the_tree() -> None:
    tree = hierarchy_from_rows("age", MINORS[::-1], "test")
    allowed = hierarchy_from_rows("age", MINORS[::-1], "test", levels_may_cross=True)
    assert allowed.is_tree
    assert allowed.labels == tree.labels
    np.testing.assert_array_equal(allowed.groups, tree.groups)


def test_numbers_that_are_out_of_order_are_put_in_order() -> None:
    ages = hierarchy_from_rows("age", [BANDS[row] for row in (3, 0, 5, 1, 4, 2)], "test", levels_may_cross=True)
    assert ages.labels[0] == tuple(row[0] for row in BANDS)


@QUICK
@given(rows=crossing_rows(max_leaves=7, max_levels=5))
def test_levels_that_may_cross_as_sets_of_leaves(rows: Rows) -> None:
    ages = hierarchy_from_rows("a", rows, "test", levels_may_cross=True)
    own = {row[0]: row for row in rows}
    sets = [
        {frozenset(np.flatnonzero(column == group).tolist()) for group in set(column.tolist())}
        for column in ages.groups.T
    ]
    members = {
        int(ages.positions[leaf, level]): next(part for part in sets[level] if leaf in part)
        for leaf in range(ages.n_leaves)
        for level in range(ages.n_levels)
    }
    for leaf, value in enumerate(ages.labels[0]):
        assert [ages.labels[level][group] for level, group in enumerate(ages.groups[leaf])] == own[value]
    for position, leaves in members.items():
        assert ages.sizes[position] == len(leaves)
        assert max(leaves) - min(leaves) + 1 == len(leaves)
        assert ages.finest[position] == min(p for p, others in members.items() if others == leaves)

    def nested(above: int, below: int) -> bool:
        return all(any(part <= whole for whole in sets[above]) for part in sets[below])

    pairs = [(above, below) for above in range(ages.n_levels) for below in range(above)]
    assert [ages.nests(*pair) for pair in pairs] == [nested(*pair) for pair in pairs]
    assert ages.is_tree == all(nested(level, level - 1) for level in range(1, ages.n_levels))
    for level in range(1, ages.n_levels):
        assert ages.nested_below(level) == max(below for below in range(level) if nested(level, below))


CROSSING_REFUSED = {
    "not declared": (BANDS, False, "two parents", "level 2, row 3"),
    "no order": (
        [["a", "x", "p", "*"], ["b", "y", "p", "*"], ["c", "x", "q", "*"], ["d", "y", "q", "*"]],
        True,
        "not runs of neighbouring rows",
        "level 1, rows 3, 4",
    ),
    "not in their order": ([BANDS[row] for row in (0, 3, 1, 2, 4, 5)], True, "not runs", "level 1, rows 3, 5"),
    "more groups above": (
        [["a", "x", "p", "*"], ["b", "x", "q", "*"], ["c", "y", "q", "*"], ["d", "y", "r", "*"]],
        True,
        "more groups than the one below",
        "level 2",
    ),
    "one name, two groups": (
        [["a", "x", "y", "*"], ["b", "x", "z", "*"], ["c", "y", "z", "*"]],
        True,
        "different groups",
        "level 2",
    ),
}


@pytest.mark.parametrize("case", CROSSING_REFUSED)
def test_levels_that_cross_are_refused_without_a_declaration_or_an_order(case: str) -> None:
    rows, declared, what, where = CROSSING_REFUSED[case]
    secret = [[f"{CANARY}{label}" for label in row] for row in rows]
    with pytest.raises(HierarchyError, match=what) as caught:
        hierarchy_from_rows("a", secret, "the file", levels_may_cross=declared)
    assert caught.value.where == f"the file, {where}"
    assert ("levels_may_cross" in str(caught.value.fix)) == (case == "not declared")
    assert_silent(caught.value)
