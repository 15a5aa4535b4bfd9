"""How the figures are drawn: palette, axis of risk, and SVG with the same bytes each time.

Colours are those of Okabe and Ito (2008), distinguishable in every common form of colour blindness and in grey print.
"""

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from reports import numbers
from reports.smallcell import SmallCellRule
from tasks.core.fact import Bin

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
_WIDTH = 6.9
_WORDS = 0.35
_MOST_TICKS = 10
_FAMILY = "DejaVu Sans"
"""Font in which labels are measured; the report knows the same fonts as “Report Sans”."""
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "releasegate",
    "svg.fonttype": "none",
    "font.family": _FAMILY,
    "font.size": 7.5,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.5,
    "figure.constrained_layout.use": True,
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Figure:
    """A figure of the report."""

    name: str
    draw: Callable[[Canvas], None]
    height: float
    """In inches; the width is that of the text."""
    alt: str
    """Text for a reader who does not see the figure."""
    caption: str

    @property
    def svg(self) -> bytes:
        """The drawing; the same bytes each time."""
        return svg(self.draw, self.height)

    @property
    def outlined(self) -> bytes:
        """The drawing with its letters as outlines, for readers who may not have the font."""
        return svg(self.draw, self.height, outlined=True)


class RiskAxis:
    """A logarithmic axis that holds the filled bins and the marks; a lower edge of 0 is drawn one step further.

    Parameters
    ----------
    bins : sequence of Bin
    marks : sequence of float
        Greater than 0.
    largest : float
        Where the axis ends at the latest: 1 for probabilities.
    """

    def __init__(self, bins: Sequence[Bin], marks: Sequence[float], *, largest: float = 1.0) -> None:
        filled = [part for part in bins if part.records]
        positive = sorted({edge for part in filled for edge in (part.low, part.high) if edge > 0} | set(marks))
        self.floor = positive[0] / 2 if any(part.low <= 0 for part in filled) else positive[0]
        self.top = max(min(largest, 2 * positive[-1]), 2 * self.floor)

    def at(self, value: float) -> float:
        """Place of a risk on the axis."""
        return math.log10(max(value, self.floor))

    def label(self, ax: Any, title: str) -> None:
        """Ticks, limits and title."""
        low, high = self.at(self.floor), self.at(self.top)
        decades = [10.0**power for power in range(math.floor(low), math.ceil(high) + 1)]
        ticks = [step * decade for decade in decades for step in ((1,) if high - low > 2.5 else (1, 2, 5))]
        ticks = [tick for tick in ticks if low - 1e-9 <= math.log10(tick) <= high + 1e-9]
        ticks = ticks[:: 1 + len(ticks) // _MOST_TICKS]
        ax.set_xticks([self.at(tick) for tick in ticks], [numbers.tick(tick) for tick in ticks])
        ax.set_xlim(low, high)
        ax.set_xlabel(title)

    def threshold(self, ax: Any, value: float, text: str, *, height: float = 0.95, side: str = "left") -> None:
        """A dashed line at a risk with its words beside it, on the side asked for unless that is too narrow."""
        low, high = self.at(self.floor), self.at(self.top)
        place = self.at(min(value, self.top))
        share = (place - low) / (high - low)
        right = share < _WORDS if side == "left" else share < 1 - _WORDS
        ax.axvline(place, color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
        ax.annotate(
            text,
            (place, height),
            xycoords=("data", "axes fraction"),
            xytext=(3 if right else -3, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="top",
            size=6.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )


def bars(ax: Any, axis: RiskAxis, bins: Sequence[Bin], colour: Callable[[Bin], str]) -> None:
    """A histogram in percent of its records, or a word where too few may be shown."""
    total = sum(part.records for part in bins)
    for part in bins:
        if part.records:
            left = axis.at(part.low)
            ax.bar(
                left,
                100 * part.records / total,
                width=axis.at(part.high) - left,
                align="edge",
                color=colour(part),
                edgecolor="white",
                linewidth=0.6,
            )
    if not bins:
        ax.text(0.5, 0.5, "too few records to show", transform=ax.transAxes, ha="center", va="center", color=MUTED)


def headroom(ax: Any, times: float) -> None:
    """Room above the bars for words, without a tick beyond 100%."""
    top = times * ax.get_ylim()[1]
    ax.set_ylim(0, top)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= min(top, 100)])


def shown_bins(bins: Sequence[Bin], maximum: float, cells: SmallCellRule) -> tuple[Bin, ...]:
    """The bins that may be shown, the last filled one ending at the highest risk."""
    joined = cells.bins(bins)
    return tuple(
        part.model_copy(update={"high": maximum}) if part.records and part.low < maximum < part.high else part
        for part in joined
    )


def rows(ax: Any, names: Sequence[str]) -> None:
    """Names as rows, the first on top, without a vertical axis."""
    ax.set_yticks(range(len(names)), list(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def svg(draw: Callable[[Canvas], None], height: float, *, outlined: bool = False) -> bytes:
    """A figure of the text's width and a height in inches; the same drawing gives the same bytes."""
    with matplotlib.rc_context(_STYLE | ({"svg.fonttype": "path"} if outlined else {})):
        canvas = Canvas(figsize=(_WIDTH, height))
        backend = FigureCanvasSVG(canvas)
        draw(canvas)
        buffer = io.BytesIO()
        # Saving a figure draws it twice, once for its layout alone; drawing lays it out too.
        backend.print_svg(buffer, metadata={"Date": None, "Creator": None})
    return buffer.getvalue().replace(f"'{_FAMILY}'".encode(), b"'Report Sans'")
