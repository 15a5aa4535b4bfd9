"""Differences between statistics of a copy and those of another file: exactly for experts, rounded for recipients."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import DASH, Block, Row, Table, alike, named, said
from reports.model.record_view import RecordView
from tasks.core.plural import plural
from tasks.decision.decoy_facts import StatisticsFact

_NOTHING = 1e-9
_MOST_SHOWN = 12
_FINEST = 0.01
"""Finest change that is reported to a recipient, of standard deviations and of shares alike."""


def statistics_table(view: RecordView, fact: StatisticsFact, caption: str) -> Iterator[Block]:
    """The columns that changed, in the order of the record, those that did not, and their associations."""
    left_out = view.rows_in - view.released
    missing = view.record.decoys.missing if view.record.decoys else 0
    coarse = any(view.cells.hides(count) for count in (left_out, missing, left_out - missing))
    share = view.stepped_in if coarse else view.share_out
    # Of rounded shares, which are none and which merely little must not be told apart.
    same = (
        []
        if coarse
        else [
            one
            for one in fact.columns
            if max(abs(one.mean or 0.0), one.total_variation or 0.0, one.largest or 0.0) < _NOTHING
            and abs((one.spread or 1.0) - 1.0) < _NOTHING
        ]
    )
    changed = [one for one in fact.columns if one not in same]
    if counted := [one for one in changed if one.kind == "number"]:
        shown, most = counted, ": numbers"
        if len(counted) > _MOST_SHOWN:
            least = sorted((abs(one.standard_errors or 0.0) for one in counted), reverse=True)[_MOST_SHOWN - 1]
            shown = [one for one in counted if abs(one.standard_errors or 0.0) >= least]
            most = f": the {numbers.integer(len(shown))} of {plural(len(counted), 'number')} that changed most"
        yield Table(
            f"{caption}{most}",
            "Column 37 | Change of the mean, in deviations 21r | in standard errors 21r | Deviation, after/before 21r",
            [
                (
                    one.name,
                    numbers.fixed_or_dash(one.mean, 4),
                    numbers.fixed_or_dash(one.standard_errors, 2),
                    numbers.fixed_or_dash(one.spread, 4),
                )
                for one in shown
            ],
        )
    if others := [one for one in changed if one.kind != "number"]:
        yield Table(
            f"{caption}: categories",
            "Column 58 | Records that would change value 21r | Change of one value's share, at most 21r",
            alike(
                (one.name, *(DASH if of is None else share(of) for of in (one.total_variation, one.largest)))
                for one in others
            ),
        )
    found = [
        f"of {what} is {numbers.fixed(value, 4)}"
        for what, value in (
            ("a correlation between two numbers", fact.correlation),
            ("Cramér's V between two categories", fact.association),
        )
        if value is not None
    ]
    regression = None
    if fact.target is not None and fact.coefficient is not None:
        explained = ""
        if fact.explained_before is not None and fact.explained_after is not None:
            before, after = numbers.fixed(fact.explained_before), numbers.fixed(fact.explained_after)
            explained = f"; it explains R² {before} before and {after} after"
        is_number = any(one.name == fact.target and one.kind == "number" for one in fact.columns)
        regression = (
            "In a linear regression of "
            f"{fact.target if is_number else f'whether {fact.target} has its commonest value'} on the other columns, "
            f"no coefficient changes by more than {numbers.fixed(fact.coefficient, 2)} of its standard "
            f"errors{explained}."
        )
    words = said(
        f"Mean, deviation and distribution are unchanged in {named(one.name for one in same)}." if same else None,
        f"Over all pairs of columns, the largest change {' and '.join(found)}." if found else None,
        regression,
    )
    if words:
        yield words


def reported_changes(view: RecordView) -> list[Row]:
    """The columns as reported to a recipient, rounded so that none and little read alike: name, mean, two shares."""
    step = view.cells.step(view.rows_in, least=_FINEST)

    def share(value: float | None) -> str:
        if value is None:
            return DASH
        return f"under {numbers.percent(step)}" if step and value < step else view.cells.stepped(value, step)

    def mean(value: float | None) -> str:
        if value is None:
            return DASH
        return f"under {_FINEST}" if abs(value) < _FINEST else numbers.fixed(value, 2)

    return [
        (one.name, mean(one.mean), DASH, DASH)
        if one.kind == "number"
        else (one.name, DASH, share(one.total_variation), share(one.largest))
        for one in (view.record.statistics.columns if view.record.statistics else ())
    ]
