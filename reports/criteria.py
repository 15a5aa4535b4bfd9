"""The criteria of Opinion 05/2014 (WP216) in print: what was assessed of each, and what was found."""

from dataclasses import dataclass

from reports import numbers
from reports.gates import released_records
from reports.linkage import strongest
from reports.sequential import judged_belief
from reports.smallcell import SmallCellRule
from reports.statements import names, with_role
from tasks.decision.record import DecisionRecord, RiskFact
from tasks.request.model import Role


@dataclass(frozen=True)
class Criterion:
    """One criterion of Opinion 05/2014 (WP216): whether it was assessed, and what was found."""

    title: str
    assessed: str
    finding: str


def wp216(record: DecisionRecord) -> tuple[Criterion, ...]:
    """Singling out, linkability, inference, each with a plain word on whether it was assessed."""
    cells = SmallCellRule(record.policy.small_cell)
    inference = _inference(record.risk, names(with_role(record, Role.SENSITIVE)))
    if record.risk is None:
        nothing = "The stage that measures it did not run."
        return (
            Criterion("Singling out", "not assessed", nothing),
            Criterion("Linkability", "not assessed", nothing),
            inference,
        )
    residual, transparent = record.risk.residual, record.risk.transparent
    return (
        Criterion(
            "Singling out",
            "assessed",
            f"The smallest class of the released file holds {cells.count(residual.smallest_class)} records, the "
            f"smallest effective group {cells.count(transparent.smallest_effective_group)} people of the population. "
            "A class of one singles a record out in the file; an effective group of one singles out a person."
            f"{_planned_singling_out(record, cells)}",
        ),
        Criterion(
            "Linkability",
            "assessed in part",
            f"Against the one population table of this document: the journalist's highest risk is "
            f"{numbers.risk(residual.journalist.maximum)} and the informed recipient's "
            f"{numbers.risk(transparent.maximum_risk)}.{_planned_linkage(record.risk)}{_linked(record, cells)} "
            "Linking two released files to each other was not assessed.",
        ),
        inference,
    )


def _planned_singling_out(record: DecisionRecord, cells: SmallCellRule) -> str:
    fact = record.risk.sequential if record.risk else None
    if fact is None:
        return ""
    attacked = cells.share(judged_belief(fact.residual, fact).attacked_share, released_records(record))
    return f" A recipient who plans tries candidates one by one where it pays: on {attacked} of the records."


def _planned_linkage(risk: RiskFact) -> str:
    fact = risk.sequential
    if fact is None:
        return ""
    highest = numbers.risk(judged_belief(fact.residual, fact).maximum_risk)
    what = "a register with names" if fact.external.kind == "register" else "the population as external data"
    return f" Linking records to {what} by plan succeeds with a probability of at most {highest}."


def _linked(record: DecisionRecord, cells: SmallCellRule) -> str:
    fact = record.risk.linkage if record.risk else None
    attack = None if fact is None else strongest(fact, "informed")
    if attack is None:
        return ""
    share = cells.share(attack.figure.share, attack.figure.people)
    return f" Somebody who holds the source file's own values and knows the method links {share} of the records."


def _inference(risk: RiskFact | None, sensitive: str) -> Criterion:
    """Inference is scored as far as a record has to be found first; what a class shares is not."""
    shared = "A class whose members share a sensitive value gives that value away without any identification."
    if risk is None or risk.combined is None:
        return Criterion(
            "Inference",
            "not assessed",
            f"{shared} No figure in this document bounds that. Sensitive columns released: {sensitive}.",
        )
    fact = risk.combined
    return Criterion(
        "Inference",
        "assessed in part",
        "The combined score weighs what finding a record would lay bare: at most "
        f"{numbers.risk(fact.initial.maximum)} before and {numbers.risk(fact.residual.maximum)} after. {shared} No "
        f"figure in this document bounds that. Sensitive columns released: {sensitive}.",
    )
