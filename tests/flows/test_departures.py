"""Which released copies are of the same people: by the ledger alone."""

from pathlib import Path

from flows.releases.released_copies import ReleasedCopies
from tasks.decision import bodies
from tasks.decision.record import DecisionRecord
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support import records
from tests.support.world import NOW

FIRST, SECOND, OTHER = "1" * 64, "2" * 64, "3" * 64
WHO = records.approved().recipient.id


def decided(release: str, earlier: tuple[str, ...] = ()) -> DecisionRecord:
    record = records.approved()
    recipient = record.recipient.model_copy(update={"prior_release_ids": earlier})
    return record.model_copy(update={"release_id": release, "recipient": recipient})


def leave(ledger: Ledger, record: DecisionRecord) -> None:
    """The entries of a release that has left; its data are nobody else's."""
    release = record.release_id
    for event, who, content in (
        (Event.REQUESTED, None, {"dataset_sha256": release[::-1], "request_path": "request.yaml"}),
        (Event.DECIDED, WHO, bodies.decided(record)),
        (Event.RELEASED, WHO, bodies.released("0" * 64)),
    ):
        ledger.append(event, release_id=release, recipient=who, actor="gate", body=content, at=NOW)


def test_releases_that_a_decision_names_are_of_the_same_people(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        for record in (decided(FIRST), decided(SECOND, (FIRST,)), decided(OTHER)):
            leave(ledger, record)
        departures = ReleasedCopies(ledger)
    first, second, other = departures.copies
    assert departures.of_the_same_people(first) == (second,)
    assert departures.of_the_same_people(second) == (first,)
    assert departures.of_the_same_people(other) == ()
