"""Draws the picture of ``docs/scale.md`` from that page's tables: ``python -m tests.benchmarks.scale_curve``."""

import re
from pathlib import Path

from reports.model.charts import AFTER, ALARM, DASHED, Chart, Dots, Line, Panel, line_key, logarithmic

_DOCS = Path(__file__).parents[2] / "docs"


def points(page: str, heading: str) -> list[tuple[int, float, float]]:
    """Records, seconds of processor time and peak memory in MiB of a table's rows, under a heading of the page."""
    section = page.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| ([\d,]+) \| [\d.,]+ \| ([\d.,]+) \| ([\d,]+) \|", section, re.MULTILINE)
    return [(_number(records), float(seconds.replace(",", "")), _number(memory)) for records, seconds, memory in rows]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def curves(page: str) -> Chart:
    """Processor time and memory over records, both axes logarithmic."""
    series = (
        ("The whole gate", "whole gate, 15 columns, one recipient", (AFTER, 1.2, ""), "circle"),
        ("Counting and scoring", "5 quasi-identifiers counted and scored", (ALARM, 1.2, DASHED), "square"),
    )
    panels = []
    for place, title in ((1, "Processor time, seconds"), (2, "Most memory held, MiB")):
        marks, values, records = list[Line | Dots](), [], []
        for heading, _, style, shape in series:
            own = [(float(one[0]), float(one[place])) for one in points(page, heading)]
            marks += [Line(own, *style), Dots(own, style[0], shape)]
            records += [record for record, _ in own]
            values += [value for _, value in own]
        x, y = (logarithmic(0.7 * min(one), 1.4 * max(one), name) for one, name in ((records, "records"), (values, "")))
        panels.append(Panel(x, y, marks, title))
    legend = [line_key(label, Line((), *style), Dots((), style[0], shape)) for _, label, style, shape in series]
    return Chart("scale", "", "", [panels], 187, legend)


def main() -> None:
    """Write the picture."""
    page = (_DOCS / "scale.md").read_text(encoding="utf-8")
    (_DOCS / "images" / "scale.svg").write_bytes(curves(page).svg)


if __name__ == "__main__":
    main()
