"""Hierarchies from interval widths, calendar periods, prefixes, explicit groups and ARX files; and those of a request.

ARX's CSV form is ``leaf;level 1;…;top``, one row a leaf.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pandas as pd

from tasks.core.errors import HierarchyError
from tasks.core.plural import plural
from tasks.microdata.hierarchy import Hierarchy, from_level, hierarchy_from_rows
from tasks.microdata.tuples import check_cells
from tasks.request.load import LoadedRequest
from tasks.request.model import DateLevels, DatePeriod, GroupLevels, HierarchySource, IntervalLevels, PrefixLevels

DELIMITER = ";"

_LONGEST_NAME = 100
_PLAIN = frozenset(" -_.()+,=&")
TOP = "*"


def from_intervals(name: str, levels: IntervalLevels, *, levels_may_cross: bool = False) -> Hierarchy:
    """Whole numbers from minimum to maximum, grouped into intervals of each width, counted from the minimum.

    The last interval of a level is cut at the maximum. Labels read ``low-high``; one number stands for itself.
    Levels cross where a width is no multiple of the one before it.
    """
    rows = []
    for value in range(levels.minimum, levels.maximum + 1):
        lows = [levels.minimum + (value - levels.minimum) // width * width for width in levels.widths]
        ends = [(low, min(low + width - 1, levels.maximum)) for low, width in zip(lows, levels.widths, strict=True)]
        rows.append([str(value), *(str(low) if low == high else f"{low}-{high}" for low, high in ends), TOP])
    # A level that already holds the whole domain says the same as the top.
    whole = {level for level in range(1, len(rows[0]) - 1) if len({row[level] for row in rows}) == 1}
    rows = [[label for level, label in enumerate(row) if level not in whole] for row in rows]
    made = hierarchy_from_rows(name, rows, f"intervals of {name}", levels_may_cross=levels_may_cross)
    return replace(made, limits=(levels.minimum, levels.maximum))


def from_dates(name: str, levels: DateLevels, *, levels_may_cross: bool = False) -> Hierarchy:
    """Days from minimum to maximum, YYYY-MM-DD, grouped by periods of the calendar.

    Labels read ``2024-W53`` and ``ISO 2024`` for weeks and years of ISO 8601, ``2024-12``, ``2024-Q4``, ``2024``,
    ``2020-2024`` and ``2020-2029``. A period that reaches beyond the domain has the days that are in it.
    """
    days = (levels.minimum + timedelta(days=day) for day in range((levels.maximum - levels.minimum).days + 1))
    columns = list(zip(*(_periods(day, levels.levels) for day in days), strict=True))
    # A level that already holds the whole domain says the same as the top.
    kept = [column for column in columns if len(set(column)) > 1]
    rows = [(*labels, TOP) for labels in zip(*kept, strict=True)]
    return hierarchy_from_rows(name, rows, f"dates of {name}", levels_may_cross=levels_may_cross)


def _periods(day: date, periods: Sequence[DatePeriod]) -> tuple[str, ...]:
    """Labels of a day and of the periods that it lies in."""
    written, (week_year, week, _) = day.isoformat(), day.isocalendar()
    labels = {
        DatePeriod.ISO_WEEK: f"{week_year:04d}-W{week:02d}",
        DatePeriod.MONTH: written[:7],
        DatePeriod.QUARTER: f"{written[:4]}-Q{(day.month + 2) // 3}",
        DatePeriod.ISO_YEAR: f"ISO {week_year:04d}",
        DatePeriod.YEAR: written[:4],
        DatePeriod.FIVE_YEARS: _years(day, 5),
        DatePeriod.DECADE: _years(day, 10),
    }
    return (written, *(labels[period] for period in periods))


def _years(day: date, many: int) -> str:
    """The first and the last of the years that a day is grouped with."""
    first = day.year // many * many
    return f"{first:04d}-{first + many - 1:04d}"


def from_prefixes(name: str, levels: PrefixLevels, domain: Iterable[str]) -> Hierarchy:
    """Codes of a domain cut to fewer and fewer leading characters.

    Raises
    ------
    HierarchyError
        If a kept prefix is as long as a code.
    """
    values = sorted(set(domain))
    where = f"prefixes of {name}"
    if values and levels.keep and max(levels.keep) >= min(len(value) for value in values):
        raise HierarchyError(
            "a kept prefix is as long as a value",
            where=where,
            expected=f"lengths below the shortest value's {plural(min(map(len, values)), 'character')}",
            got=f"{max(levels.keep)}",
            fix="remove the length from hierarchy.prefixes.keep",
        )
    rows = [
        [value, *(value[:keep] + levels.mask * (len(value) - keep) for keep in levels.keep), TOP] for value in values
    ]
    return hierarchy_from_rows(name, rows, where)


def from_groups(name: str, groups: GroupLevels, *, levels_may_cross: bool = False) -> Hierarchy:
    """Groups written out level by level; the first level holds the values.

    Where levels may cross, every level holds the values themselves, in place of the groups of the level below.

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
        below, named = {row[place] for row in rows}, set(parents)
        if below != named:
            what = "values" if levels_may_cross else "level below"
            raise HierarchyError(
                f"the groups of a level do not cover the {what}",
                where=f"{where}, level {number}",
                expected=f"the {len(below)} {'values' if levels_may_cross else 'groups of the level below'}, each once",
                got=f"{len(below - named)} left out, {len(named - below)} unknown",
                fix="list every value in every level, and no other"
                if levels_may_cross
                else "list every group of the level below, and no other",
            )
        rows = [[*row, parents[row[place]]] for row in rows]
    if len({row[-1] for row in rows}) > 1:
        rows = [[*row, TOP] for row in rows]
    return hierarchy_from_rows(name, rows, where, levels_may_cross=levels_may_cross)


def build_hierarchies(
    loaded: LoadedRequest, population: pd.DataFrame | Mapping[str, pd.Series]
) -> dict[str, Hierarchy]:
    """Build the hierarchy of every quasi-identifier, in the order of the request, from its finest level that may leave.

    The values of the population make up the domain of a hierarchy by prefixes. The data's own do not, unless people are
    counted in the file: hierarchies go with a delivery, and the rule of a release must not depend on who is in it.

    Raises
    ------
    HierarchyError, WorkspaceError
        If a hierarchy is no tree and may not be another, or its file cannot be read.
    BadInput
        If their groups have more combinations than can be numbered.
    """
    hierarchies = {}
    for name in loaded.request.quasi_identifiers:
        attribute = loaded.request.attributes[name]
        source = attribute.hierarchy
        if source is None:
            continue
        if source.file is not None:
            path = loaded.resolve(source.file, f"attributes.{name}.hierarchy.file")
            whole = read_arx(name, path, levels_may_cross=source.levels_may_cross)
        else:
            whole = written_out(name, source, population)
        hierarchies[name] = from_level(whole, attribute.level or 0)
    check_cells(hierarchies)
    return hierarchies


def written_out(name: str, source: HierarchySource, values: pd.DataFrame | Mapping[str, pd.Series]) -> Hierarchy:
    """Build a hierarchy that the request writes out; errors as of ``build_hierarchies``.

    The values of the attribute make up the domain of a hierarchy by prefixes.
    """
    if source.intervals is not None:
        return from_intervals(name, source.intervals, levels_may_cross=source.levels_may_cross)
    if source.dates is not None:
        return from_dates(name, source.dates, levels_may_cross=source.levels_may_cross)
    if source.groups is not None:
        return from_groups(name, source.groups, levels_may_cross=source.levels_may_cross)
    prefixes = source.prefixes or PrefixLevels(keep=())
    return from_prefixes(name, prefixes, (str(value) for value in values[name].dropna().unique()))


def arx_file(name: str) -> str:
    """File name for an attribute's hierarchy: the attribute's own, without what a path or a file system takes for more.

    >>> arx_file("marital-status"), arx_file("race/ethnicity"), arx_file("../x")
    ('marital-status.csv', 'race%2Fethnicity.csv', '%2E.%2Fx.csv')
    """
    safe = "".join(mark if mark.isalnum() or mark in _PLAIN else _escaped(mark) for mark in name)
    if safe.startswith("."):
        safe = _escaped(".") + safe[1:]
    if len(safe.encode()) > _LONGEST_NAME:
        safe = f"{safe[:20]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return f"{safe}.csv"


def _escaped(mark: str) -> str:
    return "".join(f"%{byte:02X}" for byte in mark.encode())


def read_arx(name: str, path: Path, *, levels_may_cross: bool = False) -> Hierarchy:
    """Read a hierarchy from an ARX CSV file, UTF-8, semicolons between labels.

    Raises
    ------
    HierarchyError
        If the file cannot be read, or its rows are no hierarchy (see ``hierarchy_from_rows``).
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = [row for row in csv.reader(lines, delimiter=DELIMITER) if row]
    except (OSError, UnicodeError, csv.Error) as error:
        raise HierarchyError(
            "the hierarchy cannot be read",
            where=path.name,
            expected="a readable UTF-8 CSV file with semicolons",
            got=type(error).__name__,
            fix="check the file's encoding and permissions",
        ) from None
    return hierarchy_from_rows(name, rows, path.name, levels_may_cross=levels_may_cross)


def write_arx(hierarchy: Hierarchy, path: Path) -> None:
    """Write a hierarchy as an ARX CSV file."""
    path.write_bytes(arx_bytes(hierarchy))


def arx_bytes(hierarchy: Hierarchy) -> bytes:
    """A hierarchy as the bytes of an ARX CSV file."""
    labels = hierarchy.labels
    return arx_csv([[labels[at][group] for at, group in enumerate(leaf)] for leaf in hierarchy.groups])


def arx_csv(rows: Sequence[Sequence[str]]) -> bytes:
    """Labels, a row for each leaf, as the bytes of an ARX CSV file."""
    # The writer quotes line feeds by itself, but not a carriage return, which ends a row all the same.
    returns = any("\r" in label for row in rows for label in row)
    lines = io.StringIO()
    writer = csv.writer(
        lines, delimiter=DELIMITER, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    )
    writer.writerows(rows)
    return lines.getvalue().encode()
