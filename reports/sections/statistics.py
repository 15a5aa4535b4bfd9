"""How statistics of a copy differ from those of another file: exactly for experts, rounded for recipients.

A share of records stands for a count of them, so that few records left out are not disclosed by it.
"""

from collections.abc import Callable, Iterator

from reports import numbers
from reports.document import DASH, Block, Column, Paragraph, Row, Table, figures, lines, strong
from reports.record_view import RecordView
from tasks.decision.decoy_facts import StatisticsFact

_FINEST = 0.01
"""Finest change that is reported to a recipient, of standard deviations and of shares alike."""


def statistics_table(view: RecordView, fact: StatisticsFact, caption: str) -> Iterator[Block]:
    """The columns in the order of the record, and a summary of their associations."""
    share = view.share_out
    left_out = view.rows_in - view.released
    missing = view.record.decoys.missing if view.record.decoys else 0
    if any(view.cells.hides(count) for count in (left_out, missing, left_out - missing)):
        share = view.stepped_in

    yield Table(
        caption,
        (
            Column("Column", 25),
            *figures(
                lines("Mean, in", "deviations"),
                lines("Mean, in", "std. errors"),
                lines("Deviation,", "after/before"),
                lines("Distribution,", "records moved"),
                lines("One value's", "share, at most"),
                width=15,
            ),
        ),
        [
            (
                strong(one.name),
                numbers.fixed_or_dash(one.mean, 4),
                numbers.fixed_or_dash(one.standard_errors, 2),
                numbers.fixed_or_dash(one.spread, 4),
                DASH if one.total_variation is None else share(one.total_variation),
                DASH if one.largest is None else share(one.largest),
            )
            for one in fact.columns
        ],
    )
    found = [
        f"of {what} is {numbers.fixed(value, 4)}"
        for what, value in (
            ("a correlation between two numbers", fact.correlation),
            ("Cramér's V between two categories", fact.association),
        )
        if value is not None
    ]
    said = [f"Over all pairs of columns, the largest change {' and '.join(found)}."] if found else []
    if fact.target is not None and fact.coefficient is not None:
        explained = ""
        if fact.explained_before is not None and fact.explained_after is not None:
            explained = (
                f"; it explains R² {numbers.fixed(fact.explained_before)} before and "
                f"{numbers.fixed(fact.explained_after)} after"
            )
        is_number = any(one.name == fact.target and one.kind == "number" for one in fact.columns)
        what = fact.target if is_number else f"whether {fact.target} has its commonest value"
        said.append(
            f"In a linear regression of {what} on the other columns, no coefficient changes by more than "
            f"{numbers.fixed(fact.coefficient, 2)} of its standard errors{explained}."
        )
    if said:
        yield Paragraph(" ".join(said))


def reported_changes(view: RecordView) -> list[Row]:
    """The columns as reported to a recipient, rounded so that none and little read alike: name, mean, two shares."""
    write = _reported_share(view)
    return [
        (
            strong(one.name),
            _reported_mean(one.mean) if one.kind == "number" else DASH,
            DASH if one.kind == "number" or one.total_variation is None else write(one.total_variation),
            DASH if one.kind == "number" or one.largest is None else write(one.largest),
        )
        for one in (view.record.statistics.columns if view.record.statistics else ())
    ]


def _reported_mean(mean: float | None) -> str:
    if mean is None:
        return DASH
    return f"under {_FINEST}" if abs(mean) < _FINEST else numbers.fixed(mean, 2)


def _reported_share(view: RecordView) -> Callable[[float], str]:
    step = view.cells.step(view.rows_in, least=_FINEST)
    return lambda share: f"under {numbers.percent(step)}" if step and share < step else view.cells.stepped(share, step)
