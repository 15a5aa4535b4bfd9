"""The expert determination of one release as a PDF: the decision record, rendered.

Nothing is measured or decided here, and there is no clock: the same record gives the same bytes. The record itself is
embedded as ``decision.json``.
"""

import hashlib
from collections.abc import Mapping

from reports import (
    combined,
    decoys,
    kanonymity,
    linkage,
    masking,
    numbers,
    other_terms,
    safeharbor,
    sequential,
    statements,
    utility,
)
from reports.assumptions import assumptions
from reports.budget import budgeted
from reports.charting import Figure
from reports.coalitions import coalitions
from reports.copy_statistics import statistic_rows, summary
from reports.criteria import wp216
from reports.figures import figures
from reports.gates import gate_rows, released_records
from reports.levels import level_rows
from reports.methods import method_text
from reports.pdf import Attached, write_pdf
from reports.references import cited
from reports.sections import numbers_of, sections
from reports.smallcell import SmallCellRule
from reports.templating import render
from tasks.core.canonical import canonical_json, digest
from tasks.core.errors import StageFailed
from tasks.decision.decoy_facts import StatisticsFact
from tasks.decision.record import DecisionRecord, Verdict
from tasks.request.model import Measure, Role

RECORD_NAME = "decision.json"


def render_determination(record: DecisionRecord, *, evidence: Mapping[str, bytes] | None = None) -> bytes:
    """The determination as tagged PDF/A-3a with the record attached.

    Parameters
    ----------
    record : DecisionRecord
        The decision, whatever the verdict.
    evidence : mapping of file name to bytes, optional
        Further files to attach, such as the validation result; they must be value-free.

    Raises
    ------
    StageFailed
        If the report cannot be rendered in full, or a file of the evidence is called ``decision.json``.
    """
    evidence = dict(evidence or {})
    if RECORD_NAME in evidence:
        raise StageFailed(
            "a file of the evidence has the name of the decision record",
            where=RECORD_NAME,
            expected="another name",
            fix="rename the file",
        )
    attachments = [Attached(RECORD_NAME, canonical_json(record), "The decision record that this report renders")]
    attachments += [
        Attached(name, content, "Evidence named in the decision record", "Supplement")
        for name, content in evidence.items()
    ]
    drawn = figures(record)
    return write_pdf(
        _html(record, evidence, drawn),
        assets={f"{name}.svg": figure.svg for name, figure in drawn.items()},
        attachments=attachments,
        moment=record.decided_at,
        identifier=digest(record)[:32],
    )


def determination_html(record: DecisionRecord, *, evidence: Mapping[str, bytes] | None = None) -> str:
    """The determination as the HTML that the PDF is made from; figures are referred to as ``asset:<name>.svg``.

    Raises
    ------
    StageFailed
        If the record lacks something that a template prints.
    """
    return _html(record, evidence or {}, figures(record))


def _html(record: DecisionRecord, evidence: Mapping[str, bytes], drawn: Mapping[str, Figure]) -> str:
    return render(
        SmallCellRule(record.policy.small_cell),
        "determination.html",
        record=record,
        moment=numbers.utc(record.decided_at).strftime("%Y-%m-%dT%H:%M:%SZ"),
        verdict=statements.verdict_text(record),
        approved=record.decision is Verdict.APPROVED,
        blocked=record.decision is Verdict.BLOCKED,
        sections=sections(record),
        place=numbers_of(),
        unfinished=statements.unfinished(record),
        figures=drawn,
        gates=gate_rows(record),
        overridden=[gate for gate in record.gates if gate.overridden],
        assumptions=assumptions(record),
        not_assessed=statements.not_assessed(record),
        stopped=statements.stopped(record),
        total=released_records(record),
        criteria=wp216(record),
        checklist=safeharbor.checklist(record),
        method_text=method_text,
        quasi=[field for field in record.fields if field.role == Role.QUASI],
        levels={field.name: level_rows(record, field) for field in record.fields if field.records_per_level},
        few_suppressed=SmallCellRule(record.policy.small_cell).hides(record.dataset.rows_in - released_records(record)),
        released=[field for field in record.fields if field.role != Role.DIRECT],
        removed=[field for field in record.fields if field.role == Role.DIRECT],
        planned=_planned(record),
        scored=_scored(record),
        linked=_linked(record),
        useful=_useful(record),
        compared=_compared(record, record.statistics),
        traced=_traced(record),
        moved_stakes=_moved_stakes(record),
        fined=_fined(record),
        uncertain=_uncertain(record),
        left_out=decoys.left_out(record),
        recoded=kanonymity.recoded(record),
        budgeted=budgeted(record),
        coalitions=coalitions(record),
        real_records=decoys.real_records(record),
        tested=statements.tested(record),
        masked=masking.masked_names(record),
        maskings=masking.masking_rows(record),
        cited=cited(record),
        votes_open=len(record.reviews) < record.reviews_required,
        record_sha256=digest(record),
        evidence={name: hashlib.sha256(content).hexdigest() for name, content in sorted(evidence.items())},
    )


def _planned(record: DecisionRecord) -> dict[str, object] | None:
    """Sequential adversary for the templates; None where the stage did not finish."""
    fact = record.risk.sequential if record.risk else None
    if fact is None:
        return None
    return {
        "fact": fact,
        "before": sequential.judged_belief(fact.initial, fact),
        "after": sequential.judged_belief(fact.residual, fact),
        "terms": sequential.profile_rows(fact.profile),
        "beliefs": sequential.belief_rows(record, fact),
        "deterrents": sequential.deterrent_rows(fact),
        "thresholds": sequential.threshold_text(record, fact),
    }


def _scored(record: DecisionRecord) -> dict[str, object] | None:
    """Combined score for the templates; None where the stage did not finish."""
    fact = record.risk.combined if record.risk else None
    if fact is None:
        return None
    return {
        "fact": fact,
        "weights": combined.weight_rows(record, fact),
        "sets": combined.known_sets_text(fact),
        "by_known_set": combined.contribution_rows(fact.by_known_set),
        "by_attribute": combined.contribution_rows(fact.by_attribute),
    }


def _linked(record: DecisionRecord) -> dict[str, object] | None:
    """Record linkage for the templates; None where the stage did not finish."""
    fact = record.risk.linkage if record.risk else None
    if fact is None:
        return None
    return {
        "fact": fact,
        "groups": linkage.attack_groups(record, fact),
        "summary": linkage.summary(record, fact),
        "learned": linkage.learned_rows(record, fact),
        "policies": linkage.policy_rows(record, fact),
        "control": linkage.control(fact),
    }


def _useful(record: DecisionRecord) -> dict[str, object] | None:
    """Measures of utility for the templates; None where the stage did not finish."""
    fact = record.utility
    if fact is None:
        return None
    cells = SmallCellRule(record.policy.small_cell)
    return {
        "fact": fact,
        "losses": utility.loss_rows(record, fact),
        "coarse": utility.loss_text(record).grain is not None,
        "classes": utility.classes_text(record, fact),
        "numeric": utility.numeric_rows(record, fact),
        "moved": utility.marginals_text(record, fact),
        "associations": utility.association_rows(fact),
        "rising": utility.rising(fact),
        "clustering": utility.clustering_text(fact.clustering, cells) if fact.clustering else "",
        "classifiers": utility.classifier_rows(record, fact),
    }


def _moved_stakes(record: DecisionRecord) -> dict[str, object] | None:
    """Other stakes in detail for the templates; None where the policy asks for none."""
    fact = record.risk.game.stakes if record.risk else None
    if fact is None:
        return None
    return {
        "reaches": other_terms.reach_rows(record, fact.reaches),
        "robust": other_terms.robust_words(fact.reaches),
        "compared": any(reach.figure != "attacked_share" for reach in fact.reaches),
    }


def _fined(record: DecisionRecord) -> dict[str, object] | None:
    """Fines and detection for the templates; None where the policy asks for none."""
    fact = record.risk.game.penalties if record.risk else None
    return None if fact is None else {"fact": fact, "words": other_terms.penalty_words(record, fact)}


def _uncertain(record: DecisionRecord) -> dict[str, object] | None:
    """Uncertain terms for the templates; None where all terms are declared for certain."""
    fact = record.risk.uncertainty if record.risk else None
    if fact is None:
        return None
    return {
        "terms": other_terms.term_rows(fact),
        "figures": other_terms.range_rows(record, fact),
        "chance": other_terms.chance_words(fact),
        "drawn": fact.approved.draws > 1,
        "judged": next((gate.id for gate in record.gates if gate.id == Measure.PASSING_PROBABILITY), ""),
    }


def _compared(record: DecisionRecord, fact: StatisticsFact | None) -> dict[str, object] | None:
    """Comparison of statistics for the templates; None where there is none."""
    if fact is None or not fact.columns:
        return None
    return {"rows": statistic_rows(record, fact), "summary": summary(fact)}


def _traced(record: DecisionRecord) -> dict[str, object] | None:
    """Decoys for the templates; None where there are none."""
    fact = record.decoys
    if fact is None:
        return None
    return {
        "fact": fact,
        "missing": decoys.missing_text(record, fact),
        "collusion": decoys.collusion_rows(fact.collusion),
        "plan": decoys.collusion_text(fact) if fact.collusion else "",
        "choice": decoys.choice_text(fact, fact.choice) if fact.choice else "",
        "costs": decoys.cost_rows(record, fact, fact.choice) if fact.choice else (),
        "detections": decoys.detection_rows(fact.detectability) if fact.detectability else (),
        "gate": decoys.detectability_gate(record),
        "threshold": decoys.threshold_text(record),
        "attempts": decoys.attempt_rows(fact.attempts) if fact.attempts else (),
        "lured": decoys.attempt_text(record, fact, fact.attempts) if fact.attempts else "",
        "compared": _compared(record, fact.statistics),
    }
