"""Charts as SVG without a plotting library: panels of boxes, lines, dots and words, with axes and a legend.

Lengths are points; the same chart gives the same bytes. Colours are those of Okabe and Ito (2008), distinguishable in
every common form of colour blindness and in grey print.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal

from markupsafe import escape

from reports.model import numbers

INK, MUTED, FAINT, BAND = "#1f2933", "#6b7280", "#d5d9de", "#eef2f6"
BEFORE, AFTER, ALARM, PARTLY = "#9aa1ab", "#0072B2", "#D55E00", "#edb48c"
DASHED, DOTTED = "4 2", "1 1.5"
EDGE = math.inf
"""As a coordinate, with either sign: the edge of the panel."""

_WIDTH = 482.0
_FAMILY = "Report Sans, DejaVu Sans, Verdana, sans-serif"
_SIZE, _LINE = 7.0, 8.6
"""Font size, and height of a line of text."""
_BROAD, _NARROW = "mwMWGOQ%@", "ijltfr.,:;'!|()1 "
_SHAPES: dict[str, Callable[[float, float, float], str]] = {
    "circle": lambda x, y, r: f"M{x - r:.2f} {y}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
    "square": lambda x, y, r: f"M{x - r:.2f} {y - r:.2f}h{2 * r}v{2 * r}h{-2 * r}z",
    "triangle": lambda x, y, r: f"M{x} {y - r:.2f}l{r} {2 * r}h{-2 * r}z",
    "diamond": lambda x, y, r: f"M{x} {y - r:.2f}l{r} {r}l{-r} {r}l{-r} {-r}z",
    "cross": lambda x, y, r: f"M{x - r:.2f} {y - r:.2f}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}",
}


@dataclass(frozen=True)
class ChartAxis:
    """A scale with its ticks; the low end is at the left or at the bottom."""

    low: float
    high: float
    title: str = ""
    ticks: tuple[tuple[float, str], ...] = ()
    scale: Literal["linear", "log", "symlog"] = "linear"
    knee: float = 1.0
    """Value below which a symmetric logarithmic scale is linear."""
    grid: bool = False

    def at(self, value: float) -> float:
        """Place of a value between the ends, from 0 to 1; one beyond an end is placed at it."""
        low, high, place = (self._stretched(one) for one in (self.low, self.high, value))
        return min(max((place - low) / (high - low), 0.0), 1.0)

    def _stretched(self, value: float) -> float:
        if self.scale == "linear":
            return value
        if self.scale == "log":
            return math.log10(max(value, 1e-300))
        return value / self.knee if value <= self.knee else 1 + math.log10(value / self.knee)


def labelled(ticks: Iterable[float]) -> tuple[tuple[float, str], ...]:
    """Ticks with their figures."""
    return tuple((tick, numbers.tick(tick)) for tick in ticks)


def linear(low: float, high: float, title: str = "", *, last: float = EDGE, grid: bool = False) -> ChartAxis:
    """An axis with about five round ticks, none beyond ``last``."""
    end = min(high, last)
    raw = (end - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    places = range(math.ceil(low / step - 1e-9), math.floor(end / step + 1e-9) + 1)
    return ChartAxis(low, high, title, labelled(round(step * one, 12) for one in places), grid=grid)


def logarithmic(low: float, high: float, title: str = "", *, steps: Sequence[int] = (1, 2, 5)) -> ChartAxis:
    """A logarithmic axis with ticks at multiples of the powers of ten; at the powers alone where it is long."""
    first, last = math.log10(low), math.log10(high)
    ticks = [
        step * 10.0**power
        for power in range(math.floor(first), math.ceil(last) + 1)
        for step in (steps if last - first <= 2.5 else (1,))
        if first - 1e-9 <= math.log10(step * 10.0**power) <= last + 1e-9
    ]
    return ChartAxis(low, high, title, labelled(ticks[:: 1 + len(ticks) // 10]), "log")


@dataclass(frozen=True)
class Frame:
    """The place of a panel on the page: from values to points."""

    left: float
    top: float
    width: float
    height: float
    x: ChartAxis
    y: ChartAxis

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        """Place of a pair of values on the page."""
        right, down = self.x.at(x), 1 - self.y.at(y)
        return round(self.left + self.width * right, 2), round(self.top + self.height * down, 2)


@dataclass(frozen=True)
class Box:
    """A rectangle: a bar, a band or a cell."""

    x: tuple[float, float]
    y: tuple[float, float]
    fill: str
    edge: str = ""

    def svg(self, at: Frame) -> str:
        """The mark in the frame of its panel."""
        (x0, y0), (x1, y1) = at(self.x[0], self.y[0]), at(self.x[1], self.y[1])
        size = f'width="{abs(x1 - x0):.2f}" height="{abs(y1 - y0):.2f}"'
        edge = f' stroke="{self.edge}" stroke-width="0.6"' if self.edge else ""
        return f'<rect x="{min(x0, x1)}" y="{min(y0, y1)}" {size} fill="{self.fill}"{edge}/>'


@dataclass(frozen=True)
class Line:
    """Straight lines from point to point; interrupted where a point is no number."""

    points: Sequence[tuple[float, float]]
    colour: str = INK
    width: float = 1.2
    dash: str = ""
    steps: bool = False
    """Whether each value holds up to the next point."""

    def svg(self, at: Frame) -> str:
        """The mark in the frame of its panel."""
        steps, pen_is_down = "", False
        for x, y in self.points:
            if not math.isnan(y):
                right, down = at(x, y)
                drawn = f"H{right}V{down}" if self.steps else f"L{right} {down}"
                steps += drawn if pen_is_down else f"M{right} {down}"
            pen_is_down = not math.isnan(y)
        return _path(steps, self.colour, self.width, self.dash)


@dataclass(frozen=True)
class Dots:
    """Points, filled or open."""

    points: Sequence[tuple[float, float]]
    colour: str = AFTER
    shape: str = "circle"
    filled: bool = True
    radius: float = 2.2

    def svg(self, at: Frame) -> str:
        """The mark in the frame of its panel."""
        shapes = "".join(_SHAPES[self.shape](*at(x, y), self.radius) for x, y in self.points if not math.isnan(y))
        return _path(shapes, self.colour, 1.0, fill=self.colour if self.filled else "white")


@dataclass(frozen=True)
class Label:
    """Words on white ground at a value of the horizontal axis and a share of the panel's height."""

    x: float
    height: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"
    colour: str = INK

    def svg(self, at: Frame) -> str:
        """The mark in the frame of its panel."""
        centre = self.anchor == "middle"
        x = at.left + at.width / 2 if centre else at(self.x, 0)[0] + (3 if self.anchor == "start" else -3)
        y, wide = at.top + at.height * (1 - self.height) + 2.3, text_width(self.text, 6.5)
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * wide
        ground = f'<rect x="{left - 1:.2f}" y="{y - 6.5:.2f}" width="{wide + 2:.2f}" height="8.45" fill="white"/>'
        return ground + _written(x, y, self.text, self.anchor, size=6.5, colour=self.colour)


Mark = Box | Line | Dots | Label


def vertical(x: float, colour: str = INK, dash: str = DASHED) -> Line:
    """A line from the bottom of a panel to its top."""
    return Line(((x, -EDGE), (x, EDGE)), colour, 0.8, dash)


def limit(axis: ChartAxis, value: float, words: str, *, height: float = 0.93, colour: str = INK) -> tuple[Mark, ...]:
    """A dashed line at a value with its words on the side that has more room."""
    anchor: Literal["start", "end"] = "start" if axis.at(value) < 0.5 else "end"
    return (vertical(value, colour), *((Label(value, height, words, anchor),) if words else ()))


def note(text: str) -> Label:
    """Words in the middle of a panel."""
    return Label(0, 0.5, text, "middle", MUTED)


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


def box_key(text: str, fill: str) -> Key:
    """An entry for a filled area."""
    return Key(text, (Box((0, 1), (0, 1), fill),))


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
    heights: Sequence[float] = ()
    """Of the rows, in proportion; all alike where not given."""

    @cached_property
    def svg(self) -> bytes:
        """The drawing."""
        return _drawn(self).encode()


def text_width(text: str, size: float = _SIZE) -> float:
    """Estimated width of the longest line of a text, by broad, narrow and other characters."""
    widths = (sum(0.84 if one in _BROAD else 0.36 if one in _NARROW else 0.62 for one in line) for line in _rows(text))
    return max(widths) * size


def _rows(text: str) -> list[str]:
    return text.split("\n")


def _path(steps: str, colour: str, width: float, dash: str = "", fill: str = "none") -> str:
    """A path of SVG; empty for one without steps."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{steps}" fill="{fill}" stroke="{colour}" stroke-width="{width:g}"{dashes}/>' if steps else ""


def _written(
    x: float, y: float, text: str, anchor: str = "middle", *, size: float = _SIZE, colour: str = INK, bold: bool = False
) -> str:
    """Text from a point of its baseline on, further lines below."""
    look = f'font-size="{size:g}" fill="{colour}"' + ("" if anchor == "start" else f' text-anchor="{anchor}"')
    look += ' font-weight="bold"' if bold else ""
    return "".join(
        f'<text x="{x:.2f}" y="{y + _LINE * place:.2f}" {look}>{escape(line)}</text>'
        for place, line in enumerate(_rows(text))
        if line
    )


def _drawn(chart: Chart) -> str:
    entries = _legend_rows(chart.legend)
    parts = [_legend_row(row, 11.0 * place) for place, row in enumerate(entries)]
    columns, rows = range(max(map(len, chart.panels))), range(len(chart.panels))
    left = [max(_left(row, place) for row in chart.panels if place < len(row)) for place in columns]
    wide = (_WIDTH - sum(left) - 9 * len(columns)) / len(columns)
    above = [max(_LINE * len(_rows(panel.title)) + 2 if panel.title else 3 for panel in row) for row in chart.panels]
    below = [max(_below(chart, line, place) for place in range(len(chart.panels[line]))) for line in rows]
    top, shares = 11.0 * len(entries) + 2, chart.heights or [1 for _ in rows]
    room = (chart.height - top - sum(above) - sum(below)) / sum(shares)
    for line, row in enumerate(chart.panels):
        top += above[line]
        for place, panel in enumerate(row):
            frame = Frame(sum(left[: place + 1]) + (wide + 9) * place, top, wide, room * shares[line], panel.x, panel.y)
            parts += _panel(panel, frame, _has_x(chart, line, place), _has_y(row, place))
        top += room * shares[line] + below[line]
    size = f'viewBox="0 0 {_WIDTH:g} {chart.height:g}" width="{_WIDTH:g}pt" height="{chart.height:g}pt"'
    body = "\n".join(part for part in parts if part)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{_FAMILY}">\n{body}\n</svg>\n'


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
    return _names_width(axis) + 7 + (_LINE * len(_rows(axis.title)) if axis.title else 0)


def _below(chart: Chart, line: int, place: int) -> float:
    axis = chart.panels[line][place].x
    return 4 + _LINE * bool(axis.ticks) + (_LINE + 2 if axis.title else 0) if _has_x(chart, line, place) else 5.0


def _names_width(axis: ChartAxis) -> float:
    return max((text_width(name) for _, name in axis.ticks), default=0.0)


def _panel(panel: Panel, at: Frame, has_x: bool, has_y: bool) -> list[str]:
    right, bottom = at.left + at.width, at.top + at.height
    across = [(at(value, 0)[0], name) for value, name in _thinned(panel.x, at.width)]
    down = [(at(0, value)[1], name) for value, name in panel.y.ticks]
    grid = "".join(f"M{x} {at.top:.2f}V{bottom:.2f}" for x, _ in across if panel.x.grid)
    grid += "".join(f"M{at.left:.2f} {y}H{right:.2f}" for y, _ in down if panel.y.grid)
    lines = f"M{at.left:.2f} {at.top:.2f}V{bottom:.2f}H{right:.2f}"
    lines += "".join(f"M{x} {bottom:.2f}v2.5" for x, _ in across) + "".join(f"M{at.left:.2f} {y}h-2.5" for y, _ in down)
    parts = [_path(grid, FAINT, 0.5), *(mark.svg(at) for mark in panel.marks), _path(lines, MUTED, 0.6)]
    if panel.title:
        first, *others = _rows(panel.title)
        top = at.top - 3 - _LINE * len(others)
        parts += [
            _written(at.left, top, first, "start", bold=True),
            _written(at.left, top + _LINE, "\n".join(others), "start"),
        ]
    if has_x:
        parts += [_written(x, bottom + 9.5, name) for x, name in across]
        parts.append(_written(at.left + at.width / 2, bottom + 11 + _LINE, panel.x.title))
    if has_y:
        parts += [_written(at.left - 4, y + 2.5, name, "end") for y, name in down]
        x, y = at.left - _names_width(panel.y) - 7 - _LINE * panel.y.title.count("\n"), at.top + at.height / 2
        turned = _written(0, 0, panel.y.title)
        parts.append(turned and f'<g transform="translate({x:.2f} {y:.2f}) rotate(-90)">{turned}</g>')
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
        parts += [*(mark.svg(frame) for mark in key.marks), _written(x + 21, top + 6.6, key.text, "start", size=6.5)]
        x += _key_width(key)
    return "\n".join(parts)
