"""A budget over the whole file in the determination: its limits, their use, and its payoff."""

from collections.abc import Callable
from dataclasses import dataclass

from reports import numbers
from reports.gates import released_records
from reports.methods import method_text
from reports.smallcell import SmallCellRule
from tasks.assessments.identity.budget_fact import BudgetFact, LimitFact
from tasks.decision.record import DecisionRecord

_COUNTED = {"attacked records": "Records worth an attempt", "suppressed records": "Records left out"}


@dataclass(frozen=True)
class Budgeted:
    """Facts of a budget for the determination."""

    fact: BudgetFact
    weighed: str
    """Whom the payoffs are means of."""
    payoff: str
    bound: str | None
    """None where the payoffs are coarse: one that is not to fall short cannot be."""
    without: str | None
    """Payoff of the method without the limits; None where it allows no release."""
    rows: tuple[tuple[str, str, str], ...]
    """Name of each limit, the amount allowed and the amount used."""


def budgeted(record: DecisionRecord) -> Budgeted | None:
    """Printed facts; None where the policy limits no whole file.

    Who is left out pays and keeps nothing: where these are few, means over the records that came in are coarse.
    """
    fact = record.risk.game.budget if record.risk else None
    if record.risk is None or fact is None:
        return None
    game, cells = record.risk.game, SmallCellRule(record.policy.small_cell)
    by_people = method_text(game.method).partitions and game.cell_weights == "population"
    few = cells.hides(record.dataset.rows_in - released_records(record)) and not by_people

    def mean(value: float, whole: float, written: Callable[[float], str]) -> str:
        return cells.mean(value, record.dataset.rows_in, released_records(record), whole=whole, written=written)

    def payoff(value: float) -> str:
        return numbers.amount(value) if by_people else mean(value, record.recipient.benefit, numbers.amount)

    def row(limit: LimitFact) -> tuple[str, str, str]:
        total = record.dataset.rows_in
        if limit.kept is not None:
            attribute = limit.name.removeprefix("information lost of ")
            allowed = numbers.percent(1 - limit.limit / total)
            return f"Least mean information kept of {attribute}", allowed, mean(limit.kept, 1.0, numbers.percent)
        if limit.name in _COUNTED:
            used = cells.share(limit.used / total, total)
            return _COUNTED[limit.name], numbers.percent(limit.limit / total), used
        return "Expected re-identifications", numbers.amount(limit.limit), numbers.amount(limit.used)

    return Budgeted(
        fact,
        weighed="person of the population" if by_people else "record",
        payoff=payoff(fact.payoff),
        bound=None if few else numbers.amount_up(fact.bound),
        without=None if fact.without_budget is None else payoff(fact.without_budget),
        rows=tuple(map(row, fact.limits)),
    )
