"""Decoys: what recipients who compare learn, what kept classes cost, detectability, and the risk.

Counts of decoys are not counts of people; records that a copy misses, and the real ones at the highest risk, are.
"""

import math
from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import (
    DASH,
    Block,
    Heading,
    Paragraph,
    Row,
    Table,
    digest_text,
    said,
    sentence_start,
    strong,
    text,
)
from reports.model.record_view import RecordView
from reports.model.smallcell import HIDDEN
from reports.model.statements import missing_reasons
from reports.sections.statistics import statistics_table
from tasks.core.plural import plural
from tasks.decision.decoy_facts import AttemptFact, ChoiceFact, DecoyFact, DetectabilityFact
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.record import GateResult

_MOST_ROWS = 8


def decoys(view: RecordView) -> Iterator[Block]:
    """The section; it says so where no decoys were placed."""
    fact = view.record.decoys
    if fact is None:
        yield said(
            missing_reasons(view.record, "decoys"),
            "The copy holds no decoy, so that no statistic of it was changed by one."
            if view.record.dataset.output_sha256
            else None,
        )
        return
    yield (
        "Decoys are invented records, placed among the real ones so that misuse can be traced (Antonatos "
        "et al. 2019). Their groups match real people of the population, their other values are invented, and no two "
        "recipients have the same. An adversary who tries to identify people in the file, or passes it on, sooner or "
        "later meets a person, or a row, that only this copy can have led to. That identifies the recipient. It "
        "prevents nothing, and lowers no figure that a gate judges."
    )
    classes = f" in {plural(fact.classes, 'class', 'classes')}" if fact.classes else ""
    others = (
        f"; {numbers.integer(fact.recipients)} recipients of this release have decoys in their copies"
        if fact.recipients > 1
        else ""
    )
    yield text(
        "The file holds {} decoy records{}{}. {}Which records are decoys is not recorded here but in a sealed "
        "manifest that only tracing opens; this commitment binds the record to it: SHA-256 {}. The recipient's "
        "certificate does not mention them.",
        numbers.integer(fact.count),
        classes,
        others,
        f"{_missing_text(view, fact)} " if fact.kept_per_decoy or fact.missing else "",
        digest_text(fact.commitment_sha256),
    )
    if fact.collusion:
        yield from collusion(fact)
    if fact.choice:
        yield from _costs(view, fact, fact.choice)
    gate = next((one for one in view.record.gates if one.id == DECOYS_DETECTABLE), None)
    if fact.detectability:
        judged = _judged_text(view, gate) if gate else "No gate was judged on it."
        yield from detectability(fact.detectability, judged)
    elif gate:
        yield Heading("Whether decoys can be distinguished from real classes")
        yield f"{_judged_text(view, gate)} {gate.because}"
    if fact.attempts:
        yield from _attempts(view, fact, fact.attempts)
    if fact.statistics and fact.statistics.columns:
        yield Heading("Bias of statistics by decoys")
        yield from statistics_table(
            view,
            fact.statistics,
            "The copy against the same copy without decoys and with no class missing",
        )
        yield Paragraph(
            "Changes are given as bounds, in steps of 0.01 deviations, 0.1 standard errors and 1%: exact ones would "
            "disclose which rows are decoys. For the same reason other figures of real rows have three digits in this "
            "document, and counts of them are multiples of ten.",
            "note",
        )


def _missing_text(view: RecordView, fact: DecoyFact) -> str:
    missing, why = view.left_out[1], "for other recipients' kept classes"
    if not fact.missing:
        return f"This copy misses no record {why}."
    records = f"records {why}, how many is not shown" if missing == HIDDEN else f"{missing} records {why}"
    return f"This copy misses {records}; the gates count them as suppressed."


def collusion(fact: DecoyFact) -> Iterator[Block]:
    """Knowledge of recipients by their number; the first, the last and some between where they are many."""
    planned, last = fact.planned_probability, len(fact.collusion) - 1
    plan = "" if planned is None else f", planned to be at most 1/(1 + t) = {numbers.risk(planned)}"
    kept = f", t = {numbers.integer(fact.kept_per_decoy)} for each decoy class" if fact.kept_per_decoy else ""
    yield Heading("Recipients who compare their copies")
    yield text(
        "A decoy class has no counterpart in any other copy, so that recipients who compare see that only one copy has "
        "it: it stands alone. Each copy therefore also keeps some real classes that are removed from all "
        f"others{kept}; they stand alone too. Of the classes that stand alone, decoys n_d and real ones n_r, one is a "
        f"decoy with the probability n_d/(n_d + n_r){plan}. One recipient alone compares nothing: all its classes "
        "stand alone. Recipients who also have the population can sort by size and by the people who match, and name "
        "the kind where decoys are most frequent."
    )
    places: list[int] = list(range(last + 1))
    if last >= _MOST_ROWS:
        places = sorted({round(place * last / (_MOST_ROWS - 1)) for place in range(_MOST_ROWS)} | {1})
    rows: list[Row] = []
    for one in (fact.collusion[place] for place in places):
        alone = " + ".join(f"{mean:,.1f}".removesuffix(".0") for mean in (one.suspects_decoys, one.suspects_real))
        rows.append(
            (
                numbers.integer(one.colluders),
                f"all {numbers.integer(one.sets)}" if one.exhaustive else f"{numbers.integer(one.sets)} drawn",
                alone,
                *(numbers.risk(share) for share in (one.probability, one.worst, one.informed)),
                strong(numbers.risk(one.worst_informed)),
            )
        )
    yield Table(
        "Probability that a class which stands alone is a decoy, by the number of recipients who compare",
        "Recipients 12r | Sets tried 15r | Standing alone, decoys + real 21r | Mean 12r | Worst set 12r | Mean, with "
        "population 14r | Worst, with population 14r",
        rows,
    )
    dropped = [one for one in fact.collusion if one.colluders > 1]
    if dropped:
        yield Paragraph(
            "A limit: recipients who compare copies and drop all that stands alone, decoys and kept classes, can "
            "pass on the rest, and no trace names them. The least that this costs "
            f"{numbers.integer(dropped[0].colluders)} of them is {numbers.percent(dropped[0].evasion)} of the records "
            "of the copy that they pass on (policy.decoys.evasion_cost). A recipient who acts alone cannot do it."
        )
    highest = max(max(one.worst, one.worst_informed) for one in fact.collusion)
    if planned is None:
        yield Paragraph(f"The highest probability that any set reaches is {numbers.risk(highest)}.")
    elif highest > planned + 1e-9:
        over = [one for one in fact.collusion if max(one.worst, one.worst_informed) > planned + 1e-9]
        yield Paragraph(
            f"The plan of {numbers.risk(planned)} does not hold for sets of "
            f"{', '.join(numbers.integer(one.colluders) for one in over)}: the probability reaches "
            f"{numbers.risk(highest)}. Such recipients identify decoys with more certainty than planned."
        )
    else:
        holds = (
            f"The plan of {numbers.risk(planned)} holds: no set that was tried does better, even with the population."
        )
        yield Paragraph(holds)


def _costs(view: RecordView, fact: DecoyFact, choice: ChoiceFact) -> Iterator[Block]:
    def row(title: str, count: int) -> Row:
        return title, view.cells.count(count), view.share_in(count / view.rows_in)

    missing = view.left_out[1]
    hidden = missing not in (numbers.integer(fact.missing), view.cells.count(fact.missing))
    yield Heading("Cost of the kept classes")
    yield said(
        f"For each decoy class, each copy keeps {plural(fact.kept_per_decoy, 'real class', 'real classes')}."
        if fact.kept_per_decoy
        else None,
        "They were chosen so that the worst-off copy misses as few records as possible while, among classes of one "
        "size and of about as many people who match, each decoy has its number of kept classes in the same copy.",
        "Proven optimal: no choice costs the worst-off copy less."
        if choice.status == "optimal"
        else "That no choice costs the worst-off copy less is not proven.",
    )
    yield Table(
        "Records that a copy misses for other recipients' kept classes",
        "Copy and choice 58 | Records 20r | Share of those that came in 22r",
        [
            tuple(map(strong, row("Worst-off copy, as chosen", choice.worst_missing))),
            row("Worst-off copy, the least possible (proven bound)", choice.bound),
            ("This copy", missing, DASH) if hidden else row("This copy", fact.missing),
        ],
    )


def _judged_text(view: RecordView, gate: GateResult) -> str:
    shown = view.gate(DECOYS_DETECTABLE)
    if shown is None or gate.measured is None:
        return (
            "How well they can be distinguished could not be measured; the policy requires an area of "
            f"{shown.asked if shown else DASH}: failed."
        )
    which = "the greatest upper end of these intervals" if gate.interval else "the largest area"
    return (
        f"The gate judges {which}, {shown.measured}, and the policy requires {shown.asked}: "
        f"{'passed' if gate.passed else 'failed'}."
    )


def detectability(fact: DetectabilityFact, judged: str = "") -> Iterator[Block]:
    """Success of classifiers in distinguishing decoys, and the gate that judges it."""
    yield Heading("Whether decoys can be distinguished from real classes")
    yield (
        "Classifiers were trained to distinguish decoys from real classes and tried on classes that they had not seen "
        "(Lopez-Paz and Oquab 2017): an area under the curve of 0.5 is guessing, 1 is certainty. Nobody outside has "
        "labelled decoys to learn from, so that a real intruder does worse. The classifier sees the file, the people "
        "who match as well, or all values too."
    )
    rows: list[Row] = []
    for one in fact.tried:
        interval = f"{numbers.fixed(one.low)} to {numbers.fixed(one.high)}"
        row = (sentence_start(one.view), one.classifier, numbers.fixed(one.area), interval)
        rows.append((strong(row[0]), f"{row[1]} (largest)", strong(row[2]), row[3]) if one == fact.worst else row)
    yield Table(
        f"Area under the ROC curve, on {numbers.integer(fact.decoys)} decoy classes drawn in the same way and "
        f"{numbers.integer(fact.real_classes)} real ones, with 95% intervals (DeLong et al. 1988)",
        "Seen by the classifier 34 | Classifier 30 | Area 16r | 95% interval 20r",
        rows,
    )
    if fact.relations:
        broken = (
            f"Decoys break {numbers.integer(fact.broken)} of them: a record that breaks one is a decoy with a "
            f"probability of up to {numbers.risk(fact.certainty)}."
            if fact.broken
            else "No record that breaks one is named as a decoy more surely than planned."
        )
        yield Paragraph(
            f"Before any classifier {plural(fact.relations, 'relation')} of columns were tried that real records keep "
            "to: sums, products and ratios, orders, columns that follow from others, values that are never together. "
            f"{broken}"
        )
    yield Paragraph(
        said(
            judged,
            "A permutation test that decoy classes have other sizes than real ones gives p = "
            f"{numbers.risk(fact.size_p_value)}; a small p would mean that their size identifies decoys.",
        )
    )


def _attempts(view: RecordView, fact: DecoyFact, attempts: AttemptFact) -> Iterator[Block]:
    subjects = numbers.risk(attempts.subjects_mean)
    shown = numbers.risk(attempts.shown_maximum), numbers.risk(attempts.shown_mean)
    yield Heading("Risk of the people in the data")
    yield Table(
        "Risk of a record by the people who match it",
        "Risk 60 | Highest 20r | Mean 20r",
        [
            (
                strong("People in the data, with and without decoys (judged)"),
                strong(numbers.risk(attempts.subjects_maximum)),
                subjects,
            ),
            ("As seen by an adversary who mistakes decoys for real records", *shown),
        ],
    )
    yield (
        "Nobody in the data has a decoy's class, so that decoys change the risk of no person in it. If every "
        f"row is attacked at random, {numbers.risk(attempts.success)} of the attempts identify a person of the data; "
        f"without decoys it would be {subjects}. Of the rows at the highest risk of a person of the data or above it, "
        f"where an attack begins, {_lured(view, fact, attempts.lured)} are decoys."
    )


def _lured(view: RecordView, fact: DecoyFact, lured: float) -> str:
    """Share of decoys at the highest risk in whole percent; beside so many decoys it must not disclose few records."""
    if lured in (0, 1):
        return numbers.percent(lured)
    if fact.count * (1 - lured) / lured < view.cells.limit:
        return f"over {math.floor(100 * fact.count / (fact.count + view.cells.limit))}%"
    return "under 1%" if lured < 0.01 else f"{min(round(100 * lured), 99)}%"
