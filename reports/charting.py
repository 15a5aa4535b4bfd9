"""Charts as SVG without a plotting library: panels of marks, laid out with axes and a legend.

A chart is as wide as the text of a page, and the same chart gives the same bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from reports.marks import (
    FAINT,
    LINE,
    MUTED,
    Bold,
    Box,
    ChartAxis,
    Dots,
    Frame,
    Line,
    Mark,
    path,
    text_width,
    written,
)

_WIDTH = 482.0
_FAMILY = "Report Sans, DejaVu Sans, Verdana, sans-serif"


@dataclass(frozen=True)
class Panel:
    """Two axes and what is drawn between them; the first mark lies lowest."""

    x: ChartAxis
    y: ChartAxis
    marks: Sequence[Mark]
    title: str = ""


@dataclass(frozen=True)
class Key:
    """An entry of a legend: words, and marks in a frame from 0 to 1."""

    text: str
    marks: tuple[Mark, ...]


def line_key(text: str, *marks: Line | Dots) -> Key:
    """An entry for lines and points, drawn as they are drawn."""
    own = tuple(
        Line(((0, 0.5), (1, 0.5)), one.colour, one.width, one.dash)
        if isinstance(one, Line)
        else Dots(((0.5, 0.5),), one.colour, one.shape, one.filled, one.radius)
        for one in marks
    )
    return Key(text, own)


def box_key(text: str, fill: str, edge: str = "none", hatch: str = "") -> Key:
    """An entry for a filled area."""
    return Key(text, (Box((0, 1), (0, 1), fill, edge, hatch=hatch),))


@dataclass(frozen=True)
class Chart:
    """A figure of a report."""

    kind: ClassVar = "chart"
    name: str
    alt: str
    """Text for a reader who does not see the figure."""
    caption: str
    panels: Sequence[Sequence[Panel]]
    """Row by row. Neighbours that have the same axis share its labels."""
    height: float
    legend: Sequence[Key] = ()
    widths: Sequence[float] = ()
    """Of the columns, in proportion; all alike where not given."""
    heights: Sequence[float] = ()

    @cached_property
    def svg(self) -> bytes:
        """The drawing."""
        return _drawn(self).encode()


def _drawn(chart: Chart) -> str:
    entries = _legend_rows(chart.legend)
    parts = [_legend_row(row, 11.0 * place) for place, row in enumerate(entries)]
    columns = range(max(map(len, chart.panels)))
    left = [max(_left(row, place) for row in chart.panels if place < len(row)) for place in columns]
    wide = _shared_out(_WIDTH - sum(left) - 9 * len(columns), chart.widths or [1 for _ in columns])
    above = [
        max(LINE * (panel.title.count("\n") + 1) + 2 if panel.title else 3 for panel in row) for row in chart.panels
    ]
    below = [max(_below(chart, line, place) for place in range(len(row))) for line, row in enumerate(chart.panels)]
    top = 11.0 * len(entries) + 2
    high = _shared_out(chart.height - top - sum(above) - sum(below), chart.heights or [1 for _ in chart.panels])
    for line, row in enumerate(chart.panels):
        top += above[line]
        for place, panel in enumerate(row):
            x = sum(left[: place + 1]) + sum(wide[:place]) + 9 * place
            parts += _panel(
                panel,
                Frame(x, top, wide[place], high[line], panel.x, panel.y),
                _has_x(chart, line, place),
                _has_y(row, place),
            )
        top += high[line] + below[line]
    size = f'viewBox="0 0 {_WIDTH:g} {chart.height:g}" width="{_WIDTH:g}pt" height="{chart.height:g}pt"'
    body = "\n".join(part for part in parts if part)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{_FAMILY}">\n{body}\n</svg>\n'


def _shared_out(whole: float, weights: Sequence[float]) -> list[float]:
    return [whole * one / sum(weights) for one in weights]


def _has_x(chart: Chart, line: int, place: int) -> bool:
    """Whether a panel has labels below: not where the one below it has the same axis."""
    following = [row[place] for row in chart.panels[line + 1 : line + 2] if place < len(row)]
    return not following or following[0].x != chart.panels[line][place].x


def _has_y(row: Sequence[Panel], place: int) -> bool:
    return place == 0 or row[place - 1].y != row[place].y


def _left(row: Sequence[Panel], place: int) -> float:
    """Room for the labels beside a panel."""
    axis = row[place].y
    if not _has_y(row, place):
        return 3.0
    return _names_width(axis) + 7 + (LINE * (axis.title.count("\n") + 1) if axis.title else 0)


def _below(chart: Chart, line: int, place: int) -> float:
    axis = chart.panels[line][place].x
    if not _has_x(chart, line, place):
        return 5.0
    return 4 + LINE * _names_lines(axis) + (LINE + 2 if axis.title else 0)


def _names_width(axis: ChartAxis) -> float:
    return max((text_width(name) for _, name in axis.ticks), default=0.0)


def _names_lines(axis: ChartAxis) -> int:
    return max((name.count("\n") + 1 for _, name in axis.ticks), default=0)


def _panel(panel: Panel, at: Frame, has_x: bool, has_y: bool) -> list[str]:
    right, bottom = at.left + at.width, at.top + at.height
    across = [(at(value, 0)[0], name) for value, name in _thinned(panel.x, at.width)]
    down = [(at(0, value)[1], name) for value, name in panel.y.ticks]
    grid = "".join(f"M{x} {at.top:.2f}V{bottom:.2f}" for x, _ in across if panel.x.grid)
    grid += "".join(f"M{at.left:.2f} {y}H{right:.2f}" for y, _ in down if panel.y.grid)
    lines = ""
    if panel.x.line:
        lines = f"M{at.left:.2f} {bottom:.2f}H{right:.2f}" + "".join(f"M{x} {bottom:.2f}v2.5" for x, _ in across)
    if panel.y.line:
        lines += f"M{at.left:.2f} {at.top:.2f}V{bottom:.2f}" + "".join(f"M{at.left:.2f} {y}h-2.5" for y, _ in down)
    parts = [path(grid, FAINT, 0.5), *(mark.svg(at) for mark in panel.marks), path(lines, MUTED, 0.6)]
    if panel.title:
        first, *others = panel.title.split("\n")
        top = at.top - 3 - LINE * len(others)
        parts += [written(at.left, top, Bold(first), "start"), written(at.left, top + LINE, "\n".join(others), "start")]
    if has_x:
        parts += [written(x, bottom + 9.5, name) for x, name in across]
        parts.append(written(at.left + at.width / 2, bottom + 11 + LINE * _names_lines(panel.x), panel.x.title))
    if has_y:
        parts += [written(at.left - 4, y + 2.5 - LINE * name.count("\n") / 2, name, "end") for y, name in down]
        x = at.left - _names_width(panel.y) - 7 - LINE * panel.y.title.count("\n")
        turned = written(0, 0, panel.y.title) if panel.y.title else ""
        parts.append(
            turned and f'<g transform="translate({x:.2f} {at.top + at.height / 2:.2f}) rotate(-90)">{turned}</g>'
        )
    return parts


def _thinned(axis: ChartAxis, width: float) -> tuple[tuple[float, str], ...]:
    """The ticks, or every second or third of them where their names would run into each other."""
    for every in range(1, len(axis.ticks) + 1):
        some = axis.ticks[::every]
        gaps = [
            abs(axis.at(two[0]) - axis.at(one[0])) * width - (text_width(one[1]) + text_width(two[1])) / 2
            for one, two in pairwise(some)
        ]
        if min(gaps, default=3) >= 3:
            return some
    return axis.ticks


def _legend_rows(keys: Sequence[Key]) -> list[list[Key]]:
    rows: list[list[Key]] = []
    for key in keys:
        if not rows or sum(map(_key_width, [*rows[-1], key])) > _WIDTH:
            rows.append([])
        rows[-1].append(key)
    return rows


def _key_width(key: Key) -> float:
    return text_width(key.text, 6.5) + 32


def _legend_row(row: Sequence[Key], top: float) -> str:
    unit, parts = ChartAxis(0, 1), []
    x = (_WIDTH - sum(map(_key_width, row))) / 2
    for key in row:
        frame = Frame(x, top + 1, 17, 6.5, unit, unit)
        parts += [*(mark.svg(frame) for mark in key.marks), written(x + 21, top + 6.6, key.text, "start", size=6.5)]
        x += _key_width(key)
    return "\n".join(parts)
