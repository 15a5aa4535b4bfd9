"""Distances of values to groups: by hand, and as sets of leaves give them."""

import numpy as np
import pytest
from hypothesis import given, settings

from tasks.assessments.linkage.problem.generalized_files import AxisGroups, axis_groups, distance_table, leaf_numbers
from tasks.core.errors import ParameterError
from tasks.microdata.hierarchy import MISSING, hierarchy_from_rows, with_leaf_apart
from tests.support.examples import examples
from tests.support.generalized import GeneralizedFile, generalized_files, group_at, grouping_of, slow_distance

AGES = hierarchy_from_rows(
    "age",
    [["10", "10-29", "*"], ["20", "10-29", "*"], ["50", "50-90", "*"], ["60", "50-90", "*"], ["90", "50-90", "*"]],
    "a test",
)
POSITIONS = ["10", "20", "50", "60", "90", "10-29", "50-90", "*"]


def whole_table(groups: AxisGroups) -> np.ndarray:
    """Every leaf beside every position."""
    return distance_table(groups, np.arange(groups.n_leaves), np.arange(groups.n_positions))


def test_the_positions_are_those_of_the_hand_worked_tables() -> None:
    assert list(AGES.axis_labels) == POSITIONS


def test_distance_by_the_smallest_common_group_by_hand() -> None:
    young, old = [0, 1 / 4, 1, 1, 1, 1 / 4, 1, 1], [1, 1, 0, 1 / 2, 1 / 2, 1, 1 / 2, 1]
    table = whole_table(axis_groups(AGES))
    assert table[0].tolist() == young
    assert table[2].tolist() == old
    assert table.shape == (5, 8)


def test_distance_of_amounts_by_hand() -> None:
    groups = axis_groups(AGES, numbers=leaf_numbers(AGES))
    first = [0, 10, 40, 50, 80, 5, 170 / 3, 180 / 5]
    np.testing.assert_allclose(whole_table(groups)[0], np.array(first) / 80)
    part = distance_table(groups, np.array([3, 0], dtype=np.int32), np.array([7, 5, 4], dtype=np.int32))
    np.testing.assert_allclose(part, np.array([[130 / 5, 45, 30], [36, 5, 80]]) / 80)


def test_a_group_that_only_safe_harbor_has_by_hand() -> None:
    groups = axis_groups(AGES, grouping_of(AGES, [1, 3]))
    assert groups.n_positions == 9
    assert groups.holds(np.arange(5), np.array(8)).tolist() == [False, True, False, True, False]
    assert whole_table(groups)[:, 8].tolist() == [1, 1 / 4, 1, 1 / 4, 1]


@settings(deadline=None, max_examples=examples(40))
@given(file=generalized_files())
def test_tables_and_membership_as_sets_of_leaves_give_them(file: GeneralizedFile) -> None:
    for groups, tree, own, numbers in zip(file.groups, file.hierarchies, file.own_groups, file.numbers, strict=True):
        table = whole_table(groups)
        assert groups.n_positions == tree.axis_length + bool(own)
        for leaf, position in np.ndindex(*table.shape):
            members = group_at(tree, own, position)
            assert table[leaf, position] == pytest.approx(slow_distance(tree, numbers, leaf, members), abs=1e-12)
            assert groups.holds(np.array(leaf), np.array(position)) == (leaf in members)
            assert groups.sizes[position] == len(members)


@settings(deadline=None, max_examples=examples(40))
@given(file=generalized_files())
def test_only_the_leaf_itself_is_at_0_and_what_says_nothing_is_at_1(file: GeneralizedFile) -> None:
    for tree in file.hierarchies:
        table = whole_table(axis_groups(tree))
        assert (table >= 0).all()
        assert (table <= 1).all()
        assert (table[:, -1] == 1).all()
        same = tree.finest[np.arange(tree.axis_length)] == np.arange(tree.n_leaves)[:, None]
        np.testing.assert_array_equal(table == 0, same)


def test_an_attribute_of_one_value_has_no_distances() -> None:
    one = hierarchy_from_rows("one", [["7", "*"]], "a test")
    assert whole_table(axis_groups(one)).tolist() == [[0, 0]]
    assert whole_table(axis_groups(one, numbers=leaf_numbers(one))).tolist() == [[0, 0]]


@pytest.mark.parametrize("label", ["x", "nan", "inf"])
def test_values_that_are_no_numbers_have_none(label: str) -> None:
    assert leaf_numbers(hierarchy_from_rows("secret", [["1", "*"], [label, "*"]], "a test")) is None


def test_tables_that_would_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.assessments.linkage.problem.generalized_files._MOST_ENTRIES", 39)
    with pytest.raises(ParameterError, match="too many values"):
        whole_table(axis_groups(AGES))


def test_blocks_of_amounts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = axis_groups(AGES, grouping_of(AGES, [1, 3]), leaf_numbers(AGES))
    whole = whole_table(groups)
    monkeypatch.setattr("tasks.assessments.linkage.problem.generalized_files._BLOCK_ENTRIES", 1)
    np.testing.assert_array_equal(whole_table(groups), whole)


def test_a_missing_amount_is_as_far_from_any_other_as_the_range() -> None:
    """Between the others nothing changes; a group below the top has no missing value, the top has one in all."""
    lacking = with_leaf_apart(AGES, MISSING)
    numbers = leaf_numbers(lacking)
    assert numbers is not None
    assert np.isnan(numbers).tolist() == [False] * AGES.n_leaves + [True]
    table, plain = (whole_table(axis_groups(tree, numbers=leaf_numbers(tree))) for tree in (lacking, AGES))
    own = [*range(AGES.n_leaves), AGES.n_leaves]
    assert table[:-1, own[:-1]] == pytest.approx(plain[:, own[:-1]])
    assert table[-1, own].tolist() == [1.0] * AGES.n_leaves + [0.0]
    top = lacking.axis_length - 1
    assert table[-1, top] == pytest.approx(AGES.n_leaves / lacking.n_leaves)
