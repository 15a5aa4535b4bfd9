"""Decoys in print: knowledge of recipients who compare, costs of kept classes, detectability of decoys, and the risk.

Rows and sentences only, filled from the record; nothing is measured here. Counts of decoys are no counts of people;
records that a copy misses are, and so are the real ones among the rows at the highest risk.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reports import numbers
from reports.smallcell import HIDDEN, SmallCellRule
from reports.statements import Statement
from tasks.decision.decoy_facts import AttemptFact, ChoiceFact, CollusionFact, DecoyFact, DetectabilityFact
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.measures import write_result
from tasks.decision.record import DecisionRecord, GateResult

_MOST_ROWS = 8
_ROUNDING = 1e-9
_CHOICE = (
    "They were chosen so that the worst-off copy misses as few records as possible while, among classes of one size "
    "and of about as many people who match, each decoy has its number of kept classes in the same copy."
)
_STATUSES = {
    "optimal": "Proven optimal: no choice costs the worst-off copy less.",
    "feasible": "That no choice costs the worst-off copy less is not proven.",
}


@dataclass(frozen=True)
class LeftOut:
    """Records that the copy does not hold, in print."""

    suppressed: str
    missing: str
    """For other recipients' kept classes."""
    any_suppressed: bool


@dataclass(frozen=True)
class CollusionRow:
    """Knowledge of so many recipients who compare their copies."""

    colluders: str
    sets: str
    suspects: str
    """Decoy and real classes that stand alone."""
    mean: str
    worst: str
    informed: str
    worst_informed: str


@dataclass(frozen=True)
class CostRow:
    """Records that a copy misses."""

    title: str
    records: str
    share: str
    chosen: bool = False


@dataclass(frozen=True)
class DetectionRow:
    """One classifier with one view."""

    view: str
    classifier: str
    area: str
    interval: str
    worst: bool


@dataclass(frozen=True)
class AttemptRow:
    """Risk as one reads it."""

    title: str
    maximum: str
    mean: str
    judged: bool = False


def left_out(record: DecisionRecord) -> LeftOut:
    """Records of the data that the copy does not hold, by why; the record counts them together.

    Where their sum is shown, neither part may reveal a small one.
    """
    cells = SmallCellRule(record.policy.small_cell)
    together = record.risk.game.suppressed_records if record.risk else 0
    missing = record.decoys.missing if record.decoys else 0
    suppressed = max(together - missing, 0)
    if not missing:
        return LeftOut(cells.count(suppressed), "0", any_suppressed=suppressed > 0)
    shown = cells.breakdown((suppressed, missing))
    return LeftOut(shown[0], shown[1], any_suppressed=suppressed > 0)


def real_records(record: DecisionRecord) -> str | None:
    """Records of the data in the file that was written; None where there was none, or it holds no decoys."""
    fact, data = record.decoys, record.dataset
    if fact is None or data.rows_out is None:
        return None
    return SmallCellRule(record.policy.small_cell).part(data.rows_out - fact.count, data.rows_in)


def collusion_rows(collusion: Sequence[CollusionFact]) -> tuple[CollusionRow, ...]:
    """Knowledge of recipients by their number; the first, the last and some between where they are many."""
    return tuple(_collusion_row(collusion[place]) for place in _shown(len(collusion)))


def collusion_text(fact: DecoyFact) -> str:
    """Whether the planned probability holds, in a sentence."""
    highest = max(max(one.worst, one.worst_informed) for one in fact.collusion)
    if fact.planned_probability is None:
        return f"The highest probability that any set reaches is {numbers.risk(highest)}."
    planned = numbers.risk(fact.planned_probability)
    over = [one.colluders for one in fact.collusion if _over(one, fact.planned_probability)]
    if not over:
        return f"The plan of {planned} holds: no set that was tried does better, not even with the population."
    some = ", ".join(numbers.integer(number) for number in over)
    return (
        f"The plan of {planned} does not hold for sets of {some}: the probability reaches {numbers.risk(highest)}. "
        "Such recipients tell decoys more surely than planned."
    )


def choice_text(fact: DecoyFact, choice: ChoiceFact) -> str:
    """How the kept classes were chosen."""
    kept = ""
    if fact.kept_per_decoy:
        classes = "class" if fact.kept_per_decoy == 1 else "classes"
        kept = f"For each decoy class, each copy keeps {numbers.integer(fact.kept_per_decoy)} real {classes}. "
    return f"{kept}{_CHOICE} {_STATUSES[choice.status]}"


def cost_rows(record: DecisionRecord, fact: DecoyFact, choice: ChoiceFact) -> tuple[CostRow, ...]:
    """Records that the worst-off copy misses, the least possible, and those of this copy."""
    cells, total = SmallCellRule(record.policy.small_cell), record.dataset.rows_in

    def row(title: str, count: int, *, chosen: bool = False) -> CostRow:
        return CostRow(title, cells.count(count), cells.share(count / total, total), chosen)

    rows = [row("Worst-off copy, as chosen", choice.worst_missing, chosen=True)]
    rows.append(row("Worst-off copy, the least possible (proven bound)", choice.bound))
    missing = left_out(record).missing
    hidden = missing not in (numbers.integer(fact.missing), cells.count(fact.missing))
    rows.append(CostRow("This copy", missing, "–") if hidden else row("This copy", fact.missing))
    return tuple(rows)


def missing_text(record: DecisionRecord, fact: DecoyFact) -> str:
    """Records that this copy misses, in a sentence."""
    if not fact.missing:
        return "This copy misses no record for other recipients' kept classes."
    missing = left_out(record).missing
    if missing == HIDDEN:
        return (
            "This copy misses records for other recipients' kept classes, how many is not shown; the gates count them "
            "as suppressed."
        )
    return f"This copy misses {missing} records for other recipients' kept classes; the gates count them as suppressed."


def detection_rows(fact: DetectabilityFact) -> tuple[DetectionRow, ...]:
    """The classifiers in the order of the record."""
    return tuple(
        DetectionRow(
            view=one.view[:1].upper() + one.view[1:],
            classifier=one.classifier,
            area=numbers.fixed(one.area),
            interval=f"{numbers.fixed(one.low)} to {numbers.fixed(one.high)}",
            worst=one == fact.worst,
        )
        for one in fact.tried
    )


def detectability_gate(record: DecisionRecord) -> GateResult | None:
    """The gate on detectability; None where none was judged."""
    return next((gate for gate in record.gates if gate.id == DECOYS_DETECTABLE), None)


def threshold_text(record: DecisionRecord) -> str:
    """Threshold of the policy, beside the measured figure."""
    gate = detectability_gate(record)
    if gate is None:
        return "No gate was judged on it."
    measured, asked = write_result(gate)
    if gate.measured is None:
        return f"How well they can be told could not be measured; the policy asks for an area of {asked}: failed."
    which = "the greatest upper end of these intervals" if gate.interval else "the largest area"
    outcome = "passed" if gate.passed else "failed"
    return f"The gate judges {which}, {measured}, and the policy asks for {asked}: {outcome}."


def attempt_rows(fact: AttemptFact) -> tuple[AttemptRow, ...]:
    """Identity risk of the people in the data, and the risk read by an intruder who takes decoys for real."""
    return (
        AttemptRow(
            "People in the data, with and without decoys (judged)",
            numbers.risk(fact.subjects_maximum),
            numbers.risk(fact.subjects_mean),
            judged=True,
        ),
        AttemptRow(
            "As it looks to somebody who takes decoys for real",
            numbers.risk(fact.shown_maximum),
            numbers.risk(fact.shown_mean),
        ),
    )


def attempt_text(record: DecisionRecord, fact: DecoyFact, attempts: AttemptFact) -> str:
    """Success of an intruder's attempts, in two sentences."""
    return (
        f"If every row is attempted at random, {numbers.risk(attempts.success)} of the attempts identify a person of "
        f"the data; without decoys it would be {numbers.risk(attempts.subjects_mean)}. Of the rows at the highest "
        f"risk of a person of the data or above it, where an attempt begins, {_lured(record, fact, attempts)} are "
        "decoys."
    )


def of_decoys(record: DecisionRecord) -> list[Statement]:
    """Assumptions of the decoys of a copy, and what they do not protect against."""
    fact = record.decoys
    if fact is None:
        return []
    done = [
        words
        for words, was in (
            ("what recipients learn who compare their copies", bool(fact.collusion)),
            ("how well a classifier tells decoys from real classes", fact.detectability is not None),
        )
        if was
    ]
    measured = f"Tested was {' and '.join(done)}. " if done else "Whether they can be found was not tested. "
    bias = (
        "by how much is stated under decoys"
        if fact.statistics is not None
        else "by how much was not measured against the copy without them"
    )
    return [
        Statement(
            "What decoys do not protect against",
            f"{measured}Decoys prevent no attempt: they name the copy that was used for one. Whoever knows who is in "
            "the data, or has the register and the method and knows more of its people than the tests allow for, can "
            "rule decoys out. A leak by somebody who holds the original data, in which there are no decoys, is not "
            f"traced. Decoys bias what is computed from the file; {bias}.",
        ),
        Statement(
            "Whom a decoy stands for",
            "The groups of a decoy match real people of the population who are not in the data; its other values are "
            "invented. Whoever takes a decoy for one of these people believes something false of them. That the "
            "organization may use their quasi-identifiers so was not checked.",
        ),
    ]


def _shown(number: int) -> list[int]:
    if number <= _MOST_ROWS:
        return list(range(number))
    return sorted({round(place * (number - 1) / (_MOST_ROWS - 1)) for place in range(_MOST_ROWS)} | {1})


def _collusion_row(one: CollusionFact) -> CollusionRow:
    return CollusionRow(
        colluders=numbers.integer(one.colluders),
        sets=f"{'all ' if one.exhaustive else ''}{numbers.integer(one.sets)}{'' if one.exhaustive else ' drawn'}",
        suspects=f"{_mean_count(one.suspects_decoys)} + {_mean_count(one.suspects_real)}",
        mean=numbers.risk(one.probability),
        worst=numbers.risk(one.worst),
        informed=numbers.risk(one.informed),
        worst_informed=numbers.risk(one.worst_informed),
    )


def _mean_count(mean: float) -> str:
    return f"{mean:,.1f}".removesuffix(".0")


def _over(one: CollusionFact, planned: float) -> bool:
    return max(one.worst, one.worst_informed) > planned + _ROUNDING


def _lured(record: DecisionRecord, fact: DecoyFact, attempts: AttemptFact) -> str:
    """Share of decoys at the highest risk in whole percent; beside so many decoys it must not reveal few records."""
    lured, limit = attempts.lured, record.policy.small_cell
    if lured in (0, 1):
        return numbers.percent(lured)
    most_real = fact.count * (1 - lured) / lured
    if most_real < limit:
        return f"over {math.floor(100 * fact.count / (fact.count + limit))}%"
    return "under 1%" if lured < 0.01 else f"{min(round(100 * lured), 99)}%"
