"""The records at stake as people and programs see them: counts by class, under the small-cell rule.

No count of few records is shown or can be derived from a total, a breakdown or two counts. Where the sets of several
gates differ, or the copy holds decoys, counts are rounded as the record rounds them, so that no difference reveals any.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.model.blocks import noted, table
from reports.model.document import Block, Paragraph
from reports.model.numbers import integer
from reports.model.smallcell import SmallCellRule
from tasks.decision.disclosure_rounding import count as rounded_count
from tasks.decision.explain.at_stake import AtStake, Band, Levels, RecordClass
from tasks.decision.explain.result import NotByClass
from tasks.decision.record import DecisionRecord
from tasks.request.measures import MEASURES
from tasks.request.model import Measure

_MOST_CLASSES = 5
_ROUNDED = "Counts are rounded to tens, or to three digits."
_SMALL = "Too few records to be shown by class."


_Row = dict[str, Any]
"""A class of records for programs; ``shown_as`` is its name for people."""


def documents(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[dict[str, Any]]:
    """The records at stake of each closed gate on risk, as JSON; counts as they may be shown."""
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


def told_counts(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> dict[str, str]:
    """The records at stake in a few words, by gate, with the quasi-identifier that sets the most of them apart."""
    told = dict[str, str]()
    for one in documents(record, found):
        largest = next((row for row in one.get("by_attribute", ()) if row.get("attribute")), None)
        most = f"; set apart most by {largest['attribute']}" if largest and largest["records"] else ""
        told[one["measure"]] = one.get("reason") or f"{one['records_shown']} of {one['released_shown']} records{most}"
    return told


def rendered_records(record: DecisionRecord, found: Sequence[AtStake | NotByClass]) -> list[Block]:
    """The records at stake as tables for the terminal; none where no gate on risk is closed."""
    shown = documents(record, found)
    parts: list[Block] = [Paragraph("Records at stake, by class", "label")] if shown else []
    for one in shown:
        title = MEASURES[Measure(one["measure"])].title
        if "reason" in one:
            parts.append(Paragraph(f"{title}: {one['reason']}", "lead"))
            continue
        condition = f"{one['records_shown']} of {one['released_shown']} records {one['condition']}"
        parts.append(Paragraph(f"{title}: {condition}", "lead"))
        if one["same_as"]:
            parts += noted(f"  the same as of: {MEASURES[Measure(one['same_as'])].title}")
        elif one["by_group_size"]:
            parts += table("", ("", "", ">"), [*_rows(one)])
        else:
            parts += noted(f"  {_SMALL}")
    return [*parts, *noted(_ROUNDED if any(one.get("rounded") for one in shown) else "")]


def _rows(document: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    headings = {
        "by_levels": "released as",
        "by_group_size": document["group_sizes_count"],
        "by_attribute": "set apart most by",
    }
    for key, heading in headings.items():
        for place, row in enumerate(document[key]):
            yield "" if place else f"  {heading}", row["shown_as"], row["records_shown"]


def _document(record: DecisionRecord, one: AtStake, first: Measure, rounded: bool) -> _Row:
    rule, others = SmallCellRule(record.policy.small_cell), one.released - one.records
    released = _counted(one.released, integer(one.released), rounded)
    classes: dict[str, Sequence[_Row]] = dict.fromkeys(("by_levels", "by_group_size", "by_attribute"), ())
    if not rule.hides(one.records) and first is one.measure:
        names = {field.name: field.levels for field in record.fields}
        separated = [
            {"shown_as": part.kind or "none alone", "attribute": part.kind or None, "records": part.records}
            for part in one.attributes
        ]
        classes = {
            "by_levels": _few(rule, [_pattern(pattern, names) for pattern in one.patterns]),
            "by_group_size": [_band(band) for band in one.bands],
            "by_attribute": _few(rule, separated),
        }
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
        **{name: _shown(rule, rows, hidden, rounded) for name, rows in classes.items()},
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


def _pattern(pattern: RecordClass[Levels], names: Mapping[str, Sequence[str]]) -> _Row:
    """Attributes by the level that they are released at."""
    levels = {
        name: names[name][level] if level < len(names.get(name, ())) else f"level {level}"
        for name, level in pattern.kind.items()
    }
    words = "; ".join(
        f"{', '.join(name for name in levels if levels[name] == level)} {level}"
        for level in dict.fromkeys(levels.values())
    )
    return {**levels, "shown_as": words, "records": pattern.records}


def _band(band: RecordClass[Band]) -> _Row:
    least, most = band.kind
    words = f"{integer(least)} or more"
    if most is not None:
        words = integer(least) if least == most else f"{integer(least)} to {integer(most)}"
    return {"least": least, "most": most, "shown_as": words, "records": band.records}


def _counted(count: int, text: str, rounded: bool) -> _Row:
    """A count as far as the rule lets it be shown; no number where only a bound may be, or nothing."""
    if text != integer(count):
        return {"records": None, "records_shown": text}
    number = rounded_count(count) if rounded else count
    return {"records": number, "records_shown": integer(number)}
