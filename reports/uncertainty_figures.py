"""The figure of uncertain terms: how probable approval is, and in which part of each term's distribution.

Drawn from the record and from nothing else; every bar has its number, so that no fact is shown by colour alone.
"""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure as Canvas

from reports import numbers
from reports.charting import AFTER, BAND, BLUES, FAINT, INK, Figure
from tasks.assessments.identity.uncertainty_facts import ChanceFact, DecidingFact, UncertaintyFact
from tasks.assessments.measures import MEASURES
from tasks.request.model import Measure

TERMS = {
    "benefit": "Benefit V",
    "loss": "Loss L",
    "gain": "Gain G",
    "cost": "Cost c of an attempt",
    "prior": "Prior",
    "penalty": "Penalty",
    "detection": "Detection",
    "detection_slope": "Slope of detection",
    "access_cost": "Cost of access",
    "link_cost": "Cost of a link",
    "exploit_cost": "Cost of an exploit",
}
"""Terms as the report names them."""
_WORDS = 34
_MOST_LABELS = 7
_LONG_LABEL = 5


def verdict_chances(fact: UncertaintyFact) -> Figure:
    """How probable approval is: over all terms, gate by gate, and in each part of the terms that are drawn."""
    gates = [(textwrap.fill(MEASURES[Measure(one.measure)].title, _WORDS), one.passes) for one in fact.figures]
    bars = [("All gates", fact.approved), *gates]
    drawn = [one for one in fact.deciding if one.parts]
    columns = max(1, min(len(drawn), 4))
    lines = math.ceil(len(drawn) / columns)
    height = 0.9 + 0.22 * len(bars) + (1.25 * lines if drawn else 0)

    def draw(canvas: Canvas) -> None:
        parts = canvas.subfigures(
            2 if drawn else 1,
            1,
            height_ratios=[0.5 + 0.22 * len(bars), 1.3 * lines][: 2 if drawn else 1],
            squeeze=False,
        )
        _chance_bars(parts[0][0].subplots(), bars, fact)
        if drawn:
            axes = parts[1][0].subplots(lines, columns, sharey=True, squeeze=False)
            for ax, one in zip(axes.flat, drawn, strict=False):
                _part_bars(ax, one)
            for ax in list(axes.flat)[len(drawn) :]:
                ax.set_axis_off()
            for ax in axes[:, 0]:
                ax.set_ylabel("approved, %")

    decide = "; ".join(
        f"{TERMS[one.term]}: from {_part_share(one, 0)} in the lowest part to {_part_share(one, -1)} in the highest"
        for one in drawn
    )
    alt = (
        f"All gates pass with probability {numbers.percent(fact.approved.value)}, between "
        f"{numbers.percent(fact.approved.low)} and {numbers.percent(fact.possible.high)}."
        + (f" Share approved by term: {decide}." if decide else "")
    )
    caption = (
        "How probable it is that the gates pass, over the terms declared uncertain. Bars end at the estimate, whiskers "
        f"at the ends of the exact {numbers.percent(fact.confidence)} interval"
        + (", hatched what depends on terms of which only a range is known" if _open(fact) else "")
        + (
            ". Below, the share of draws that pass in each part of a term's distribution; first and total are Sobol' "
            "indices, the shares of the verdict's variance that go back to the term alone, and with others."
            if drawn
            else "."
        )
    )
    return Figure("verdict_chances", draw, height, alt, caption)


def _chance_bars(ax: Any, bars: Sequence[tuple[str, ChanceFact]], fact: UncertaintyFact) -> None:
    for place, (_, one) in enumerate(bars):
        ax.barh(place, 100 * one.value, height=0.55, color=AFTER if place == 0 else BLUES[3], zorder=2)
        high = one.high
        if place == 0 and _open(fact):
            ax.barh(
                place,
                100 * (fact.possible.value - one.value),
                left=100 * one.value,
                height=0.55,
                facecolor="white",
                edgecolor=AFTER,
                hatch="////",
                linewidth=0.6,
                zorder=2,
            )
            high = fact.possible.high
        ax.plot([100 * one.low, 100 * high], [place, place], color=INK, linewidth=1, marker="|", markersize=5, zorder=3)
        ax.text(102, place, _chance_words(one, high), va="center", size=6.5)
    ax.set_yticks(range(len(bars)), [title for title, _ in bars])
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.set_xlim(0, 100)
    ax.set_xlabel("probability of passing, %")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, linewidth=0.5, zorder=0)


def _chance_words(one: ChanceFact, high: float) -> str:
    if one.draws == 1:
        return "not drawn"
    return f"{numbers.percent(one.value)} ({numbers.percent_range(one.low, high)})"


def _part_bars(ax: Any, one: DecidingFact) -> None:
    shares = [100 * part.approved / part.draws if part.draws else 0.0 for part in one.parts]
    ax.bar(
        range(len(shares)),
        shares,
        width=0.85,
        color=[BLUES[3] if part.draws else BAND for part in one.parts],
        edgecolor="white",
    )
    for place, (share, part) in enumerate(zip(shares, one.parts, strict=True)):
        ax.text(place, share + 2, f"{share:.0f}" if part.draws else "–", ha="center", va="bottom", size=6)
    ax.set_ylim(0, 118)
    ax.set_yticks([0, 50, 100])
    values = all(part.low == part.high for part in one.parts)
    edges = [part.low for part in one.parts] + ([] if values else [one.parts[-1].high])
    labels = [numbers.setting(float(f"{edge:.3g}")) for edge in edges]
    step = 1 + (len(labels) > _MOST_LABELS) + (max(map(len, labels)) > _LONG_LABEL)
    places = [place - (0.0 if values else 0.5) for place in range(len(edges))]
    ax.set_xticks(places[::step], labels[::step])
    ax.tick_params(axis="x", labelsize=6)
    indices = (
        "the verdict never varies"
        if one.first is None or one.total is None
        else f"first {max(one.first.value, 0):.2f}, total {max(one.total.value, 0):.2f}"
    )
    ax.set_title(f"{TERMS[one.term]}\n{indices}", fontsize=7)


def _part_share(one: DecidingFact, place: int) -> str:
    part = one.parts[place]
    return numbers.percent(part.approved / part.draws) if part.draws else "none drawn"


def _open(fact: UncertaintyFact) -> bool:
    return fact.possible.count > fact.approved.count
