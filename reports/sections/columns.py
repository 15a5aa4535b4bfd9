"""Released columns beside the quasi-identifiers: what each reveals, and who accepts its release."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import DASH, Block, Paragraph, Table, failed, lines, named, strong
from reports.model.record_view import FileView, RecordView
from tasks.assessments.columns.facts import ColumnFact, ColumnsFact, Sign
from tasks.core.plural import plural
from tasks.request.model import Measure


def excused(view: RecordView) -> Iterator[Block]:
    """Released columns that reveal others, for the determination: what they reveal, and who accepts that and why."""
    fact = view.columns
    if found := view.excused:
        yield Table(
            "Columns that are released although they reveal others: what each reveals, and who accepts that and why",
            "Column 20 | Finding 42 | Outcome 38",
            [(strong(one.name), _findings(view, one), _place(one, set())) for one in found],
        )
    if fact and fact.unplaced and view.gate(Measure.COLUMNS_UNPLACED) is None:
        yield (
            "No gate of the policy judges what released columns reveal, and no excuse covers that of "
            f"{named(one.name for one in fact.unplaced)}: section E10.6 has the findings."
        )


def columns(view: FileView, fact: ColumnsFact) -> Iterator[Block]:
    """The part of the section on risk."""
    yield (
        "Columns that are released beside the quasi-identifiers are judged by their values: whether one reveals a "
        "quasi-identifier or a withheld column, follows from quasi-identifiers, is in the population table or the "
        "register, or is nearly unique per record. Shares of information are above what chance gives; masked numbers "
        "count as released. Where a gate judges these columns, one with a finding is released only if somebody accepts "
        "that, and says why."
    )
    unplaced = {one.name for one in fact.unplaced}
    if found := [one for one in fact.columns if one.findings or one.name in unplaced]:
        yield Table(
            "What released columns reveal",
            "Column 22 | Distinct values, share of records 12r | Entropy, bits 10r | Finding 34 | Outcome 22",
            [(strong(one.name), *_figures(one), _findings(view, one), _place(one, unplaced)) for one in found],
        )
    if clear := [one.name for one in fact.columns if one not in found]:
        yield Paragraph(f"No finding in {plural(len(clear), 'column')}: {named(clear, every=True)}.")


def _figures(column: ColumnFact) -> tuple[str, str]:
    return numbers.percent(column.distinct_share), f"{column.entropy:.2f}"


def _findings(view: FileView, column: ColumnFact) -> str:
    """The findings; a share of the records is held to the small-cell rule."""
    shares = (
        view.share_in(one.share) if one.sign in (Sign.TOLD, Sign.ADDS, Sign.OF_GROUPS) else f"{one.share:.0%}"
        for one in column.findings
    )
    return lines(*(one.words(share) for one, share in zip(column.findings, shares, strict=True))) or DASH


def _place(column: ColumnFact, unplaced: set[str]) -> str:
    if column.name in unplaced:
        return failed("excused without effect" if column.excused else "not excused")
    return f"excused by {column.excused}" if column.excused else "excused with another column"
