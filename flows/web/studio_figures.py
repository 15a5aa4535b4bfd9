"""Quick figures of a request as a page shows them: rows of gates, and payoff against risk as a drawing."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from flows.studio.quick import DesignSearch, QuickFigures
from reports import numbers
from tasks.assessments.measures import MEASURES
from tasks.decision.measures import write_result
from tasks.request.model import Measure

WIDTH, HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 24, 44
_NEAR = 14.0
"""Pixels between two marks whose labels would overlap."""
_DECADES = 3
"""Risks are drawn from a thousandth to one; smaller ones stand at the left edge."""


@dataclass(frozen=True)
class QuickGateRow:
    """A gate in words."""

    title: str
    measured: str
    required: str
    passed: bool


def gate_rows(found: QuickFigures) -> list[QuickGateRow]:
    """The quick gates of a recipient's copy. The steward sees all counts."""
    return [
        QuickGateRow(gate.heading, *write_result(gate, records=found.records, small_cell=1), gate.passed)
        for gate in found.gates
    ]


def kept_in_words(found: QuickFigures) -> str:
    """Share of the information that a copy keeps; empty where there is none."""
    kept = found.figures.get(Measure.INFORMATION_KEPT)
    return "" if kept is None else numbers.percent(kept)


@dataclass(frozen=True)
class Mark:
    """A design in the drawing."""

    label: str
    """Its number, with those of the designs at the same place; empty where another mark has it."""
    x: str
    y: str
    kind: str
    """Name of its style: present, efficient or other."""

    @property
    def is_present(self) -> bool:
        """Whether it is drawn above the others."""
        return self.kind == "present"


@dataclass(frozen=True)
class Tick:
    """A line of an axis with its label."""

    at: str
    label: str


@dataclass(frozen=True)
class DesignRow:
    """A design in the table."""

    number: str
    name: str
    payoff: str
    kept: str
    risk: str
    passes: bool
    is_efficient: bool
    is_present: bool


@dataclass(frozen=True)
class DesignChart:
    """Payoff against risk: a drawing and the same as a table."""

    risk: str
    """Title of the measure of risk."""
    marks: tuple[Mark, ...]
    limit: str
    """Place of the policy's limit of the risk; empty where it sets none."""
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    rows: tuple[DesignRow, ...]


def design_chart(found: DesignSearch) -> DesignChart | None:
    """Draw designs; None where none gives a file."""
    if not found.points:
        return None
    payoffs = [point.payoff for point in found.points]
    low, high = min(0.0, *payoffs), max(payoffs)
    span = (high - low) or 1.0
    places = [(_across(point.risk), _up((point.payoff - low) / span)) for point in found.points]
    marks = tuple(
        Mark(
            label,
            _pixel(x),
            _pixel(y),
            "present" if one.design.is_present else "efficient" if one.is_efficient else "other",
        )
        for one, (x, y), label in zip(found.points, places, _labels(places), strict=True)
    )
    rows = tuple(
        DesignRow(
            numbers.integer(number),
            point.design.name,
            f"{point.payoff:,.2f}",
            numbers.percent(point.kept),
            numbers.risk(point.risk),
            point.passes,
            point.is_efficient,
            point.design.is_present,
        )
        for number, point in enumerate(found.points, start=1)
    )
    across = tuple(Tick(_pixel(_across(10.0**-power)), f"{10.0**-power:g}") for power in range(_DECADES, -1, -1))
    steps = [low + span * part / 4 for part in range(5)]
    up = tuple(Tick(_pixel(_up((value - low) / span)), f"{value:,.0f}") for value in steps)
    limit = "" if found.limit is None else _pixel(_across(found.limit))
    return DesignChart(MEASURES[found.measure].title, marks, limit, across, up, rows)


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
