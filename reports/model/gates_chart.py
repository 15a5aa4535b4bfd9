"""Gates on risks and shares as bars, each beside its limit."""

from collections.abc import Iterator, Sequence

from reports.model.charts import (
    AFTER,
    ALARM,
    INK,
    Box,
    Chart,
    ChartAxis,
    Line,
    Mark,
    Panel,
    box_key,
    labelled,
    line_key,
)
from tasks.decision.record import GateResult
from tasks.request.measures import MEASURES
from tasks.request.model import Measure

_ROW = 15.0
"""Height of a bar with its room, in points."""
_TICKS = (0, 0.25, 0.5, 0.75, 1)


def gates_chart(gates: Sequence[GateResult]) -> Iterator[Chart]:
    """The figures between 0 and 1 with their limits; nothing where there is none."""
    shown = [one for one in gates if one.measured is not None and _is_share(one)]
    if not shown:
        return
    marks: list[Mark] = []
    for place, one in enumerate(reversed(shown)):
        marks.append(Box((0, float(one.measured or 0)), (place + 0.2, place + 0.8), AFTER if one.passed else ALARM))
        marks.append(Line(((one.threshold, place + 0.05), (one.threshold, place + 0.95)), INK, 1.4))
    names = tuple((place + 0.5, one.title) for place, one in enumerate(reversed(shown)))
    failed = sum(not one.passed for one in shown)
    yield Chart(
        name="gates",
        alt=f"Bars of {len(shown)} measured figures between 0 and 1, each with its limit; {failed} fail.",
        caption="Measured figures and the limits of their gates",
        panels=[
            [Panel(ChartAxis(0, 1, ticks=labelled(_TICKS), grid=True), ChartAxis(0, len(shown), ticks=names), marks)]
        ],
        height=_ROW * len(shown) + 32,
        legend=[box_key("passes", AFTER), box_key("fails", ALARM), line_key("limit", Line((), INK, 1.4))],
    )


def _is_share(gate: GateResult) -> bool:
    return MEASURES[Measure(gate.id)].is_share
