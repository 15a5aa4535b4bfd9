"""Figures of record linkage and of masking, drawn from the record and from nothing else.

Shares of people obey the small-cell rule: one that stands for a small count is drawn at the bound the rule leaves. No
fact is shown by colour alone.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from reports import charting, numbers
from reports.charting import AFTER, ALARM, BAND, BEFORE, BLUES, FAINT, INK, Figure
from reports.linkage import NO_INTERVAL, LinkText, kind_title, link_text
from reports.masking import masking_method
from reports.smallcell import SmallCellRule
from tasks.assessments.linkage.facts import AttackFact, LearnedFact, LinkageFact, PartialKnowledgeFact
from tasks.assessments.utility.facts import CurvePointFact, MaskingCurve, UtilityFact
from tasks.decision.record import DecisionRecord

_UNINFORMED: dict[str, Any] = {
    "color": AFTER,
    "linewidth": 1.2,
    "linestyle": (0, (4, 2)),
    "marker": "o",
    "markersize": 4,
    "markerfacecolor": "white",
}
_INFORMED: dict[str, Any] = {"color": ALARM, "linewidth": 2, "marker": "o", "markersize": 4}
_KNOWS: dict[str, dict[str, Any]] = {
    "uninformed": {"color": AFTER, "marker": "o", "markersize": 4.5, "markerfacecolor": "white", "zorder": 3},
    "informed": {"color": ALARM, "marker": "o", "markersize": 4.5, "zorder": 3},
}
_GUESS: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 9, "markeredgewidth": 1.2, "zorder": 2}
_LINE = 62
"""Characters of an attack's name on one line."""
_FILLS: tuple[dict[str, Any], ...] = (
    {"color": AFTER},
    {"facecolor": "white", "edgecolor": INK, "hatch": "////", "linewidth": 0.6},
    {"color": BEFORE},
    {"color": BLUES[4]},
)
_MOST_ATTRIBUTES = 10
_IN_A_ROW = 3
_ROOM = 0.12
"""Share of the axis that the label of a point takes."""
_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85}


def attacks(record: DecisionRecord, fact: LinkageFact) -> Figure | None:
    """Links by each attack, with intervals, beside links by guessing; None where no attack was made."""
    cells = SmallCellRule(record.policy.small_cell)
    found = [one for knows in ("uninformed", "informed") for one in fact.attacks if one.knows == knows]
    if not found:
        return None
    texts = [link_text(one.figure, cells) for one in found]

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        for row, (one, text) in enumerate(zip(found, texts, strict=True)):
            _attack(ax, row, one, text, cells)
        charting.rows(ax, [textwrap.fill(one.title, _LINE) for one in found])
        ax.set_xlim(-1.5, 118)
        ax.set_xticks(range(0, 101, 20))
        ax.set_xlabel("people linked, %")
        ax.grid(axis="x", color=FAINT, linewidth=0.5)
        ax.set_axisbelow(True)
        handles = [
            Line2D([], [], **style, linestyle="") for style in (_KNOWS["uninformed"], _KNOWS["informed"], _GUESS)
        ]
        canvas.legend(
            handles,
            ("linked without the method, 95% interval", "linked with it", "guessing"),
            loc="outside upper right",
            ncols=3,
            frameon=False,
            fontsize=6.5,
        )

    alt = "; ".join(
        f"{one.title} ({one.knows}): {text.with_interval} linked, {text.baseline} by guessing"
        for one, text in zip(found, texts, strict=True)
    )
    caption = (
        "People linked by each attack, with its 95% interval, beside what guessing links (tick). Of shares that may "
        "not be shown the bound is drawn, without an interval."
    )
    lines = sum(len(textwrap.wrap(one.title, _LINE)) for one in found)
    return Figure("attacks", draw, 0.75 + 0.09 * len(found) + 0.13 * lines, f"Dot chart by attack. {alt}.", caption)


def _attack(ax: Any, row: int, one: AttackFact, text: LinkText, cells: SmallCellRule) -> None:
    figure, style = one.figure, _KNOWS[one.knows]
    share = 100 * cells.bounded(figure.share, figure.people)
    right = share
    if text.interval != NO_INTERVAL:
        ax.plot([100 * figure.low, 100 * figure.high], [row, row], color=style["color"], linewidth=1.6)
        right = 100 * figure.high
    ax.plot(100 * figure.baseline, row, **_GUESS)
    ax.plot(share, row, **style)
    ax.annotate(text.share, (right, row), xytext=(6, 0), textcoords="offset points", va="center", size=6.5)


def knowledge(record: DecisionRecord, fact: LinkageFact) -> Figure | None:
    """Links by the number of attributes known, beside the attributes that give people away; None without either.

    A share whose number of people the record does not state may stand for a small count and is not drawn.
    """
    learned = fact.learned[: len(_FILLS)]
    names = _telling(learned)
    cells = SmallCellRule(record.policy.small_cell)
    partial = [_Partial(one, one.people, cells) for one in fact.partial if one.people is not None]
    if not partial and not names:
        return None
    widths = [*([1.0] if partial else []), *([1.15] if names else [])]

    def draw(canvas: Canvas) -> None:
        axes = list(canvas.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0])
        if partial:
            _partial_panel(axes.pop(0), partial)
        if names:
            _shares_panel(axes.pop(0), learned, names)

    captions, alts = [], []
    if partial:
        captions.append(
            "People linked by an intruder who holds only some of the attributes, averaged over sets of as many "
            f"({numbers.integer(max(one.fact.sets for one in partial))} at most)"
        )
        alts.append(
            "Lines of the share linked by the number of attributes known: "
            + "; ".join(
                f"{numbers.integer(one.fact.attributes)} known, {one.written(one.fact.uninformed)} uninformed and "
                f"{one.written(one.fact.informed)} informed"
                for one in partial
            )
        )
    if names:
        kinds = ", ".join(kind_title(one.kind) for one in learned)
        captions.append(f"share of the weight that a learned distance gives each attribute ({kinds})")
        alts.append(
            "Bars of the share of the learned weight by attribute: "
            + "; ".join(
                f"{name} "
                + ", ".join(f"{numbers.percent(one.shares.get(name, 0.0))} ({kind_title(one.kind)})" for one in learned)
                for name in names
            )
        )
    caption = "; beside it, ".join(captions)
    if partial:
        caption += f". Hatched: fewer than {numbers.integer(cells.limit)} people, or none"
    height = 0.75 + max(1.35 if partial else 0.0, 0.072 * (len(learned) + 1) * len(names))
    return Figure("linkage", draw, height, ". ".join(alts) + ".", f"{caption[0].upper()}{caption[1:]}.")


@dataclass(frozen=True)
class _Partial:
    """Links with so many attributes known, and the people that its shares are of."""

    fact: PartialKnowledgeFact
    people: int
    cells: SmallCellRule

    def written(self, share: float) -> str:
        """A share in words."""
        return self.cells.share(share, self.people)

    def drawn(self, share: float) -> float:
        """A share in percent, as far as it may be drawn."""
        return _drawn(share, self.people, self.cells)


def _drawn(share: float, people: int, cells: SmallCellRule) -> float:
    """A share in percent, no nearer to 0 or 100 than the small-cell rule allows, so that few and none look alike."""
    edge = cells.limit / people if people > 2 * cells.limit else 0.5
    return 100 * min(max(share, edge), 1 - edge)


def _edge_band(ax: Any, edge: float) -> None:
    """Hatching where shares of few people, or of none, are not distinguished."""
    ax.axhspan(0, edge, facecolor="white", edgecolor=FAINT, hatch="////", linewidth=0, zorder=0)


def _telling(learned: Sequence[LearnedFact]) -> list[str]:
    """The attributes with the largest weights, by the first of the learned distances."""
    names = dict.fromkeys(name for one in learned for name in one.shares)
    return sorted(names, key=lambda name: -learned[0].shares.get(name, 0.0))[:_MOST_ATTRIBUTES]


def _partial_panel(ax: Any, points: Sequence[_Partial]) -> None:
    known = [point.fact.attributes for point in points]
    informed = [point.drawn(point.fact.informed) for point in points]
    uninformed = [point.drawn(point.fact.uninformed) for point in points]
    ax.plot(known, informed, **_INFORMED)
    ax.plot(known, uninformed, **_UNINFORMED)
    edge = max(_drawn(0.0, point.people, point.cells) for point in points)
    if min(*informed, *uninformed) <= edge:
        _edge_band(ax, edge)
    ax.set_ylim(0, max(2 * edge, 1.08 * max(*informed, *uninformed)))
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= 100])
    step = 1 + len(known) // 12
    ax.set_xticks(known[::step], [numbers.integer(number) for number in known[::step]])
    ax.set_title("People linked, %")
    ax.set_xlabel("attributes known")
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    handles = [Line2D([], [], **_INFORMED), Line2D([], [], **_UNINFORMED)]
    ax.legend(handles, ("informed", "uninformed"), loc="upper left", frameon=False, fontsize=6.5)


def _shares_panel(ax: Any, learned: Sequence[LearnedFact], names: Sequence[str]) -> None:
    height = 0.8 / len(learned)
    for place, one in enumerate(learned):
        offset = (place - (len(learned) - 1) / 2) * height
        rows = [row + offset for row in range(len(names))]
        shares = [100 * one.shares.get(name, 0.0) for name in names]
        ax.barh(rows, shares, height=0.9 * height, label=kind_title(one.kind), **_FILLS[place])
    charting.rows(ax, names)
    ax.set_title("Weight of the attributes, %")
    ax.set_xlabel("share of the weight")
    ax.grid(axis="x", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.legend(loc="lower right", frameon=False, fontsize=6.5)


def curves(record: DecisionRecord, fact: UtilityFact) -> Figure | None:
    """Risk against utility of each masking as its parameter varies; None where there is none."""
    if not fact.curves:
        return None
    cells = SmallCellRule(record.policy.small_cell)
    across = min(len(fact.curves), _IN_A_ROW)
    down = -(-len(fact.curves) // _IN_A_ROW)

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(down, across, squeeze=False)
        for place, ax in enumerate(axes.flat):
            if place < len(fact.curves):
                _curve_panel(ax, fact.curves[place], cells)
            else:
                ax.axis("off")
        for row in axes:
            row[0].set_ylabel("people linked, %")
        canvas.legend(
            [
                Line2D([], [], **_INFORMED),
                Line2D([], [], **_UNINFORMED),
                Line2D([], [], color=BAND, linewidth=6),
            ],
            ("informed intruder", "uninformed, by distance", "strength applied"),
            loc="outside upper center",
            ncols=3,
            frameon=False,
            fontsize=7,
        )

    alt = "; ".join(_curve_words(curve, cells) for curve in fact.curves)
    caption = (
        "Risk and loss of each masking as its parameter varies: people linked by the masked attributes, against the "
        "mean change of a value in units of √2 standard deviations (IL1s). The strength applied is shaded. "
        f"Hatched: fewer than {numbers.integer(cells.limit)} people, or none."
    )
    return Figure("curves", draw, 0.35 + 1.75 * down, f"Risk–utility curves. {alt}.", caption)


def _curve_panel(ax: Any, curve: MaskingCurve, cells: SmallCellRule) -> None:
    points = sorted(curve.points, key=lambda point: point.displacement)
    lost = [point.displacement for point in points]
    informed = [_drawn(point.informed, curve.people, cells) for point in points]
    uninformed = [_drawn(point.uninformed, curve.people, cells) for point in points]
    edge = _drawn(0.0, curve.people, cells)
    if min(*informed, *uninformed) <= edge:
        _edge_band(ax, edge)
    for point in points:
        if point.chosen:
            ax.axvline(point.displacement, color=BAND, linewidth=9, zorder=0)
    ax.plot(lost, informed, **_INFORMED)
    ax.plot(lost, uninformed, **_UNINFORMED)
    labelled = _labelled(points)
    for point, *shares in zip(points, informed, uninformed, strict=True):
        if point not in labelled:
            continue
        ax.annotate(
            f"{curve.parameter} {numbers.setting(point.strength)}",
            (point.displacement, max(shares)),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            size=6,
            fontweight="bold" if point.chosen else "normal",
            bbox=_WHITE,
        )
    ax.set_ylim(0, max(3 * edge, 1.22 * max(*informed, *uninformed)))
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= 100])
    ax.margins(x=0.1)
    ticks = [tick for tick in ax.get_xticks() if tick >= 0][:: 1 + len(ax.get_xticks()) // 7]
    low, high = ax.get_xlim()
    ax.set_xticks(ticks, [numbers.tick(round(tick, 9)) for tick in ticks])
    ax.set_xlim(min(low, 0) if low < 0.1 * high else low, high)
    names = ", ".join(curve.attributes)
    ax.set_title(f"{masking_method(curve.method).title}\n{names if len(names) < 40 else names[:37] + '…'}", fontsize=7)
    ax.set_xlabel("mean change of a value, IL1s")
    ax.grid(axis="y", color=FAINT, linewidth=0.5)


def _labelled(points: Sequence[CurvePointFact]) -> list[CurvePointFact]:
    """The points whose strength is written beside them: the one applied and those that leave room."""
    room = _ROOM * (points[-1].displacement - points[0].displacement)
    kept: list[CurvePointFact] = []
    for point in sorted(points, key=lambda one: (not one.chosen, -one.displacement)):
        if all(abs(point.displacement - other.displacement) >= room for other in kept):
            kept.append(point)
    return kept


def _curve_words(curve: MaskingCurve, cells: SmallCellRule) -> str:
    def words(point: CurvePointFact) -> str:
        return (
            f"{curve.parameter} {numbers.setting(point.strength)}{' (applied)' if point.chosen else ''}: change "
            f"{numbers.fixed(point.displacement, 4)}, linked {cells.share(point.informed, curve.people)} informed, "
            f"{cells.share(point.uninformed, curve.people)} uninformed"
        )

    points = ", ".join(words(point) for point in curve.points)
    return f"{masking_method(curve.method).title} of {' and '.join(curve.attributes)}: {points}"
