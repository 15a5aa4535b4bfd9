"""Grids of cells with their figures written in them, shaded so that they read easily, in grey print as well."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from reports.charting import ALARM, BLUES, FAINT, INK
from reports.smallcell import NO_FILE

EARNED = LinearSegmentedColormap.from_list("earned", ("#ffffff", BLUES[3]))
ATTACKED = LinearSegmentedColormap.from_list("attacked", ("#ffffff", ALARM))
MOST_INK = 0.7
"""Greatest shade of the darker colours under which letters are read."""

Point = TypeVar("Point")
Cell = tuple[int, int, int, int]
"""Left, bottom, width and height of a frame, in cells."""


def grid(
    ax: Any,
    rows: Sequence[Sequence[Point]],
    text: Callable[[Point], str],
    shade: Callable[[Point], float],
    colours: LinearSegmentedColormap,
    *,
    frame: Cell | None = None,
) -> None:
    """Cells from the bottom row up, hatched where their words are that there is no file.

    Parameters
    ----------
    rows : sequence of rows of points
    text : callable
        What is written in a point's cell.
    shade : callable
        From 0 to 1; what lies outside is drawn as the nearer end.
    frame : Cell, optional
        Cells that are framed: the first of them by column and row, and how many.
    """
    for row, points in enumerate(rows):
        for column, point in enumerate(points):
            words = text(point)
            ax.add_patch(
                Rectangle(
                    (column - 0.5, row - 0.5),
                    1,
                    1,
                    facecolor="white" if words == NO_FILE else colours(min(max(shade(point), 0.0), 1.0)),
                    edgecolor=FAINT,
                    linewidth=0.6,
                    hatch="////" if words == NO_FILE else None,
                )
            )
            ax.text(column, row, words, ha="center", va="center", size=6.5)
    if frame is not None:
        left, bottom, width, height = frame
        ax.add_patch(
            Rectangle((left - 0.5, bottom - 0.5), width, height, fill=False, edgecolor=INK, linewidth=1.4, zorder=3)
        )
    ax.set_xlim(-0.5, len(rows[0]) - 0.5)
    ax.set_ylim(-0.5, len(rows) - 0.5)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(length=0)
