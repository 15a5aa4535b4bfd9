"""Figures of decoys: what recipients learn who compare their copies, and how well decoys blend in.

Drawn from the record and from nothing else.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure as Canvas

from reports import charting, numbers
from reports.charting import AFTER, ALARM, FAINT, INK, Figure
from tasks.decision.decoy_facts import CollusionFact, DecoyFact, DetectabilityFact
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.record import DecisionRecord

_LINES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("worst_informed", "with the population, worst set", {"color": ALARM, "linewidth": 2, "marker": "o"}),
    ("worst", "worst set", {"color": AFTER, "linewidth": 1.4, "marker": "s", "markerfacecolor": "white"}),
    (
        "probability",
        "mean of the sets",
        {"color": AFTER, "linewidth": 1.2, "linestyle": (0, (4, 2)), "marker": "^", "markerfacecolor": "white"},
    ),
)
_MOST_TICKS = 12


def blending(record: DecisionRecord, fact: DetectabilityFact) -> Figure:
    """Areas under the ROC curve with their intervals, beside guessing and what the policy allows."""
    gate = next((gate for gate in record.gates if gate.id == DECOYS_DETECTABLE), None)
    names = [f"{one.view[:1].upper()}{one.view[1:]}: {one.classifier}" for one in fact.tried]

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        for row, one in enumerate(fact.tried):
            colour = ALARM if one == fact.worst else AFTER
            ax.plot([one.low, one.high], [row, row], color=colour, linewidth=1.8)
            ax.plot(one.area, row, "o", color=colour, markersize=5)
            ax.annotate(
                numbers.fixed(one.area), (one.high, row), xytext=(5, 0), textcoords="offset points", va="center"
            )
        charting.rows(ax, names)
        ax.axvline(0.5, color=INK, linewidth=0.8, linestyle=(0, (1, 1.5)))
        ax.annotate("guessing", (0.5, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", size=6.5)
        if gate is not None:
            ax.axvline(gate.threshold, color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
            words = f"policy {numbers.risk(gate.threshold)}"
            ax.annotate(
                words, (gate.threshold, 1.0), xycoords=("data", "axes fraction"), ha="left", va="bottom", size=6.5
            )
        ax.set_xlim(min(0.4, *(one.low - 0.02 for one in fact.tried)), 1.0)
        ax.set_xlabel("area under the ROC curve: 0.5 is guessing, 1 is certainty")

    told = "; ".join(
        f"{name} {numbers.fixed(one.area)}, interval {numbers.fixed(one.low)} to {numbers.fixed(one.high)}"
        for name, one in zip(names, fact.tried, strict=True)
    )
    allowed = "" if gate is None else f" The policy allows {numbers.risk(gate.threshold)}."
    caption = (
        "How well decoys blend in: area under the ROC curve of each classifier with its 95% interval (orange: the "
        "largest). Where an interval holds 0.5 the classifier may as well guess."
    )
    alt = f"Dot chart of the area under the ROC curve by what is seen and classifier. {told}.{allowed}"
    return Figure("blending", draw, 0.75 + 0.24 * len(names), alt, caption)


def collusion(fact: DecoyFact) -> Figure | None:
    """P(decoy) over the number of recipients who compare, beside the plan; None for fewer than two."""
    points = fact.collusion
    if len(points) < 2:
        return None
    planned = fact.planned_probability

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        known = [point.colluders for point in points]
        for name, label, style in _LINES:
            ax.plot(known, [getattr(point, name) for point in points], label=label, markersize=4, **style)
        if planned is not None:
            ax.axhline(planned, color=INK, linewidth=0.8, linestyle=(0, (1, 1.5)), label="planned, 1/(1 + t)")
        ax.set_ylim(0, min(1.05, 1.3 * _highest(points, planned)))
        step = 1 + len(known) // _MOST_TICKS
        ax.set_xticks(known[::step], [numbers.integer(number) for number in known[::step]])
        ax.set_xlabel("recipients who compare their copies")
        ax.set_ylabel("probability of a decoy")
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=7)

    caption = (
        "Probability that a class which stands alone is a decoy, by the number of recipients who compare their copies: "
        "mean and worst of the sets that were tried, and the worst for recipients who also have the population"
        f"{'' if planned is None else '; dotted, the plan'}."
    )
    return Figure("collusion", draw, 2.1, _alt(points, planned), caption)


def _highest(points: Sequence[CollusionFact], planned: float | None) -> float:
    return max(planned or 0.0, *(max(point.worst, point.worst_informed) for point in points)) or 1.0


def _alt(points: Sequence[CollusionFact], planned: float | None) -> str:
    told = "; ".join(
        f"{numbers.integer(point.colluders)}: {numbers.risk(point.probability)} on the mean, "
        f"{numbers.risk(point.worst)} at worst, {numbers.risk(point.worst_informed)} at worst with the population"
        for point in points
    )
    plan = "" if planned is None else f" The plan is {numbers.risk(planned)}."
    return f"Lines of the probability of a decoy by the number of recipients who compare. {told}.{plan}"
