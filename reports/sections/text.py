"""Free text that leaves: what was replaced in it, what remains, and how well the scanner finds identifiers."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import DASH, Block, Paragraph, Row, Table, said, strong
from reports.model.record_view import FileView
from tasks.assessments.text.facts import ScannerFact, TextColumnFact, TextFact


def text(_view: FileView, fact: TextFact) -> Iterator[Block]:
    """The part of the section on risk."""
    yield said(
        "Text is redacted: whatever was found to identify a person is replaced by its kind, such as [NAME]. The "
        f"columns are {', '.join(one.column for one in fact.columns)}.",
        "The scanner seeks expressions of identifiers, listed names, capitalized words in few people's texts, and in "
        "every text the values of the file's own identifiers and quasi-identifiers.",
        "No other figure in this document covers what text reveals.",
    )
    yield Table(
        "Text as released",
        "Column 16 | Language 10 | Records with text 14r | Replaced 36 | Values of other columns, found and left 14r | "
        "Suspicious words left 10r",
        [_column(one) for one in fact.columns],
    )
    yield Table(
        f"The scanner's recall and precision on {numbers.integer(fact.notes)} labelled notes, not of this file",
        "Kind 28 | Planted 10r | Found 10r | Recall, 95 % interval 20r | Replaced 10r | Precision, 95 % interval 22r",
        [_kind(one) for one in fact.scanner],
    )
    yield Paragraph(
        "Found: no part of the identifier remains. Precision: replacements that contain part of an identifier. The "
        "notes are sentences that were written for this measurement and drawn by a seeded generator; the intervals "
        "(Wilson) reflect the number of notes, not how much they resemble this file's. They are scanned without "
        "the values of other columns, which are found by themselves. Suspicious words left: capitalized words of a "
        "list of names, and numbers of five digits or more. Values left must be 0, or nothing is released.",
        "note",
    )


def _column(one: TextColumnFact) -> Row:
    replaced = ", ".join(f"{kind} {numbers.integer(count)}" for kind, count in one.replaced.items())
    return (
        strong(one.column),
        one.language,
        numbers.integer(one.records),
        replaced or "nothing",
        f"{numbers.integer(one.values_found)}, {numbers.integer(one.values_left)}",
        numbers.integer(one.residual),
    )


def _kind(one: ScannerFact) -> Row:
    spans = (
        DASH if span is None else numbers.percent_range(span.low, span.high) for span in (one.recall, one.precision)
    )
    recall, precision = spans
    return (
        one.kind,
        numbers.integer(one.planted),
        numbers.integer(one.found),
        recall,
        numbers.integer(one.replaced),
        precision,
    )
