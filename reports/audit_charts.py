"""Charts of an audit, drawn from the report alone; nothing where the period has nothing for them.

Nothing is shown by colour alone: outcomes differ in lightness or outline, intruders in line and marker.
"""

from collections.abc import Iterator, Sequence

from reports import numbers
from reports.audit_tables import INTRUDERS, part, summed
from reports.charting import Chart, Panel, box_key, line_key
from reports.document import plural
from reports.marks import (
    AFTER,
    ALARM,
    BAND,
    BEFORE,
    BLUES,
    DASHED,
    DOTTED,
    EDGE,
    INK,
    PARTLY,
    REMOVED,
    Box,
    ChartAxis,
    Dots,
    Label,
    Line,
    Mark,
    linear,
    rows_axis,
    vertical,
)
from tasks.audit.report import AuditInterval, AuditReport

_MOST_RECIPIENTS = 12
_BEYOND = 1.25
"""End of the axis of gates; figures beyond are drawn there."""
_FILLS = {
    "released": (AFTER, "none"),
    "approved": (BLUES[3], "none"),
    "awaiting review": ("white", AFTER),
    "blocked": (ALARM, "none"),
    "refused": (PARTLY, "none"),
    "failed": ("white", ALARM),
    "expired": (REMOVED, "none"),
    "revoked": (INK, "none"),
    "superseded": (BEFORE, "none"),
}
"""Fill and edge of each outcome."""
_STYLES = {
    "uninformed": (AFTER, DASHED, "circle"),
    "informed": (ALARM, "", "square"),
    "masked": (INK, DOTTED, "triangle"),
}


def outcomes(report: AuditReport) -> Iterator[Chart]:
    """Requests over time by outcome."""
    if not report.outcomes:
        return
    names = sorted(report.outcomes, key=lambda name: [*_FILLS, name].index(name))
    marks: list[Mark] = []
    for place, interval in enumerate(report.intervals):
        below = 0
        for name in names:
            count = interval.outcomes.get(name, 0)
            if count:
                marks.append(
                    Box((place - 0.41, place + 0.41), (below, below + count), *_FILLS.get(name, ("white", INK)))
                )
            below += count
    busiest = max(report.intervals, key=lambda one: sum(one.outcomes.values()))
    most = max(1, sum(busiest.outcomes.values()))
    days = numbers.day(busiest.first_day)
    if busiest.first_day != busiest.last_day:
        days += f" to {numbers.day(busiest.last_day)}"
    y = linear(0, 1.05 * most, "requests")
    whole = tuple(tick for tick in y.ticks if tick[0] == int(tick[0]))
    yield Chart(
        "audit-outcomes",
        f"Stacked bars of requests over the period by outcome. In all: {_listed(report.outcomes)}. The most are in "
        f"{days}: {_listed(busiest.outcomes)}.",
        f"Requests made in the period by {_grain(report.intervals)} and by outcome at its end; a request for several "
        "recipients counts once for each.",
        [[Panel(_time_axis(report.intervals), ChartAxis(y.low, y.high, y.title, whole), marks)]],
        185,
        [box_key(name, *_FILLS.get(name, ("white", INK))) for name in names],
    )


def exposure(report: AuditReport) -> Iterator[Chart]:
    """Records delivered by recipient."""
    shown = report.recipients[:_MOST_RECIPIENTS]
    if not shown:
        return
    most, marks, listed = max(1, *(row.records.high for row in shown)), list[Mark](), []
    for place, row in enumerate(shown):
        words = (
            f"{summed(row.records, row.not_recorded)} records, {plural(row.files, 'file')}, "
            f"{numbers.risk(row.expected)} expected"
        )
        marks += [
            Box((0, row.records.high), (place - 0.31, place + 0.31), AFTER),
            Label(row.records.high, place, words, "start", 4),
        ]
        listed.append(f"{row.recipient}, {words} re-identifications")
    rest = len(report.recipients) - len(shown)
    more = f"; {numbers.integer(rest)} more recipients are in recipients.csv" if rest else ""
    yield Chart(
        "audit-exposure",
        f"Bars of the records delivered to each recipient: {'; '.join(listed)}.",
        "Deliveries to each recipient since the ledger began, with the re-identifications expected of a recipient "
        f"who knows how the files were made{more}.",
        [
            [
                Panel(
                    linear(0, 1.75 * most, "records delivered, all files together", last=most),
                    rows_axis([_short(row.recipient) for row in shown]),
                    marks,
                )
            ]
        ],
        46 + 15 * max(len(shown), 3),
    )


def gates(report: AuditReport) -> Iterator[Chart]:
    """Part of each threshold that the measured figures use."""
    shown = [row for row in report.gates if row.highest is not None]
    if not shown:
        return
    marks: list[Mark] = [Box((report.near_from, 1), (-EDGE, EDGE), BAND), vertical(1)]
    for place, row in enumerate(shown):
        low, middle, high = (value or 0.0 for value in (row.lowest, row.median, row.highest))
        colour = ALARM if row.failed else AFTER
        marks += [Line(((low, place), (high, place)), colour, 2.4), Dots(((middle, place),), colour, filled=False)]
        marks += [Dots(((_BEYOND, place),), colour, "arrow")] if high > _BEYOND else []
    ticks = ((0.0, "0"), (0.25, "25%"), (0.5, "50%"), (0.75, "75%"), (1.0, "threshold"), (_BEYOND, "125%"))
    values = "; ".join(
        f"{row.title}: {', '.join(part(value) for value in (row.lowest, row.median, row.highest) if value is not None)}"
        for row in shown
    )
    yield Chart(
        "audit-gates",
        "For each gate a line from the lowest to the highest part of what the gate allows that a figure took, with "
        f"the median: {values}.",
        "Measured figures against thresholds: lowest to highest figure of the period, with the median (○); shaded "
        f"from {numbers.percent(report.near_from)} of the threshold on. An arrow marks figures beyond "
        f"{part(_BEYOND)}. Thresholds of 0 and figures about few people are left out.",
        [
            [
                Panel(
                    ChartAxis(
                        0, _BEYOND, "part of what the gate allows that the measured figure takes", ticks, grid=True
                    ),
                    rows_axis([_short(row.gate, 34) for row in shown]),
                    marks,
                )
            ]
        ],
        46 + 15 * max(len(shown), 3),
    )


def attacks(report: AuditReport) -> Iterator[Chart]:
    """Shares linked over time by intruder."""
    marks, keys, described = list[Mark](), [], []
    for kind, words in INTRUDERS.items():
        points = [
            (place, one)
            for place, interval in enumerate(report.intervals)
            for one in interval.attacks
            if one.intruder == kind
        ]
        if points:
            colour, dash, shape = _STYLES[kind]
            highest, medians = (
                [(float(place), 100 * getattr(one, name)) for place, one in points] for name in ("highest", "median")
            )
            marks += [
                Line(highest, colour, 1.4, dash),
                Dots(highest, colour, shape),
                Dots(medians, colour, shape, filled=False),
            ]
            keys.append(line_key(words, Line((), colour, 1.4, dash), Dots((), colour, shape)))
            described.append(
                f"{words}, {plural(sum(one.attacks for _, one in points), 'attack')}, at most "
                f"{numbers.percent(max(one.highest for _, one in points))} of the people linked"
            )
    ticks = tuple((float(share), f"{share}%") for share in (0, 25, 50, 75, 100))
    if marks:
        yield Chart(
            "audit-attacks",
            f"Highest and median share of people linked over the period by kind of intruder: {'; '.join(described)}.",
            f"People linked to their own records by the strongest attack on each file, by {_grain(report.intervals)} "
            "of the decision: highest (filled) and median (open) over files. Blocked files are among them.",
            [[Panel(_time_axis(report.intervals), ChartAxis(-3, 103, "people linked", ticks, grid=True), marks)]],
            185,
            keys,
        )


def _grain(intervals: Sequence[AuditInterval]) -> str:
    longest = max((one.last_day - one.first_day).days for one in intervals)
    return "day" if longest == 0 else "week" if longest <= 6 else "month" if longest <= 31 else "year"


def _time_axis(intervals: Sequence[AuditInterval]) -> ChartAxis:
    form = {"month": "%Y-%m", "year": "%Y"}.get(_grain(intervals), "%Y-%m-%d")
    return ChartAxis(
        -0.6, len(intervals) - 0.4, "", tuple((place, f"{one.first_day:{form}}") for place, one in enumerate(intervals))
    )


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{numbers.integer(count)} {name}" for name, count in counts.items()) or "none"


def _short(name: str, longest: int = 24) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
