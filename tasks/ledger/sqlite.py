"""What is particular to SQLite: opening and creating the file, its guards, its errors.

A second database would bring a module with the same functions; ``tasks.ledger.store`` holds nothing of SQLite.
"""

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from tasks.errors import ReleasegateError, TamperingFound, WorkspaceError
from tasks.ledger.entry import GENESIS

DATABASE_ERRORS = (DBAPIError, sqlite3.Error, UnicodeDecodeError)
"""What a call on the database can raise; ``translate`` makes one of our errors of it.

SQLite quotes a damaged schema in its message, and Python fails to decode that.
"""

_SCHEMA_VERSION = 1
_LOCK_WAIT_SECONDS = 30.0
_GUARDS = {
    "entry_no_update": (
        "CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    ),
    "entry_no_delete": (
        "CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    ),
    "entry_follows_head": (
        "CREATE TRIGGER entry_follows_head BEFORE INSERT ON entry "  # noqa: S608 — a constant is filled in
        "WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entry) "
        "OR NEW.prev_sha256 IS NOT "
        f"coalesce((SELECT sha256 FROM entry ORDER BY sequence DESC LIMIT 1), '{GENESIS}') "
        "BEGIN SELECT RAISE(ABORT, 'the entry does not follow the head of the ledger'); END"
    ),
}


def create(path: Path, make_tables: Callable[[Connection], None]) -> None:
    """Create a ledger file, readable by its owner only, unless there is one.

    It is made beside its place and linked there when complete: a crash leaves no half-made ledger, of several
    processes that create it at once one wins, and an existing file is never taken for a new one.
    """
    handle, name = tempfile.mkstemp(prefix=".ledger-", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        engine = connect(draft, new=True)
        try:
            with engine.begin() as connection:
                make_tables(connection)
                for statement in _GUARDS.values():
                    connection.exec_driver_sql(statement)
                connection.exec_driver_sql(f"PRAGMA user_version={_SCHEMA_VERSION}")
            _empty_log(engine)
        finally:
            engine.dispose()
        with suppress(FileExistsError):
            os.link(draft, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        for leftover in (draft, Path(name + "-wal"), Path(name + "-shm")):
            leftover.unlink(missing_ok=True)


def _empty_log(engine: Engine) -> None:
    """Bring everything from the write-ahead log into the file; closing would do it too, but not say if it failed.

    Raises
    ------
    sqlite3.Error
        If the disk is full.
    """
    with closing(engine.raw_connection()) as connection:
        busy = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise sqlite3.OperationalError


def connect(path: Path, *, new: bool = False) -> Engine:
    """An engine on an existing file; a connection begins with BEGIN IMMEDIATE where its option ``write`` is set."""

    def open_file() -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=_LOCK_WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.text_factory = _lenient_text
        for pragma in (
            *(["journal_mode=WAL"] if new else []),
            "synchronous=FULL",
            "recursive_triggers=ON",
            "trusted_schema=OFF",
            "cell_size_check=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    engine = create_engine("sqlite://", creator=open_file, poolclass=NullPool, hide_parameters=True)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _lenient_text(stored: bytes) -> str:
    """Text that a damaged file may hold as other than UTF-8; the entry's hash then shows the damage."""
    return stored.decode("utf-8", "surrogateescape")


def check_format(connection: Connection, path: Path) -> None:
    """Check that the file is a ledger of this version.

    Raises
    ------
    TamperingFound
        If the database holds no ledger.
    WorkspaceError
        If another version of the program wrote it.
    """
    tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master WHERE type='table' AND name='entry'")
    if tables.scalar_one() != 1:
        raise _no_ledger(path)
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version != _SCHEMA_VERSION:
        raise WorkspaceError(
            "the ledger was written by another version of the program",
            where=str(path),
            expected=f"ledger format {_SCHEMA_VERSION}",
            got=f"format {version}",
            fix="Use the version of releasegate that wrote it.",
        )


def check_guards(connection: Connection, path: Path) -> None:
    """Check that the triggers that make the ledger append-only are those it was created with, and no others.

    Raises
    ------
    TamperingFound
        If one was removed, changed or added.
    """
    triggers = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type='trigger'").all()
    found = {trigger.name: trigger.sql for trigger in triggers}
    if found == _GUARDS:
        return
    odd = sorted(name for name in _GUARDS if found.get(name) != _GUARDS[name])
    raise TamperingFound(
        "the guards that make the ledger append-only were changed",
        where=str(path),
        expected=f"the triggers {', '.join(_GUARDS)} as they were created",
        got=f"removed or changed: {', '.join(odd)}" if odd else "further triggers",
        fix="Stop releasing; verify the ledger, restore it from a backup and find out who changed it.",
    )


def check_pages(connection: Connection, path: Path) -> None:
    """Check the file below the entries: pages, indexes and constraints.

    Raises
    ------
    TamperingFound
        If SQLite's own check finds damage.
    """
    if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() != "ok":
        raise damaged(path, "its entries are right, but its pages or indexes are not")


def damaged(path: Path, got: str) -> TamperingFound:
    """The error of a file whose bytes are no longer what SQLite wrote."""
    return TamperingFound(
        "the ledger file is damaged",
        where=str(path),
        expected="a database whose pages, indexes and entries agree",
        got=got,
        fix="Stop releasing; restore the ledger from a backup and find out what changed it.",
    )


def _no_ledger(path: Path) -> TamperingFound:
    return TamperingFound(
        "the file is not a ledger",
        where=str(path),
        expected="a database written by releasegate",
        got="something else",
        fix="Name the ledger's own file, or restore it from a backup.",
    )


def translate(error: Exception, path: Path) -> ReleasegateError:
    """Our error for one of the database's, without its text, which may quote what is stored."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    where = str(path)
    if code == sqlite3.SQLITE_CORRUPT or isinstance(cause, UnicodeDecodeError):
        return damaged(path, "pages that cannot be read")
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        return _no_ledger(path)
    if code == sqlite3.SQLITE_CONSTRAINT:
        return TamperingFound(
            "the ledger refused an entry",
            where=where,
            expected="an entry that follows the last one",
            got="one that does not, or a change of what is recorded",
            fix="Verify the ledger before anything else is released.",
        )
    told = {
        sqlite3.SQLITE_FULL: ("the disk is full", "Free space on the ledger's disk and run again."),
        sqlite3.SQLITE_BUSY: ("another process keeps it locked", "Wait until the other process ends and run again."),
        sqlite3.SQLITE_READONLY: ("it is read-only", "Make the ledger and its folder writable."),
        sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "Check the path and its permissions."),
    }
    got, fix = told.get(code, ("the disk or the system refused", "Check the disk, its quota and the permissions."))
    return WorkspaceError("the ledger cannot be used", where=where, expected="a writable file", got=got, fix=fix)
