"""The sequential adversary (Xia et al. 2015) in print: terms, beliefs, thresholds and deterrents of the record.

Rows and sentences only, filled from the record; nothing is measured here.
"""

from dataclasses import dataclass

from scipy.special import expit

from reports import numbers
from reports.gates import released_records
from reports.smallcell import HIDDEN, SmallCellRule
from tasks.assessments.sequential.facts import AdversaryFact, BeliefFact, DeterrentFact, SequentialFact
from tasks.decision.record import DecisionRecord

SENSITIVITY_TITLES = {
    "access_cost": "Cost of access",
    "exploit_cost": "Cost of an exploit",
    "penalty": "Penalty",
    "detection": "Detection",
}
_DETERRENTS = {
    "access_cost": ("Fee for access to the external data", "money, once for the file"),
    "exploit_cost": ("Cost of an exploit", "money"),
    "penalty": ("Penalty for a detected exploit", "money"),
    "detection": ("Detection of the first exploit", "probability"),
}
_BELIEFS = {
    "known group": "Group size known; access paid for each record",
    "unknown group": "Group size guessed from frequency (eq. 6); access paid for each record",
    "access shared": "Access paid once for the whole file",
}
_EVERY_SIZE = 1


@dataclass(frozen=True)
class TermRow:
    """One term of the profile."""

    symbol: str
    meaning: str
    value: str
    origin: str


@dataclass(frozen=True)
class BeliefRow:
    """Risk under one belief, before and after, as far as it may be shown."""

    title: str
    judged: bool
    maximum: str
    mean: str
    attacked: str
    expected: str
    exploits: str


@dataclass(frozen=True)
class DeterrentRow:
    """One term that deters: its value, and the value it would need."""

    title: str
    unit: str
    current: str
    needed: str
    raised: bool
    """Whether it would have to be raised."""


def written(term: str, value: float) -> str:
    """A term that deters: an amount, or a probability."""
    return numbers.risk(value) if term == "detection" else numbers.amount(value)


def judged_belief(beliefs: tuple[BeliefFact, ...], fact: SequentialFact) -> BeliefFact:
    """The belief whose figures the gates judge."""
    return next(one for one in beliefs if one.belief == fact.judged)


def profile_rows(profile: AdversaryFact) -> tuple[TermRow, ...]:
    """The terms of the profile in the paper's symbols, with where each comes from."""
    first = numbers.risk(float(expit(profile.detection_intercept)))
    limit = "no limit" if profile.max_penalties is None else numbers.integer(profile.max_penalties)
    rows = (
        ("G", "gain from a right match", numbers.amount(profile.gain), "gain"),
        ("C_p", "penalty for a detected exploit", numbers.amount(profile.penalty), "penalty"),
        ("n_f", "penalties after which detection costs nothing more", limit, "max_penalties"),
        ("C_d", "cost of access to the external data", numbers.amount(profile.access_cost), "access_cost"),
        ("C_l", "cost of linking a record to them", numbers.amount(profile.link_cost), "link_cost"),
        ("C_e", "cost of an exploit", numbers.amount(profile.exploit_cost), "exploit_cost"),
        ("π", "probability that a person of the file is in the external data", numbers.risk(profile.prior), "prior"),
        (
            "h_0",
            f"detection of the first exploit: a probability of {first}",
            numbers.plain(profile.detection_intercept),
            "detection_intercept",
        ),
        (
            "h_1",
            "growth of detection with each further exploit",
            numbers.plain(profile.detection_slope),
            "detection_slope",
        ),
        ("γ", "worth of a unit one step later (discount)", numbers.risk(profile.discount), "discount"),
        ("κ", "probability that a right match is recognized", numbers.risk(profile.confirmation), "confirmation"),
    )
    return tuple(
        TermRow(symbol, meaning, value, profile.origins.get(name, "not stated"))
        for symbol, meaning, value, name in rows
    )


def belief_rows(record: DecisionRecord, fact: SequentialFact) -> tuple[BeliefRow, ...]:
    """Risk before and after by belief.

    Where the number of attacked records may not be shown, neither may what it would follow from: in groups that are
    tried to the end every attacked record has the same risk.
    """
    cells = SmallCellRule(record.policy.small_cell)
    before = {one.belief: one for one in fact.initial}
    return tuple(
        _belief_row(record, fact, cells, before.get(after.belief, after), after)
        for after in fact.residual
        if after.belief in before
    )


def _belief_row(
    record: DecisionRecord, fact: SequentialFact, cells: SmallCellRule, before: BeliefFact, after: BeliefFact
) -> BeliefRow:
    sides = ((before, record.dataset.rows_in), (after, released_records(record)))
    telling = [cells.hides(one.attacked_records) or cells.hides(total - one.attacked_records) for one, total in sides]
    figures = (
        (
            numbers.risk(one.maximum_risk),
            HIDDEN if hidden else numbers.risk(one.mean_risk),
            cells.share(one.attacked_share, total),
            HIDDEN if hidden else numbers.amount(one.expected_reidentifications),
            HIDDEN if hidden else numbers.amount(one.expected_exploits),
        )
        for (one, total), hidden in zip(sides, telling, strict=True)
    )
    columns = (f"{first} → {second}" for first, second in zip(*figures, strict=True))
    return BeliefRow(_BELIEFS[after.belief], after.belief == fact.judged, *columns)


def deterrent_rows(fact: SequentialFact) -> tuple[DeterrentRow, ...]:
    """Present value of each term and the value it would need, rounded up, so that the printed value deters."""
    return tuple(_deterrent_row(one) for one in fact.deterrents)


def _deterrent_row(fact: DeterrentFact) -> DeterrentRow:
    title, unit = _DETERRENTS[fact.term]
    if fact.needed is None:
        needed = "no value deters"
    else:
        needed = numbers.risk_up(fact.needed) if fact.term == "detection" else numbers.amount_up(fact.needed)
    raised = fact.needed is not None and fact.needed > fact.current
    return DeterrentRow(title, unit, written(fact.term, fact.current), needed, raised)


def threshold_text(record: DecisionRecord, fact: SequentialFact) -> str:
    """The group sizes at which the recipient gives up, and where the file's groups lie."""
    cells = SmallCellRule(record.policy.small_cell)
    known, linked = fact.threshold_known, fact.threshold_linked
    if linked is None:
        safe = "No group size is safe once access to the external data is paid"
        safe += "." if known is None else f"; before, a record is safe in a group of {numbers.integer(known)}."
    elif known is None:
        safe = f"Once access is paid, a record is safe from this recipient in a group of {numbers.integer(linked)}."
    elif known == linked:
        safe = (
            f"The smallest group in which a record is safe from this recipient holds {numbers.integer(linked)} "
            "candidates, whether or not access to the external data has been paid."
        )
    else:
        safe = (
            "The smallest group in which a record is safe from this recipient holds "
            f"{numbers.integer(known)} candidates where access must be paid for that record alone, and "
            f"{numbers.integer(linked)} once access is paid: a cost that is sunk deters no longer."
        )
    return f"{safe} {_exhausted(fact)} {_own_groups(record, fact, cells)}".replace("  ", " ")


def _exhausted(fact: SequentialFact) -> str:
    below = fact.exhausted_below
    if below is None:
        return "Of no size looked at does the recipient leave a candidate untried."
    if below <= _EVERY_SIZE:
        return ""
    risk = f", and the risk is the prior, {numbers.risk(fact.profile.prior)}" if fact.profile.confirmation == 1 else ""
    return f"In groups of fewer than {numbers.integer(below)}, every candidate is tried{risk}."


def _own_groups(record: DecisionRecord, fact: SequentialFact, cells: SmallCellRule) -> str:
    after = judged_belief(fact.residual, fact)
    total = released_records(record)
    sizes = (
        f"The released records are in groups of {cells.count(fact.smallest_group)} to "
        f"{cells.count(fact.largest_group)} candidates"
    )
    if after.attacked_records == 0:
        return f"{sizes}: none of them is attacked."
    return f"{sizes}: {cells.share(after.attacked_share, total)} of them are attacked."
