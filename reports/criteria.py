"""The criteria of Opinion 05/2014 (WP216) in print: the assessment of each, and the findings."""

from dataclasses import dataclass

from reports import numbers
from reports.gates import gate_rows, released_records
from reports.linkage import NO_INTERVAL, link_text, strongest
from reports.sequential import judged_belief
from reports.smallcell import SmallCellRule
from reports.statements import names, with_role
from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.identity.facts import RiskFact
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure, Role

EXACT = "exact"
"""Counted over file and population, nothing estimated."""


@dataclass(frozen=True)
class Criterion:
    """One criterion of Opinion 05/2014 (WP216): whether it was assessed, and what was found."""

    title: str
    assessed: str
    finding: str
    figure: str = "none was measured"
    """Object that the next four figures describe."""
    before: str = "–"
    after: str = "–"
    threshold: str = "–"
    interval: str = "–"


def wp216(record: DecisionRecord) -> tuple[Criterion, ...]:
    """Singling out, linkability, inference, each with a plain word on whether it was assessed."""
    cells = SmallCellRule(record.policy.small_cell)
    inference = _inference(record, names(with_role(record, Role.SENSITIVE)))
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
            figure="highest risk of a record from an informed recipient, a probability",
            before=numbers.risk(record.risk.initial.journalist.maximum),
            after=numbers.risk(transparent.maximum_risk),
            threshold=_asked(record, Measure.TRANSPARENT_MAXIMUM),
            interval=EXACT,
        ),
        Criterion(
            "Linkability",
            "assessed in part",
            f"Against the one population table of this document: the journalist's highest risk is "
            f"{numbers.risk(residual.journalist.maximum)} and the informed recipient's "
            f"{numbers.risk(transparent.maximum_risk)}.{_planned_linkage(record.risk)}{_linked(record, cells)} "
            + _other_files(record),
            **_linkability_figures(record, record.risk, cells),
        ),
        inference,
    )


def _other_files(record: DecisionRecord) -> str:
    if record.risk is None or not record.risk.coalitions:
        return "Linking two released files to each other was not assessed."
    return "Of other released files, the copies that recipients may pool with this one were linked to it."


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


def _asked(record: DecisionRecord, *measures: Measure) -> str:
    """Threshold of the first gate on one of these measures."""
    return next((gate.asked for gate in gate_rows(record) if gate.id in measures), "none set")


def _linkability_figures(record: DecisionRecord, risk: RiskFact, cells: SmallCellRule) -> dict[str, str]:
    """Links by an intruder who holds the source file; where no attack was made, those expected with the population."""
    attack = None if risk.linkage is None else strongest(risk.linkage, "informed")
    if risk.linkage is None or attack is None:
        return {
            "figure": "records expected to be linked with the population, a share (marketer)",
            "before": numbers.percent(risk.initial.marketer),
            "after": numbers.percent(risk.residual.marketer),
            "threshold": "none set",
            "interval": EXACT,
        }
    shown, initial = link_text(attack.figure, cells), risk.linkage.initial_share
    return {
        "figure": "people linked by the strongest intruder who holds the source file, a share",
        "before": "not recorded" if initial is None else cells.share(initial, record.dataset.rows_in),
        "after": shown.share,
        "threshold": _asked(record, Measure.LINKED_INFORMED),
        "interval": "not shown" if shown.interval == NO_INTERVAL else f"{shown.interval} (95%)",
    }


def _inference_figures(record: DecisionRecord, fact: CombinedFact, cells: SmallCellRule) -> dict[str, str]:
    """The combined score that a gate judges; the highest where none does."""
    gated = {gate.id for gate in record.gates}
    before, after = fact.initial, fact.residual
    if Measure.COMBINED_QUANTILE in gated:
        words = f"combined score of {numbers.percent(fact.quantile)} of the records at most"
        shown = numbers.risk(before.quantile), numbers.risk(after.quantile)
        measure = Measure.COMBINED_QUANTILE
    elif Measure.COMBINED_ABOVE in gated and Measure.COMBINED_MAXIMUM not in gated:
        words = f"records with a combined score above {numbers.risk(fact.threshold)}, a share"
        shown = cells.share(before.share_above, before.records), cells.share(after.share_above, after.records)
        measure = Measure.COMBINED_ABOVE
    else:
        words, measure = "highest combined score of a record", Measure.COMBINED_MAXIMUM
        shown = numbers.risk(before.maximum), numbers.risk(after.maximum)
    asked = _asked(record, measure)
    return {"figure": words, "before": shown[0], "after": shown[1], "threshold": asked, "interval": EXACT}


def _inference(record: DecisionRecord, sensitive: str) -> Criterion:
    """Inference is scored as far as a record has to be found first; what a class shares is not."""
    risk, cells = record.risk, SmallCellRule(record.policy.small_cell)
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
        **_inference_figures(record, fact, cells),
    )
