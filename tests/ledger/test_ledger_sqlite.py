"""The ledger's file: its permissions, its bytes, its disk, its format."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.core.errors import ReleasegateError, TamperingFound, WorkspaceError
from tasks.ledger.chain import Checkpoints
from tasks.ledger.store import Ledger
from tests.support.examples import every, examples
from tests.support.ledgers import CANARY, Raw, add, fill
from tests.support.processes import exit_code

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def filled(path: Path) -> Path:
    fill(path)
    return path


@pytest.fixture
def raw(filled: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        yield connection


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


@pytest.mark.slow
def test_any_flipped_byte_is_found_or_changes_nothing(filled: Path, tmp_path: Path) -> None:
    whole = reading(filled)
    stored = filled.read_bytes()
    note = stored.index(CANARY.encode())
    content = range(stored.rindex(b"2026-", 0, note), note + len(CANARY) + 2 + 2 * 64)
    copy = tmp_path / "copy.db"
    found = 0
    for place in [*range(0, len(stored), every(127)), *content]:
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
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    raw.execute("PRAGMA user_version=3")
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


FAILING = """
import sys, datetime, pathlib
from tasks.core.errors import WorkspaceError
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


def nobody_is_refused(folder: Path) -> None:
    if os.geteuid() == 0:
        os.seteuid(65534)
    for name in ("ledger.db", "new.db"):
        with pytest.raises(WorkspaceError):
            Ledger.open(folder / name)


def test_no_permission_is_told(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    with Ledger.open(closed / "ledger.db"):
        pass
    closed.chmod(0o500)
    assert exit_code(nobody_is_refused, closed) == 0


@pytest.mark.parametrize("stored", ["CAST(x'ff' AS TEXT)", "x'ff'"])
def test_a_body_that_is_no_text_is_found(raw: sqlite3.Connection, filled: Path, stored: str) -> None:
    Raw(raw).unguard().execute(f"UPDATE entry SET body = {stored} WHERE sequence = 8")
    with Ledger.open(filled) as ledger, pytest.raises(TamperingFound, match="edited") as caught:
        ledger.verify()
    assert caught.value.where == "ledger entry 8"


def test_a_row_is_not_replaced(raw: sqlite3.Connection, filled: Path) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute("INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE sequence = 3")
    with Ledger.open(filled) as ledger:
        assert ledger.verify() == 40


def test_a_file_of_another_format_is_refused(filled: Path, raw: sqlite3.Connection) -> None:
    raw.execute("PRAGMA user_version=1")
    with pytest.raises(WorkspaceError, match="another version"):
        Ledger.open(filled)


def test_a_copy_made_while_the_ledger_is_open_is_a_whole_ledger(filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with Ledger.open(filled) as ledger:
        add(ledger)
        head = ledger.head()
        with closing(sqlite3.connect(filled)) as connection:
            connection.execute(f"VACUUM INTO '{copy}'")
        add(ledger)
    with Ledger.open(copy, create=False) as ledger:
        assert ledger.verify(Checkpoints({head.sequence: head.sha256})) == 41
        add(ledger)
        assert ledger.verify() == 42
