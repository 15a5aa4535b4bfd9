"""Hierarchies from interval widths, from prefixes and from explicit groups."""

from collections.abc import Iterable, Sequence

from tasks.core.errors import HierarchyError
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.request.model import GroupLevels, IntervalLevels, PrefixLevels

TOP = "*"
_NOT_COVERED = "the groups of a level do not cover the level below"


def from_intervals(name: str, levels: IntervalLevels, *, levels_may_cross: bool = False) -> Hierarchy:
    """Whole numbers from minimum to maximum, grouped into intervals of each width, counted from the minimum.

    The last interval of a level is cut at the maximum. Labels read ``low-high``; one number stands for itself.
    Levels cross where a width is no multiple of the one before it.
    """
    rows = []
    for value in range(levels.minimum, levels.maximum + 1):
        row = [str(value)]
        for width in levels.widths:
            low = levels.minimum + (value - levels.minimum) // width * width
            high = min(low + width - 1, levels.maximum)
            row.append(str(low) if low == high else f"{low}-{high}")
        rows.append([*row, TOP])
    where = f"intervals of {name}"
    return hierarchy_from_rows(name, _without_repeated_top(rows), where, levels_may_cross=levels_may_cross)


def from_prefixes(name: str, levels: PrefixLevels, domain: Iterable[str]) -> Hierarchy:
    """Codes cut to fewer and fewer leading characters.

    Parameters
    ----------
    name : str
        Name of the attribute.
    levels : PrefixLevels
        Characters kept at each level and the character that stands for one removed.
    domain : iterable of str
        The codes, such as those of the population.
    """
    values = sorted(set(domain))
    where = f"prefixes of {name}"
    if values and levels.keep and max(levels.keep) >= min(len(value) for value in values):
        raise HierarchyError(
            "a kept prefix is as long as a value",
            where=where,
            expected=f"lengths below the shortest value's {min(len(value) for value in values)} characters",
            got=f"{max(levels.keep)}",
            fix="remove the length from hierarchy.prefixes.keep",
        )
    rows = [
        [value, *(value[:keep] + levels.mask * (len(value) - keep) for keep in levels.keep), TOP] for value in values
    ]
    return hierarchy_from_rows(name, rows, where)


def from_groups(name: str, groups: GroupLevels, *, levels_may_cross: bool = False) -> Hierarchy:
    """Groups written out level by level; the first level holds the values.

    Parameters
    ----------
    name : str
        Name of the attribute.
    groups : GroupLevels
    levels_may_cross : bool
        Whether every level holds the values themselves, in place of the groups of the level below.

    Raises
    ------
    HierarchyError
        If a level names a group (or value) that the level below (or the first) does not have, leaves one out, or puts
        one into two groups.
    """
    where = f"groups of {name}"
    rows = [[value] for members in groups.levels[0].values() for value in members]
    for number, level in enumerate(groups.levels, start=1):
        parents: dict[str, str] = {}
        for label, members in level.items():
            for member in members:
                if parents.setdefault(member, label) != label:
                    raise HierarchyError(
                        "a group of the hierarchy has two parents",
                        where=f"{where}, level {number}",
                        expected="each member listed in one group",
                        fix="remove it from all groups but one",
                    )
        place = 0 if levels_may_cross else -1
        _check_members({row[place] for row in rows}, set(parents), where, number, values=levels_may_cross)
        rows = [[*row, parents[row[place]]] for row in rows]
    if len({row[-1] for row in rows}) > 1:
        rows = [[*row, TOP] for row in rows]
    return hierarchy_from_rows(name, rows, where, levels_may_cross=levels_may_cross)


def _check_members(below: set[str], named: set[str], where: str, number: int, *, values: bool) -> None:
    if below != named:
        members = "values" if values else "groups of the level below"
        raise HierarchyError(
            "the groups of a level do not cover the values" if values else _NOT_COVERED,
            where=f"{where}, level {number}",
            expected=f"the {len(below)} {members}, each once",
            got=f"{len(below - named)} left out, {len(named - below)} unknown",
            fix="list every value in every level, and no other"
            if values
            else "list every group of the level below, and no other",
        )


def _without_repeated_top(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Drop interval levels that already hold the whole domain: the top says the same."""
    whole = [level for level in range(1, len(rows[0]) - 1) if len({row[level] for row in rows}) == 1]
    return [[label for level, label in enumerate(row) if level not in whole] for row in rows]
