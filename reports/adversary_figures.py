"""Figures of the sequential adversary and of the combined score, drawn from the record and from nothing else.

Group sizes of the file are counts of people and obey the small-cell rule; sizes at which the model changes its decision
are not. No fact is shown by colour alone.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reports import charting, numbers
from reports.charting import AFTER, ALARM, BAND, BEFORE, INK, MUTED, PARTLY, Figure, RiskAxis, shown_bins
from reports.gates import released_records
from reports.sequential import SENSITIVITY_TITLES, written
from reports.smallcell import SmallCellRule
from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.identity.facts import RiskFact
from tasks.assessments.sequential.facts import SensitivityFact, SequentialFact
from tasks.core.fact import Bin
from tasks.decision.record import DecisionRecord

_DASHED = (0, (4, 2))
_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
_KNOWN: dict[str, Any] = {"color": AFTER, "linewidth": 2.2}
_LINKED: dict[str, Any] = {"color": ALARM, "linewidth": 1.2, "linestyle": _DASHED}
_DOTTED = (0, (1, 1.5))
_WIDE_SIZES = 60
_WIDE_TERM = 50
_WIDE_SHARES = 30
_LONG_RANGE = 5000
_DECADES = 10
_MOST_TICKS = 12
_MOST_DECADES = 3
_HEADROOM = 1.8
_FIRST = 0.5
"""Left end of the axis of group sizes: a size is drawn from half a person below it to half a person above."""


def adversary_figures(record: DecisionRecord, risk: RiskFact) -> list[Figure]:
    """The figures of the two stages, as far as they finished."""
    drawn = []
    if risk.sequential is not None:
        drawn += [group_risk(record, risk.sequential), sensitivity(record, risk.sequential)]
    if risk.combined is not None:
        drawn.append(scores(record, risk.combined))
    return drawn


def group_risk(record: DecisionRecord, fact: SequentialFact) -> Figure:
    """Risk and expected exploits by group size, with the thresholds and the file's own groups below."""
    cells = SmallCellRule(record.policy.small_cell)
    bins = _size_bins(fact.group_sizes, cells)
    low, high = _own_sizes(fact, cells)
    right = max(fact.curve[-1].size + _FIRST, high)

    def draw(canvas: Canvas) -> None:
        risks, tries, groups = canvas.subplots(3, 1, sharex=True, height_ratios=(1.5, 1, 0.8))
        for ax in (risks, tries, groups):
            ax.axvspan(low, high, color=BAND, zorder=0, linewidth=0)
        _steps(risks, fact, [point.known for point in fact.curve], right, _KNOWN)
        _steps(risks, fact, [point.linked for point in fact.curve], right, _LINKED)
        _steps(tries, fact, [point.exploits for point in fact.curve], right, _LINKED)
        risks.set_ylim(0, 1.3 * max(0.1, *(point.linked for point in fact.curve)))
        risks.set_yticks([tick for tick in risks.get_yticks() if 0 <= tick <= 1])
        most = 1.1 * max(1.0, *(point.exploits for point in fact.curve))
        tries.set_ylim(0, most)
        ticks = [tick for tick in tries.get_yticks() if tick == int(tick) and tick <= most]
        tries.set_yticks(ticks, [numbers.tick(tick) for tick in ticks])
        _thresholds(risks, fact, right)
        _group_bars(groups, bins, (low, high))
        for ax, title in ((risks, "probability"), (tries, "exploits"), (groups, "records, %")):
            ax.set_ylabel(title)
        _size_axis(groups, "x", right)
        groups.set_xlabel("candidates in the external data (group size)")
        canvas.align_ylabels((risks, tries, groups))
        names = ("group known, access paid for each record", "once access is paid", "groups of this file")
        canvas.legend(
            [Line2D([], [], **_KNOWN), Line2D([], [], **_LINKED), Patch(color=BAND)],
            names,
            loc="outside upper center",
            ncols=3,
            frameon=False,
            fontsize=7,
        )

    alt = (
        "Three panels over the group size. Above, the probability that a record is re-identified, from "
        f"{numbers.risk(fact.curve[0].linked)} in a group of one once access is paid; "
        f"{_safe_words(fact.threshold_known, 'where access is paid for each record')}; "
        f"{_safe_words(fact.threshold_linked, 'once access is paid')}. In the middle, the exploits expected if none "
        f"succeeds, at most {numbers.plain(max(point.exploits for point in fact.curve))}. Below, the released records "
        f"by group size, from {cells.count(fact.smallest_group)} to {cells.count(fact.largest_group)} candidates; "
        f"{cells.share(_judged_share(fact), released_records(record))} of them are attacked."
    )
    caption = (
        "What the recipient who plans does at each group size: probability of re-identification (top), expected "
        "exploits if none succeeds (middle), and the groups in which the released records are (bottom; shaded "
        f"throughout{_bound_words(fact, cells)}). Intervals of small groups, or with few records, are drawn as one."
    )
    return Figure("sequential", draw, 3.6, alt, caption)


def sensitivity(record: DecisionRecord, fact: SequentialFact) -> Figure:
    """Threshold group sizes as one term varies (after Xia et al. 2015, Fig. 10), with the file's groups."""
    cells = SmallCellRule(record.policy.small_cell)
    own = _own_sizes(fact, cells)
    finite = [
        size
        for series in fact.sensitivity
        for point in series.points
        for size in (point.known_threshold, point.linked_threshold)
        if size is not None
    ]
    top = _HEADROOM * max(own[0], *finite, 2)

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(1, len(fact.sensitivity), sharey=True, squeeze=False)[0]
        for ax, series in zip(axes, fact.sensitivity, strict=True):
            _sensitivity_panel(ax, series, own, top)
        _size_axis(axes[0], "y", top)
        axes[0].set_ylabel("group size")
        canvas.legend(
            [
                Line2D([], [], **_KNOWN),
                Line2D([], [], **_LINKED),
                Patch(facecolor=BAND),
                Patch(facecolor="white", edgecolor=PARTLY, hatch="////"),
            ],
            (
                "safe from, access paid for each record",
                "safe from, once access is paid",
                "groups of this file",
                "of them attacked, once access is paid",
            ),
            loc="outside upper center",
            ncols=4,
            frameon=False,
            fontsize=6.5,
            handlelength=1.8,
            columnspacing=1.0,
        )

    lines = "; ".join(_series_words(series) for series in fact.sensitivity)
    caption = (
        "The smallest safe group as one term varies and the others stay (after Xia et al. 2015, Fig. 10); the dotted "
        f"line is this release. Shaded: group sizes from the file's smallest on{_bound_words(fact, cells)}; hatched: "
        "those of them that are attacked at that value once access is paid."
    )
    if any(point.linked_threshold is None for series in fact.sensitivity for point in series.points):
        caption += " Where a line leaves the top, no size that was looked at is safe."
    return Figure(
        "sensitivity", draw, 2.3, f"Four charts of the smallest safe group once access is paid. {lines}.", caption
    )


def scores(record: DecisionRecord, fact: CombinedFact) -> Figure:
    """Combined scores of the records, before above after, on a logarithmic axis (after Orooji and Knapp 2019)."""
    cells = SmallCellRule(record.policy.small_cell)
    rows = (("Before", fact.initial, BEFORE), ("After", fact.residual, AFTER))
    histograms = {name: shown_bins(figure.histogram, figure.maximum, cells) for name, figure, _ in rows}
    marks = (fact.threshold,) if fact.threshold > 0 else ()
    every = [part for bins in histograms.values() for part in bins]
    axis = RiskAxis(every, marks if every else (1.0,), largest=math.inf)
    shares = [part.records / sum(one.records for one in bins) for bins in histograms.values() for part in bins]
    filled = [share for share in shares if share > 0]
    wide = bool(filled) and max(filled) > _WIDE_SHARES * min(filled)

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(2, 1, sharex=True, sharey=True)
        for ax, (name, _, colour) in zip(axes, rows, strict=True):
            charting.bars(ax, axis, histograms[name], partial(_same, colour))
            for mark in marks:
                words = f"threshold {numbers.risk(mark)}" if name == "Before" else ""
                axis.threshold(ax, mark, words, height=0.97)
            ax.set_title(name)
            ax.set_ylabel("records, %")
        if wide:
            _percent_decades(axes[0], 100 * min(filled), 100 * max(filled))
        else:
            charting.headroom(axes[0], 1.15)
        axis.label(axes[1], "combined score of a record")

    over = [cells.share(figure.share_above, figure.records) for _, figure, _ in rows]
    alt = (
        f"Two histograms of the combined score of a record. Above the threshold of {numbers.risk(fact.threshold)} lie "
        f"{over[0]} of the records before and {over[1]} after; the highest score is "
        f"{numbers.risk(fact.initial.maximum)} before and {numbers.risk(fact.residual.maximum)} after."
    )
    caption = (
        "Combined score of the records before (grey) and after (blue) generalization"
        f"{'; both axes are logarithmic' if wide else ''}. Intervals with few records are joined to a neighbour."
    )
    return Figure("combined", draw, 3.0, alt, caption)


def _same(colour: str, _part: Bin) -> str:
    return colour


def _own_sizes(fact: SequentialFact, cells: SmallCellRule) -> tuple[float, float]:
    """Range of the file's group sizes as drawn; the bounds of the rule where an end may not be shown."""
    low = 1 if cells.hides(fact.smallest_group) else fact.smallest_group
    high = cells.limit - 1 if cells.hides(fact.largest_group) else fact.largest_group
    return max(low - 0.5, _FIRST), max(high, 1) + 0.5


def _bound_words(fact: SequentialFact, cells: SmallCellRule) -> str:
    return ", from 1 on: the smallest may not be shown" if cells.hides(fact.smallest_group) else ""


def _judged_share(fact: SequentialFact) -> float:
    return next(belief.attacked_share for belief in fact.residual if belief.belief == fact.judged)


def _series_words(series: SensitivityFact) -> str:
    """The ends of a series in words."""
    first, last = series.points[0], series.points[-1]
    ends = [
        f"{'none found' if point.linked_threshold is None else numbers.integer(point.linked_threshold)} at "
        f"{written(series.term, point.value)}"
        for point in (first, last)
    ]
    return f"{SENSITIVITY_TITLES[series.term]}: {ends[0]}, {ends[1]}, here {written(series.term, series.own)}"


def _safe_words(threshold: int | None, when: str) -> str:
    if threshold is None:
        return f"no size is safe {when}"
    return f"safe from {numbers.integer(threshold)} on {when}"


def _steps(
    ax: Any,
    fact: SequentialFact,
    values: Sequence[float],
    right: float,
    style: dict[str, Any],
) -> None:
    """Values by group size, up to the right edge where the last threshold has been passed, beyond which all are 0."""
    edges = [point.size - 0.5 for point in fact.curve]
    last = fact.curve[-1].size
    end = right if fact.threshold_linked is not None and last >= fact.threshold_linked else last + 0.5
    ax.step([*edges, end], [*values, values[-1]], where="post", **style)


def _thresholds(ax: Any, fact: SequentialFact, right: float) -> None:
    """Both thresholds with their words; beside the right edge the words stand to the left."""
    marks = (
        (fact.threshold_known, AFTER, "safe from {} on", 0.99),
        (fact.threshold_linked, ALARM, "safe from {} on, access paid", 0.86),
    )
    for threshold, colour, words, height in marks[:1] if fact.threshold_known == fact.threshold_linked else marks:
        if threshold is None:
            continue
        place = threshold - 0.5
        ax.axvline(place, color=colour, linewidth=0.8, linestyle=_DOTTED)
        left = place > 0.6 * right
        ax.annotate(
            words.format(numbers.integer(threshold)),
            (place, height),
            xycoords=("data", "axes fraction"),
            xytext=(-3 if left else 3, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
            size=6.5,
            bbox=_WHITE,
        )


def _size_bins(bins: Sequence[Bin], cells: SmallCellRule) -> tuple[Bin, ...]:
    """Records by group size, the sizes too small to be shown in one interval."""
    small = [part for part in bins if part.high < cells.limit]
    if small:
        joined = Bin(low=small[0].low, high=small[-1].high, records=sum(part.records for part in small))
        bins = (joined, *bins[len(small) :])
    return cells.bins(bins)


def _group_bars(ax: Any, bins: Sequence[Bin], own: tuple[float, float]) -> None:
    """Released records by group size; the bins hold the sizes above their lower end up to their upper."""
    total = sum(part.records for part in bins)
    for part in bins:
        if part.records:
            left, end = max(part.low + 0.5, own[0]), min(part.high + 0.5, own[1])
            share = 100 * part.records / total
            ax.bar(left, share, width=end - left, align="edge", color=BEFORE, edgecolor="white", linewidth=0.6)
    if not bins:
        ax.text(0.5, 0.5, "too few records to show", transform=ax.transAxes, ha="center", va="center", color=MUTED)


def _sensitivity_panel(ax: Any, series: SensitivityFact, own: tuple[float, float], top: float) -> None:
    values = [point.value for point in series.points]
    beyond = 10 * top
    known = [beyond if point.known_threshold is None else point.known_threshold for point in series.points]
    linked = [beyond if point.linked_threshold is None else point.linked_threshold for point in series.points]
    low, high = own[0], max(min(own[1], top), own[0])
    attacked = [min(max(size - 0.5, low), high) for size in linked]
    ax.axhspan(low, high, color=BAND, zorder=0, linewidth=0)
    ax.fill_between(values, low, attacked, facecolor="white", edgecolor=PARTLY, hatch="////", linewidth=0, zorder=1)
    ax.plot(values, known, **_KNOWN)
    ax.plot(values, linked, **_LINKED)
    ax.axvline(series.own, color=INK, linewidth=0.9, linestyle=_DOTTED)
    ax.set_title(f"{SENSITIVITY_TITLES[series.term]}\nhere {written(series.term, series.own)}", fontsize=7)
    if min(*known, *linked) >= beyond:
        ax.text(0.5, 0.5, "no safe size found", transform=ax.transAxes, ha="center", va="center", size=6.5, bbox=_WHITE)
    _term_axis(ax, sorted({*values, series.own}))


def _term_axis(ax: Any, values: Sequence[float]) -> None:
    """A term's values: logarithmic where they span a wide range, and linear below the first where they begin at 0."""
    positive = [value for value in values if value > 0]
    if positive and positive[-1] >= _WIDE_TERM * positive[0]:
        if values[0] > 0:
            ax.set_xscale("log")
        else:
            ax.set_xscale("symlog", linthresh=positive[0], linscale=0.5)
        ax.minorticks_off()
        low, high = math.ceil(math.log10(positive[0])), math.floor(math.log10(positive[-1]))
        every = 1 + (high - low) // _MOST_DECADES
        ticks = [*([0.0] if values[0] <= 0 else []), *(10.0**power for power in range(low, high + 1, every))]
        ax.set_xticks(ticks, [numbers.tick(tick) for tick in ticks])
    else:
        ticks = [tick for tick in ax.get_xticks() if values[0] <= tick <= values[-1]]
        ax.set_xticks(ticks, [numbers.tick(tick) for tick in ticks])
    if values[0] < values[-1]:
        ax.set_xlim(values[0], values[-1])


def _size_axis(ax: Any, name: str, top: float) -> None:
    """Group sizes from one on, logarithmic where their range is wide."""
    if top <= _WIDE_SIZES:
        step = next(step for step in (1, 2, 5, 10) if top / step <= _MOST_TICKS)
        ticks = sorted({1, *range(step, int(top) + 1, step)})
    else:
        ax.set(**{f"{name}scale": "log"})
        steps = (1, 2, 5) if top < _LONG_RANGE else (1,)
        ticks = [step * 10**power for power in range(_DECADES) for step in steps if step * 10**power <= top]
    ax.minorticks_off()
    ax.set(**{f"{name}ticks": ticks, f"{name}ticklabels": [numbers.integer(tick) for tick in ticks]})
    ax.set(**{f"{name}lim": (_FIRST, top)})


def _percent_decades(ax: Any, low: float, high: float) -> None:
    """A logarithmic axis of percentages with room above for words."""
    ax.set_yscale("log")
    ax.minorticks_off()
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    ticks = [10.0**power for power in powers]
    ax.set_yticks(ticks, [numbers.tick(tick) for tick in ticks])
    ax.set_ylim(low / 2, 4 * high)
