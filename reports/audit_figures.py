"""Figures of an audit: SVG with alternative text, drawn from the report and from nothing else.

Nothing is shown by colour alone: outcomes differ in lightness or outline, intruders in line and marker.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from reports import charting, numbers
from reports.audit_cells import INTRUDERS, part, summed
from reports.charting import AFTER, ALARM, BAND, BEFORE, BLUES, FAINT, INK, PARTLY, REMOVED, Figure
from tasks.audit.report import AuditGateRow, AuditInterval, AuditReport, RecipientRow
from tasks.decision.kept import Intruder

_MOST_RECIPIENTS = 12
_MOST_LABELS = 12
_BEYOND = 1.25
"""End of the axis of gates; figures beyond are drawn there."""
_FILLS: dict[str, dict[str, Any]] = {
    "released": {"facecolor": AFTER},
    "approved": {"facecolor": BLUES[3]},
    "awaiting review": {"facecolor": "white", "edgecolor": AFTER},
    "blocked": {"facecolor": ALARM},
    "refused": {"facecolor": PARTLY},
    "failed": {"facecolor": "white", "edgecolor": ALARM},
    "expired": {"facecolor": REMOVED},
    "revoked": {"facecolor": INK},
    "superseded": {"facecolor": BEFORE},
}
"""Distinct in grey print too, by lightness or an outline; hatching takes a PDF renderer long."""
_OTHER: dict[str, Any] = {"facecolor": "white", "edgecolor": INK, "linestyle": (0, (1.5, 1))}
_LINES: dict[Intruder, dict[str, Any]] = {
    "uninformed": {"color": AFTER, "linestyle": (0, (4, 2)), "marker": "o"},
    "informed": {"color": ALARM, "linestyle": "solid", "marker": "s"},
    "masked": {"color": INK, "linestyle": "dotted", "marker": "^"},
}


def audit_figures(report: AuditReport) -> dict[str, Figure]:
    """The figures that the period has something for, by name."""
    drawn = (outcomes(report), exposure(report.recipients), gates(report), attacks(report))
    return {figure.name: figure for figure in drawn if figure is not None}


def outcomes(report: AuditReport) -> Figure | None:
    """Requests over time by outcome; None where there was none."""
    if not report.outcomes:
        return None
    names = [*(name for name in _FILLS if name in report.outcomes)]
    names += [name for name in report.outcomes if name not in _FILLS]

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        below = [0] * len(report.intervals)
        for name in names:
            heights = [one.outcomes.get(name, 0) for one in report.intervals]
            style = {"linewidth": 0.8, **_FILLS.get(name, _OTHER)}
            ax.bar(range(len(heights)), heights, bottom=below, width=0.82, label=name, **style)
            below = [one + other for one, other in zip(below, heights, strict=True)]
        _time_axis(ax, report.intervals)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        ax.set_ylabel("requests")
        _legend(canvas, ax)

    busiest = max(report.intervals, key=lambda one: sum(one.outcomes.values()))
    return Figure(
        name="audit-outcomes",
        draw=draw,
        height=2.6,
        alt=f"Stacked bars of requests over the period by outcome. In all: {_listed(report.outcomes)}. The most are in "
        f"{interval_name(busiest)}: {_listed(busiest.outcomes)}.",
        caption=f"Requests made in the period by {_grain(report.intervals)} and by outcome at its end; a request for "
        "several recipients counts once for each.",
    )


def exposure(recipients: Sequence[RecipientRow]) -> Figure | None:
    """Records delivered by recipient; None where nothing was delivered."""
    shown = recipients[:_MOST_RECIPIENTS]
    if not shown:
        return None

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        most = max(1, *(row.records.high for row in shown))
        for place, row in enumerate(shown):
            ax.barh(place, row.records.high, height=0.62, color=AFTER)
            files = f"{numbers.integer(row.files)} {'file' if row.files == 1 else 'files'}"
            ax.text(
                row.records.high + most * 0.01,
                place,
                f"{summed(row.records, row.not_recorded)} records, {files}, {numbers.risk(row.expected)} expected",
                va="center",
                size=6.5,
            )
        charting.rows(ax, [_short(row.recipient) for row in shown])
        ax.set_xlim(0, most * 1.75)
        ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= most * 1.05])
        ax.xaxis.set_major_formatter(lambda value, _: numbers.tick(value))
        ax.set_xlabel("records delivered, all files together")

    rest = len(recipients) - len(shown)
    listed = "; ".join(
        f"{row.recipient}, {summed(row.records, row.not_recorded)} records in {numbers.integer(row.files)} files, "
        f"{numbers.risk(row.expected)} expected re-identifications"
        for row in shown
    )
    return Figure(
        name="audit-exposure",
        draw=draw,
        height=0.7 + 0.22 * max(len(shown), 3),
        alt=f"Bars of the records delivered to each recipient: {listed}.",
        caption="Deliveries to each recipient since the ledger began, with the re-identifications expected of a "
        "recipient who knows how the files were made"
        + (f"; {numbers.integer(rest)} more recipients are in recipients.csv." if rest else "."),
    )


def gates(report: AuditReport) -> Figure | None:
    """Part of each threshold that the measured figures use; None where none can be compared."""
    shown = [row for row in report.gates if row.highest is not None]
    if not shown:
        return None

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        ax.axvspan(report.near_from, 1, color=BAND, linewidth=0)
        ax.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
        for place, row in enumerate(shown):
            low, middle, high = (min(value or 0.0, _BEYOND) for value in (row.lowest, row.median, row.highest))
            colour = ALARM if row.failed else AFTER
            ax.plot([low, high], [place, place], color=colour, linewidth=2.4, solid_capstyle="butt")
            ax.plot(middle, place, marker="o", markersize=4.5, color="white", markeredgecolor=colour)
            if (row.highest or 0.0) > _BEYOND:
                ax.plot(_BEYOND, place, marker=">", markersize=4.5, color=colour, clip_on=False)
        charting.rows(ax, [_short(row.gate, 34) for row in shown])
        ax.set_xlim(0, _BEYOND)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1, 1.25], ["0", "25%", "50%", "75%", "threshold", "125%"])
        ax.grid(axis="x", color=FAINT, linewidth=0.4)
        ax.set_axisbelow(True)
        ax.set_xlabel("part of what the gate allows that the measured figure takes")

    return Figure(
        name="audit-gates",
        draw=draw,
        height=0.75 + 0.22 * max(len(shown), 3),
        alt="For each gate a line from the lowest to the highest part of what the gate allows that a figure took, with "
        f"the median: {'; '.join(_values(row) for row in shown)}.",
        caption="Measured figures against thresholds: lowest to highest figure of the period, with the median (○); "
        f"shaded from {numbers.percent(report.near_from)} of the threshold on. An arrow marks figures beyond "
        f"{part(_BEYOND)}. Thresholds of 0 and figures about few people are left out.",
    )


def attacks(report: AuditReport) -> Figure | None:
    """Shares linked over time by intruder; None where nothing was attacked."""
    found = {one.intruder for interval in report.intervals for one in interval.attacks}
    if not found:
        return None
    kinds = [kind for kind in INTRUDERS if kind in found]

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        for kind in kinds:
            points = [
                (place, one)
                for place, interval in enumerate(report.intervals)
                for one in interval.attacks
                if one.intruder == kind
            ]
            places = [place for place, _ in points]
            style = _LINES[kind]
            highest = [100 * one.highest for _, one in points]
            ax.plot(places, highest, linewidth=1.4, markersize=4, label=INTRUDERS[kind], **style)
            medians = [100 * one.median for _, one in points]
            ax.plot(places, medians, markersize=4, markerfacecolor="white", **{**style, "linestyle": "none"})
        _time_axis(ax, report.intervals)
        ax.set_ylim(-3, 103)
        ax.set_yticks([0, 25, 50, 75, 100], ["0%", "25%", "50%", "75%", "100%"])
        ax.grid(axis="y", color=FAINT, linewidth=0.4)
        ax.set_ylabel("people linked")
        _legend(canvas, ax)

    described = []
    for kind in kinds:
        counts = [one for interval in report.intervals for one in interval.attacks if one.intruder == kind]
        described.append(
            f"{INTRUDERS[kind]}, {numbers.integer(sum(one.attacks for one in counts))} attacks, "
            f"at most {numbers.percent(max(one.highest for one in counts))} of the people linked"
        )
    return Figure(
        name="audit-attacks",
        draw=draw,
        height=2.6,
        alt=f"Highest and median share of people linked over the period by kind of intruder: {'; '.join(described)}.",
        caption=f"People linked to their own records by the strongest attack on each file, by "
        f"{_grain(report.intervals)} of the decision: highest (filled) and median (open) over files. Blocked files "
        "are among them.",
    )


def interval_name(interval: AuditInterval) -> str:
    """An interval in words."""
    if interval.first_day == interval.last_day:
        return numbers.day(interval.first_day)
    return f"{numbers.day(interval.first_day)} to {numbers.day(interval.last_day)}"


def _grain(intervals: Sequence[AuditInterval]) -> str:
    longest = max((one.last_day - one.first_day).days for one in intervals)
    return "day" if longest == 0 else "week" if longest <= 6 else "month" if longest <= 31 else "year"


def _time_axis(ax: Any, intervals: Sequence[AuditInterval]) -> None:
    form = {"month": "%Y-%m", "year": "%Y"}.get(_grain(intervals), "%Y-%m-%d")
    step = 1 + (len(intervals) - 1) // (_MOST_LABELS if len(form) < 8 else _MOST_LABELS // 2)
    places = range(0, len(intervals), step)
    ax.set_xticks(list(places), [f"{intervals[place].first_day:{form}}" for place in places])
    ax.set_xlim(-0.6, len(intervals) - 0.4)


def _legend(canvas: Canvas, ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside upper left", ncols=min(len(labels), 5), frameon=False, fontsize=6.5)


def _values(row: AuditGateRow) -> str:
    values = ", ".join(part(value) for value in (row.lowest, row.median, row.highest) if value is not None)
    return f"{row.title}: {values}"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{numbers.integer(count)} {name}" for name, count in counts.items()) or "none"


def _short(name: str, longest: int = 24) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
