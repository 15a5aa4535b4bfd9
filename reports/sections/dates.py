"""Shifted and relative dates: whom known true dates find, and what the calendar reveals of the shift."""

from collections.abc import Iterator
from math import log2

from reports.model import numbers
from reports.model.document import Block, Paragraph, Row, Table, said
from reports.model.record_view import FileView
from tasks.assessments.dates.facts import DatesFact, FoundFact, OffsetFact
from tasks.request.measures import DATES


def dates(view: FileView, fact: DatesFact) -> Iterator[Block]:
    """The part of the section on risk."""
    if not fact.found:
        yield "No date is shifted or relative to an index event, so that none is found by."
        return
    yield said(
        f"Shifted dates: {', '.join(fact.shifted)}. All dates of a person are moved by one number of days, drawn from "
        f"−{fact.offset.days} to {fact.offset.days} for the person and the recipient; it may be 0."
        if fact.offset
        else None,
        f"Relative dates, in days since {'another date' if fact.index is None else fact.index}: "
        f"{', '.join(fact.relative)}."
        if fact.relative
        else None,
        "Days between the dates of a person stay as they are, so that they are a fingerprint. The attacker knows that "
        f"the person is in the file, and true dates of the person: {_known(fact.known)}, those that find the person "
        "best. All people are candidates whose released dates can be these, moved by one possible number of days that "
        "puts no other date of theirs on a day of the week on which the column has none. The attacker guesses among "
        "them.",
    )
    yield Table(
        "People whom true dates find",
        "Known 40 | Found by a guess 20r | Matched by nobody else 20r",
        [
            _row(view, f"{_known(fact.known)}, and the class", fact.with_class, fact.people),
            _row(view, _known(fact.known), fact.by_dates, fact.people),
            _row(view, "all dates, and the class", fact.whole, fact.people),
        ],
    )
    yield Paragraph(
        said(
            "Found by a guess: expected share of the people, counted exactly.",
            f"{view.cells.count(fact.uncounted)} people have too many dates to count all sets of them; they are taken "
            "to be found."
            if fact.uncounted
            else None,
            None
            if DATES.intersection(view.gated) or not view.gated
            else "No gate of the policy limits whom known dates find.",
        ),
        "note",
    )
    if fact.offset is not None:
        yield from _calendar(fact.offset)


def _calendar(offset: OffsetFact) -> Iterator[Block]:
    before = min(1.0, -(-offset.offsets // 7) / offset.offsets)
    yield (
        "The calendar reveals something about the shift: where dates fall on some days of the week more than on "
        "others, a shift that is no multiple of 7 moves that pattern. Every possible shift of a person is weighed by "
        "Bayes' rule, by how many dates each column has on the days to which it leads back: on this day of the week; "
        f"or, with the whole calendar, also on closed days ({numbers.integer(offset.closed_days)}) and within the "
        "period of the data."
    )
    yield Table(
        "What the calendar reveals about the shift of a person, mean over people",
        "From 34 | Of the shift 22 | Bits learned 22r | Guessed right 11r | Without 11r",
        [
            (
                "days of the week",
                "modulo 7",
                f"{offset.weekday_bits:.2f} of {log2(min(7, offset.offsets)):.2f}",
                numbers.percent(offset.weekday_guessed),
                numbers.percent(before),
            ),
            (
                "the whole calendar",
                "in days",
                f"{offset.bits:.2f} of {log2(offset.offsets):.2f}",
                numbers.percent(offset.guessed),
                numbers.percent(1 / offset.offsets),
            ),
        ],
    )


def _known(dates: int) -> str:
    return "one date" if dates == 1 else f"{numbers.integer(dates)} dates"


def _row(view: FileView, words: str, found: FoundFact, people: int) -> Row:
    return (words, numbers.percent(found.share), view.cells.share(found.alone / people, people))
