"""Rows of people who have several: their number, and the sensitive values of them that classes disclose."""

from collections.abc import Iterator

from reports import numbers
from reports.document import DASH, Block, Paragraph, Row, Table, said
from reports.record_view import FileView, RecordView
from tasks.assessments.events.facts import EventColumnFact, EventsFact


def events(view: RecordView, fact: EventsFact) -> Iterator[Block]:
    """The part of the section on risk."""
    cells, total = view.cells, fact.people
    rows = numbers.integer(fact.rows_in)
    stated = [name for name in fact.attributes if name not in view.dated]
    yield said(
        f"The {rows} rows of the file are of {cells.count(fact.people_in)} people, named by {fact.person}.",
        "Every figure of this document counts people, not rows; an attacker is taken to see which rows are of one "
        "person.",
        f"Attributes of rows that are released: {', '.join(fact.attributes)}."
        if fact.attributes
        else "No attribute of rows is released.",
        f"The request states that nobody outside knows the values of {', '.join(stated)}." if stated else None,
    )
    if not fact.columns:
        return
    yield said(
        "A person has a value if any row of the person has it. A class discloses a value if the share of its people "
        "who have it is at least one half above the file's share and chance does not explain it.",
        f"Classes disclose values of {cells.share(fact.disclosed_people / total, total)} of the people."
        if fact.disclosed_people
        else "No class does.",
    )
    yield Table(
        "What classes disclose of the rows of their people, by sensitive attribute",
        "Attribute 26 | Largest share of a class with a value 20r | In classes that all have a value 20r | "
        "Disclosed 16r | Rise, informed 16r",
        [_row(view, one, total) for one in fact.columns],
    )
    narrow = [f"{one.column} within {numbers.plain(one.width)}" for one in fact.columns if one.width]
    yield Paragraph(
        said(
            "In classes that all have a value: people of classes all of whose people have a value that at most half of "
            "the file has. Gates on attribute.* judge the worse of these figures and of those of attributes of people.",
            f"Numbers count as one value where they are near each other: {', '.join(narrow)}." if narrow else None,
        ),
        "note",
    )


def _row(view: FileView, one: EventColumnFact, total: int) -> Row:
    if not one.judged:
        return (one.column, *[DASH] * 4)
    return (
        one.column,
        numbers.percent(one.largest_share),
        view.cells.share(one.homogeneous_people / total, total),
        view.cells.share(one.disclosed_people / total, total),
        numbers.risk(one.informed_rise),
    )
