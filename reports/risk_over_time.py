"""Risk over time: the highest risk of each decided copy of one recipient, by policy, as a chart and as a table."""

from collections.abc import Sequence
from datetime import date, timedelta

from reports.model import charts, numbers
from reports.model.charts import AFTER, ALARM, BEFORE, INK, Chart, ChartAxis, Dots, Key, Line, Mark, Panel
from reports.model.document import DASH, Row, Table
from tasks.audit.cases import AuditCase
from tasks.request.model import Measure

_COLOURS = (AFTER, ALARM, INK, BEFORE)
_SHAPES = ("circle", "square", "triangle", "diamond", "cross")
_TICKS = 5
_ROOM = timedelta(days=3)


def risk_over_time(cases: Sequence[AuditCase]) -> Chart | None:
    """The chart of one recipient's cases, oldest first; None where no risk of theirs was measured."""
    measured = [case for case in cases if case.kept.risk is not None and case.kept.risk.highest > 0]
    if not measured:
        return None
    organisation = measured[-1].kept.organisation
    x = _days([case.decided.at.date() for case in measured])
    values = [_risk(case) for case in measured] + [limit for case in measured if (limit := _limit(case)) is not None]
    y = charts.logarithmic(min(values) / 1.6, min(1.0, max(values) * 1.6), "highest risk of a record")
    marks: list[Mark] = []
    legend: list[Key] = []
    policies = sorted({case.kept.policy.id for case in measured})
    for place, policy in enumerate(policies):
        colour, shape = _COLOURS[place % len(_COLOURS)], _SHAPES[place % len(_SHAPES)]
        own = [case for case in measured if case.kept.policy.id == policy]
        limits = [(_place(case), limit) for case in own if (limit := _limit(case)) is not None]
        bound = Line((*limits, (x.high, limits[-1][1])), colour, 0.8, charts.DASHED, steps=True) if limits else None
        out = Dots(tuple((_place(case), _risk(case)) for case in own if case.released), colour, shape)
        kept = Dots(
            tuple((_place(case), _risk(case)) for case in own if not case.released), colour, shape, filled=False
        )
        marks += [*([bound] if bound else []), out, kept]
        legend += [charts.line_key(f"{policy}: delivered", out)] if out.points else []
        legend += [charts.line_key(f"{policy}: not delivered", kept)] if kept.points else []
        legend += [charts.line_key(f"{policy}: allowed", bound)] if bound else []
    return Chart(
        "risk-over-time",
        f"Highest risk of each of {len(measured)} decided copies for {organisation} by day of the decision; the "
        "figures are in the table beside it.",
        f"Highest risk of a record, from a recipient who knows how the copy was made, in each decided copy for "
        f"{organisation}.",
        [[Panel(x, y, marks)]],
        190,
        legend,
    )


def risk_table(cases: Sequence[AuditCase]) -> Table:
    """The highest risk of each decided copy as a table, oldest first."""
    rows: list[Row] = [
        (
            case.decided.at.date().isoformat(),
            numbers.short(case.release_id),
            f"{case.kept.policy.id}, {case.kept.policy.version}",
            DASH if case.kept.risk is None else numbers.risk(case.kept.risk.highest),
            DASH if (limit := _limit(case)) is None else numbers.risk(limit),
            case.outcome.state,
        )
        for case in cases
    ]
    head = "Decided 16 | Release 18 | Policy 22 | Highest risk 14r | Allowed 14r | State 16"
    return Table("Highest risk by day of the decision", head, rows)


def _risk(case: AuditCase) -> float:
    return case.kept.risk.highest if case.kept.risk is not None else 0.0


def _limit(case: AuditCase) -> float | None:
    """The policy's bound on that risk; None where it sets none."""
    found = (gate.threshold for gate in case.kept.gates if gate.id == Measure.TRANSPARENT_MAXIMUM.value)
    return next((limit for limit in found if limit > 0), None)


def _place(case: AuditCase) -> float:
    return float(case.decided.at.date().toordinal())


def _days(days: Sequence[date]) -> ChartAxis:
    """An axis from the first day to the last, with some room and a few ticks."""
    first, last = min(days) - _ROOM, max(days) + _ROOM
    step = max((last - first).days // _TICKS, 1)
    ticks = tuple(
        (float(first.toordinal() + place), (first + timedelta(days=place)).isoformat())
        for place in range(step // 2, (last - first).days, step)
    )
    return ChartAxis(float(first.toordinal()), float(last.toordinal()), "day of the decision", ticks)
