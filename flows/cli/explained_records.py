"""The records at stake as people and programs are shown them: counts by class, under the small-cell rule.

No count of few records is shown, and none from which one follows: not in a total, in a breakdown or between two. Where
the sets of several gates differ, or the copy holds decoys, counts are rounded as the record rounds them, so that their
differences reveal no few records either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.numbers import integer
from reports.smallcell import SmallCellRule
from tasks.assessments.measures import MEASURES
from tasks.decision.disclosure_rounding import count as rounded_count
from tasks.decision.explain.at_stake import AtStake, Band, Pattern, Separated
from tasks.decision.explain.result import NotByClass
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure

_MOST_CLASSES = 5
_ROUNDED = "Counts are rounded to tens, or to three digits."
_SMALL = "Too few records to be told by class."


@dataclass(frozen=True)
class _Class:
    """A class of records: its name for people, the same for programs, and how many records it has."""

    name: str
    document: Mapping[str, Any]
    records: int


_Breakdown = tuple[str, list[tuple[str, dict[str, Any]]]]
"""A heading, and the name and document of each class, with its count as it may be shown."""


@dataclass(frozen=True)
class _Shown:
    """The records at stake of one gate, ready to be shown."""

    measure: Measure
    document: dict[str, Any]
    released: str
    breakdowns: tuple[_Breakdown, ...]


def documents(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[dict[str, Any]]:
    """The records at stake of each closed gate on risk, as JSON; counts as they are shown.

    Parameters
    ----------
    record : DecisionRecord
        Of the same recipient; its policy has the smallest count that may be shown.
    found : sequence
        One for each closed gate on risk.
    """
    return [
        {"measure": one.measure.value, "reason": one.reason} if isinstance(one, NotByClass) else one.document
        for one in _shown(record, found)
    ]


def rendered_records(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[RenderableType]:
    """The same as tables for the terminal; none where no gate on risk is closed."""
    parts: list[RenderableType] = [Text("Records at stake, by class", style="italic")]
    rounded = False
    for one in _shown(record, found):
        title = MEASURES[one.measure].title
        if isinstance(one, NotByClass):
            parts.append(Text(f"{title}: {one.reason}"))
            continue
        document, rounded = one.document, one.document["rounded"]
        parts.append(Text(f"{title}: {document['records_shown']} of {one.released} records {document['condition']}"))
        below: RenderableType = Text(_SMALL, style="dim")
        if document["same_as"]:
            below = Text(f"the same as of: {MEASURES[Measure(document['same_as'])].title}", style="dim")
        elif document["by_group_size"]:
            below = _table(one.breakdowns)
        parts.append(Padding(below, (0, 0, 0, 2)))
    if rounded:
        parts.append(Text(_ROUNDED, style="dim"))
    return [Group(*parts)] if len(parts) > 1 else []


def _table(breakdowns: Sequence[_Breakdown]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
    table.add_column("", style="dim", max_width=24)
    table.add_column("", overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    for heading, classes in breakdowns:
        for place, (name, document) in enumerate(classes):
            table.add_row("" if place else heading, name, document["records_shown"])
    return table


def _shown(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[_Shown | NotByClass]:
    stakes = [one for one in found if isinstance(one, AtStake)]
    rounded = record.decoys is not None or len({one.members for one in stakes}) > 1
    # A later gate with the very same records does not repeat their classes.
    first = {one.members: one.measure for one in reversed(stakes)}
    return [one if isinstance(one, NotByClass) else _gate(record, one, first[one.members], rounded) for one in found]


def _gate(record: DecisionRecord, one: AtStake, first: Measure, rounded: bool) -> _Shown:
    rule, others = SmallCellRule(record.policy.small_cell), one.released - one.records
    total, released = rule.part(one.records, one.released), _counted(one.released, integer(one.released), rounded)
    levels = {field.name: field.levels for field in record.fields}
    classes: tuple[Sequence[_Class], ...] = ((), (), ())
    if not rule.hides(one.records) and first is one.measure:
        classes = (
            _few(rule, [_pattern(pattern, levels) for pattern in one.patterns]),
            [_band(band) for band in one.bands],
            _few(
                rule,
                [
                    _Class(a.attribute or "none alone", {"attribute": a.attribute or None}, a.records)
                    for a in one.attributes
                ],
            ),
        )
    hidden = others if rule.hides(others) else 0
    headings = ("released as", one.counted, "set apart most by")
    broken_down = [_counted_classes(rule, group, hidden, rounded) for group in classes]
    document = {
        "measure": one.measure.value,
        "condition": one.condition,
        **_counted(one.records, total, rounded),
        "released": released["records"],
        "rounded": rounded,
        "group_sizes_count": one.counted,
        "same_as": None if first is one.measure else first.value,
        "by_levels": [row for _, row in broken_down[0]],
        "by_group_size": [row for _, row in broken_down[1]],
        "by_attribute": [row for _, row in broken_down[2]],
    }
    return _Shown(one.measure, document, released["records_shown"], tuple(zip(headings, broken_down, strict=True)))


def _few(rule: SmallCellRule, classes: Sequence[_Class]) -> Sequence[_Class]:
    """The largest classes; the others, and all small ones, as one."""
    large = [one for one in classes if not rule.hides(one.records)][:_MOST_CLASSES]
    rest = classes[len(large) :]
    if len(rest) < 2:
        return classes
    return [*large, _Class(f"{len(rest)} others", {"others": len(rest)}, sum(one.records for one in rest))]


def _counted_classes(
    rule: SmallCellRule, classes: Sequence[_Class], hidden: int, rounded: bool
) -> list[tuple[str, dict[str, Any]]]:
    """Classes with their counts as far as they may be shown; ``hidden`` is the rest of a total that is shown."""
    counts = [one.records for one in classes]
    texts = rule.breakdown([*counts, hidden] if hidden else counts)
    return [
        (one.name, {**one.document, **_counted(one.records, text, rounded)})
        for one, text in zip(classes, texts, strict=False)
    ]


def _pattern(pattern: Pattern, names: Mapping[str, Sequence[str]]) -> _Class:
    """Attributes by the level that they are released at."""
    by_level: dict[str, list[str]] = {}
    levels = {
        name: names[name][level] if level < len(names.get(name, ())) else f"level {level}"
        for name, level in pattern.levels.items()
    }
    for name, level in levels.items():
        by_level.setdefault(level, []).append(name)
    words = "; ".join(f"{', '.join(attributes)} {level}" for level, attributes in by_level.items())
    return _Class(words, levels, pattern.records)


def _band(band: Band) -> _Class:
    limits = {"least": band.least, "most": band.most}
    if band.most is None:
        name = f"{integer(band.least)} or more"
    else:
        name = integer(band.least) if band.least == band.most else f"{integer(band.least)} to {integer(band.most)}"
    return _Class(name, limits, band.records)


def _separated(part: Separated) -> _Class:
    return _Class(part.attribute or "none alone", {"attribute": part.attribute or None}, part.records)


def _counted(count: int, text: str, rounded: bool) -> dict[str, Any]:
    """A count as far as the rule lets it be shown; no number where only a bound may be, or nothing."""
    if text != integer(count):
        return {"records": None, "records_shown": text}
    number = rounded_count(count) if rounded else count
    return {"records": number, "records_shown": integer(number)}
