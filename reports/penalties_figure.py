"""The figure of fines and detection: the publisher's payoff and who is not attacked, drawn from the record alone."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.figure import Figure as Canvas

from reports import numbers
from reports.charting import Figure
from reports.gates import released_records
from reports.grids import ATTACKED, EARNED, MOST_INK, Cell, grid
from reports.methods import method_text
from reports.smallcell import NO_FILE, SmallCellRule
from tasks.assessments.identity.penalties_fact import PenaltiesFact, PenaltyPoint
from tasks.decision.record import DecisionRecord

_LEAST_RANGE = 0.02
"""Payoffs and information that differ by less than this share of the whole are shaded nearly alike."""
_NEAR = 1e-5

Panel = tuple[str, Callable[[PenaltyPoint], str], Callable[[PenaltyPoint], float], Any]
"""Title, what is written in a cell, its shade and the colours."""


def penalties(record: DecisionRecord, fact: PenaltiesFact) -> Figure:
    """Grids, a row a penalty and a column a detection: payoff, groups not attacked, records attacked where some are."""
    columns = len(fact.detections)
    rows = [fact.points[start : start + columns] for start in range(0, len(fact.points), columns)]
    panels = _panels(record, fact)
    lines = len(panels) // 2

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(lines, 2, sharex=True, sharey=True, squeeze=False)
        for ax, (title, text, shade, colours) in zip(axes.flat, panels, strict=True):
            grid(ax, rows, text, shade, colours, frame=_own(fact))
            ax.set_title(title)
        for ax in axes[-1]:
            ax.set_xlabel("probability that the first attempt is noticed")
        for ax in axes[:, 0]:
            ax.set_ylabel("penalty, units")
        axes[0][0].set_xticks(range(columns), [numbers.tick(chance) for chance in fact.detections])
        axes[0][0].set_yticks(range(len(rows)), [numbers.tick(fine) for fine in fact.penalties])

    title = method_text(fact.method).title
    told = "; ".join(
        f"penalty {numbers.setting(point.penalty)} and detection {numbers.setting(point.detection)}: payoff "
        f"{payoff_text(record, point)}, left alone from {safe_text(point)} people on"
        for point in dict.fromkeys((rows[0][0], rows[0][-1], rows[-1][0], rows[-1][-1]))
    )
    alt = (
        f"Grids of {numbers.integer(len(rows))} penalties by {numbers.integer(columns)} probabilities of detection, "
        f"for the {title[0].lower() + title[1:]} against a recipient who plans. At the corners, {told}."
    )
    games = "one game gave" if fact.games == 1 else f"{numbers.integer(fact.games)} games gave"
    caption = (
        f"{title} against a recipient who plans, under other penalties and detection; all other terms stay, and the "
        "publisher answers each pair with its best file. "
        + ("Framed: the recipient's own terms. " if _own(fact) else "")
        + f"Payoffs are over the records that came in; darker is more. “Left alone from” is the number of people who "
        f"match a record from which on no attempt is made; {games} all cells."
    )
    return Figure("penalties", draw, (0.75 + 0.22 * len(rows)) * lines, alt, caption)


def payoff_text(record: DecisionRecord, point: PenaltyPoint) -> str:
    """Publisher's payoff, rounded to a step of V where few records are suppressed, which pay nothing."""
    return SmallCellRule(record.policy.small_cell).mean(
        point.publisher_payoff,
        record.dataset.rows_in,
        released_records(record),
        whole=record.recipient.benefit,
        written=numbers.amount,
    )


def safe_text(point: PenaltyPoint) -> str:
    """Size from which on a group is not attacked, in people."""
    return "none" if point.safe_group is None else numbers.integer(int(point.safe_group))


def _panels(record: DecisionRecord, fact: PenaltiesFact) -> list[Panel]:
    cells, total, benefit = SmallCellRule(record.policy.small_cell), record.dataset.rows_in, record.recipient.benefit
    earns = _shade([point.publisher_payoff for point in fact.points], benefit)
    keeps = _shade([point.information_kept for point in fact.points], 1.0)
    sizes = [point.safe_group for point in fact.points if point.safe_group is not None]
    largest = math.log(max(max(sizes, default=1.0), 2.0))
    worst = max((point.attacked_share or 0.0 for point in fact.points), default=0.0)

    def attacked(point: PenaltyPoint) -> str:
        return NO_FILE if point.attacked_share is None else cells.share(point.attacked_share, total)

    def kept(point: PenaltyPoint) -> str:
        return cells.mean(point.information_kept, total, released_records(record), whole=1.0, written=numbers.percent)

    panels: list[Panel] = [
        (
            "Publisher's payoff, units a record",
            lambda point: payoff_text(record, point),
            lambda point: earns(point.publisher_payoff),
            EARNED,
        ),
        (
            "Left alone from, people",
            safe_text,
            lambda point: 1.0 if point.safe_group is None else math.log(point.safe_group) / largest,
            EARNED,
        ),
    ]
    if worst:
        panels += [
            ("Records attacked, %", attacked, lambda point: MOST_INK * (point.attacked_share or 0.0) / worst, ATTACKED),
            ("Information kept, %", kept, lambda point: keeps(point.information_kept), EARNED),
        ]
    return panels


def _shade(values: Sequence[float | None], whole: float) -> Callable[[float | None], float]:
    """Shade of a figure that is at most ``whole``, from the lowest of some to the highest."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    width = max(high - low, _LEAST_RANGE * whole)
    return lambda value: 0.0 if value is None else (value - low) / width


def _own(fact: PenaltiesFact) -> Cell | None:
    """The cell of the recipient's own terms; without a penalty the whole row, and none where the grid lacks them."""
    row = _place(fact.penalties, fact.own.penalty)
    column = _place(fact.detections, fact.own.detection)
    if row is None or (column is None and fact.own.penalty):
        return None
    return (0, row, len(fact.detections), 1) if column is None or not fact.own.penalty else (column, row, 1, 1)


def _place(values: tuple[float, ...], value: float) -> int | None:
    return next((place for place, one in enumerate(values) if math.isclose(one, value, rel_tol=_NEAR)), None)
