"""The records at stake as people and programs are shown them: counts by class, under the small-cell rule.

No count of few records is shown, and none from which one follows: not in a total, in a breakdown or between two. Where
the sets of several gates differ, or the copy holds decoys, counts are rounded as the record rounds them, so that their
differences reveal no few records either.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.numbers import integer
from reports.smallcell import SmallCellRule
from tasks.assessments.measures import MEASURES
from tasks.decision.explain.at_stake import AtStake, Band, Pattern, Separated
from tasks.decision.explain.result import NotByClass
from tasks.decision.record import DecisionRecord
from tasks.decision.veil import count as rounded_count
from tasks.request.model import Measure

_MOST_CLASSES = 5
_ROUNDED = "Counts are rounded to tens, or to three digits."
_SMALL = "Too few records to be told by class."


@dataclass(frozen=True)
class Told:
    """A count as it is shown."""

    text: str
    number: int | None
    """None where only a bound may be shown, or nothing."""


@dataclass(frozen=True)
class Shown:
    """A class and how many records it has, as far as that may be shown."""

    name: str
    records: Told
    class_: Mapping[str, Any]
    """The class for programs."""


@dataclass(frozen=True)
class ShownGate:
    """The records at stake of one gate, ready to be shown."""

    measure: Measure
    condition: str
    counted: str
    records: Told
    released: Told
    same_as: Measure | None
    """An earlier gate with the very same records, whose classes are not repeated."""
    patterns: tuple[Shown, ...]
    bands: tuple[Shown, ...]
    attributes: tuple[Shown, ...]


def shown_records(
    record: DecisionRecord, found: Sequence[AtStake | NotByClass]
) -> tuple[list[ShownGate | NotByClass], bool]:
    """Groups of the records at stake that may be shown, and whether counts were rounded.

    Parameters
    ----------
    record : DecisionRecord
        Of the same recipient; its policy has the smallest count that may be shown.
    found : sequence
        One for each closed gate on risk.
    """
    stakes = [one for one in found if isinstance(one, AtStake)]
    rounded = record.decoys is not None or len({one.members for one in stakes}) > 1
    first: dict[bytes, Measure] = {}
    shown: list[ShownGate | NotByClass] = []
    for one in found:
        if isinstance(one, NotByClass):
            shown.append(one)
            continue
        earlier = first.setdefault(one.members, one.measure)
        gate = _gate(record, one, rounded=rounded)
        if earlier is not one.measure:
            gate = replace(gate, same_as=earlier, patterns=(), bands=(), attributes=())
        shown.append(gate)
    return shown, rounded


def documents(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[dict[str, Any]]:
    """The same as JSON; counts as they are shown."""
    shown, rounded = shown_records(record, found)
    return [
        {"measure": one.measure.value, "reason": one.reason}
        if isinstance(one, NotByClass)
        else {
            "measure": one.measure.value,
            "condition": one.condition,
            "records": one.records.number,
            "records_shown": one.records.text,
            "released": one.released.number,
            "rounded": rounded,
            "group_sizes_count": one.counted,
            "same_as": one.same_as and one.same_as.value,
            "by_levels": _classes(one.patterns),
            "by_group_size": _classes(one.bands),
            "by_attribute": _classes(one.attributes),
        }
        for one in shown
    ]


def rendered_records(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[RenderableType]:
    """Tables for the terminal; none where no gate on risk is closed."""
    shown, rounded = shown_records(record, found)
    if not shown:
        return []
    parts: list[RenderableType] = [Text("Records at stake, by class", style="italic")]
    for one in shown:
        title = MEASURES[one.measure].title
        if isinstance(one, NotByClass):
            parts.append(Text(f"{title}: {one.reason}"))
            continue
        parts.append(Text(f"{title}: {one.records.text} of {one.released.text} records {one.condition}"))
        if one.same_as is not None:
            parts.append(_indented(Text(f"the same as of: {MEASURES[one.same_as].title}", style="dim")))
        elif one.bands:
            parts.append(_indented(_table(one)))
        else:
            parts.append(_indented(Text(_SMALL, style="dim")))
    if rounded:
        parts.append(Text(_ROUNDED, style="dim"))
    return [Group(*parts)]


def _table(one: ShownGate) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
    table.add_column("", style="dim", max_width=24)
    table.add_column("", overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    for title, classes in (
        ("released as", one.patterns),
        (one.counted, one.bands),
        ("set apart most by", one.attributes),
    ):
        for place, class_ in enumerate(classes):
            table.add_row("" if place else title, class_.name, class_.records.text)
    return table


def _gate(record: DecisionRecord, one: AtStake, *, rounded: bool) -> ShownGate:
    rule, others = SmallCellRule(record.policy.small_cell), one.released - one.records
    told = _told(one.records, rule.part(one.records, one.released), rounded=rounded)
    named = {field.name: field.levels for field in record.fields}
    classes: list[tuple[Shown, ...]] = [(), (), ()]
    if not rule.hides(one.records):
        hidden = others if rule.hides(others) else 0
        classes = [
            _counted(rule, _few(rule, [_pattern(pattern, named) for pattern in one.patterns]), hidden, rounded=rounded),
            _counted(rule, [_band(band) for band in one.bands], hidden, rounded=rounded),
            _counted(rule, _few(rule, [_separated(part) for part in one.attributes]), hidden, rounded=rounded),
        ]
    return ShownGate(
        measure=one.measure,
        condition=one.condition,
        counted=one.counted,
        records=told,
        released=_told(one.released, integer(one.released), rounded=rounded),
        same_as=None,
        patterns=classes[0],
        bands=classes[1],
        attributes=classes[2],
    )


_Class = tuple[str, Mapping[str, Any], int]


def _few(rule: SmallCellRule, classes: Sequence[_Class]) -> list[_Class]:
    """The largest classes; the others, and all small ones, as one."""
    large = [one for one in classes if not rule.hides(one[2])][:_MOST_CLASSES]
    rest = classes[len(large) :]
    if len(rest) < 2:
        return list(classes)
    return [*large, (f"{len(rest)} others", {"others": len(rest)}, sum(records for _, _, records in rest))]


def _counted(rule: SmallCellRule, classes: Sequence[_Class], hidden: int, *, rounded: bool) -> tuple[Shown, ...]:
    """Classes with their counts as far as they may be shown; ``hidden`` is the rest of a total that is shown."""
    counts = [records for _, _, records in classes]
    told = rule.breakdown([*counts, hidden] if hidden else counts)
    return tuple(
        Shown(name, _told(records, text, rounded=rounded), class_)
        for (name, class_, records), text in zip(classes, told, strict=False)
    )


def _pattern(pattern: Pattern, named: Mapping[str, Sequence[str]]) -> _Class:
    """Attributes by the level that they are released at."""
    by_level: dict[str, list[str]] = {}
    levels = {
        name: named[name][level] if level < len(named.get(name, ())) else f"level {level}"
        for name, level in pattern.levels.items()
    }
    for name, level in levels.items():
        by_level.setdefault(level, []).append(name)
    return "; ".join(f"{', '.join(names)} {level}" for level, names in by_level.items()), levels, pattern.records


def _band(band: Band) -> _Class:
    limits = {"least": band.least, "most": band.most}
    if band.most is None:
        return f"{integer(band.least)} or more", limits, band.records
    if band.least == band.most:
        return integer(band.least), limits, band.records
    return f"{integer(band.least)} to {integer(band.most)}", limits, band.records


def _separated(part: Separated) -> _Class:
    return part.attribute or "none alone", {"attribute": part.attribute or None}, part.records


def _classes(shown: Iterable[Shown]) -> list[dict[str, Any]]:
    return [{**one.class_, "records": one.records.number, "records_shown": one.records.text} for one in shown]


def _told(count: int, text: str, *, rounded: bool) -> Told:
    """A count, as far as the rule lets it be shown."""
    if text != integer(count):
        return Told(text, None)
    number = rounded_count(count) if rounded else count
    return Told(integer(number), number)


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2))
