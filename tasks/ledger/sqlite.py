"""The ledger in an SQLite file: opening and creating it, its guards, its errors."""

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from tasks.core.errors import ReleasegateError, TamperingFound, WorkspaceError
from tasks.core.files import sync_folder
from tasks.ledger.database import FORMAT, changed_guards, no_ledger, refused_entry
from tasks.ledger.entry import GENESIS

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


@dataclass(frozen=True)
class Sqlite:
    """A ledger in a file."""

    path: Path

    # SQLite quotes a damaged schema in its message, and Python fails to decode that.
    errors = (DBAPIError, sqlite3.Error, UnicodeDecodeError)

    @property
    def place(self) -> str:
        """The file's path."""
        return str(self.path)

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.path.exists()

    def create(self, make_tables: Callable[[Connection], None]) -> None:
        """Create the file, readable by its owner only, unless there is one.

        It is made beside its place and linked there when complete: a crash leaves no half-made ledger, of several
        processes that create it at once one wins, and an existing file is never taken for a new one.
        """
        handle, name = tempfile.mkstemp(prefix=".ledger-", dir=self.path.parent)
        os.close(handle)
        draft = Path(name)
        try:
            engine = _engine(draft, new=True)
            try:
                with engine.begin() as connection:
                    make_tables(connection)
                    for statement in _GUARDS.values():
                        connection.exec_driver_sql(statement)
                    connection.exec_driver_sql(f"PRAGMA user_version={FORMAT}")
                _empty_log(engine)
            finally:
                engine.dispose()
            with suppress(FileExistsError):
                os.link(draft, self.path)
            sync_folder(self.path.parent)
        finally:
            for leftover in (draft, Path(name + "-wal"), Path(name + "-shm")):
                leftover.unlink(missing_ok=True)

    def connect(self) -> Engine:
        """An engine on the file; a connection begins with BEGIN IMMEDIATE where its option ``write`` is set."""
        return _engine(self.path)

    def check_format(self, connection: Connection) -> int:
        """The file's format; see ``Database``."""
        tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master WHERE type='table' AND name='entry'")
        if tables.scalar_one() != 1:
            raise no_ledger(self.place)
        version: int = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        if version not in {1, FORMAT}:
            raise WorkspaceError(
                "the ledger was written by another version of the program",
                where=self.place,
                expected=f"ledger format {FORMAT}",
                got=f"format {version}",
                fix="Use the version of releasegate that wrote it.",
            )
        return version

    def migrate(self, connection: Connection) -> None:
        """Add the columns of signatures to a file of format 1; an entry without one keeps its hash."""
        if self.check_format(connection) == FORMAT:
            return
        self.check_guards(connection)
        for column in ("signer", "signature"):
            connection.exec_driver_sql(f"ALTER TABLE entry ADD COLUMN {column} TEXT")
        connection.exec_driver_sql(f"PRAGMA user_version={FORMAT}")

    def check_guards(self, connection: Connection) -> None:
        """Check that the triggers are those the file was created with, and no others; see ``Database``."""
        triggers = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type='trigger'").all()
        found = {trigger.name: trigger.sql for trigger in triggers}
        if found != _GUARDS:
            odd = sorted(name for name in _GUARDS if found.get(name) != _GUARDS[name])
            raise changed_guards(self.place, f"the triggers {', '.join(_GUARDS)} as they were created", odd)

    def check_pages(self, connection: Connection) -> None:
        """Check the file below the entries: pages, indexes and constraints; see ``Database``."""
        if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() != "ok":
            raise self.damaged("its entries are right, but its pages or indexes are not")

    def damaged(self, got: str) -> TamperingFound:
        """The error of a file whose bytes are no longer what SQLite wrote."""
        return TamperingFound(
            "the ledger file is damaged",
            where=self.place,
            expected="a database whose pages, indexes and entries agree",
            got=got,
            fix="Stop releasing; restore the ledger from a backup and find out what changed it.",
        )

    def unreadable(self, error: Exception, sequence: int) -> ReleasegateError:  # noqa: ARG002
        """Whatever the error, the file is damaged; see ``Database``."""
        return self.damaged(f"entry {sequence} cannot be read")

    def translate(self, error: Exception) -> ReleasegateError:
        """Our error for one of SQLite's; see ``Database``."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_CORRUPT or isinstance(cause, UnicodeDecodeError):
            return self.damaged("pages that cannot be read")
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            return no_ledger(self.place)
        if code == sqlite3.SQLITE_CONSTRAINT:
            return refused_entry(self.place)
        unknown = "the disk or the system refused", "Check the disk, its quota and the permissions."
        got, fix = _CAUSES.get(code, unknown)
        return WorkspaceError(
            "the ledger cannot be used", where=self.place, expected="a writable file", got=got, fix=fix
        )


_CAUSES = {
    sqlite3.SQLITE_FULL: ("the disk is full", "Free space on the ledger's disk and run again."),
    sqlite3.SQLITE_BUSY: ("another process keeps it locked", "Wait until the other process ends and run again."),
    sqlite3.SQLITE_READONLY: ("it is read-only", "Make the ledger and its folder writable."),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "Check the path and its permissions."),
}


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


def _engine(path: Path, *, new: bool = False) -> Engine:

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
