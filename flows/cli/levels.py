"""Levels of hierarchies with their group sizes, as a table for people; small counts are hidden as in reports."""

from collections.abc import Mapping, Sequence

from reports.model.blocks import table
from reports.model.document import Block
from reports.model.numbers import integer
from reports.model.smallcell import SmallCellRule
from tasks.microdata.level_sizes import LevelSize

Levels = Mapping[str, Sequence[LevelSize]]


def shown_levels(levels: Levels, small_cell: int, *, of_people: bool) -> list[Block]:
    """A row for each level of each quasi-identifier; `of_people` says whether people are counted, or records."""
    rule, counted = SmallCellRule(small_cell), "people" if of_people else "records"
    rows = [
        (name if place == 0 else "", one.title, integer(one.groups), rule.count(one.smallest))
        for name, found in levels.items()
        for place, one in enumerate(found)
    ]
    if not rows:
        return []
    headings = ("quasi-identifier", "level", ">groups", f">{counted} in the smallest")
    return table("\nLevels, each attribute by itself:", headings, rows)


def levels_document(levels: Levels, small_cell: int) -> dict[str, list[dict[str, object]]]:
    """Group sizes by level as JSON."""
    rule = SmallCellRule(small_cell)
    return {
        name: [{"level": one.title, "groups": one.groups, "smallest": rule.count(one.smallest)} for one in found]
        for name, found in levels.items()
    }
