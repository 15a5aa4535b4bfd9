"""The figure of other stakes: payoff and share attacked over benefit V and loss L, drawn from the record alone."""

from collections.abc import Sequence

from matplotlib.figure import Figure as Canvas

from reports import numbers
from reports.charting import Figure
from reports.gates import released_records
from reports.grids import ATTACKED, EARNED, MOST_INK, grid
from reports.methods import method_text
from reports.smallcell import NO_FILE, SmallCellRule
from tasks.assessments.identity.frontier_fact import FrontierFact, FrontierPoint
from tasks.decision.record import DecisionRecord

_LEAST_RANGE = 0.05
"""Payoffs over V that lie nearer together are shaded nearly alike."""
_FINE = 5
_WHOLE = 100


def frontier(record: DecisionRecord, fact: FrontierFact) -> Figure:
    """Two grids, a row a benefit and a column a loss: the publisher's payoff, and the records worth attacking."""
    cells = SmallCellRule(record.policy.small_cell)
    total = record.dataset.rows_in
    rows, columns = len(fact.benefit_factors), len(fact.loss_factors)
    attacked = [point.attacked_share for point in fact.points if point.attacked_share is not None]
    worst = max(attacked, default=0.0)
    earned = [_earned(point) for point in fact.points if point.publisher_payoff is not None]
    low, high = min(earned, default=0.0), max(earned, default=1.0)

    def share(point: FrontierPoint) -> str:
        return NO_FILE if point.attacked_share is None else cells.share(point.attacked_share, total)

    def payoff(point: FrontierPoint) -> str:
        return cells.mean(point.publisher_payoff, total, released_records(record), whole=point.benefit, written=_amount)

    def draw(canvas: Canvas) -> None:
        left, right = canvas.subplots(1, 2, sharey=True)
        lines = [fact.points[start : start + columns] for start in range(0, len(fact.points), columns)]
        own = fact.loss_factors.index(1.0), fact.benefit_factors.index(1.0), 1, 1
        for ax, text, shade, colours in (
            (left, payoff, lambda point: (_earned(point) - low) / max(high - low, _LEAST_RANGE), EARNED),
            (right, share, lambda point: MOST_INK * (point.attacked_share or 0.0) / (worst or 1.0), ATTACKED),
        ):
            grid(ax, lines, text, shade, colours, frame=own)
            ax.set_xticks(range(columns), _losses(fact))
            ax.set_yticks(range(rows), [_amount(line[0].benefit) for line in lines])
        left.set_title("Publisher's payoff, units a record")
        right.set_title("Records worth an attempt, %")
        left.set_ylabel("benefit V, units")
        for ax in (left, right):
            ax.set_xlabel("loss L, units" if _one_gain(fact) else "loss L (gain G), units")

    by_place = {(place // columns, place % columns): point for place, point in enumerate(fact.points)}
    corners = "; ".join(
        f"V {_amount(point.benefit)} and L {_amount(point.loss)}: payoff {payoff(point)}, {share(point)} attacked"
        for point in (by_place[row, column] for row in (0, rows - 1) for column in (0, columns - 1))
    )
    middle = by_place[fact.benefit_factors.index(1.0), fact.loss_factors.index(1.0)]
    alt = (
        f"Two grids of {numbers.integer(rows)} benefits by {numbers.integer(columns)} losses. At the stakes of the "
        f"request, V {_amount(middle.benefit)} and L {_amount(middle.loss)}, the payoff is {payoff(middle)} and "
        f"{share(middle)} of the records are worth an attempt. At the corners: {corners}."
    )
    return Figure("frontier", draw, 0.85 + 0.25 * rows, alt, _caption(record, fact))


def _caption(record: DecisionRecord, fact: FrontierFact) -> str:
    low, high = fact.loss_factors[0], fact.loss_factors[-1]
    gain = "the gain G equals L" if _one_gain(fact) else "the gain G keeps its ratio to L"
    cost = numbers.amount(record.recipient.cost)
    caption = (
        f"The method applied, had V and L been {numbers.plain(low)} to {numbers.plain(high)} times those of the "
        f"request (framed); {gain}, and the cost of an attempt stays at {cost}. Left, what the publisher earns against "
        "a recipient who knows the rule, over the records that came in (darker is nearer to V); right, those of "
        "them worth an attempt. "
    )
    method = record.risk.game.method if record.risk else ""
    games = numbers.integer(fact.games)
    if method and method_text(method).stakes == "none":
        return f"{caption}The file depends on no stakes, so that one served all points."
    if fact.games == len(fact.loss_factors):
        return f"{caption}V changes no choice of this method: {games} games, one for each L, gave all points."
    coarse = "the grid is coarse because " if len(fact.loss_factors) < _FINE else ""
    return f"{caption}{games} games were solved; {coarse}each point needs its own."


def _earned(point: FrontierPoint) -> float:
    """Payoff over V; 0 where there is no file."""
    return (point.publisher_payoff or 0.0) / point.benefit


def _one_gain(fact: FrontierFact) -> bool:
    return all(point.gain == point.loss for point in fact.points)


def _amount(value: float) -> str:
    """Units, whole where they are many."""
    return numbers.integer(round(value)) if abs(value) >= _WHOLE else numbers.risk(float(f"{value:.3g}"))


def _losses(fact: FrontierFact) -> Sequence[str]:
    first = fact.points[: len(fact.loss_factors)]
    if _one_gain(fact):
        return [_amount(point.loss) for point in first]
    return [f"{_amount(point.loss)} ({_amount(point.gain)})" for point in first]
