"""Sensitive values that the classes of the released file disclose."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import DASH, Block, Paragraph, Row, Table, said
from reports.model.record_view import FileView
from tasks.assessments.attribute.facts import AttributeFact, ColumnDisclosureFact
from tasks.request.model import Measure


def attribute(view: FileView, fact: AttributeFact) -> Iterator[Block]:
    """The part of the section on risk."""
    if not fact.columns:
        yield "No sensitive column is released that is not known for certain, so that classes disclose nothing."
        return
    cells, total = view.cells, fact.records
    yield said(
        "Whoever knows that a person is in the file and knows the method finds the person's class, and may learn from "
        "it what its records share, without finding the record. A class discloses a value if whoever guesses it of its "
        "records is wrong at most half as often as by the file's share, its share of the records is at least 20 "
        "percentage points above the file's, and chance does not explain it: were values "
        "independent of classes, some class of the file would do so with a probability of at most 1%. It also "
        "discloses values together, a set or those of a narrow interval, that nine tenths of its records have and "
        "at most a tenth of the others.",
        f"{_classes(view, fact.disclosed_classes)}, with {cells.share(fact.disclosed_records / total, total)} of the "
        "records."
        if fact.disclosed_records
        else f"No class{_of_all(view, fact)} does.",
        f"Classes are told apart by {', '.join(fact.known)} too, known for certain." if fact.known else None,
        *(f"All records alike in {name} disclose {one.column}." for one in fact.columns for name in one.by),
    )
    yield Table(
        "What classes disclose, by sensitive column",
        "Column 22 | Largest share of a value in a class 13r | In classes of one value 14r | by chance 12r | "
        "Disclosed 13r | Rise, plain 13r | Rise, informed 13r",
        [_row(view, one, total) for one in fact.columns],
    )
    narrow = [f"{one.column} within {numbers.plain(one.width)}" for one in fact.columns if one.width]
    light = [f"{one.column} ({_left_out(one)})" for one in fact.columns if one.judged < one.values]
    yield Paragraph(
        said(
            "In classes of one value: records of classes all of whose records have one value that at most four "
            "fifths of the file have; beside it those to be expected by chance in classes of these sizes.",
            "Rise: by how much a value becomes more probable for somebody who does not know who is in the file, "
            "at most: plain among all people who match the class, informed among those whom the method puts into it.",
            f"Numbers count as one value where they are near each other: {', '.join(narrow)}." if narrow else None,
            f"Not judged for a sensitivity below 0.5: {', '.join(light)}." if light else None,
            None
            if Measure.ATTRIBUTE_DISCLOSED in view.gated or not view.gated
            else "No gate of the policy limits what classes disclose.",
        ),
        "note",
    )


def _row(view: FileView, one: ColumnDisclosureFact, total: int) -> Row:
    if not one.judged:
        return (one.column, *[DASH] * 6)
    cells = view.cells
    return (
        one.column,
        numbers.percent(one.largest_share),
        cells.share(one.homogeneous_records / total, total),
        numbers.percent(round(one.homogeneous_by_chance / total, 3)),
        cells.share(one.disclosed_records / total, total),
        numbers.risk(one.plain_rise),
        numbers.risk(one.informed_rise),
    )


def _of_all(view: FileView, fact: AttributeFact) -> str:
    """Classes in all; beside the mean size of a class, how many records were left out would follow from them."""
    return "" if view.few_suppressed else f" of {numbers.integer(fact.classes)}"


def _classes(view: FileView, classes: int) -> str:
    if view.cells.hides(classes):
        return "Some classes do"
    return "One class does" if classes == 1 else f"{numbers.integer(classes)} classes do"


def _left_out(one: ColumnDisclosureFact) -> str:
    return "all values" if not one.judged else f"{numbers.integer(one.values - one.judged)} of {one.values} values"
