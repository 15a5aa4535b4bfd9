"""Quick figures of a request as a page shows them: rows of gates, and payoff against risk as a drawing."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from flows.studio.quick import DesignPoint, DesignSearch, QuickFigures
from reports.model import numbers
from tasks.decision.written_figures import write_result
from tasks.request.measures import MEASURES
from tasks.request.model import Measure

WIDTH, HEIGHT = 640, 320
_PRESENT = "present"
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 24, 44
_NEAR = 14.0
"""Pixels between two marks whose labels would overlap."""
_DECADES = 3
"""Risks are drawn from a thousandth to one; smaller ones stand at the left edge."""


def gate_rows(found: QuickFigures) -> list[tuple[str, str, str, bool]]:
    """Title, figure, bound and outcome of the quick gates of a recipient's copy. The steward sees all counts."""
    return [
        (gate.heading, *write_result(gate, records=found.records, small_cell=1), gate.passed) for gate in found.gates
    ]


def kept_in_words(found: QuickFigures) -> str:
    """Share of the information that a copy keeps; empty where there is none."""
    kept = found.figures.get(Measure.INFORMATION_KEPT)
    return "" if kept is None else numbers.percent(kept)


def design_chart(found: DesignSearch) -> dict[str, object] | None:
    """Payoff against risk as a drawing; None where no design gives a file.

    `risk` is the title of the measure of risk; `marks` have a label, a place and the name of their style, the present
    design last; ticks of the axes `across` and `up` a place and a label; `limit` is the place of the policy's limit of
    the risk, empty where it sets none.
    """
    if not found.points:
        return None
    payoffs = [point.payoff for point in found.points]
    low, high = min(0.0, *payoffs), max(payoffs)
    span = (high - low) or 1.0
    places = [(_across(point.risk), _up((point.payoff - low) / span)) for point in found.points]
    marks = [
        (label, _pixel(x), _pixel(y), _style(one))
        for one, (x, y), label in zip(found.points, places, _labels(places), strict=True)
    ]
    return {
        "risk": MEASURES[found.measure].title,
        "marks": sorted(marks, key=lambda mark: mark[-1] == _PRESENT),
        "limit": "" if found.limit is None else _pixel(_across(found.limit)),
        "across": [(_pixel(_across(10.0**-power)), f"{10.0**-power:g}") for power in range(_DECADES, -1, -1)],
        "up": [(_pixel(_up(part / 4)), f"{low + span * part / 4:,.0f}") for part in range(5)],
    }


def _style(point: DesignPoint) -> str:
    return _PRESENT if point.design.is_present else "efficient" if point.is_efficient else "other"


def _labels(places: Sequence[tuple[float, float]]) -> list[str]:
    """Number of each place, from 1; of places that touch, the first has the numbers of all."""
    labels: list[list[int]] = []
    for number, (x, y) in enumerate(places, start=1):
        near = next(
            (at for at, (u, v) in enumerate(places[: number - 1]) if labels[at] and math.dist((x, y), (u, v)) < _NEAR),
            None,
        )
        labels.append([number] if near is None else [])
        if near is not None:
            labels[near].append(number)
    return [", ".join(_spans(one)) for one in labels]


def _spans(numbers_of: Sequence[int]) -> Iterator[str]:
    """Growing numbers; three or more that follow each other as one span."""
    for _, run in groupby(enumerate(numbers_of), lambda pair: pair[1] - pair[0]):
        own = [number for _, number in run]
        yield from [f"{own[0]}–{own[-1]}"] if len(own) > 2 else map(str, own)


def _across(risk: float) -> float:
    power = math.log10(max(risk, 10.0**-_DECADES)) if risk > 0 else -_DECADES
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * (power + _DECADES) / _DECADES


def _up(share: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share


def _pixel(at: float) -> str:
    return f"{at:.1f}"
