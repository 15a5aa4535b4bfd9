"""Axes and the marks of a chart, written as elements of SVG.

Lengths are points. Colours are those of Okabe and Ito (2008), distinguishable in every common form of colour blindness
and in grey print.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import escape

from reports import numbers

INK = "#1f2933"
MUTED = "#6b7280"
FAINT = "#d5d9de"
BEFORE = "#9aa1ab"
AFTER = "#0072B2"
ALARM = "#D55E00"
PARTLY = "#edb48c"
BAND = "#eef2f6"
BLUES = ("#0b4a78", "#0072B2", "#4f9bcc", "#8dbfe0", "#bcdaee", "#dbe9f3")
REMOVED = "#e3e6ea"
DASHED, DOTTED = "4 2", "1 1.5"
EDGE = math.inf
"""As a coordinate, with either sign: the edge of the panel."""

SIZE = 7.0
LINE = 8.6
"""Height of a line of text."""
_ADVANCES = dict(
    zip(
        map(chr, range(32, 127)),
        (
            *(318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, *[636] * 10, 337, 337),
            *(838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787),
            *(603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550),
            *(635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818),
            *(592, 592, 525, 636, 337, 636, 838),
        ),
        strict=True,
    )
)
"""Widths of the characters of DejaVu Sans, in thousandths of the font size."""


class Bold(str):
    """Words in bold."""

    __slots__ = ()


Scale = Literal["linear", "log", "symlog"]
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class ChartAxis:
    """A scale with its ticks; the low end is at the left or at the bottom."""

    low: float
    high: float
    title: str = ""
    ticks: tuple[tuple[float, str], ...] = ()
    scale: Scale = "linear"
    knee: float = 1.0
    """Value below which a symmetric logarithmic scale is linear."""
    grid: bool = False
    line: bool = True

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


def linear(low: float, high: float, title: str = "", *, last: float = EDGE, grid: bool = False) -> ChartAxis:
    """An axis with about five round ticks, none beyond ``last``."""
    end = min(high, last)
    raw = (end - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    places = range(math.ceil(low / step - 1e-9), math.floor(end / step + 1e-9) + 1)
    return ChartAxis(
        low,
        high,
        title,
        tuple((tick, numbers.tick(tick)) for tick in (round(step * one, 12) for one in places)),
        grid=grid,
    )


def logarithmic(low: float, high: float, title: str = "", *, steps: Sequence[int] = (1, 2, 5)) -> ChartAxis:
    """A logarithmic axis with ticks at multiples of the powers of ten; at the powers alone where it is long."""
    first, last = math.log10(low), math.log10(high)
    ticks = [
        step * 10.0**power
        for power in range(math.floor(first), math.ceil(last) + 1)
        for step in (steps if last - first <= 2.5 else (1,))
        if first - 1e-9 <= math.log10(step * 10.0**power) <= last + 1e-9
    ]
    ticks = ticks[:: 1 + len(ticks) // 10]
    return ChartAxis(low, high, title, tuple((tick, numbers.tick(tick)) for tick in ticks), "log")


def rows_axis(names: Sequence[str]) -> ChartAxis:
    """Names from top to bottom, at 0, 1 and so on."""
    return ChartAxis(len(names) - 0.5, -0.5, ticks=tuple(enumerate(names)), line=False)


def percent_axis(title: str, *, room: float = 100.0, every: int = 20) -> ChartAxis:
    """Percentages from 0, with room for words beyond 100."""
    return ChartAxis(0, room, title, tuple((tick, str(tick)) for tick in range(0, 101, every)), grid=True)


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


def text_width(text: str, size: float = SIZE) -> float:
    """Width of the longest line of a text."""
    widths = (sum(_ADVANCES.get(one, 700) for one in line) for line in text.split("\n"))
    return max(widths) * size / 1000 * (1.13 if isinstance(text, Bold) else 1)


def mixed(colour: str, share: float) -> str:
    """A colour on white: 0 is white, 1 the colour itself."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(255 - min(max(share, 0), 1) * (255 - part)):02x}" for part in parts)


@dataclass(frozen=True)
class Box:
    """A rectangle: a bar, a band, a cell or a frame."""

    x: tuple[float, float]
    y: tuple[float, float]
    fill: str = "none"
    edge: str = "none"
    width: float = 0.6
    hatch: str = ""
    """Colour of the hatching; empty for none."""

    def svg(self, at: Frame) -> str:
        """The mark in the frame of its panel."""
        (x0, y0), (x1, y1) = at(self.x[0], self.y[0]), at(self.x[1], self.y[1])
        left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
        edge = "" if self.edge == "none" else f' stroke="{self.edge}" stroke-width="{self.width}"'
        size = f'x="{left}" y="{top}" width="{right - left:.2f}" height="{bottom - top:.2f}"'
        lines = ""
        for start in range(int(left + top) // 4 * 4 + 4, math.ceil(right + bottom), 4) if self.hatch else ():
            # The points inside of the rectangle whose coordinates add up to the start.
            one, other = max(left, start - bottom), min(right, start - top)
            lines += f"M{one:.2f} {start - one:.2f}L{other:.2f} {start - other:.2f}"
        return f'<rect {size} fill="{self.fill}"{edge}/>' + path(lines, self.hatch, 0.5)


@dataclass(frozen=True)
class Line:
    """Straight lines from point to point; interrupted where a point is no number."""

    points: Points
    colour: str = INK
    width: float = 1.2
    dash: str = ""
    steps: bool = False
    """Whether each value holds up to the next point."""

    def svg(self, at: Frame) -> str:
        """The mark in the frame of its panel."""
        steps, pen_is_down = "", False
        for x, y in self.points:
            if math.isnan(y):
                pen_is_down = False
                continue
            right, down = at(x, y)
            steps += (f"H{right}V{down}" if self.steps else f"L{right} {down}") if pen_is_down else f"M{right} {down}"
            pen_is_down = True
        return path(steps, self.colour, self.width, self.dash)


_SHAPES: dict[str, Callable[[float, float, float], str]] = {
    "circle": lambda x, y, r: f"M{x - r:.2f} {y}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
    "square": lambda x, y, r: f"M{x - r:.2f} {y - r:.2f}h{2 * r}v{2 * r}h{-2 * r}z",
    "triangle": lambda x, y, r: f"M{x} {y - r:.2f}l{r} {2 * r}h{-2 * r}z",
    "diamond": lambda x, y, r: f"M{x} {y - r:.2f}l{r} {r}l{-r} {r}l{-r} {-r}z",
    "arrow": lambda x, y, r: f"M{x - r:.2f} {y - r:.2f}l{2 * r} {r}l{-2 * r} {r}z",
    "tick": lambda x, y, r: f"M{x} {y - 2 * r:.2f}v{4 * r}",
    "cross": lambda x, y, r: f"M{x - r:.2f} {y - r:.2f}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}",
}


@dataclass(frozen=True)
class Dots:
    """Points, filled or open."""

    points: Points
    colour: str = AFTER
    shape: str = "circle"
    filled: bool = True
    radius: float = 2.2

    def svg(self, at: Frame) -> str:
        """The mark in the frame of its panel."""
        shapes = "".join(_SHAPES[self.shape](*at(x, y), self.radius) for x, y in self.points if not math.isnan(y))
        return path(shapes, self.colour, 1.0, fill=self.colour if self.filled else "white")


@dataclass(frozen=True)
class Label:
    """Words at a point."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "middle"
    dx: float = 0.0
    dy: float = 0.0
    """In points, to the right and up."""
    size: float = 6.5
    colour: str = INK
    halo: bool = False
    """Whether a white ground keeps lines off the words."""
    of_panel: Literal["", "y", "xy"] = ""
    """Coordinates that are shares of the panel's height, or of its width and height."""

    def svg(self, at: Frame) -> str:
        """The mark in the frame of its panel."""
        x, y = at(0 if "x" in self.of_panel else self.x, 0 if "y" in self.of_panel else self.y)
        x = (at.left + at.width * self.x if "x" in self.of_panel else x) + self.dx
        y = (at.top + at.height * (1 - self.y) if "y" in self.of_panel else y) - self.dy + 0.36 * self.size
        wide, ground = text_width(self.text, self.size), ""
        if self.halo:
            left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * wide
            size = f'width="{wide + 2:.2f}" height="{1.3 * self.size:.2f}"'
            ground = f'<rect x="{left - 1:.2f}" y="{y - self.size:.2f}" {size} fill="white"/>'
        return ground + written(x, y, self.text, self.anchor, size=self.size, colour=self.colour)


Mark = Box | Line | Dots | Label


def vertical(x: float, colour: str = INK, dash: str = DASHED, width: float = 0.8) -> Line:
    """A line from the bottom of a panel to its top."""
    return Line(((x, -EDGE), (x, EDGE)), colour, width, dash)


def threshold(
    axis: ChartAxis, value: float, words: str, *, height: float = 0.93, side: Literal["left", "right"] = "left"
) -> tuple[Mark, ...]:
    """A dashed line at a value with its words beside it, on the side asked for unless that is too narrow."""
    share = axis.at(value)
    right = share < 0.35 if side == "left" else share < 0.65
    label = Label(value, height, words, "start" if right else "end", 3 if right else -3, halo=True, of_panel="y")
    return (vertical(value), label) if words else (vertical(value),)


def note(text: str) -> Label:
    """Words in the middle of a panel."""
    return Label(0.5, 0.5, text, colour=MUTED, halo=True, of_panel="xy")


def path(steps: str, colour: str, width: float, dash: str = "", fill: str = "none") -> str:
    """A path of SVG; empty for one without steps."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{steps}" fill="{fill}" stroke="{colour}" stroke-width="{width:g}"{dashes}/>' if steps else ""


def written(x: float, y: float, text: str, anchor: str = "middle", *, size: float = SIZE, colour: str = INK) -> str:
    """Text from a point of its baseline on, further lines below."""
    look = f'font-size="{size:g}" fill="{colour}"' + ("" if anchor == "start" else f' text-anchor="{anchor}"')
    look += ' font-weight="bold"' if isinstance(text, Bold) else ""
    return "".join(
        f'<text x="{x:.2f}" y="{y + LINE * place:.2f}" {look}>{escape(line)}</text>'
        for place, line in enumerate(text.split("\n"))
        if line
    )
