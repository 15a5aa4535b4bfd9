"""Draws the picture of ``docs/scale.md`` from that page's tables: ``python -m tests.benchmarks.scale_curve``."""

import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from reports.charting import AFTER, ALARM, FAINT, svg

_DOCS = Path(__file__).parents[2] / "docs"


def points(page: str, heading: str) -> list[tuple[int, float, float]]:
    """Records, seconds of processor time and peak memory in MiB of a table's rows, under a heading of the page."""
    section = page.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| ([\d,]+) \| [\d.,]+ \| ([\d.,]+) \| ([\d,]+) \|", section, re.MULTILINE)
    return [(_number(records), float(seconds.replace(",", "")), _number(memory)) for records, seconds, memory in rows]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def draw(canvas: Canvas, page: str) -> None:
    """Processor time and memory over records, both axes logarithmic."""
    time, memory = canvas.subplots(1, 2)
    series = (("The whole gate", "whole gate, 15 columns, one recipient", AFTER, "o", "-"),
              ("Counting and scoring", "5 quasi-identifiers counted and scored", ALARM, "s", "--"))  # fmt: skip
    for heading, label, colour, marker, line in series:
        found = points(page, heading)
        records = [one[0] for one in found]
        for ax, place in ((time, 1), (memory, 2)):
            ax.plot(
                records, [one[place] for one in found], line, color=colour, marker=marker, markersize=3.5, label=label
            )
    for ax, title in ((time, "Processor time, seconds"), (memory, "Most memory held, MiB")):
        _axes(ax, title)
    time.set_ylim(10, 10_000)
    time.legend(loc="upper left", frameon=False, fontsize=6.5)


def _axes(ax: Any, title: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_minor_formatter(NullFormatter())
    ax.set_title(title)
    ax.set_xlabel("records")
    ax.tick_params(axis="x", labelsize=6)
    ax.grid(color=FAINT, linewidth=0.4)
    ax.set_axisbelow(True)


def main() -> None:
    """Write the picture."""
    page = (_DOCS / "scale.md").read_text(encoding="utf-8")
    (_DOCS / "images" / "scale.svg").write_bytes(svg(lambda canvas: draw(canvas, page), 2.6, outlined=True))


if __name__ == "__main__":
    main()
