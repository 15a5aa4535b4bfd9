"""Times of the ledger: none before the head, whatever the clock says; old ones that run backwards are named."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tasks.core.errors import TamperingFound, WorkspaceError
from tasks.ledger.entry import Entry, Event, Row
from tasks.ledger.store import Ledger

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def append(ledger: Ledger, at: datetime) -> Entry:
    return ledger.append(Event.REQUESTED, release_id=None, recipient=None, actor="steward", body={}, at=at)


def in_one_transaction(ledger: Ledger, *times: datetime) -> None:
    with ledger.transaction():
        for at in times:
            append(ledger, at)


@pytest.mark.parametrize("back", [timedelta(minutes=2), timedelta(days=400)])
def test_a_time_before_the_head_is_refused(place: Path | str, back: timedelta) -> None:
    with Ledger.open(place) as ledger:
        append(ledger, NOON)
        with pytest.raises(WorkspaceError, match="before the last entry of the ledger") as caught:
            append(ledger, NOON - back)
        assert "2026-05-04 12:00:00" in caught.value.expected
        assert ledger.head().sequence == 1
    with Ledger.open(place) as again, pytest.raises(WorkspaceError, match="before the last entry"):
        append(again, NOON - back)


def test_all_of_a_transaction_is_refused(place: Path | str) -> None:
    with Ledger.open(place) as ledger:
        append(ledger, NOON)
        with pytest.raises(WorkspaceError):
            in_one_transaction(ledger, NOON + timedelta(hours=1), NOON + timedelta(minutes=30))
        assert ledger.head().sequence == 1
        append(ledger, NOON)


def test_who_began_before_others_recorded_is_not_refused_and_no_time_runs_backwards(place: Path | str) -> None:
    """Two releases at once: each reads its clock when it begins, and records when it ends."""
    with Ledger.open(place) as first:
        append(first, NOON - timedelta(hours=2))
        with Ledger.open(place) as slow, Ledger.open(place) as quick:
            append(quick, NOON)
            recorded = append(slow, NOON - timedelta(hours=1))
            assert recorded.at == NOON
            assert slow.times_backwards() == ()
            assert slow.verify() == 3


def test_clocks_of_two_machines_may_differ_by_seconds(place: Path | str) -> None:
    with Ledger.open(place) as ledger:
        append(ledger, NOON)
        assert append(ledger, NOON - timedelta(seconds=3)).at == NOON


def as_earlier_versions_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries with one time, whatever the clock says."""
    monkeypatch.setattr("tasks.ledger.entry.SKEW", timedelta(days=9999))
    monkeypatch.setattr("tasks.ledger.store.times_after", lambda _last, decided, written: (decided, written))
    monkeypatch.setattr(Row, "written", lambda row, _at: row)


def test_times_that_ran_backwards_before_they_were_refused_are_named_and_valid(
    place: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(place) as ledger:
        append(ledger, NOON)
        with monkeypatch.context() as earlier:
            as_earlier_versions_did(earlier)
            append(ledger, NOON - timedelta(days=300))
            append(ledger, NOON - timedelta(days=200))
            append(ledger, NOON - timedelta(days=201))
        assert ledger.times_backwards() == (2, 4)
        assert ledger.verify() == 4
        assert [one.recorded_at for one in ledger.entries()] == [NOON, None, None, None]
        assert append(ledger, NOON).recorded_at == NOON
        assert ledger.verify() == 5


def test_an_entry_says_when_it_was_decided_and_when_it_was_written(place: Path | str) -> None:
    """A release of two hours: decided at ten, written at noon, after what others have decided at eleven."""
    clock = [NOON - timedelta(hours=1), NOON, NOON - timedelta(minutes=5)]
    with Ledger.open(place, clock=lambda: clock.pop(0)) as ledger:
        append(ledger, NOON - timedelta(hours=2))
        decided = append(ledger, NOON - timedelta(hours=1))
        slow = append(ledger, NOON - timedelta(hours=1))
        assert (decided.at, decided.recorded_at) == (NOON - timedelta(hours=1), NOON)
        assert slow.recorded_at == NOON, "a clock that was set back a little makes no earlier entry"
        assert decided.body == {}, "the time is no part of what the entry tells"
        assert ledger.verify() == 3
    with Ledger.open(place) as again:
        assert again.entries()[1] == decided


@pytest.mark.parametrize(
    ("decided", "written"),
    [
        (timedelta(0), timedelta(minutes=-1)),
        (timedelta(minutes=-1), timedelta(0)),
        (timedelta(minutes=5), timedelta(minutes=4)),
    ],
)
def test_verification_names_the_first_entry_whose_times_run_backwards(
    place: Path | str, monkeypatch: pytest.MonkeyPatch, decided: timedelta, written: timedelta
) -> None:
    """Entries that somebody has made who does not go through the gate, hashes and links right."""
    with Ledger.open(place) as ledger:
        append(ledger, NOON)
        monkeypatch.setattr("tasks.ledger.store.times_after", lambda *_: (NOON + decided, NOON + written))
        append(ledger, NOON)
        with pytest.raises(TamperingFound, match="the times of the ledger run backwards") as caught:
            ledger.verify()
        assert caught.value.where == "ledger entry 2"
        assert ledger.examine().broken_at == 2
