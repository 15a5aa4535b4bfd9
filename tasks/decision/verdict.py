"""From gate results to a verdict, its reasons and its validity."""

import operator
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from tasks.core.plural import plural
from tasks.decision.gates import ALWAYS_ON, VALIDATION_PASSED
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.decision.written_figures import RecordCounts, write_result


def decide(
    gate_results: Sequence[GateResult],
    reviews_required: int,
    *,
    expert_signs: bool = False,
    records: RecordCounts | None = None,
    small_cell: int = 11,
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on one recipient's release, and its reasons: a sentence for each closed gate, or that all passed.

    1. Any failed gate blocks, but for a threshold that an officer has overridden for this figure or a worse
       one; so does a result marked as passed whose own figure says otherwise.
    2. Where nothing failed, a missing one of the gates that every approval needs blocks.
    3. Otherwise the release awaits the reviews that the policy asks for, or is approved where it asks for none.

    ``expert_signs`` says whether votes wait for the expert's signature. ``records`` and ``small_cell`` as of
    ``write_result``: reasons are printed.
    """
    excused = [result for result in gate_results if is_excused(result)]
    failed = [result for result in gate_results if not (result.passed and _holds(result)) and result not in excused]
    judged = {result.id for result in gate_results}
    together = never_measured(gate_results)
    told = [result for result in failed if not together or result.measured is not None]
    reasons = [*(_reason(result, records, small_cell) for result in told), *([together] if together else [])]
    if not reasons:
        reasons = [f"The gate {name} was not judged." for name in ALWAYS_ON if name not in judged]
        reasons += ["None of the policy's gates was judged."] if judged <= set(ALWAYS_ON) else []
    if reasons:
        return Verdict.BLOCKED, tuple(reasons)
    passed = f"All {len(gate_results)} gates passed"
    if excused:
        passed = f"{len(gate_results) - len(excused)} of {len(gate_results)} gates passed, {len(excused)} overridden"
    exceptions = [
        f"FAILED, OVERRIDDEN: {_reason(result, records, small_cell)} {given.officer} (officer) overrode it: "
        f"{given.reason}"
        for result in excused
        if (given := result.overridden)
    ]
    if reviews_required:
        needed = _needed(reviews_required, expert_signs=expert_signs)
        return Verdict.AWAITING_REVIEW, (f"{passed}; {needed}.", *exceptions)
    return Verdict.APPROVED, (f"{passed}.", *exceptions)


def _needed(reviews: int, *, expert_signs: bool) -> str:
    if expert_signs:
        return f"the expert's signature and {plural(reviews, 'review')} are still needed"
    return f"{plural(reviews, 'review')} {'is' if reviews == 1 else 'are'} still needed"


def reasons_after_votes(record: DecisionRecord, votes: int) -> tuple[str, ...]:
    """Reasons of a release that waits, with the reviews that are needed after some votes."""
    passed, _, _ = record.reasons[0].partition(";")
    return (f"{passed}; {_needed(record.reviews_required - votes, expert_signs=False)}.", *record.reasons[1:])


def never_measured(gates: Sequence[GateResult]) -> str:
    """One sentence on gates without a figure, where validation failed before anything was measured; else empty."""
    number = sum(gate.measured is None for gate in gates)
    failed = any(gate.id == VALIDATION_PASSED and not gate.passed for gate in gates)
    return f"{number} gates were not measured, since validation failed." if failed and number > 1 else ""


def reasons_after_review(record: DecisionRecord) -> tuple[str, ...]:
    """Reasons of a release that its reviewers have approved: those of the gate, with the votes in place of the need."""
    passed, _, _ = record.reasons[0].partition(";")
    noun = "reviewer has" if record.reviews_required == 1 else "reviewers have"
    return (f"{passed}; {record.reviews_required} {noun} voted to approve.", *record.reasons[1:])


def is_excused(result: GateResult) -> bool:
    """Whether an officer overrode a missed threshold (no condition) and saw a figure no better than this one."""
    given = result.overridden
    if given is None or result.passed or result.comparison == "is" or result.measured is None:
        return False
    return result.measured <= given.measured if result.comparison == "at most" else result.measured >= given.measured


def utc_day(moment: datetime) -> date:
    """The day of a moment in UTC, as all days that the gate compares; ``ValueError`` without a time zone."""
    if moment.tzinfo is None:
        raise ValueError("the day of a moment needs its time zone")
    return moment.astimezone(UTC).date()


def is_over(last_day: date, today: date) -> bool:
    """Whether something that holds until a day has ended: last days count in full, in UTC, of whatever kind."""
    return today > last_day


def validity(decided_on: date, validity_days: int, agreement_expires: date) -> tuple[date, date]:
    """The first and last day of the decision: until the policy's validity or the agreement ends, whichever comes first.

    An end before the start is that of an agreement which had expired; such a release is blocked.
    """
    return decided_on, min(decided_on + timedelta(days=validity_days), agreement_expires)


def lapsed(record: DecisionRecord, today: date) -> str:
    """Reason that a decision in favour of a release does not hold on a day; empty where it does.

    A decision against a release holds for ever. A day before the first one means that a clock is wrong.
    """
    if record.decision is Verdict.BLOCKED:
        return ""
    if today < record.valid_from:
        return f"The decision holds from {record.valid_from} and today is {today}: the clock of this machine is wrong."
    if not is_over(record.valid_until, today):
        return ""
    agreement = record.recipient.agreement
    if is_over(agreement.expires, today):
        return f"The agreement {agreement.id} expired on {agreement.expires}, and the decision with it."
    return f"The decision was valid until {record.valid_until}."


def _holds(result: GateResult) -> bool:
    compare = {"at most": operator.le, "at least": operator.ge, "is": operator.eq}[result.comparison]
    return result.measured is not None and bool(compare(result.measured, result.threshold))


def _reason(result: GateResult, records: RecordCounts | None, small_cell: int) -> str:
    if result.comparison == "is":
        return result.because
    measured, asked = write_result(result, records=records, small_cell=small_cell)
    allowed = "allowed" if result.comparison == "at most" else "required"
    figure = "not measured" if result.measured is None else f"{measured} measured"
    return f"{result.title}: {figure}; {asked} {allowed}."
