"""Charts of the risk from a sequential adversary by group size, and of safe groups over its terms."""

import math
from collections.abc import Sequence

from reports.model import charts, numbers
from reports.model.charts import (
    AFTER,
    ALARM,
    BAND,
    BEFORE,
    DASHED,
    DOTTED,
    EDGE,
    INK,
    Box,
    Chart,
    ChartAxis,
    Line,
    Panel,
)
from reports.model.record_view import FileView
from tasks.assessments.sequential.facts import SensitivityFact, SequentialFact
from tasks.core.fact import Bin

TERMS = {
    "access_cost": ("Cost of access", "Fee for access to the external data", "money, once for the file"),
    "exploit_cost": ("Cost of an exploit", "Cost of an exploit", "money"),
    "penalty": ("Penalty", "Penalty for a detected exploit", "money"),
    "detection": ("Detection", "Detection of the first exploit", "probability"),
    "prior": ("Prior π", "", ""),
    "discount": ("Discount γ", "", ""),
    "confirmation": ("Recognition κ", "", ""),
    "max_penalties": ("Most penalties n_f", "", ""),
}
"""Terms: name in a chart; of those that deter, name in a table and unit."""
_SHARES = frozenset({"detection", "prior", "discount", "confirmation"})
_FIRST = 0.5
"""Left end of the axis of group sizes: a size is drawn from half a person below it to half a person above."""
_KNOWN, _LINKED = (AFTER, 2.2, ""), (ALARM, 1.2, DASHED)
"""Colour, width and dashes of an adversary who pays for each record, and of one who has paid."""


def unit(fact: SequentialFact) -> str:
    """Whom a group is counted in."""
    return "people" if fact.profile.resources else "candidates"


def written(term: str, value: float | None) -> str:
    """A term's value as a reader knows it."""
    if value is None:
        return "no limit"
    if term == "max_penalties":
        return numbers.integer(round(value))
    return numbers.risk(value) if term in _SHARES else numbers.amount(value)


def _own_sizes(view: FileView, fact: SequentialFact) -> tuple[float, float]:
    """Range of the file's group sizes as drawn; the bounds of the rule where an end may not be shown."""
    low = 1 if view.cells.hides(fact.smallest_group) else fact.smallest_group
    high = view.cells.limit - 1 if view.cells.hides(fact.largest_group) else fact.largest_group
    return max(low - 0.5, _FIRST), max(high, 1) + 0.5


def _bound_words(view: FileView, fact: SequentialFact) -> str:
    return ", from 1 on: the smallest may not be shown" if view.cells.hides(fact.smallest_group) else ""


def _size_axis(top: float, title: str) -> ChartAxis:
    """Group sizes from one on, logarithmic where their range is wide."""
    if top <= 60:
        step = next(step for step in (1, 2, 5, 10) if top / step <= 12)
        return ChartAxis(_FIRST, top, title, charts.labelled(sorted({1, *range(step, int(top) + 1, step)})))
    steps = (1, 2, 5) if top < 5000 else (1,)
    ticks = [step * 10**power for power in range(10) for step in steps if step * 10**power <= top]
    return ChartAxis(_FIRST, top, title, charts.labelled(ticks), "log")


def _size_bins(view: FileView, bins: Sequence[Bin]) -> tuple[Bin, ...]:
    """Records by group size, the sizes too small to be shown in one interval."""
    small = [part for part in bins if part.high < view.cells.limit]
    if small:
        joined = Bin(low=small[0].low, high=small[-1].high, records=sum(part.records for part in small))
        bins = (joined, *bins[len(small) :])
    return view.cells.bins(bins)


def group_chart(view: FileView, fact: SequentialFact) -> Chart:
    """Risk of a record by the size of its group, over the released records by theirs."""
    bins, (low, high), curve = _size_bins(view, fact.group_sizes), _own_sizes(view, fact), fact.curve
    right = max(curve[-1].size + _FIRST, high)
    # Beyond the last threshold all values are 0, so that they reach to the edge.
    passed = fact.threshold_linked is not None and curve[-1].size >= fact.threshold_linked
    edges = [*(point.size - 0.5 for point in curve), right if passed else curve[-1].size + 0.5]
    of_people = "people of the group (group size)"
    x = _size_axis(right, of_people if fact.profile.resources else "candidates in the external data (group size)")
    band = Box((low, high), (-EDGE, EDGE), BAND)

    def steps(values: Sequence[float], style: tuple[str, float, str]) -> Line:
        return Line(list(zip(edges, [*values, values[-1]], strict=True)), *style, steps=True)

    marks: list[charts.Mark] = [
        band,
        steps([one.known for one in curve], _KNOWN),
        steps([one.linked for one in curve], _LINKED),
    ]
    thresholds = (
        (fact.threshold_known, AFTER, "safe from {} on", 0.93),
        (fact.threshold_linked, ALARM, "safe from {} on, access paid", 0.79),
    )
    for size, colour, words, height in thresholds[: 1 if fact.threshold_known == fact.threshold_linked else 2]:
        if size is not None:
            marks += charts.limit(x, size - 0.5, words.format(numbers.integer(size)), height=height, colour=colour)
    total = sum(part.records for part in bins)
    groups: list[charts.Mark] = [
        Box(
            (max(part.low + 0.5, low), min(part.high + 0.5, high)), (-EDGE, 100 * part.records / total), BEFORE, "white"
        )
        for part in bins
        if part.records
    ]
    tallest = max((100 * part.records / total for part in bins), default=1.0)
    top = 1.3 * max(0.1, *(one.linked for one in curve))
    records = charts.linear(0, 1.05 * tallest, "records, %", last=100)
    return Chart(
        "sequential",
        "Two panels over the group size: above, the probability that a record is re-identified, which falls to 0 at "
        "the group sizes named in the text; below, the released records by group size, from "
        f"{view.cells.count(fact.smallest_group)} to {view.cells.count(fact.largest_group)} {unit(fact)}.",
        "Probability of re-identification by a sequential adversary at each group size (top), and the groups in which "
        f"the released records are (bottom; shaded throughout{_bound_words(view, fact)}). Intervals of small groups, "
        "or with few records, are drawn as one.",
        [
            [Panel(x, charts.linear(0, top, "probability", last=1), marks)],
            [Panel(x, records, [band, *(groups or [charts.note("too few records to show")])])],
        ],
        190,
        [
            charts.line_key("group known, access paid for each record", Line((), *_KNOWN)),
            charts.line_key("once access is paid", Line((), *_LINKED)),
            charts.box_key("groups of this file", BAND),
        ],
        heights=(1.5, 1),
    )


def sensitivity_chart(view: FileView, fact: SequentialFact) -> Chart | None:
    """Smallest safe group as one term of the profile moves (Xia et al. 2015, Fig. 10).

    A panel for each term that moves it; None where none does.
    """
    moving = [series for series in fact.sensitivity if _moves(series)]
    still = [TERMS[series.term][0] for series in fact.sensitivity if not _moves(series)]
    if not moving:
        return None
    own = _own_sizes(view, fact)
    points = [one for series in fact.sensitivity for one in series.points]
    sizes = [size for one in points for size in (one.known_threshold, one.linked_threshold)]
    y = _size_axis(1.8 * max(own[0], 2, *(size for size in sizes if size is not None)), "group size")

    def ends(series: SensitivityFact) -> str:
        shown = (
            f"{'none found' if one.linked_threshold is None else numbers.integer(one.linked_threshold)} at "
            f"{written(series.term, one.value)}"
            for one in (series.points[0], series.points[-1])
        )
        return f"{TERMS[series.term][0]}: {', '.join(shown)}, here {written(series.term, series.own)}"

    starts = range(0, len(moving), 4)
    same = f" The same at every value examined of: {', '.join(still)}." if still else ""
    beyond = " Where a line leaves the top, no size that was examined is safe." if None in sizes else ""
    return Chart(
        "sensitivity",
        f"Charts of the smallest safe group once access is paid. {'; '.join(map(ends, fact.sensitivity))}.",
        "The smallest safe group as one term varies and the others stay (after Xia et al. 2015, Fig. 10); the dotted "
        f"line is this release. Shaded: group sizes of the file{_bound_words(view, fact)}; those below a line are "
        f"attacked at that value.{beyond}{same}",
        [[_sensitivity_panel(one, own, y) for one in moving[row : row + 4]] for row in starts],
        145 * len(starts),
        [
            charts.line_key("safe from, access paid for each record", Line((), *_KNOWN)),
            charts.line_key("safe from, once access is paid", Line((), *_LINKED)),
            charts.box_key("groups of this file", BAND),
        ],
    )


def _moves(series: SensitivityFact) -> bool:
    """Whether the smallest safe group depends on the term, or there is none."""
    sizes = {(one.known_threshold, one.linked_threshold) for one in series.points}
    return len(sizes) > 1 or (None, None) in sizes


def _sensitivity_panel(series: SensitivityFact, own: tuple[float, float], y: ChartAxis) -> Panel:
    known, linked = (
        [(one.value, EDGE if size is None else size) for one, size in zip(series.points, sizes, strict=True)]
        for sizes in zip(*((one.known_threshold, one.linked_threshold) for one in series.points), strict=True)
    )
    marks: list[charts.Mark] = [
        Box((-EDGE, EDGE), own, BAND),
        Line(known, *_KNOWN),
        Line(linked, *_LINKED),
        *([] if series.own is None else [charts.vertical(series.own, INK, DOTTED)]),
    ]
    if min(size for _, size in (*known, *linked)) == EDGE:
        marks.append(charts.note("no safe size found"))
    title = f"{TERMS[series.term][0]}\nhere {written(series.term, series.own)}"
    return Panel(
        _term_axis(sorted({*(value for value, _ in known), *([] if series.own is None else [series.own])})),
        y,
        marks,
        title,
    )


def _term_axis(values: Sequence[float]) -> ChartAxis:
    """A term's values: logarithmic where they span a wide range, and linear below the first where they begin at 0."""
    positive = [value for value in values if value > 0]
    low, high = values[0], values[-1] if values[-1] > values[0] else values[0] + 1
    if not positive or positive[-1] < 50 * positive[0]:
        return charts.linear(low, high)
    powers = range(math.ceil(math.log10(positive[0])), math.floor(math.log10(positive[-1])) + 1)
    ticks = [*([0.0] if low <= 0 else []), *(10.0**power for power in powers[:: 1 + (len(powers) - 1) // 3])]
    return ChartAxis(low, high, "", charts.labelled(ticks), "log" if low > 0 else "symlog", positive[0])
