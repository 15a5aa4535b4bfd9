"""The ledger in an SQLite file: opening and creating it, its guards, its errors."""

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sqlalchemy import Connection, Engine, MetaData, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from tasks.core.files import sync_folder
from tasks.ledger.database import DAMAGED, FOREIGN, FORMAT, REFUSED, Fault
from tasks.ledger.entry import GENESIS

_LOCK_WAIT_SECONDS = 30.0
_APPEND_ONLY = "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
GUARDS = {
    "entry_no_update": f"CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry {_APPEND_ONLY}",
    "entry_no_delete": f"CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry {_APPEND_ONLY}",
    "entry_follows_head": (
        "CREATE TRIGGER entry_follows_head BEFORE INSERT ON entry "  # noqa: S608 — a constant is filled in
        "WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entry) "
        "OR NEW.prev_sha256 IS NOT "
        f"coalesce((SELECT sha256 FROM entry ORDER BY sequence DESC LIMIT 1), '{GENESIS}') "
        "BEGIN SELECT RAISE(ABORT, 'the entry does not follow the head of the ledger'); END"
    ),
}
_PRAGMAS = ("synchronous=FULL", "recursive_triggers=ON", "trusted_schema=OFF", "cell_size_check=ON")


@dataclass(frozen=True)
class Sqlite:
    """A ledger in a file."""

    path: Path

    noun: ClassVar = "file"
    # SQLite quotes a damaged schema in its message, and Python fails to decode that.
    errors: ClassVar[tuple[type[Exception], ...]] = (DBAPIError, sqlite3.Error, UnicodeDecodeError)
    guards: ClassVar = tuple(GUARDS)

    @property
    def place(self) -> str:
        """Name in messages."""
        return str(self.path)

    def exists(self) -> bool:
        """Whether a ledger, or something in its place, is there."""
        return self.path.exists()

    def create(self, tables: MetaData) -> None:
        """Make a ledger as a whole, unless there is one; of several processes that do so at once, one wins."""
        # Made beside its place and linked there when complete: a crash leaves no half-made ledger, and an existing
        # file is never taken for a new one.
        handle, name = tempfile.mkstemp(prefix=".ledger-", dir=self.path.parent)
        os.close(handle)
        try:
            with closing(sqlite3.connect(name)) as draft:
                draft.execute("PRAGMA journal_mode=WAL")
            engine = Sqlite(Path(name)).connect()
            with engine.begin() as connection:
                tables.create_all(connection)
                for statement in (*GUARDS.values(), f"PRAGMA user_version={FORMAT}"):
                    connection.exec_driver_sql(statement)
            # Closing would empty the write-ahead log too, but not say if that failed.
            with closing(engine.raw_connection()) as raw:
                if raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    raise sqlite3.OperationalError
            with suppress(FileExistsError):
                self.path.hardlink_to(name)
            sync_folder(self.path.parent)
        finally:
            for leftover in ("", "-wal", "-shm"):
                Path(name + leftover).unlink(missing_ok=True)

    def connect(self) -> Engine:
        """An engine on an existing file; a connection begins as the only writer where its option ``write`` is set."""

        def open_file() -> sqlite3.Connection:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=_LOCK_WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            # A damaged file may hold other text than UTF-8; the entry's hash then shows the damage.
            connection.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            return connection

        engine = create_engine("sqlite://", creator=open_file, poolclass=NullPool, hide_parameters=True)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            write = connection.get_execution_options().get("write", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    def format_of(self, connection: Connection) -> object:
        """Format of the ledger's table; None where there is none."""
        tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master WHERE type='table' AND name='entry'")
        return connection.exec_driver_sql("PRAGMA user_version").scalar_one() if tables.scalar_one() == 1 else None

    def changed_guards(self, connection: Connection) -> list[str] | None:
        """Guards that were removed or changed; empty where some were added, None where all are as created."""
        triggers = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type='trigger'").tuples()
        found = dict(triggers.all())
        return None if found == GUARDS else sorted(name for name in GUARDS if found.get(name) != GUARDS[name])

    def pages_agree(self, connection: Connection) -> bool:
        """Whether pages and indexes are sound."""
        return bool(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() == "ok")

    def fault_of(self, error: Exception) -> Fault | tuple[str, str]:
        """Meaning of a database error: a fault, or what is wrong with the file and what to do."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, UnicodeDecodeError):
            return DAMAGED
        unknown = "the disk or the system refused", "Check the disk, its quota and the permissions."
        return _FAULTS.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, unknown)


_FAULTS: dict[int, Fault | tuple[str, str]] = {
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: FOREIGN,
    sqlite3.SQLITE_ERROR: FOREIGN,
    sqlite3.SQLITE_CONSTRAINT: REFUSED,
    sqlite3.SQLITE_FULL: ("the disk is full", "Free space on the ledger's disk and run again."),
    sqlite3.SQLITE_BUSY: ("another process keeps it locked", "Wait until the other process ends and run again."),
    sqlite3.SQLITE_READONLY: ("it is read-only", "Make the ledger and its folder writable."),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "Check the path and its permissions."),
}
