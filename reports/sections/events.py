"""Rows of people who have several: their number, and the sensitive values of them that classes disclose."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import DASH, Block, Paragraph, Row, Table, said
from reports.model.record_view import FileView
from tasks.assessments.events.facts import EventColumnFact, EventsFact, KnownRowsFact
from tasks.core.plural import listed


def events(view: FileView, fact: EventsFact) -> Iterator[Block]:
    """The part of the section on risk."""
    cells, total = view.cells, fact.people
    rows = numbers.integer(fact.rows_in)
    stated = [name for name in fact.attributes if name not in fact.dated]
    yield said(
        f"The {rows} rows of the {'tables' if fact.tables else 'file'} are of {cells.count(fact.people_in)} people, "
        f"named by {fact.person}.",
        "Every figure of this document counts people, not rows; an attacker is assumed to see which rows are of one "
        "person.",
        f"Attributes of rows that are released: {', '.join(_released(fact))}." if fact.attributes else None,
        f"The request states that nobody outside knows the values of {', '.join(stated)}."
        if stated and not fact.known
        else None,
        "No attribute of rows is released." if not fact.attributes else None,
    )
    if fact.known:
        yield from _known(view, fact, fact.known)
    if not fact.columns:
        return
    yield said(
        "A person has a value if any row of the person has it. A class discloses a value as of attributes of people: "
        "if whoever guesses it is wrong at most half as often as by the file's share, the share of its people who have "
        "it is at least 20 percentage points above the file's, and chance does not explain it.",
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
            "In classes that all have a value: people of classes all of whose people have a value that at most four "
            "fifths of the file have. Gates on attribute.* judge the worse of these figures and of those of attributes "
            "of people.",
            f"Numbers count as one value where they are near each other: {', '.join(narrow)}." if narrow else None,
        ),
        "note",
    )


def _released(fact: EventsFact) -> list[str]:
    levels = fact.levels
    return [f"{name} at level {levels[name]}" if levels.get(name) else name for name in fact.attributes]


def _known(view: FileView, fact: EventsFact, known: KnownRowsFact) -> Iterator[Block]:
    cells, total = view.cells, fact.people
    some = known.rows_in_words
    yield said(
        f"An attacker is assumed to know {', '.join(known.attributes)} of {some} of a person, the person's class, and "
        "that the person is in the file. No population table counts rows, so the people who match are counted "
        "in the file. Gates judge the worse of these figures and of those of people.",
        "The attacker also knows the table of a known row, and what may be known of the rows that it is within; but "
        "not that two rows are within the same one, nor anything of tables without attributes that may be known."
        if fact.tables
        else None,
        withheld_rows(view, fact),
        f"{cells.count(known.long_histories)} people have so many rows that all of them count as known."
        if known.long_histories
        else None,
    )
    yield Table(
        "People who match what is known of a person's rows",
        "Known 26 | Fewest people 18r | Mean risk 18r | People singled out 18r | By all their rows 20r",
        [
            (
                f"{some} of a person",
                cells.count(known.fewest),
                numbers.risk(known.mean_risk),
                cells.share(known.unique_people / total, total),
                cells.share(known.unique_by_all / total, total),
            )
        ],
    )


def withheld_rows(view: FileView, fact: EventsFact) -> str | None:
    """Sentence on rows that are withheld for what may be known of them; None where none are."""
    count = view.cells.count(fact.withheld_rows)
    if not fact.withheld_rows:
        return None
    reasons = ["too few people match"] * fact.too_few
    if fact.most_rows is not None:
        reasons.append(f"a person has more than {fact.most_rows:,}")
    why = f"Because {' or '.join(reasons)}"
    if fact.tables:
        return f"{why}, {count} rows are withheld: those of further tables are left out, with the rows within them."
    known = listed(fact.known.attributes) if fact.known else "what may be known"
    return f"{why}, the values of {known} are withheld in {count} rows."


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
