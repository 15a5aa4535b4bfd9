"""Changes of a release's state: checked and written in one transaction, or not written."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.changes import Author, Step, change, read_standing
from tasks.decision.states import State
from tasks.decision.votes import Ballot, new_nonce
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support import records

NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
FIRST, OFFICER = "M. Okafor", "P. Officer"
RECORD = records.changed(
    records.awaiting_review(), reviews=(), reviews_required=1, reviewers=(FIRST,), officers=(OFFICER,)
)
SHA256 = digest(RECORD)
BALLOT = Ballot(
    release_id=RECORD.release_id,
    recipient=RECORD.recipient.id,
    record_sha256=SHA256,
    reviewer=FIRST,
    vote="approve",
    reason="because",
    nonce=new_nonce(),
)
VOTED: Step = (Event.VOTED, bodies.voted(BALLOT))
OPENED: tuple[Step, ...] = (
    (Event.REVIEWED, bodies.reviewed(BALLOT)),
    (Event.APPROVED, bodies.outcome(SHA256)),
    (Event.RELEASED, bodies.released(str(RECORD.dataset.output_sha256))),
)
REVOKED: Step = (Event.REVOKED, bodies.revoked(OFFICER, WorkflowRole.OFFICER, "lost"))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        change(opened, RECORD, SHA256, [(Event.DECIDED, bodies.decided(RECORD))], Author("gate", NOON))
        yield opened


def events(ledger: Ledger) -> list[Event]:
    ledger.verify()
    return [entry.event for entry in ledger.entries()]


def test_steps_that_belong_together_are_written_together(ledger: Ledger) -> None:
    after = change(ledger, RECORD, SHA256, [VOTED, *OPENED], Author("a", NOON))
    assert after.state is State.RELEASED
    assert events(ledger) == [Event.DECIDED, Event.VOTED, Event.REVIEWED, Event.APPROVED, Event.RELEASED]
    assert {(entry.recipient, entry.release_id) for entry in ledger.entries()} == {
        (RECORD.recipient.id, RECORD.release_id)
    }


@pytest.mark.parametrize(
    "steps",
    [
        OPENED,
        (VOTED, *OPENED[:1]),
        (VOTED, OPENED[0], OPENED[2]),
        (VOTED, *OPENED, *OPENED[2:]),
        (REVOKED, VOTED),
        (REVOKED, REVOKED),
        (VOTED, *OPENED, (Event.OVERRIDDEN, bodies.overridden(OFFICER, "x"))),
    ],
)
def test_a_step_that_is_not_allowed_leaves_none_of_them(ledger: Ledger, steps: tuple[Step, ...]) -> None:
    with pytest.raises(StageFailed):
        change(ledger, RECORD, SHA256, steps, Author("a", NOON))
    assert events(ledger) == [Event.DECIDED]


def test_who_comes_second_writes_nothing(ledger: Ledger) -> None:
    seen = read_standing(ledger, RECORD, SHA256, NOON)
    change(ledger, RECORD, SHA256, [REVOKED], Author("a", NOON), expected=seen)
    with pytest.raises(StageFailed, match="somebody else changed"):
        change(ledger, RECORD, SHA256, [VOTED], Author("b", NOON), expected=seen)
    assert events(ledger) == [Event.DECIDED, Event.REVOKED]


def test_a_record_that_was_not_decided_on_has_no_standing(ledger: Ledger) -> None:
    with pytest.raises(StageFailed, match="contradict"):
        read_standing(ledger, RECORD, "0" * 64, NOON)
    other = RECORD.recipient.model_copy(update={"id": "somebody-else"})
    with pytest.raises(StageFailed, match="contradict"):
        read_standing(ledger, records.changed(RECORD, recipient=other), SHA256, NOON)


LAST = RECORD.valid_until
LATE = datetime(LAST.year, LAST.month, LAST.day, tzinfo=UTC) + timedelta(days=1)


def test_an_expiry_is_written_before_what_follows_it_and_once(ledger: Ledger) -> None:
    change(ledger, RECORD, SHA256, [], Author("a", LATE - timedelta(seconds=1)))
    assert events(ledger) == [Event.DECIDED]
    assert change(ledger, RECORD, SHA256, [], Author("a", LATE)).state is State.EXPIRED
    change(ledger, RECORD, SHA256, [REVOKED], Author("a", LATE))
    assert events(ledger) == [Event.DECIDED, Event.EXPIRED, Event.REVOKED]


def test_what_an_expiry_prevents_is_not_written_and_neither_is_half_of_it(ledger: Ledger) -> None:
    with pytest.raises(StageFailed):
        change(ledger, RECORD, SHA256, [VOTED], Author("a", LATE))
    assert events(ledger) == [Event.DECIDED]
    change(ledger, RECORD, SHA256, [REVOKED], Author("a", LATE))
    assert events(ledger) == [Event.DECIDED, Event.EXPIRED, Event.REVOKED]
