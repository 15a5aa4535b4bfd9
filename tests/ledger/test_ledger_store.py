"""The ledger, the same on both of its databases."""

import os
import signal
import sqlite3
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import update

from tasks.core.errors import TamperingFound, WorkspaceError
from tasks.ledger import postgresql, sqlite
from tasks.ledger.chain import Checkpoints
from tasks.ledger.entry import GENESIS, Event, Head
from tasks.ledger.store import _ENTRY, Ledger
from tests.support.ledgers import CANARY, NOON, Place, Raw, add
from tests.support.processes import exit_code, forked


def test_entries_come_back_as_they_were_appended(place: Place) -> None:
    with Ledger.open(place) as ledger:
        assert ledger.head() == Head(0, GENESIS)
        assert ledger.verify() == 0
        made = [
            ledger.append(
                Event.REQUESTED, release_id=None, recipient=None, actor="Ana Ré", body={"ü": [1, None]}, at=NOON
            ),
            ledger.append(Event.DECIDED, release_id="r1", recipient="a", actor="gate", body={}, at=NOON),
            ledger.append(Event.DECIDED, release_id="r1", recipient="b", actor="gate", body={}, at=NOON),
            ledger.append(Event.PUBLISHED, release_id="r2", recipient=None, actor="gate", body={}, at=NOON),
        ]
    with Ledger.open(place, create=False) as ledger:
        assert list(ledger.entries()) == made
        assert ledger.entries(release_id="r1") == (made[1], made[2])
        assert ledger.entries(recipient="b") == (made[2],)
        assert ledger.entries(release_id="r1", recipient="a", event=Event.DECIDED) == (made[1],)
        assert ledger.entries(release_id="r1", event=Event.PUBLISHED) == ()
        assert ledger.head() == Head(4, made[3].sha256)
        assert ledger.verify(Checkpoints({4: made[3].sha256})) == 4
        assert [ledger.sequence_of(sha256) for sha256 in (GENESIS, made[1].sha256, "1" * 64)] == [0, 2, None]
    assert made[0].prev_sha256 == GENESIS
    assert made[0].body == {"ü": [1, None]}


def test_a_transaction_is_all_or_nothing(place: Place) -> None:
    with Ledger.open(place) as ledger:
        add(ledger)

        def interrupted() -> None:
            with ledger.transaction():
                add(ledger, 1)
                with ledger.transaction():
                    add(ledger, 2)
                assert ledger.head().sequence == 3
                raise RuntimeError

        with pytest.raises(RuntimeError):
            interrupted()
        assert ledger.head().sequence == 1
        with ledger.transaction():
            add(ledger, 1)
            add(ledger, 2)
        assert ledger.verify() == 3


def test_a_refused_entry_leaves_the_ledger_usable(place: Place) -> None:
    with Ledger.open(place) as ledger:
        with pytest.raises(ValueError, match="NaN"):
            add(ledger, body={"risk": float("nan")})
        add(ledger)
        assert ledger.verify() == 1


def test_an_error_of_the_caller_passes_unchanged(place: Place) -> None:
    def misread() -> None:
        with ledger.transaction():
            b"\xff".decode()

    with Ledger.open(place) as ledger:
        with pytest.raises(UnicodeDecodeError):
            misread()
        add(ledger)
        assert ledger.verify() == 1


def test_threads_share_a_ledger(place: Place) -> None:
    with Ledger.open(place) as ledger:

        def write() -> None:
            for _ in range(10):
                with ledger.transaction():
                    add(ledger)
                    add(ledger)

        threads = [threading.Thread(target=write) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ledger.verify() == 60


def append_many(place: Place, name: str) -> None:
    with Ledger.open(place) as ledger:
        for number in range(25):
            add(ledger, number, actor=name)


def test_eight_processes_that_create_and_write_at_once_make_one_chain(place: Place) -> None:
    writers = [forked(append_many, place, f"writer {number}") for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 8
    with Ledger.open(place, create=False) as ledger:
        assert ledger.verify() == 200
        for number in range(8):
            own = [entry for entry in ledger.entries() if entry.actor == f"writer {number}"]
            assert [entry.body["n"] for entry in own] == list(range(25))
    if isinstance(place, Path):
        assert [entry.name for entry in place.parent.iterdir()] == [place.name]


def write_until_killed(place: Place, acknowledged: Connection) -> None:
    with Ledger.open(place) as ledger:
        while True:
            add(ledger)
            os.write(acknowledged.fileno(), b".")


def test_kill_9_while_appending_loses_no_acknowledged_entry(place: Place) -> None:
    before = 0
    for _ in range(3):
        reading, writing = Pipe(duplex=False)
        writer = forked(write_until_killed, place, writing)
        writer.start()
        writing.close()
        heard = len(os.read(reading.fileno(), 7))
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        while more := len(os.read(reading.fileno(), 1000)):
            heard += more
        reading.close()
        with Ledger.open(place) as ledger, ledger.transaction():  # waits until the server is done with the dead writer
            count = ledger.verify()
        assert before + heard <= count <= before + heard + 1
        before = count


def die_within_a_transaction(place: Place) -> None:
    with Ledger.open(place) as ledger, ledger.transaction():
        add(ledger)
        add(ledger)
        os.kill(os.getpid(), signal.SIGKILL)


def test_kill_9_within_a_transaction_leaves_none_of_it(filled: Place) -> None:
    assert exit_code(die_within_a_transaction, filled) == -signal.SIGKILL
    with Ledger.open(filled) as ledger:
        assert ledger.verify() == 40
        add(ledger)
        assert ledger.verify() == 41


COLUMNS = "sequence, at, event, release_id, recipient, actor, body, prev_sha256, sha256"
COPY = (
    f"INSERT INTO entry ({COLUMNS}) SELECT {{0}}, at, event, release_id, recipient, actor, body, {{1}}, 'x' FROM entry"
)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET actor = 'x' WHERE sequence = 3",
        "DELETE FROM entry WHERE sequence = 40",
        "DELETE FROM entry",
        COPY.format(3, "prev_sha256") + " WHERE sequence = 3",
        COPY.format(42, "sha256") + " WHERE sequence = 40",
        COPY.format(41, "prev_sha256") + " WHERE sequence = 40",
        COPY.format(41, "NULL") + " WHERE sequence = 40",
    ],
    ids=["update", "delete last", "delete all", "again", "gap", "fork", "no link"],
)
def test_the_database_itself_refuses_forgeries(raw: Raw, filled: Place, statement: str) -> None:
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
        raw.execute(statement)
    with Ledger.open(filled) as ledger:
        assert ledger.verify() == 40


@pytest.mark.parametrize(
    ("statement", "entry", "what"),
    [
        ("UPDATE entry SET body = replace(body, ':7,', ':8,') WHERE sequence = 8", "ledger entry 8", "edited"),
        ("UPDATE entry SET recipient = NULL WHERE sequence = 8", "ledger entry 8", "edited"),
        ("UPDATE entry SET signer = 'x' WHERE sequence = 8", "ledger entry 8", "edited"),
        ("UPDATE entry SET signature = '' WHERE sequence = 8", "ledger entry 8", "edited"),
        ("UPDATE entry SET sequence = 99 WHERE sequence = 8", "ledger entry 8", "missing"),
        ("UPDATE entry SET sequence = -1 WHERE sequence = 8", "ledger entry -1", "out of order"),
        ("DELETE FROM entry WHERE sequence IN (8, 9, 20)", "ledger entry 8", "missing"),
    ],
)
def test_rows_changed_behind_the_guards_are_found_and_named(
    raw: Raw, filled: Place, statement: str, entry: str, what: str
) -> None:
    raw.unguard().execute(statement)
    with Ledger.open(filled) as ledger, pytest.raises(TamperingFound, match=what) as caught:
        ledger.verify()
    assert caught.value.where == entry
    assert CANARY not in str(caught.value)


def test_an_edited_entry_is_not_served_and_nothing_follows_it(raw: Raw, filled: Place) -> None:
    raw.unguard().execute("UPDATE entry SET actor = 'x' WHERE sequence = 40").guard()
    with Ledger.open(filled) as ledger:
        for call in (ledger.entries, ledger.head, lambda: add(ledger)):
            with pytest.raises(TamperingFound, match="edited"):
                call()


def test_a_cut_end_is_found_by_an_anchor(raw: Raw, filled: Place) -> None:
    with Ledger.open(filled) as ledger:
        anchor = ledger.head()
    raw.unguard().execute("DELETE FROM entry WHERE sequence > 37").guard()
    with Ledger.open(filled) as ledger:
        assert ledger.verify() == 37
        with pytest.raises(TamperingFound, match="end of the ledger is missing") as caught:
            ledger.verify(Checkpoints({anchor.sequence: anchor.sha256}))
    assert caught.value.where == "ledger entry 38"


def test_a_locked_ledger_says_so(filled: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_LOCK_WAIT_SECONDS", 0.05)
    isolation, locking = postgresql._BEGIN_WRITE
    assert "'lock_timeout', '30000'" in locking
    monkeypatch.setattr(postgresql, "_BEGIN_WRITE", (isolation, locking.replace("'30000'", "'50'")))
    with Ledger.open(filled) as first, Ledger.open(filled) as second:
        with first.transaction():
            add(first)
            with pytest.raises(WorkspaceError, match="another process keeps it locked"):
                add(second)
            assert second.verify() == 40
        add(second)
        assert first.verify() == 42


def test_no_value_reaches_an_error_through_the_database(place: Place) -> None:
    with Ledger.open(place) as ledger:
        add(ledger)
        with pytest.raises(TamperingFound) as caught, ledger.transaction(), ledger._reading() as connection:
            connection.execute(update(_ENTRY).values(actor=CANARY))
    assert CANARY not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_missing_ledger_is_not_made_up(place: Place) -> None:
    for _ in range(2):
        with pytest.raises(WorkspaceError, match="there is no ledger"):
            Ledger.open(place, create=False)


def test_readers_see_one_state_of_a_growing_ledger(filled: Place) -> None:
    with Ledger.open(filled) as reader, Ledger.open(filled) as writer:
        with reader._reading():
            assert reader.head().sequence == 40
            add(writer)
            assert (reader.head().sequence, len(reader.entries()), reader.verify()) == (40, 40, 40)
        assert reader.verify() == 41
