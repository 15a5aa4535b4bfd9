"""Hierarchies that a person changes in a page: widths, periods, prefixes, and values that are grouped by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from flows.studio.columns import FileColumn
from tasks.core.errors import BadInput
from tasks.microdata.build import TOP
from tasks.microdata.hierarchy import MISSING, Hierarchy, hierarchy_from_rows
from tasks.request.form import value_at
from tasks.request.model import DatePeriod

MOST_VALUES = 200
"""Values that a page lists for grouping; the others are grouped together."""
_LONGEST = 200


@dataclass(frozen=True)
class GroupedValue:
    """A value of a hierarchy, and the group that it lies in at the first level."""

    number: int
    """Names its field."""
    value: str
    records: int
    group: str
    meaning: str = ""
    """Label of a coded value."""


@dataclass(frozen=True)
class Grouping:
    """Values that can be grouped by name."""

    values: tuple[GroupedValue, ...]
    """Values of the most records, each of as many as may be shown."""
    rare_values: int
    """Other values of the hierarchy, which stay together."""
    rare_records: int
    rare_group: str


def grouping(
    tree: Hierarchy, column: FileColumn, least: int, labels: Mapping[str, str] = MappingProxyType({})
) -> Grouping:
    """The values of a hierarchy, of which some may have labels, with their groups at its first level above them.

    Values that fewer than ``least`` records have are not shown: they are one group.
    """
    held = np.bincount(column.values.codes + 1, minlength=len(column.values.values) + 1)[1:]
    counts = dict(zip(map(str, column.values.values), held.tolist(), strict=True))
    leaves = [(value, int(counts.get(value, 0)), at) for at, value in enumerate(tree.labels[0]) if value != MISSING]
    leaves.sort(key=lambda one: (-one[1], one[0]))
    shown = [one for one in leaves if one[1] >= least][:MOST_VALUES]
    rest = leaves[len(shown) :]
    first = min(1, tree.n_levels - 1)
    label = [tree.labels[first][tree.groups[at, first]] for *_, at in (*shown, *rest)]
    of_rest = {one for one in label[len(shown) :] if one != TOP}
    return Grouping(
        tuple(
            GroupedValue(
                number,
                value,
                records,
                "" if group in (value, tree.labels[-1][0]) else group,
                labels.get(value, ""),
            )
            for number, ((value, records, _), group) in enumerate(zip(shown, label, strict=False))
        ),
        len(rest),
        sum(records for _, records, _ in rest),
        of_rest.pop() if len(of_rest) == 1 and len(rest) > 1 else "other",
    )


def grouped(name: str, tree: Hierarchy, found: Grouping, groups: Mapping[int, str], rare: str) -> Hierarchy:
    """The hierarchy that a person's groups make: the values, their groups, and one group of all.

    `groups` has a group's name by the number of a value; a value without one is a group by itself. Raises BadInput if a
    name cannot be one, or is that of a value outside its group.
    """
    shown = {one.value: (groups.get(one.number, "").strip() or one.value) for one in found.values}
    of_rare = rare.strip() or "other"
    named = {one for value, one in shown.items() if one != value} | ({of_rare} if found.rare_values else set())
    for label in named:
        if len(label) > _LONGEST or not label.isprintable() or label in (TOP, MISSING):
            raise BadInput(
                "not the name of a group",
                where=name,
                expected=f"1 to {_LONGEST} characters that can be printed, and not {TOP}",
                got="another text",
                fix="give the group another name",
            )
        alone = [value for value in tree.labels[0] if value == label]
        if alone and shown.get(label, of_rare) != label:
            raise BadInput(
                "a group has the name of a value that is not in it",
                where=name,
                expected="a name that is no value, or that of a value in the group",
                got="the name of another value",
                fix="give the group another name",
            )
    rows = [[value, shown.get(value, of_rare), TOP] for value in tree.labels[0] if value != MISSING]
    if len({row[1] for row in rows}) < 2 or all(row[0] == row[1] for row in rows):
        rows = [[value, TOP] for value, *_ in rows]
    return hierarchy_from_rows(name, rows, f"groups of {name}")


def source_changes(source: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The source of a hierarchy with what a form says of it: bounds and widths, periods, or kept characters.

    Texts that are no numbers stay, and the request's own rules name them.
    """
    changed = {key: dict(value) if isinstance(value, dict) else value for key, value in source.items()}
    intervals, dates, prefixes = (value_at(changed, (kind,)) for kind in ("intervals", "dates", "prefixes"))
    if isinstance(intervals, dict) and "widths" in fields:
        intervals["widths"] = _numbers(fields["widths"])
        intervals |= {key: _number(fields[key]) for key in ("minimum", "maximum") if fields.get(key, "").strip()}
    if isinstance(dates, dict):
        dates["levels"] = [period.value for period in DatePeriod if fields.get(f"period.{period.value}")]
    if isinstance(prefixes, dict) and "keep" in fields:
        prefixes["keep"] = _numbers(fields["keep"])
    return changed


def _numbers(text: str) -> Sequence[object]:
    return [_number(one) for one in text.replace(";", ",").split(",") if one.strip()]


def _number(text: str) -> object:
    try:
        return int(text)
    except ValueError:
        return text.strip()
