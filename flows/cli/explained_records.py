"""The records at stake as people and programs are shown them: counts by class, under the small-cell rule.

No count of few records is shown, and none from which one follows: not in a total, in a breakdown or between two. Where
the sets of several gates differ, or the copy holds decoys, counts are rounded as the record rounds them, so that their
differences reveal no few records either.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.numbers import integer
from reports.smallcell import SmallCellRule
from tasks.assessments.measures import MEASURES
from tasks.decision.disclosure_rounding import count as rounded_count
from tasks.decision.explain.at_stake import AtStake, Band, Pattern
from tasks.decision.explain.result import NotByClass
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure

_MOST_CLASSES = 5
_ROUNDED = "Counts are rounded to tens, or to three digits."
_SMALL = "Too few records to be told by class."


_Row = dict[str, Any]
"""A class of records for programs; ``shown_as`` is its name for people."""


def documents(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[dict[str, Any]]:
    """The records at stake of each closed gate on risk, as JSON; counts as they may be shown.

    Parameters
    ----------
    record : DecisionRecord
        Of the same recipient; its policy has the smallest count that may be shown.
    found : sequence
        One for each closed gate on risk.
    """
    stakes = [one for one in found if isinstance(one, AtStake)]
    rounded = record.decoys is not None or len({one.members for one in stakes}) > 1
    # A later gate with the very same records does not repeat their classes.
    first = {one.members: one.measure for one in reversed(stakes)}
    return [
        {"measure": one.measure.value, "reason": one.reason}
        if isinstance(one, NotByClass)
        else _document(record, one, first[one.members], rounded)
        for one in found
    ]


def rendered_records(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[RenderableType]:
    """The same as tables for the terminal; none where no gate on risk is closed."""
    told = documents(record, found)
    parts: list[RenderableType] = [Text("Records at stake, by class", style="italic")] if told else []
    for one in told:
        title = MEASURES[Measure(one["measure"])].title
        if "reason" in one:
            parts.append(Text(f"{title}: {one['reason']}"))
            continue
        parts.append(Text(f"{title}: {one['records_shown']} of {one['released_shown']} records {one['condition']}"))
        below: RenderableType = Text(_SMALL, style="dim")
        if one["same_as"]:
            below = Text(f"the same as of: {MEASURES[Measure(one['same_as'])].title}", style="dim")
        elif one["by_group_size"]:
            below = _table(one)
        parts.append(Padding(below, (0, 0, 0, 2)))
    if any(one.get("rounded") for one in told):
        parts.append(Text(_ROUNDED, style="dim"))
    return [Group(*parts)] if parts else []


def _table(document: Mapping[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
    table.add_column("", style="dim", max_width=24)
    table.add_column("", overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    headings = {
        "by_levels": "released as",
        "by_group_size": document["group_sizes_count"],
        "by_attribute": "set apart most by",
    }
    for key, heading in headings.items():
        for place, row in enumerate(document[key]):
            table.add_row("" if place else heading, row["shown_as"], row["records_shown"])
    return table


def _document(record: DecisionRecord, one: AtStake, first: Measure, rounded: bool) -> dict[str, Any]:
    rule, others = SmallCellRule(record.policy.small_cell), one.released - one.records
    released = _counted(one.released, integer(one.released), rounded)
    names = {field.name: field.levels for field in record.fields}
    patterns: Sequence[_Row] = ()
    bands: Sequence[_Row] = ()
    attributes: Sequence[_Row] = ()
    if not rule.hides(one.records) and first is one.measure:
        patterns = _few(rule, [_pattern(pattern, names) for pattern in one.patterns])
        bands = [_band(band) for band in one.bands]
        named = ((part.attribute or None, part.records) for part in one.attributes)
        separated = [{"shown_as": name or "none alone", "attribute": name, "records": count} for name, count in named]
        attributes = _few(rule, separated)
    hidden = others if rule.hides(others) else 0
    return {
        "measure": one.measure.value,
        "condition": one.condition,
        **_counted(one.records, rule.part(one.records, one.released), rounded),
        "released": released["records"],
        "released_shown": released["records_shown"],
        "rounded": rounded,
        "group_sizes_count": one.counted,
        "same_as": None if first is one.measure else first.value,
        "by_levels": _shown(rule, patterns, hidden, rounded),
        "by_group_size": _shown(rule, bands, hidden, rounded),
        "by_attribute": _shown(rule, attributes, hidden, rounded),
    }


def _few(rule: SmallCellRule, rows: Sequence[_Row]) -> Sequence[_Row]:
    """The largest classes; the others, and all small ones, as one."""
    large = [row for row in rows if not rule.hides(row["records"])][:_MOST_CLASSES]
    rest = rows[len(large) :]
    if len(rest) < 2:
        return rows
    records = sum(row["records"] for row in rest)
    return [*large, {"shown_as": f"{len(rest)} others", "others": len(rest), "records": records}]


def _shown(rule: SmallCellRule, rows: Sequence[_Row], hidden: int, rounded: bool) -> list[_Row]:
    """Classes with their counts as far as they may be shown; ``hidden`` is the rest of a total that is shown."""
    counts = [row["records"] for row in rows]
    texts = rule.breakdown([*counts, hidden] if hidden else counts)
    return [{**row, **_counted(row["records"], text, rounded)} for row, text in zip(rows, texts, strict=False)]


def _pattern(pattern: Pattern, names: Mapping[str, Sequence[str]]) -> _Row:
    """Attributes by the level that they are released at."""
    by_level: dict[str, list[str]] = {}
    levels = {
        name: names[name][level] if level < len(names.get(name, ())) else f"level {level}"
        for name, level in pattern.levels.items()
    }
    for name, level in levels.items():
        by_level.setdefault(level, []).append(name)
    words = "; ".join(f"{', '.join(attributes)} {level}" for level, attributes in by_level.items())
    return {**levels, "shown_as": words, "records": pattern.records}


def _band(band: Band) -> _Row:
    least, most = integer(band.least), None if band.most is None else integer(band.most)
    words = f"{least} or more" if most is None else least if least == most else f"{least} to {most}"
    return {"least": band.least, "most": band.most, "shown_as": words, "records": band.records}


def _counted(count: int, text: str, rounded: bool) -> _Row:
    """A count as far as the rule lets it be shown; no number where only a bound may be, or nothing."""
    if text != integer(count):
        return {"records": None, "records_shown": text}
    number = rounded_count(count) if rounded else count
    return {"records": number, "records_shown": integer(number)}
