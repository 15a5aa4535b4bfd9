"""Copies that may be laid beside each other in the determination: what a hand sees, and what that costs."""

from dataclasses import dataclass

from reports import numbers
from reports.gates import released_records
from reports.smallcell import SmallCellRule
from tasks.decision.record import CopiesFact, DecisionRecord, HandFact


@dataclass(frozen=True)
class HandRow:
    """A hand that may hold the recipient's copy."""

    recipients: str
    """Whose copies it holds beside the recipient's."""
    probability: str
    smallest: str
    """Smallest group of a record, hidden where it is small; as all other figures to somebody who knows the rules."""
    attacked: str
    expected: str
    mean: str
    highest: str
    """Mean and highest probability that a record is re-identified, by the recipient's stakes."""


@dataclass(frozen=True)
class Copies:
    """What the determination prints of copies beside each other."""

    fact: CopiesFact
    pairs: bool
    """Whether one pair's copies come together, and not all."""
    probability: str
    rows: tuple[HandRow, ...]
    highest: str
    """Highest risk of a record in any hand."""
    payoffs: str
    """What the copies pay; empty where that would tell how few records were left out."""


def copies(record: DecisionRecord) -> Copies | None:
    """What is printed; None where nobody is taken to collude."""
    fact = record.risk.game.collusion if record.risk else None
    if fact is None:
        return None
    few = SmallCellRule(record.policy.small_cell).hides(record.dataset.rows_in - released_records(record))
    return Copies(
        fact,
        pairs=fact.who == "one pair",
        probability=numbers.percent(fact.probability),
        rows=tuple(_row(record, hand) for hand in fact.hands),
        highest=numbers.risk(max(hand.maximum_risk for hand in fact.hands)),
        payoffs="" if few else _payoffs(fact),
    )


def _row(record: DecisionRecord, hand: HandFact) -> HandRow:
    cells = SmallCellRule(record.policy.small_cell)
    others = [one for one in hand.recipients if one != record.recipient.id]
    return HandRow(
        recipients=", ".join(others),
        probability=numbers.percent(hand.probability),
        smallest=cells.count(hand.smallest_group),
        attacked=cells.share(hand.attacked_share, released_records(record)),
        expected=numbers.amount(hand.expected_reidentifications),
        mean=numbers.risk(hand.mean_reidentification),
        highest=numbers.risk(hand.maximum_reidentification),
    )


def _payoffs(fact: CopiesFact) -> str:
    own = [payoff for payoff in fact.own.values() if payoff is not None]
    number = len(fact.recipients)
    everybody = "both recipients" if number == 2 else f"all {number} recipients"
    told = [f"The copies of {everybody} together pay {numbers.amount(fact.payoff)} units a record"]
    if len(own) == len(fact.own):
        told.append(f"each recipient's own optimum would pay {numbers.amount(sum(own))} if nobody colluded")
        if fact.own_under_collusion is not None:
            told[-1] += f", and {numbers.amount(fact.own_under_collusion)} as it is"
    if fact.shared is not None:
        told.append(f"one representation for all would pay {numbers.amount(fact.shared)}")
    return "; ".join(told) + "."
