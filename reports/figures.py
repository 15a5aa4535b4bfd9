"""The figures of a determination: SVG with alternative text, drawn from the record and from nothing else.

Every figure obeys the small-cell rule: histogram bins are joined until none is small, and shares that stand for a small
count are drawn at the bound the rule leaves. No fact is shown by colour alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.figure import Figure as Canvas

from reports import charting, numbers
from reports.adversary_figures import adversary_figures
from reports.charting import (
    AFTER,
    ALARM,
    BAND,
    BEFORE,
    BLUES,
    FAINT,
    INK,
    PARTLY,
    REMOVED,
    Figure,
    RiskAxis,
    shown_bins,
)
from reports.decoy_figures import blending, collusion
from reports.frontier_figure import frontier
from reports.gates import released_records
from reports.levels import LevelRow, level_rows
from reports.linkage_figures import attacks, curves, knowledge
from reports.methods import method_text
from reports.penalties_figure import penalties
from reports.sensitivity_figures import stakes_curves, stakes_map
from reports.smallcell import SmallCellRule
from reports.uncertainty_figures import verdict_chances
from tasks.assessments.identity.facts import FieldFact, PolicyOutcome, RiskFact
from tasks.core.fact import Bin
from tasks.decision.record import DecisionRecord


def figures(record: DecisionRecord) -> dict[str, Figure]:
    """All figures that the record has evidence for, by name, in the order of the report; none without a risk."""
    risk = record.risk
    if risk is None:
        return {}
    quasi = [field for field in record.fields if field.information_kept is not None]
    drawn = [risk_distribution(record, risk), *adversary_figures(record, risk)]
    drawn += [transparent_risk(record, risk), payoffs(record, risk)]
    drawn += [] if risk.game.frontier is None else [frontier(record, risk.game.frontier)]
    stakes = risk.game.stakes
    drawn += [] if stakes is None else [stakes_map(record, stakes.map), stakes_curves(record, stakes)]
    drawn += [] if risk.game.penalties is None else [penalties(record, risk.game.penalties)]
    drawn += [] if risk.uncertainty is None else [verdict_chances(risk.uncertainty)]
    linked = () if risk.linkage is None else (attacks(record, risk.linkage), knowledge(record, risk.linkage))
    drawn += [figure for figure in linked if figure]
    drawn += _of_decoys(record)
    if quasi:
        drawn.append(information_kept(quasi))
    levelled = [field for field in quasi if field.records_per_level]
    if levelled:
        drawn.append(levels(record, levelled))
    masked = None if record.utility is None else curves(record, record.utility)
    drawn += [masked] if masked else []
    return {figure.name: figure for figure in drawn}


def _of_decoys(record: DecisionRecord) -> list[Figure]:
    fact = record.decoys
    if fact is None:
        return []
    compared = collusion(fact)
    blended = [] if fact.detectability is None else [blending(record, fact.detectability)]
    return [*([compared] if compared else []), *blended]


def risk_distribution(record: DecisionRecord, risk: RiskFact) -> Figure:
    """Prosecutor and journalist risk, before above after, with the policy's threshold."""
    cells = SmallCellRule(record.policy.small_cell)
    rows = (("Before", risk.initial, BEFORE), ("After", risk.residual, AFTER))
    attackers = ("prosecutor", "journalist")
    histograms = {
        (row, attacker): shown_bins(getattr(view, attacker).histogram, getattr(view, attacker).maximum, cells)
        for row, view, _ in rows
        for attacker in attackers
    }
    axis = RiskAxis([part for bins in histograms.values() for part in bins], (risk.threshold,))

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(2, 2, sharex=True, sharey=True)
        for line, (row, _, colour) in enumerate(rows):
            for column, attacker in enumerate(attackers):
                ax = axes[line][column]
                charting.bars(ax, axis, histograms[row, attacker], partial(_same, colour))
                axis.threshold(ax, risk.threshold, f"threshold {numbers.risk(risk.threshold)}" if not line else "")
                ax.set_title(f"{row}: {attacker}")
            axes[line][0].set_ylabel("records, %")
        charting.headroom(axes[0][0], 1.15)
        for column in range(len(attackers)):
            axis.label(axes[1][column], "risk of a record")

    def over(view: Any, attacker: str) -> str:
        figure = getattr(view, attacker)
        share = figure.over_threshold / figure.records if figure.records else 0.0
        return cells.share(share, figure.records)

    alt = (
        f"Four histograms of the risk of a record. Above the threshold of {numbers.risk(risk.threshold)} lie, for the "
        f"prosecutor, {over(risk.initial, 'prosecutor')} of the records before and "
        f"{over(risk.residual, 'prosecutor')} after; "
        f"for the journalist, {over(risk.initial, 'journalist')} before and {over(risk.residual, 'journalist')} after."
    )
    caption = (
        "Risk of the records before (grey) and after (blue) generalization, for the prosecutor (1/class size in the "
        "file) "
        "and the journalist (1/people who match in the population). Bins with few records are joined to a neighbour."
    )
    return Figure("risk", draw, 3.5, alt, caption)


def _same(colour: str, _part: Bin) -> str:
    return colour


def transparent_risk(record: DecisionRecord, risk: RiskFact) -> Figure:
    """Risk from an informed recipient, with the point beyond which an attempt pays."""
    cells = SmallCellRule(record.policy.small_cell)
    transparent = risk.transparent
    bins = shown_bins(transparent.histogram, transparent.maximum_risk, cells)
    pays = 1 / transparent.attack_group_size
    sides = ("left", "right") if pays < risk.threshold else ("right", "left")
    beyond = pays * (1 + 1e-9)
    axis = RiskAxis(bins, (pays, risk.threshold))

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        charting.bars(
            ax, axis, bins, lambda part: AFTER if part.high <= beyond else ALARM if part.low >= pays else PARTLY
        )
        axis.threshold(ax, pays, f"an attempt pays beyond {numbers.risk(pays)}", height=0.97, side=sides[0])
        axis.threshold(ax, risk.threshold, f"threshold {numbers.risk(risk.threshold)}", height=0.85, side=sides[1])
        ax.set_ylabel("records, %")
        charting.headroom(ax, 1.35)
        axis.label(ax, "risk of a record from an informed recipient, 1/effective group")

    attacked = cells.share(transparent.attacked_share, released_records(record))
    alt = (
        "Histogram of the informed recipient's risk, one over the effective group. The highest is "
        f"{numbers.risk(transparent.maximum_risk)}; an "
        f"attempt pays beyond {numbers.risk(pays)}, an effective group of fewer than "
        f"{numbers.plain(transparent.attack_group_size)} people; {attacked} of the records lie there."
    )
    caption = (
        "Released records by the risk from a recipient who knows hierarchies and rule. Beyond the first line, an "
        "effective "
        f"group of fewer than {numbers.plain(transparent.attack_group_size)} people, an attempt pays (orange; light "
        "orange where the line runs through the interval)."
    )
    return Figure("transparent", draw, 2.1, alt, caption)


def payoffs(record: DecisionRecord, risk: RiskFact) -> Figure:
    """Every method's payoff beside its share of records worth attacking, as claimed and to an informed recipient."""
    cells = SmallCellRule(record.policy.small_cell)
    total = record.dataset.rows_in
    outcomes = sorted(risk.game.outcomes, key=lambda outcome: outcome.publisher_payoff)

    def draw(canvas: Canvas) -> None:
        left, right = canvas.subplots(1, 2, sharey=True, width_ratios=(1, 1.25))
        for row, outcome in enumerate(outcomes):
            if outcome.chosen:
                for ax in (left, right):
                    ax.axhspan(row - 0.45, row + 0.45, color=BAND, zorder=0, linewidth=0)
            _payoff(left, row, outcome)
            _dumbbell(right, row, outcome, cells, total)
        weights = ["bold" if outcome.chosen else "normal" for outcome in outcomes]
        left.set_yticks(range(len(outcomes)), [method_text(outcome.method).title for outcome in outcomes])
        for text, weight in zip(left.get_yticklabels(), weights, strict=True):
            text.set_fontweight(weight)
        left.set_ylim(-0.6, len(outcomes) - 0.4)
        left.margins(x=0.3)
        left.set_title("Publisher's payoff, units a record")
        right.set_xlim(-2, 1.65 * max(2.0, *(100 * outcome.transparent_attacked_share for outcome in outcomes)))
        right.set_xticks([tick for tick in right.get_xticks() if 0 <= tick <= 100])
        right.set_title("Records worth an attempt, %")
        right.set_xlabel("○ claimed by the method    ● found by an informed recipient", loc="right")
        for ax in (left, right):
            ax.spines["left"].set_visible(False)
            ax.tick_params(axis="y", length=0)
            ax.grid(axis="x", color=FAINT, linewidth=0.5)
            ax.set_axisbelow(True)

    lines = [
        f"{method_text(outcome.method).title}{' (chosen)' if outcome.chosen else ''}: payoff "
        f"{numbers.amount(outcome.publisher_payoff)}, attempts {cells.share(outcome.naive_attacked_share, total)} "
        "claimed, "
        f"{cells.share(outcome.transparent_attacked_share, total)} informed"
        for outcome in reversed(outcomes)
    ]
    caption = (
        "Every method on these data under these stakes; the one applied is shaded. Where the two dots of a method lie "
        "apart, knowing the rule lets the recipient attempt records that the method calls safe."
    )
    return Figure(
        "payoffs",
        draw,
        0.9 + 0.26 * len(outcomes),
        "Dot chart by method. " + "; ".join(lines) + ".",
        caption,
    )


def information_kept(fields: Sequence[FieldFact]) -> Figure:
    """Information kept by each quasi-identifier."""
    kept = [(field.name, field.information_kept or 0.0) for field in fields]

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        for row, (_, share) in enumerate(kept):
            ax.barh(row, 100, height=0.55, color=BAND)
            ax.barh(row, 100 * share, height=0.55, color=AFTER)
            ax.text(101, row, numbers.percent(share), va="center")
        charting.rows(ax, [name for name, _ in kept])
        ax.set_xlim(0, 112)
        ax.set_xticks(range(0, 101, 25))
        ax.spines["bottom"].set_bounds(0, 100)
        ax.set_xlabel("information kept, %")

    lines = "; ".join(f"{name} {numbers.percent(share)}" for name, share in kept)
    return Figure(
        "information",
        draw,
        0.55 + 0.25 * len(kept),
        f"Bar chart of the information kept by quasi-identifier: {lines}.",
        "Information kept by quasi-identifier, averaged over the released records; 100% is the value as collected.",
    )


def levels(record: DecisionRecord, fields: Sequence[FieldFact]) -> Figure:
    """Records by level of generalization, one bar a quasi-identifier; parts that may not be shown drawn as one."""
    parts = {field.name: _level_parts(level_rows(record, field)) for field in fields}

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        for row, field in enumerate(fields):
            start = 0.0
            for part in parts[field.name]:
                ax.barh(
                    row,
                    part.percent,
                    left=start,
                    height=0.6,
                    color=part.colour,
                    edgecolor="white" if not part.hatch else FAINT,
                    linewidth=0.6,
                    hatch=part.hatch,
                )
                if part.percent > 1.35 * len(part.label) + 1:
                    middle = start + part.percent / 2
                    ax.text(middle, row, part.label, ha="center", va="center", color=part.ink, size=6.5)
                start += part.percent
        charting.rows(ax, [field.name for field in fields])
        ax.set_xlim(0, 100)
        ax.set_xlabel("records that came in, %")

    lines = "; ".join(
        f"{name}: " + ", ".join(f"{part.label} {part.shown}" for part in shown) for name, shown in parts.items()
    )
    return Figure(
        "levels",
        draw,
        0.6 + 0.3 * len(fields),
        f"Stacked bars of the records by level of generalization. {lines}.",
        "Records by level of generalization, finest level darkest. Levels with too few records to show, and what would "
        "give them away, are drawn together, hatched.",
    )


@dataclass(frozen=True)
class _Part:
    label: str
    shown: str
    percent: float
    colour: str
    ink: str
    hatch: str = ""


def _level_parts(rows: Sequence[LevelRow]) -> list[_Part]:
    total = sum(row.records for row in rows)
    hidden = sum(row.records for row in rows if row.is_hidden)
    parts = []
    for place, row in enumerate(rows):
        if row.records and not row.is_hidden:
            coarse = row.groups in {"1", "–"}
            colour = REMOVED if coarse else BLUES[min(place, len(BLUES) - 1)]
            share = row.records / total
            parts.append(
                _Part(row.name, numbers.percent(share), 100 * share, colour, "white" if colour in BLUES[:2] else INK)
            )
    if hidden:
        parts.append(_Part("too few to show", "", 100 * hidden / total, "white", INK, "////"))
    return parts


def _payoff(ax: Any, row: int, outcome: PolicyOutcome) -> None:
    weight = "bold" if outcome.chosen else "normal"
    ax.plot(outcome.publisher_payoff, row, "o", color=AFTER, markersize=5)
    ax.annotate(
        numbers.amount(outcome.publisher_payoff),
        (outcome.publisher_payoff, row),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontweight=weight,
    )


def _dumbbell(ax: Any, row: int, outcome: PolicyOutcome, cells: SmallCellRule, total: int) -> None:
    shares = (outcome.naive_attacked_share, outcome.transparent_attacked_share)
    naive, informed = (100 * cells.bounded(share, total) for share in shares)
    texts = [cells.share(share, total) for share in shares]
    ax.plot([naive, informed], [row, row], color=ALARM, linewidth=1.6, zorder=1)
    ax.plot(informed, row, "o", color=ALARM, markersize=5, zorder=3)
    ax.plot(naive, row, "o", markerfacecolor="white", markeredgecolor=ALARM, markersize=6.5, zorder=2)
    label = texts[1] if texts[0] == texts[1] else f"{texts[0]} → {texts[1]}"
    ax.annotate(
        label,
        (max(naive, informed), row),
        xytext=(7, 0),
        textcoords="offset points",
        va="center",
        fontweight="bold" if outcome.chosen else "normal",
    )
