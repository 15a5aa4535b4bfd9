"""Which decisions no longer stand beside other copies, and what a record may tell of one that it replaces."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasks.decision import bodies
from tasks.decision.earlier_facts import CopyChange, EarlierDecision
from tasks.decision.overrides import is_founded, overridden_id
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.redecision import change_to, is_redecision, redecision_id
from tasks.ledger.entry import Entry, Event
from tests.support import records

NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
BLOCKED, WAITING = records.blocked(), records.changed(records.blocked(), decision=Verdict.AWAITING_REVIEW)
INPUTS, WHO = BLOCKED.release_id, BLOCKED.recipient.id
OTHER = "0" * 64


def entry(number: int, event: Event, release: str, who: str = WHO, **body: Any) -> Entry:
    return Entry(number, NOON + timedelta(hours=number), event, release, who, "gate", body, "0" * 64, f"{number:064x}")


def decided(record: DecisionRecord, *beside: int) -> Entry:
    return entry(5, Event.DECIDED, INPUTS, **bodies.decided(record, beside))


COPY = entry(3, Event.RELEASED, OTHER, "clinic")
REVOKED = entry(7, Event.REVOKED, OTHER, "clinic")


@pytest.mark.parametrize(
    ("record", "beside", "revoked", "change"),
    [
        (BLOCKED, (3,), True, "revoked"),
        (BLOCKED, (3,), False, None),
        (BLOCKED, (), True, None),
        (BLOCKED, (2, 4), True, None),
        (WAITING, (), False, "released"),
        (WAITING, (2,), False, "released"),
        (WAITING, (3,), False, None),
        (WAITING, (3,), True, None),
        (WAITING, (), True, None),
        (records.approved(), (3,), True, None),
        (records.approved(), (), False, None),
    ],
)
def test_a_revoked_copy_takes_a_block_its_ground_and_a_new_one_a_decision_that_waits(
    record: DecisionRecord, beside: tuple[int, ...], revoked: bool, change: str | None
) -> None:
    found = change_to(decided(record, *beside), COPY, REVOKED if revoked else None)
    assert (found and found.change) == change
    if found is not None:
        entry = REVOKED if revoked else COPY
        assert (found.release_id, found.recipient, found.at, found.entry_sha256) == (
            OTHER,
            "clinic",
            entry.at,
            entry.sha256,
        )


def test_the_name_follows_from_inputs_and_entries_alone() -> None:
    assert redecision_id(INPUTS, ["b", "a"]) == redecision_id(INPUTS, ["a", "b"])
    names = {
        redecision_id(INPUTS, ["a"]),
        redecision_id(INPUTS, ["b"]),
        redecision_id(OTHER, ["a"]),
        overridden_id(INPUTS, ["a"]),
    }
    assert len(names | {INPUTS}) == 5


FIRST = decided(BLOCKED, 3)
CHANGE = CopyChange(release_id=OTHER, recipient="clinic", change="revoked", at=REVOKED.at, entry_sha256=REVOKED.sha256)
BEFORE = EarlierDecision(
    release_id=INPUTS,
    decision="blocked",
    changes=(CHANGE,),
    entry_sha256=FIRST.sha256,
    entries=(FIRST.sha256, REVOKED.sha256),
)
LEDGER = (COPY, FIRST, REVOKED)


def recorded(
    before: EarlierDecision = BEFORE, name: str = "", inputs: str = INPUTS, who: str = WHO, *entries: Entry
) -> bool:
    return is_redecision(before, name or redecision_id(INPUTS, before.entries), inputs, who, entries or LEDGER)


def test_the_ledger_records_what_is_replaced_and_why() -> None:
    assert recorded()
    assert recorded(BEFORE.model_copy(update={"entries": (*BEFORE.entries, COPY.sha256)})), "of another recipient"


@pytest.mark.parametrize(
    "wrong",
    [
        {"release_id": OTHER},
        {"decision": "awaiting review"},
        {"changes": ()},
        {"changes": (CHANGE.model_copy(update={"at": NOON}),)},
        {"changes": (CHANGE.model_copy(update={"recipient": WHO}),)},
        {"changes": (CHANGE.model_copy(update={"change": "released"}),)},
        {"changes": (CHANGE.model_copy(update={"entry_sha256": COPY.sha256}),)},
        {"entry_sha256": COPY.sha256},
        {"entries": (FIRST.sha256,)},
        {"entries": (REVOKED.sha256,)},
        {"entries": (*BEFORE.entries, "f" * 64)},
    ],
)
def test_a_record_that_tells_something_else_is_found(wrong: dict[str, Any]) -> None:
    assert not recorded(BEFORE.model_copy(update=wrong))


def test_so_is_one_of_another_name_or_order() -> None:
    assert not recorded(name=INPUTS)
    assert not recorded(BEFORE, "", OTHER)
    assert not recorded(BEFORE, "", INPUTS, "clinic")
    assert not recorded(BEFORE, "", INPUTS, WHO, FIRST, REVOKED), "the copy was never released"
    assert not recorded(BEFORE, "", INPUTS, WHO, COPY, decided(BLOCKED), REVOKED), "not judged beside it"
    later = entry(6, Event.DECIDED, "1" * 64, **bodies.decided(BLOCKED))
    assert not recorded(BEFORE, "", INPUTS, WHO, COPY, FIRST, later, REVOKED), "decided since"


def test_inputs_of_another_name_need_a_reason() -> None:
    record = records.changed(BLOCKED, inputs_id=INPUTS, release_id=redecision_id(INPUTS, BEFORE.entries))
    assert not is_founded(record, {}, 9)
    assert is_founded(records.changed(record, decided_before=BEFORE), {}, 9)
    assert not is_founded(records.changed(BLOCKED, decided_before=BEFORE), {}, 9)


def test_a_sentence_tells_why() -> None:
    assert BEFORE.sentence == (
        f"Decided anew: release {INPUTS[:12]} of the same request was blocked beside the copy of release 000000000000 "
        "to clinic, revoked on 2026-03-09."
    )
