"""Groups by level, and the people in the smallest, by hand."""

import numpy as np

from tasks.microdata.build import from_dates, from_groups, from_intervals, from_prefixes
from tasks.microdata.level_sizes import LevelSize, level_sizes
from tasks.request.model import DateLevels, GroupLevels, HierarchySource, IntervalLevels, PrefixLevels

AGES = HierarchySource(intervals=IntervalLevels(minimum=0, maximum=7, widths=(2, 4, 8)))


def test_groups_without_records_count_for_nothing() -> None:
    """Ages 0 to 7: records at 0, 1 and 4 alone; by 2 they are in 0-1 and 4-5, by 4 in 0-3 and 4-7; 8 is all of them."""
    tree = from_intervals("age", AGES.intervals or IntervalLevels(minimum=0, maximum=1, widths=()))
    records = np.array([3, 1, 0, 0, 2, 0, 0, 0])
    people = np.array([30, 20, 1, 1, 8, 9, 1, 1])
    assert level_sizes(tree, AGES, records, people) == (
        LevelSize("values", 3, 8),
        LevelSize("by 2", 2, 17),
        LevelSize("by 4", 2, 19),
        LevelSize("all", 1, 71),
    )


def test_levels_have_the_names_that_their_source_gives_them() -> None:
    days = DateLevels.model_validate({"minimum": "2024-01-01", "maximum": "2025-12-31", "levels": ["month", "year"]})
    groups = GroupLevels(levels=({"x": ("a", "b"), "y": ("c",)}, {"*": ("x", "y")}))
    codes = PrefixLevels(keep=(2, 1))
    for tree, source, names in (
        (from_dates("day", days), HierarchySource(dates=days), ["values", "month", "year", "all"]),
        (
            from_prefixes("zip", codes, ["111", "222"]),
            HierarchySource(prefixes=codes),
            ["values", "first 2", "first 1", "all"],
        ),
        (from_groups("sex", groups), HierarchySource(groups=groups), ["values", "level 1", "all"]),
        (from_groups("sex", groups), None, ["values", "level 1", "all"]),
    ):
        ones = np.ones(tree.n_leaves, dtype=np.int64)
        assert [one.title for one in level_sizes(tree, source, ones, ones)] == names
