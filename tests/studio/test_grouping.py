"""Values that are grouped by name, and levels that a form states."""

import pytest

from flows.studio.grouping import GroupedValue, Grouping, grouped, grouping, source_changes
from tasks.core.errors import BadInput
from tasks.microdata.build import from_groups
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.model import GroupLevels
from tests.support.studio import file_column

TREE = from_groups("town", GroupLevels(levels=({"*": ("north", "south", "east", "west", "moor")},)))


@pytest.fixture
def found() -> Grouping:
    values = ["north"] * 5 + ["south"] * 4 + ["east"] * 3 + ["west"]
    return grouping(TREE, file_column("town", values), 3)


def levels(tree: Hierarchy) -> set[tuple[str, ...]]:
    return {tuple(tree.labels[level][group] for level, group in enumerate(leaf)) for leaf in tree.groups}


def test_values_are_listed_with_their_rows_and_rare_ones_are_not(found: Grouping) -> None:
    assert found.values == (
        GroupedValue(0, "north", 5, ""),
        GroupedValue(1, "south", 4, ""),
        GroupedValue(2, "east", 3, ""),
    )
    assert (found.rare_values, found.rare_records, found.rare_group) == (2, 1, "other")


def test_values_have_their_labels() -> None:
    column = file_column("town", ["north"] * 5 + ["south"] * 4 + ["west"])
    shown = grouping(TREE, column, 3, {"north": "beyond the river", "west": "few"}).values
    assert [one.meaning for one in shown] == ["beyond the river", ""]


def test_values_of_one_name_are_together_and_the_others_alone(found: Grouping) -> None:
    made = grouped("town", TREE, found, {0: "far", 2: "far"}, "few")
    assert levels(made) == {
        ("north", "far", "*"),
        ("east", "far", "*"),
        ("south", "south", "*"),
        ("west", "few", "*"),
        ("moor", "few", "*"),
    }


def test_groups_that_were_made_are_shown_again(found: Grouping) -> None:
    made = grouped("town", TREE, found, {0: "far", 2: "far"}, "few")
    values = ["north"] * 5 + ["south"] * 4 + ["east"] * 3 + ["west"]
    again = grouping(made, file_column("town", values), 3)
    assert [one.group for one in again.values] == ["far", "", "far"]
    assert again.rare_group == "few"


@pytest.mark.parametrize("name", ["*", "x" * 201, "a\x07", "south"])
def test_what_is_no_name_of_a_group_is_refused(found: Grouping, name: str) -> None:
    with pytest.raises(BadInput) as refused:
        grouped("town", TREE, found, {0: name, 2: name}, "few")
    assert "south" not in str(refused.value)


def test_levels_are_those_that_the_form_states() -> None:
    source = {"intervals": {"minimum": 0, "maximum": 99, "widths": [5]}}
    fields = {"minimum": "10", "maximum": "", "widths": "5, 10; 20"}
    assert source_changes(source, fields) == {"intervals": {"minimum": 10, "maximum": 99, "widths": [5, 10, 20]}}
    assert source["intervals"]["widths"] == [5]
    dates = {"dates": {"minimum": "2020-01-01", "maximum": "2029-12-31", "levels": ["month"]}}
    assert source_changes(dates, {"period.year": "1", "period.month": "1"})["dates"]["levels"] == ["month", "year"]
    assert source_changes({"prefixes": {"keep": [3]}}, {"keep": "4, x"}) == {"prefixes": {"keep": [4, "x"]}}
