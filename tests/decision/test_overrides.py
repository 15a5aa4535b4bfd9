"""Overrides of gates: what they cover, for how long, how often, and what of them a record may tell."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tasks.core.canonical import digest
from tasks.core.errors import BadInput, StageFailed
from tasks.decision import bodies
from tasks.decision.gates import ALWAYS_ON
from tasks.decision.overrides import (
    GateOverrides,
    in_force,
    is_founded,
    is_gate_override,
    is_of,
    not_covered,
    overridable,
    overridden_id,
    with_overrides,
)
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.decision.standing import reviewer_of, standing
from tasks.decision.states import State
from tasks.decision.verdict import decide, is_excused, is_over, lapsed, utc_day
from tasks.ledger.entry import Entry, Event
from tests.support import records

NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
UNTIL = date(2026, 4, 8)
OFFICER, REVIEWER = "P. Officer", "M. Okafor"
RISK, PAYOFF = "transparent.maximum_risk", "game.publisher_payoff"


def gate(name: str, measured: float | None, threshold: float, **changes: Any) -> GateResult:
    comparison = changes.pop("comparison", "at most")
    passed = measured is not None and (measured <= threshold if comparison == "at most" else measured >= threshold)
    return GateResult(
        id=name, title=name, measured=measured, comparison=comparison, threshold=threshold, passed=passed,
        because="b", **changes,
    )  # fmt: skip


HIGH = gate(RISK, 0.125, 0.09)
LOW = gate(PAYOFF, 900.0, 1000.0, comparison="at least")
PASSED = gate("prosecutor.maximum_risk", 0.05, 0.09)
VALIDATION = gate("validation.passed", 0.0, 1.0, comparison="is")
BLOCKED = records.changed(
    records.blocked(),
    gates=(HIGH, LOW, PASSED),
    officers=(OFFICER,),
    reviewers=(REVIEWER, OFFICER),
    overridable=(RISK, PAYOFF),
)
SHA256 = digest(BLOCKED)


def entry(number: int, event: Event, body: Mapping[str, object], release: str = BLOCKED.release_id) -> Entry:
    return Entry(number, NOON, event, release, BLOCKED.recipient.id, "gate", body, "0" * 64, f"{number:064x}")


def overridden(number: int = 2, *gates: GateResult, record: DecisionRecord = BLOCKED, by: str = OFFICER) -> Entry:
    body = bodies.gates_overridden(by, "a registry is closing", record, gates or (HIGH,), UNTIL)
    return entry(number, Event.OVERRIDDEN, body)


DECIDED = entry(1, Event.DECIDED, bodies.decided(BLOCKED))
ONE = GateOverrides.of(overridden())


def test_a_covered_gate_has_failed_all_the_same_and_excuses() -> None:
    (marked, other) = with_overrides((HIGH, LOW), [ONE], (RISK, PAYOFF))
    assert not marked.passed
    assert marked.overridden is not None
    assert (marked.overridden.officer, marked.overridden.measured, marked.overridden.valid_until) == (
        OFFICER,
        0.125,
        UNTIL,
    )
    assert is_excused(marked)
    assert other == LOW


@pytest.mark.parametrize(
    ("result", "covered"),
    [
        (gate(RISK, 0.125, 0.09), True),
        (gate(RISK, 0.1, 0.09), True),
        (gate(RISK, 0.12500000001, 0.09), False),
        (gate(RISK, None, 0.09), False),
        (gate(PAYOFF, 900.0, 1000.0, comparison="at least"), True),
        (gate(PAYOFF, 950.0, 1000.0, comparison="at least"), True),
        (gate(PAYOFF, 899.9, 1000.0, comparison="at least"), False),
        (gate("prosecutor.maximum_risk", 0.1, 0.09), False),
    ],
)
def test_no_figure_is_covered_that_is_worse_than_the_one_seen(result: GateResult, covered: bool) -> None:
    both = GateOverrides.of(overridden(2, HIGH, LOW))
    (marked,) = with_overrides((result,), [both], (RISK, PAYOFF))
    assert is_excused(marked) is covered
    assert bool(not_covered((marked,), [both])) is (not covered and result.id in both.gates)


def test_what_the_policy_does_not_list_is_not_overridden() -> None:
    assert with_overrides((HIGH,), [ONE], ()) == (HIGH,)
    assert with_overrides((PASSED,), [ONE], (RISK,)) == (PASSED,)
    condition = with_overrides((VALIDATION,), [ONE], ("validation.passed",))
    assert condition == (VALIDATION,)


def test_a_verdict_under_overrides_says_so_and_nothing_else_is_excused() -> None:
    always = tuple(gate(name, 1.0, 1.0, comparison="is").model_copy(update={"passed": True}) for name in ALWAYS_ON)
    marked = with_overrides((HIGH, PASSED), [ONE], (RISK,))
    verdict, reasons = decide((*always, *marked), 0)
    assert verdict is Verdict.APPROVED
    assert reasons[0] == "5 of 6 gates passed, 1 overridden."
    assert reasons[1].startswith("FAILED, OVERRIDDEN: ")
    assert "0.125 measured; at most 0.09 allowed. P. Officer (officer) overrode it: a registry" in reasons[1]
    assert decide((*always, *marked), 2)[0] is Verdict.AWAITING_REVIEW
    assert decide((*always, *marked, LOW), 0)[0] is Verdict.BLOCKED
    assert decide((*always[1:], VALIDATION, *marked), 0)[0] is Verdict.BLOCKED
    assert decide((*always[1:], *marked), 0)[0] is Verdict.BLOCKED
    fact = marked[0].overridden
    forged = VALIDATION.model_copy(update={"overridden": fact}), gate(RISK, None, 0.09, overridden=fact)
    for one in forged:
        assert decide((*always, one, PASSED), 0)[0] is Verdict.BLOCKED


@pytest.mark.parametrize(
    ("gates", "named", "told"),
    [
        ((HIGH, PASSED), (), "cannot be overridden"),
        ((HIGH, PASSED), (PASSED.id,), "not closed"),
        ((HIGH, PASSED), ("nonsense",), "not closed"),
        ((HIGH, VALIDATION), (VALIDATION.id,), "validation.passed"),
        ((HIGH, VALIDATION), (RISK,), "would stay blocked"),
        ((HIGH, gate("linkage.masked_share", 0.2, 0.09)), (RISK,), "would stay blocked"),
        ((gate(RISK, None, 0.09),), (RISK,), "cannot be overridden"),
    ],
)
def test_what_an_officer_cannot_answer_for(gates: tuple[GateResult, ...], named: tuple[str, ...], told: str) -> None:
    with pytest.raises(StageFailed, match=told):
        overridable(gates, named, (RISK, PAYOFF, VALIDATION.id), "release")


def test_officers_may_answer_for_one_gate_each() -> None:
    assert overridable((HIGH, LOW, PASSED), (PAYOFF,), (RISK, PAYOFF), "release") == (LOW,)
    assert overridable((HIGH, LOW, PASSED), (PAYOFF, RISK), (RISK, PAYOFF), "release") == (HIGH, LOW)


def test_an_override_counts_for_its_inputs_its_days_and_one_release() -> None:
    inputs, made = BLOCKED.release_id, overridden()
    assert in_force([made], [DECIDED], inputs, UNTIL) == (ONE,)
    assert in_force([made], [DECIDED], inputs, UNTIL + timedelta(days=1)) == ()
    assert in_force([made], [DECIDED], "f" * 64, UNTIL) == ()
    used = entry(3, Event.DECIDED, {"overrides": [made.sha256]})
    assert in_force([made], [DECIDED, used], inputs, UNTIL) == ()
    later = entry(4, Event.DECIDED, {**bodies.decided(BLOCKED), "overrides": ["e" * 64]}, "a" * 64)
    assert in_force([made], [DECIDED, later], inputs, UNTIL) == (), "another release was decided for the recipient"
    reopening = entry(4, Event.OVERRIDDEN, bodies.overridden(OFFICER, "amended"))
    assert not is_gate_override(reopening)
    assert in_force([reopening], [], inputs, UNTIL) == ()
    assert (
        len({inputs, overridden_id(inputs, ["a"]), overridden_id(inputs, ["b"]), overridden_id(inputs, ["a", "b"])})
        == 4
    )
    assert overridden_id(inputs, ["b", "a"]) == overridden_id(inputs, ["a", "b"])


def told(*entries: Entry) -> Any:
    return standing([DECIDED, *entries], BLOCKED, SHA256, NOON.date())


def test_the_blocked_release_stays_blocked_with_its_reasons() -> None:
    found = told(overridden(2, HIGH), overridden(3, LOW))
    assert found.state is State.BLOCKED
    assert found.overrides == (), "nobody votes on it"
    assert BLOCKED.reasons[0] in found.why
    answers = "P. Officer (officer) overrode “Mean payoff of the publisher” until 2026-04-08: “a registry is closing”"
    assert answers in found.why


@pytest.mark.parametrize(
    "wrong",
    [
        overridden(by=REVIEWER),
        overridden(by=BLOCKED.requested_by),
        entry(2, Event.OVERRIDDEN, {**overridden().body, "gates": []}),
        entry(2, Event.OVERRIDDEN, {**overridden().body, "valid_until": "soon"}),
        entry(2, Event.OVERRIDDEN, {**overridden().body, "blocked_record_sha256": "0" * 64}),
        entry(2, Event.OVERRIDDEN, {**overridden().body, "reason": ""}),
        entry(2, Event.OVERRIDDEN, bodies.overridden(OFFICER, "put it before nobody")),
        entry(2, Event.EXPIRED, bodies.expired(BLOCKED.valid_until)),
    ],
)
def test_entries_that_override_wrongly_contradict(wrong: Entry) -> None:
    with pytest.raises(StageFailed, match="contradict"):
        told(wrong)


def under_overrides(**changes: Any) -> DecisionRecord:
    made = overridden()
    marked = with_overrides((HIGH, PASSED), [ONE], (RISK,))
    return records.changed(
        BLOCKED,
        **{
            "gates": marked,
            "inputs_id": BLOCKED.release_id,
            "overrides": (made.sha256,),
            "release_id": overridden_id(BLOCKED.release_id, [made.sha256]),
            "decision": Verdict.AWAITING_REVIEW,
            "decided_at": NOON,
        }
        | changes,
    )


def test_a_record_rests_on_entries_of_the_ledger_and_on_nothing_else() -> None:
    made = overridden()
    entries = {made.sha256: made}
    right = under_overrides()
    assert is_founded(right, entries, 3)
    assert is_founded(BLOCKED, {}, 2)
    marked = right.gates[0]
    fact = marked.overridden
    assert fact is not None
    wrong = (
        under_overrides(release_id=BLOCKED.release_id),
        under_overrides(overrides=()),
        under_overrides(inputs_id=None),
        under_overrides(inputs_id="e" * 64),
        under_overrides(overridable=()),
        under_overrides(officers=("Q. Deputy",)),
        under_overrides(decided_at=NOON + timedelta(days=31)),
        under_overrides(requested_by=OFFICER.upper()),
        under_overrides(gates=(marked.model_copy(update={"overridden": fact.model_copy(update={"reason": "x"})}),)),
        under_overrides(gates=(marked.model_copy(update={"overridden": fact.model_copy(update={"measured": 0.5})}),)),
        under_overrides(gates=(marked.model_copy(update={"measured": 0.2}),)),
        records.changed(BLOCKED, gates=right.gates),
    )
    assert [is_founded(one, entries, 3) for one in wrong] == [False] * len(wrong)
    assert not is_founded(right, entries, 2), "an override is made before the decision"
    assert not is_founded(right, {}, 3)


def test_an_override_says_what_the_blocked_record_says() -> None:
    assert is_of(ONE, BLOCKED)
    assert not is_of(ONE, records.changed(BLOCKED, overridable=(PAYOFF,)))
    assert not is_of(ONE, records.changed(BLOCKED, override_days=29))
    assert not is_of(ONE, records.changed(BLOCKED, gates=(gate(RISK, 0.1, 0.09), LOW)))
    assert not is_of(ONE, records.changed(BLOCKED, gates=(gate(RISK, 0.125, 0.2), LOW))), "no closed gate"
    assert not is_of(ONE, records.changed(BLOCKED, release_id="e" * 64))


def test_whoever_answers_for_a_gate_does_not_review_the_release() -> None:
    record = under_overrides()
    assert record.answering == (OFFICER,)
    assert reviewer_of(record, REVIEWER, record.answering) == REVIEWER
    with pytest.raises(BadInput, match="may not review"):
        reviewer_of(record, " p. officer", record.answering)
    assert reviewer_of(BLOCKED, OFFICER, BLOCKED.answering) == OFFICER


def test_one_rule_for_last_days() -> None:
    last = date(2026, 3, 9)
    assert not is_over(last, last)
    assert is_over(last, last + timedelta(days=1))
    record = records.changed(records.approved(), valid_from=last, valid_until=last)
    assert not lapsed(record, last)
    assert lapsed(record, last + timedelta(days=1))
    assert utc_day(datetime.fromisoformat("2026-03-09T23:59:59-11:00")) == date(2026, 3, 10)
    with pytest.raises(ValueError, match="time zone"):
        utc_day(datetime(2026, 3, 9))
