"""Safe Harbor's grouping of one attribute, and the least level that is at least as general."""

import numpy as np
import pytest

from tasks.core.errors import HierarchyError, RequestError
from tasks.generalization.game.safe_harbor import SafeHarborAxis, safe_harbor_axis
from tasks.generalization.game.zip3 import ZipTable
from tasks.microdata.build import from_intervals
from tasks.microdata.hierarchy import MISSING, Hierarchy, from_level, hierarchy_from_rows, with_leaf_apart
from tasks.request.model import IntervalLevels, SafeHarborRule
from tests.support.silence import CANARY, assert_silent

TABLE = ZipTable("test", "", {"370": 50_000, "371": 50_000, "036": 50_000, "380": 20_000})
CODES = ("37010", "37011", "37101", "38001", "03601", "38101")
ZIP = hierarchy_from_rows("zip", [[code, code[:3] + "**", code[:2] + "***", "*****"] for code in CODES], "test")


def shown(hierarchy: Hierarchy, axis: SafeHarborAxis) -> dict[str, str]:
    labels = hierarchy.axis_labels + axis.extra_labels
    return {leaf: labels[axis.positions[number]] for number, leaf in enumerate(hierarchy.labels[0])}


def test_zip_codes_show_three_digits_and_restricted_or_unknown_ones_none() -> None:
    axis = safe_harbor_axis(ZIP, SafeHarborRule.ZIP, TABLE)
    assert shown(ZIP, axis) == {
        "37010": "370**",
        "37011": "370**",
        "37101": "37101",
        "38001": "000",
        "03601": "000",
        "38101": "000",
    }
    assert axis.extra_labels == ("000",)
    assert axis.extra_sizes.tolist() == [3]
    restricted = axis.positions[ZIP.encode(["38001", "03601", "38101"])]
    assert restricted.tolist() == [ZIP.axis_length] * 3


def test_a_prefix_with_one_code_in_the_domain_is_named_at_its_lowest_level() -> None:
    axis = safe_harbor_axis(ZIP, SafeHarborRule.ZIP, TABLE)
    leaf = ZIP.encode(["37101"])[0]
    assert axis.positions[leaf] == leaf


def test_the_floor_of_a_zip_code_covers_its_group() -> None:
    axis = safe_harbor_axis(ZIP, SafeHarborRule.ZIP, TABLE)
    floor = dict(zip(ZIP.labels[0], axis.floor.tolist(), strict=True))
    assert floor == {"37010": 1, "37011": 1, "37101": 0, "38001": 3, "03601": 3, "38101": 3}


def test_restricted_codes_of_one_prefix_that_the_hierarchy_has_need_no_group_of_their_own() -> None:
    rows = [["38001", "380**", "*"], ["38002", "380**", "*"], ["37010", "370**", "*"]]
    hierarchy = hierarchy_from_rows("zip", rows, "test")
    axis = safe_harbor_axis(hierarchy, SafeHarborRule.ZIP, TABLE)
    assert axis.extra_labels == ()
    assert axis.floor[hierarchy.encode(["38001", "38002"])].tolist() == [1, 1]


def test_ages_over_89_are_one_group() -> None:
    ages = from_intervals("age", IntervalLevels(minimum=86, maximum=95, widths=(5,)))
    axis = safe_harbor_axis(ages, SafeHarborRule.AGE, TABLE)
    assert shown(ages, axis) == {str(age): str(age) if age < 90 else "90+" for age in range(86, 96)}
    assert axis.extra_sizes.tolist() == [6]
    assert axis.floor.tolist() == [0] * 4 + [2] * 6


def test_ages_use_the_hierarchys_own_group_where_it_has_one() -> None:
    rows = [["88", "88-89", "*"], ["89", "88-89", "*"], ["90", "oldest", "*"], ["91", "oldest", "*"]]
    ages = hierarchy_from_rows("age", rows, "test")
    axis = safe_harbor_axis(ages, SafeHarborRule.AGE, TABLE)
    assert shown(ages, axis) == {"88": "88", "89": "89", "90": "oldest", "91": "oldest"}
    assert axis.extra_labels == ()
    assert axis.floor.tolist() == [0, 0, 1, 1]


def test_levels_that_cross_may_not_divide_what_a_lower_level_holds_together() -> None:
    rows = [["88", "88-89", "88-90", "*"], ["89", "88-89", "88-90", "*"], ["90", "90+", "88-90", "*"]]
    rows += [["91", "90+", "91+", "*"]]
    ages = hierarchy_from_rows("age", rows, "test", levels_may_cross=True)
    with pytest.raises(HierarchyError, match="Safe Harbor keeps together") as caught:
        safe_harbor_axis(ages, SafeHarborRule.AGE, TABLE)
    assert caught.value.where == "attributes.age.hierarchy, level 2"
    bands = [[row[0], row[2], row[1], "*"] for row in rows]
    below = safe_harbor_axis(
        hierarchy_from_rows("age", bands, "test", levels_may_cross=True), SafeHarborRule.AGE, TABLE
    )
    assert below.floor.tolist() == [0, 0, 2, 2]
    assert below.extra_labels == ()


def test_everything_else_is_as_collected() -> None:
    axis = safe_harbor_axis(ZIP, SafeHarborRule.NONE, TABLE)
    np.testing.assert_array_equal(axis.positions, np.arange(ZIP.n_leaves))
    assert axis.floor.tolist() == [0] * ZIP.n_leaves
    assert axis.extra_labels == ()


def test_ages_that_are_no_numbers_are_refused_without_showing_them() -> None:
    ages = hierarchy_from_rows("age", [["88", "*"], [CANARY, "*"]], "test")
    with pytest.raises(RequestError, match="ages in years") as caught:
        safe_harbor_axis(ages, SafeHarborRule.AGE, TABLE)
    assert_silent(caught.value)
    assert "attributes.age.safe_harbor" in caught.value.where


def test_a_missing_value_stays_as_it_is() -> None:
    """It joins neither the restricted ZIP codes nor the oldest, and is no age that cannot be read."""
    codes = with_leaf_apart(ZIP, MISSING)
    axis = safe_harbor_axis(codes, SafeHarborRule.ZIP, TABLE)
    plain = safe_harbor_axis(ZIP, SafeHarborRule.ZIP, TABLE)
    assert shown(codes, axis) == shown(ZIP, plain) | {MISSING: MISSING}
    assert axis.floor.tolist() == [*plain.floor.tolist(), 0]
    ages = with_leaf_apart(from_intervals("age", IntervalLevels(minimum=88, maximum=93, widths=(2,))), MISSING)
    oldest = safe_harbor_axis(ages, SafeHarborRule.AGE, TABLE)
    assert shown(ages, oldest) == {"88": "88", "89": "89"} | dict.fromkeys(("90", "91", "92", "93"), "90+") | {
        MISSING: MISSING
    }


def test_leaves_that_are_groups_are_shown_by_the_values_in_them() -> None:
    """By three digits the restricted groups are one; by two, a group with others as well has enough people."""
    by_three = from_level(ZIP, 1)
    axis = safe_harbor_axis(by_three, SafeHarborRule.ZIP, TABLE)
    restricted = dict.fromkeys(("380**", "036**", "381**"), "000")
    assert shown(by_three, axis) == {"370**": "370**", "371**": "371**"} | restricted
    by_two = from_level(ZIP, 2)
    assert shown(by_two, safe_harbor_axis(by_two, SafeHarborRule.ZIP, TABLE)) == {
        "37***": "37***",
        "38***": "000",
        "03***": "000",
    }
    by_two = with_leaf_apart(by_two, MISSING)
    assert shown(by_two, safe_harbor_axis(by_two, SafeHarborRule.NONE, TABLE))["38***"] == "38***"
    assert shown(by_two, safe_harbor_axis(by_two, SafeHarborRule.ZIP, TABLE))[MISSING] == MISSING


def test_groups_of_ages_end_before_90_or_are_refused() -> None:
    ages = from_level(from_intervals("age", IntervalLevels(minimum=80, maximum=99, widths=(5,))), 1)
    axis = safe_harbor_axis(ages, SafeHarborRule.AGE, TABLE)
    assert shown(ages, axis) == {"80-84": "80-84", "85-89": "85-89", "90-94": "90+", "95-99": "90+"}
    across = from_level(from_intervals("age", IntervalLevels(minimum=82, maximum=99, widths=(5,))), 1)
    with pytest.raises(HierarchyError, match="some over 89"):
        safe_harbor_axis(across, SafeHarborRule.AGE, TABLE)
