"""Coalitions in the determination: what recipients see of this copy's records once they pool their copies."""

from dataclasses import dataclass

from reports import numbers
from reports.gates import released_records
from reports.smallcell import SmallCellRule
from tasks.assessments.identity.facts import CoalitionFact
from tasks.decision.record import DecisionRecord


@dataclass(frozen=True)
class CoalitionRow:
    """A coalition that the recipient may be in; figures are of a member who knows the rules."""

    recipients: str
    """Whose copies are pooled with the recipient's."""
    smallest: str
    """Smallest group of a record, hidden where it is small."""
    attacked: str
    expected: str
    mean: str
    highest: str
    """Mean and highest probability that a record is re-identified, by the recipient's stakes."""


@dataclass(frozen=True)
class Coalitions:
    """Table of coalitions."""

    rows: tuple[CoalitionRow, ...]
    highest: str
    """Highest risk of a record in any of them."""


def coalitions(record: DecisionRecord) -> Coalitions | None:
    """The table; None where no recipient is taken to collude."""
    facts = record.risk.coalitions if record.risk else ()
    if not facts:
        return None
    return Coalitions(
        rows=tuple(_row(record, one) for one in facts), highest=numbers.risk(max(one.maximum_risk for one in facts))
    )


def _row(record: DecisionRecord, fact: CoalitionFact) -> CoalitionRow:
    cells = SmallCellRule(record.policy.small_cell)
    return CoalitionRow(
        recipients=", ".join(one for one in fact.recipients if one != record.recipient.id),
        smallest=cells.count(fact.smallest_group),
        attacked=cells.share(fact.attacked_share, released_records(record)),
        expected=numbers.amount(fact.expected_reidentifications),
        mean=numbers.risk(fact.mean_reidentification),
        highest=numbers.risk(fact.maximum_reidentification),
    )
