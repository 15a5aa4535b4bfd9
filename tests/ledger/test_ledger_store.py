import multiprocessing
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.errors import ReleasegateError, TamperingFound, WorkspaceError
from tasks.ledger import sqlite as database
from tasks.ledger.entry import GENESIS, Event, Head
from tasks.ledger.store import Ledger

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
CANARY = "canary7731"
ROOT = Path(__file__).parents[2]
FORK = multiprocessing.get_context("fork")


def add(ledger: Ledger, number: int = 0, event: Event = Event.ASSESSED, **changes: object) -> None:
    fields = {"release_id": "r1", "recipient": "a", "actor": "steward", "body": {"n": number}} | changes
    ledger.append(event, at=NOON + timedelta(seconds=number), **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def filled(path: Path) -> Path:
    with Ledger.open(path) as ledger, ledger.transaction():
        for number in range(40):
            add(ledger, number, body={"n": number, "note": CANARY})
    return path


@pytest.fixture
def raw(filled: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        yield connection


def unguarded(raw: sqlite3.Connection) -> sqlite3.Connection:
    for guard in database._GUARDS:
        raw.execute(f"DROP TRIGGER {guard}")
    return raw


def test_entries_come_back_as_they_were_appended(path: Path) -> None:
    with Ledger.open(path) as ledger:
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
    with Ledger.open(path, create=False) as ledger:
        assert list(ledger.entries()) == made
        assert ledger.entries(release_id="r1") == (made[1], made[2])
        assert ledger.entries(recipient="b") == (made[2],)
        assert ledger.entries(release_id="r1", recipient="a", event=Event.DECIDED) == (made[1],)
        assert ledger.entries(release_id="r1", event=Event.PUBLISHED) == ()
        assert ledger.head() == Head(4, made[3].sha256)
        assert ledger.verify({4: made[3].sha256}) == 4
        assert [ledger.sequence_of(sha256) for sha256 in (GENESIS, made[1].sha256, "1" * 64)] == [0, 2, None]
    assert made[0].prev_sha256 == GENESIS
    assert made[0].body == {"ü": [1, None]}


def test_a_new_ledger_is_private_and_leaves_nothing_beside_it(filled: Path) -> None:
    assert stat.S_IMODE(filled.stat().st_mode) == 0o600
    assert [entry.name for entry in filled.parent.iterdir()] == [filled.name]


def test_the_files_of_an_open_ledger_are_private(path: Path) -> None:
    with Ledger.open(path) as ledger:
        add(ledger)
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
    assert modes == dict.fromkeys(("ledger.db", "ledger.db-wal", "ledger.db-shm"), 384)


def test_every_commit_is_synced(path: Path) -> None:
    with Ledger.open(path) as ledger, ledger._reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "recursive_triggers")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "recursive_triggers": 1}


def test_a_transaction_is_all_or_nothing(path: Path) -> None:
    with Ledger.open(path) as ledger:
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


def test_a_refused_entry_leaves_the_ledger_usable(path: Path) -> None:
    with Ledger.open(path) as ledger:
        with pytest.raises(ValueError, match="NaN"):
            add(ledger, body={"risk": float("nan")})
        add(ledger)
        assert ledger.verify() == 1


def test_an_error_of_the_caller_passes_unchanged(path: Path) -> None:
    def misread() -> None:
        with ledger.transaction():
            b"\xff".decode()

    with Ledger.open(path) as ledger:
        with pytest.raises(UnicodeDecodeError):
            misread()
        add(ledger)
        assert ledger.verify() == 1


def test_threads_share_a_ledger(path: Path) -> None:
    with Ledger.open(path) as ledger:

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


def forked(call: Callable[..., None], *arguments: object) -> multiprocessing.Process:
    """A process that makes a call and leaves at once, without what other tests' libraries do at the end of one."""

    def run() -> None:
        try:
            call(*arguments)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    return FORK.Process(target=run)


def append_many(path: Path, name: str) -> None:
    with Ledger.open(path) as ledger:
        for number in range(25):
            add(ledger, number, actor=name)


def test_four_processes_that_create_and_write_at_once_make_one_chain(path: Path) -> None:
    writers = [forked(append_many, path, f"writer {number}") for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    with Ledger.open(path, create=False) as ledger:
        assert ledger.verify() == 100
        for number in range(4):
            own = [entry for entry in ledger.entries() if entry.actor == f"writer {number}"]
            assert [entry.body["n"] for entry in own] == list(range(25))
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def write_until_killed(path: Path, acknowledged: int) -> None:
    with Ledger.open(path) as ledger:
        while True:
            add(ledger)
            os.write(acknowledged, b".")


def test_kill_9_while_appending_loses_no_acknowledged_entry(path: Path) -> None:
    for _ in range(3):
        reading, writing = os.pipe()
        writer = FORK.Process(target=write_until_killed, args=(path, writing))
        writer.start()
        os.close(writing)
        heard = len(os.read(reading, 7))
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        while more := len(os.read(reading, 1000)):
            heard += more
        os.close(reading)
        with Ledger.open(path) as ledger:
            assert heard <= ledger.verify() <= heard + 1
        path.unlink()


def die_within_a_transaction(path: Path) -> None:
    with Ledger.open(path) as ledger, ledger.transaction():
        add(ledger)
        add(ledger)
        os.kill(os.getpid(), signal.SIGKILL)


def test_kill_9_within_a_transaction_leaves_none_of_it(filled: Path) -> None:
    writer = FORK.Process(target=die_within_a_transaction, args=(filled,))
    writer.start()
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    with Ledger.open(filled) as ledger:
        assert ledger.verify() == 40
        add(ledger)
        assert ledger.verify() == 41


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET actor = 'x' WHERE sequence = 3",
        "DELETE FROM entry WHERE sequence = 40",
        "DELETE FROM entry",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE sequence = 3",
        "INSERT INTO entry SELECT 42, at, event, release_id, recipient, actor, body, sha256, 'x' FROM entry "
        "WHERE sequence = 40",
        "INSERT INTO entry SELECT 41, at, event, release_id, recipient, actor, body, prev_sha256, 'x' FROM entry "
        "WHERE sequence = 40",
        "INSERT INTO entry SELECT 41, at, event, release_id, recipient, actor, body, NULL, 'x' FROM entry "
        "WHERE sequence = 40",
    ],
    ids=["update", "delete last", "delete all", "replace", "gap", "fork", "no link"],
)
def test_the_database_itself_refuses_forgeries(raw: sqlite3.Connection, filled: Path, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)
    with Ledger.open(filled) as ledger:
        assert ledger.verify() == 40


@pytest.mark.parametrize(
    ("statement", "place", "what"),
    [
        ("UPDATE entry SET body = replace(body, ':7,', ':8,') WHERE sequence = 8", "ledger entry 8", "edited"),
        ("UPDATE entry SET recipient = NULL WHERE sequence = 8", "ledger entry 8", "edited"),
        ("UPDATE entry SET body = CAST(x'ff' AS TEXT) WHERE sequence = 8", "ledger entry 8", "edited"),
        ("UPDATE entry SET body = x'ff' WHERE sequence = 8", "ledger entry 8", "edited"),
        ("UPDATE entry SET sequence = 99 WHERE sequence = 8", "ledger entry 8", "missing"),
        ("UPDATE entry SET sequence = -1 WHERE sequence = 8", "ledger entry -1", "out of order"),
        ("DELETE FROM entry WHERE sequence IN (8, 9, 20)", "ledger entry 8", "missing"),
    ],
)
def test_rows_changed_behind_the_guards_are_found_and_named(
    raw: sqlite3.Connection, filled: Path, statement: str, place: str, what: str
) -> None:
    unguarded(raw).execute(statement)
    with Ledger.open(filled) as ledger, pytest.raises(TamperingFound, match=what) as caught:
        ledger.verify()
    assert caught.value.where == place
    assert CANARY not in str(caught.value)


def test_an_edited_entry_is_not_served_and_nothing_follows_it(raw: sqlite3.Connection, filled: Path) -> None:
    guards = list(database._GUARDS.values())
    unguarded(raw).execute("UPDATE entry SET actor = 'x' WHERE sequence = 40")
    for guard in guards:
        raw.execute(guard)
    with Ledger.open(filled) as ledger:
        for call in (ledger.entries, ledger.head, lambda: add(ledger)):
            with pytest.raises(TamperingFound, match="edited"):
                call()


def test_a_cut_end_is_found_by_an_anchor(raw: sqlite3.Connection, filled: Path) -> None:
    with Ledger.open(filled) as ledger:
        anchor = ledger.head()
    guards = list(database._GUARDS.values())
    unguarded(raw).execute("DELETE FROM entry WHERE sequence > 37")
    for guard in guards:
        raw.execute(guard)
    with Ledger.open(filled) as ledger:
        assert ledger.verify() == 37
        with pytest.raises(TamperingFound, match="end of the ledger is missing") as caught:
            ledger.verify({anchor.sequence: anchor.sha256})
    assert caught.value.where == "ledger entry 38"


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entry_no_update",
        "CREATE TRIGGER more BEFORE INSERT ON entry BEGIN SELECT 1; END",
    ],
)
def test_changed_guards_are_found_and_stop_writing(raw: sqlite3.Connection, filled: Path, statement: str) -> None:
    raw.execute(statement)
    with Ledger.open(filled) as ledger:
        for call in (ledger.verify, lambda: add(ledger)):
            with pytest.raises(TamperingFound, match="guards"):
                call()
        assert len(ledger.entries()) == 40


def reading(path: Path) -> object:
    """What an auditor sees of a ledger: its entries, or the error of ours that names what is wrong."""
    try:
        with Ledger.open(path, create=False) as ledger:
            ledger.verify()
            return ledger.entries()
    except ReleasegateError as error:
        return error


def test_any_flipped_byte_is_found_or_changes_nothing(filled: Path, tmp_path: Path) -> None:
    whole = reading(filled)
    stored = filled.read_bytes()
    note = stored.index(CANARY.encode())
    content = range(stored.rindex(b"2026-", 0, note), note + len(CANARY) + 2 + 2 * 64)
    copy = tmp_path / "copy.db"
    found = 0
    for place in [*range(0, len(stored), 127), *content]:
        copy.write_bytes(stored[:place] + bytes([stored[place] ^ 0x15]) + stored[place + 1 :])
        seen = reading(copy)
        if isinstance(seen, ReleasegateError):
            found += 1
            assert CANARY not in str(seen)
            assert seen.__cause__ is None
            assert isinstance(seen, TamperingFound) or "version" in seen.what or "cannot be used" in seen.what
        else:
            assert seen == whole
            assert place not in content
    assert found > len(content)


@pytest.mark.parametrize("damage", [b"CREATE TABL\xe5 entry", b"CREATE TABLE \xe5ntry"])
def test_a_damaged_schema_is_found_without_being_quoted(filled: Path, damage: bytes) -> None:
    filled.write_bytes(filled.read_bytes().replace(b"CREATE TABLE entry", damage))
    with pytest.raises(TamperingFound) as caught:
        Ledger.open(filled)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@given(data=st.binary(max_size=6000))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "noise.db"
    path.write_bytes(data)
    with pytest.raises(TamperingFound, match="not a ledger"):
        Ledger.open(path)
    assert path.read_bytes() == data


def test_another_database_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE people (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(TamperingFound, match="not a ledger"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_ledger_of_another_version_is_refused(raw: sqlite3.Connection, filled: Path) -> None:
    raw.execute("PRAGMA user_version=2")
    with pytest.raises(WorkspaceError, match="another version"):
        Ledger.open(filled)


def test_a_damaged_index_is_found(raw: sqlite3.Connection, filled: Path) -> None:
    raw.execute("PRAGMA writable_schema=ON")
    raw.execute("UPDATE sqlite_master SET sql = 'CREATE INDEX entry_by_release ON entry (release_id, actor)' "
                "WHERE name = 'entry_by_release'")  # fmt: skip
    raw.close()
    with Ledger.open(filled) as ledger, pytest.raises(TamperingFound, match="damaged"):
        ledger.verify()


@pytest.mark.parametrize("place", ["missing/ledger.db", ".", "file/ledger.db"])
def test_a_place_that_cannot_hold_a_ledger(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError) as caught:
        Ledger.open(tmp_path / place)
    assert caught.value.__cause__ is None


def test_a_missing_ledger_is_not_made_up(path: Path) -> None:
    with pytest.raises(WorkspaceError, match="there is no ledger"):
        Ledger.open(path, create=False)
    assert not path.exists()


def test_a_locked_ledger_says_so(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LOCK_WAIT_SECONDS", 0.05)
    with Ledger.open(filled) as first, Ledger.open(filled) as second:
        with first.transaction():
            add(first)
            with pytest.raises(WorkspaceError, match="another process keeps it locked"):
                add(second)
            assert second.verify() == 40
        add(second)
        assert first.verify() == 42


FAILING = """
import sys, datetime, pathlib
from tasks.errors import WorkspaceError
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
done = 0
try:
    with Ledger.open(pathlib.Path(sys.argv[1])) as ledger:
        {prepare}
        while done < 2000:
            ledger.append(Event.ASSESSED, release_id="r1", recipient=None, actor="gate", body={{"note": "x" * 900}},
                          at=datetime.datetime.now(datetime.UTC))
            done += 1
except WorkspaceError as error:
    print(done, error)
"""


def fails(prepare: str, *before: str, path: Path) -> tuple[int, str]:
    ran = subprocess.run(
        [*before, sys.executable, "-c", FAILING.format(prepare=prepare), str(path)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stderr == ""
    done, _, message = ran.stdout.partition(" ")
    return int(done), message


def test_a_file_that_must_not_grow_keeps_every_acknowledged_entry(path: Path) -> None:
    done, message = fails("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))", path=path)
    assert done > 0
    assert "the ledger cannot be used" in message
    with Ledger.open(path, create=False) as ledger:
        assert ledger.verify() == done


def test_a_full_disk_keeps_every_acknowledged_entry(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=400k tmpfs {disk} && "$@" && cp {disk}/ledger.db* {tmp_path}/ && ls -A {disk} >&2'
    if shutil.which("unshare") is None:
        pytest.skip("no private mounts here")
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", FAILING.format(prepare=""),
         str(disk / "ledger.db")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unshare failed" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip("no private mounts here")
    done, _, message = ran.stdout.partition(" ")
    assert int(done) > 0
    assert "the disk is full" in message
    with Ledger.open(tmp_path / "ledger.db", create=False) as ledger:
        assert ledger.verify() == int(done)


def as_nobody(call: Callable[[], None]) -> int:
    """Run a call in a child process that is not root; 0 where it ends well."""

    def child() -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)
        call()

    process = forked(child)
    process.start()
    process.join()
    return process.exitcode


def test_no_permission_is_told(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    with Ledger.open(closed / "ledger.db"):
        pass
    closed.chmod(0o500)

    def refused() -> None:
        for name in ("ledger.db", "new.db"):
            with pytest.raises(WorkspaceError):
                Ledger.open(closed / name)

    assert as_nobody(refused) == 0


def test_no_value_reaches_an_error_through_the_database(path: Path) -> None:
    with Ledger.open(path) as ledger:
        add(ledger)
        with pytest.raises(TamperingFound) as caught, ledger._reading() as connection:
            connection.exec_driver_sql("UPDATE entry SET actor = ?", (CANARY,))
    assert CANARY not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
