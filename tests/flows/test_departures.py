"""Which releases that have left are of the same people: from the ledger, and from bundles where it does not tell."""

from pathlib import Path

import pytest

from flows.delivered import Departures
from flows.workspace import Workspace
from tasks.core.canonical import canonical_json
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


def leave(ledger: Ledger, record: DecisionRecord, *, by_an_earlier_version: bool = False) -> None:
    """The entries of a release that has left; its data are nobody else's."""
    body = bodies.decided(record)
    if by_an_earlier_version:
        assert isinstance(body["determined"], dict)
        del body["determined"]["prior_release_ids"]
    release = record.release_id
    asked = {"dataset_sha256": release[::-1], "request_path": "request.yaml"}
    for event, who, content in (
        (Event.REQUESTED, None, asked),
        (Event.DECIDED, WHO, body),
        (Event.RELEASED, WHO, bodies.released("0" * 64)),
    ):
        ledger.append(event, release_id=release, recipient=who, actor="gate", body=content, at=NOW)


@pytest.mark.parametrize("by_an_earlier_version", [False, True])
@pytest.mark.parametrize("bundle", [True, False])
def test_what_a_decision_named_is_in_the_ledger_and_else_in_its_bundle(
    tmp_path: Path, *, by_an_earlier_version: bool, bundle: bool
) -> None:
    workspace, second = Workspace(tmp_path), decided(SECOND, (FIRST,))
    if bundle:
        folder = workspace.bundle(SECOND) / "decision"
        folder.mkdir(parents=True)
        (folder / f"{WHO}.json").write_bytes(canonical_json(second))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        leave(ledger, decided(FIRST))
        leave(ledger, second, by_an_earlier_version=by_an_earlier_version)
        leave(ledger, decided(OTHER))
        departures = Departures(workspace, ledger)
    first, last, _ = departures.copies
    known = bundle or not by_an_earlier_version
    assert departures.of_the_same_people(first) == ((last,) if known else ())
    assert departures.silent == (frozenset() if known else {last.name})


def test_a_record_that_is_not_the_decided_one_says_nothing(tmp_path: Path) -> None:
    workspace, second = Workspace(tmp_path), decided(SECOND)
    folder = workspace.bundle(SECOND) / "decision"
    folder.mkdir(parents=True)
    (folder / f"{WHO}.json").write_bytes(canonical_json(decided(SECOND, (FIRST,))))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        leave(ledger, decided(FIRST))
        leave(ledger, second, by_an_earlier_version=True)
        departures = Departures(workspace, ledger)
    assert departures.of_the_same_people(departures.copies[0]) == ()
    assert departures.silent == {f"{SECOND}/{WHO}"}
