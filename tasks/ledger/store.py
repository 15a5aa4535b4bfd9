"""The ledger: an append-only, hash-chained record of every request, decision, release and refusal.

An edited, removed or inserted row, a rewritten link and damaged bytes are detected. A person who can write the file can
also rewrite all of it, or cut its end; only a head noted elsewhere shows that, so every signed report carries one, and
the decision records of a bundle name the head at their time.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import BigInteger, Column, Connection, Index, Integer, MetaData, Select, Table, Text, select
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import DBAPIError

from tasks.core.errors import BadInput, ReleasegateError, TamperingFound, WorkspaceError
from tasks.ledger.chain import Anchor, ChainCheck, Checkpoints, Examination
from tasks.ledger.database import FOREIGN, FORMAT, Fault, damaged
from tasks.ledger.entry import GENESIS, Entry, EntryFilter, Event, Head, Row, broken, new_row
from tasks.ledger.postgresql import SCHEMES, Postgresql
from tasks.ledger.signing import KEY_EVENTS, PERSONAL, KeyBook, RegisteredKey, Signer, UnsoundEntry
from tasks.ledger.sqlite import Sqlite

_METADATA = MetaData()
_ENTRY = Table(
    "entry",
    _METADATA,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("release_id", Text),
    Column("recipient", Text),
    Column("actor", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("prev_sha256", Text, nullable=False, unique=True),
    Column("sha256", Text, nullable=False),
    Column("signer", Text),
    Column("signature", Text),
    Index("entry_by_release", "release_id", "recipient"),
)
_ORDERED = select(_ENTRY).order_by(_ENTRY.c.sequence)
_NEWEST = select(_ENTRY).order_by(_ENTRY.c.sequence.desc())
_CHUNK = 1000
_SIGNED_EVENTS = frozenset({*KEY_EVENTS, *PERSONAL})
_NO_CHECKPOINTS = Checkpoints()

Database = Sqlite | Postgresql
"""A place that holds a ledger, or is to hold one."""


class Ledger(AbstractContextManager["Ledger"]):
    """An open ledger. Made by `open`; use it as a context manager.

    It may be used from several threads, one at a time, and the file by several processes at once.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._engine = database.connect()
        self._connection = self._engine.connect()
        self._lock = threading.RLock()

    @property
    def place(self) -> str:
        """Name in messages: a path, or a server and a database; never a password."""
        return self._database.place

    @classmethod
    def open(cls, place: Path | str, *, create: bool = True) -> Self:
        """Open the ledger at a place: a file, whose folder must exist, or an address as of ``Postgresql.at``.

        A new one is made where there is none and `create` is set; a file is of mode 0600. A WorkspaceError says that it
        is missing, cannot be reached or written, or is of another version, TamperingFound that something else is in its
        place.
        """
        database = database_at(place)
        try:
            with _translated(database):
                if not database.exists():
                    if not create:
                        raise WorkspaceError(
                            "there is no ledger",
                            where=database.place,
                            expected="the ledger of the workspace",
                            got=f"no {database.noun} of one",
                            fix="Check the path; a ledger that has disappeared must be restored from a backup.",
                        )
                    database.create(_METADATA)
                ledger = cls(database)
        except OSError:
            raise WorkspaceError(
                "the ledger cannot be created",
                where=database.place,
                expected="an existing folder that can be written to, with space left",
                got="the system refused",
                fix="Check that the folder exists, its permissions and the free space.",
            ) from None
        try:
            ledger._check_format()
        except BaseException:
            ledger.close()
            raise
        return ledger

    def close(self) -> None:
        """Close the database; what is appended is already on disk."""
        self._connection.close()
        self._engine.dispose()

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the appends of a block atomic: all of them are on disk when it ends, or none after an error.

        Other writers wait until it ends. A block within a block is part of the outer one. A WorkspaceError says that
        the disk is full, the file cannot be written, or another process keeps it locked; TamperingFound that the guards
        were changed.
        """
        with self._lock:
            if self._connection.in_transaction():
                yield
                return
            with _translated(self._database):
                transaction = self._begin(write=True)
            try:
                with _translated(self._database):
                    self._check_guards()
                yield
            except BaseException:
                with _translated(self._database):
                    transaction.rollback()
                raise
            with _translated(self._database), transaction:
                pass  # commits on leaving, and rolls back where that fails

    def append(
        self,
        event: Event,
        *,
        release_id: str | None,
        recipient: str | None,
        actor: str,
        body: Mapping[str, object],
        at: datetime,
        signer: Signer | None = None,
    ) -> Entry:
        """Add an entry at the end of the chain; on disk on return, or at the end of the open transaction.

        `release_id` and `recipient` are None where it concerns no release, or all recipients; `actor` caused it; `body`
        is JSON without NaN and holds no data value; `at` has a time zone. Actions of a person with a registered key
        (``signing.PERSONAL``) must be signed. BadInput says that it is not signed as it should be; a ValueError is that
        of ``new_row``; others are those of ``transaction``. Nothing is added to a ledger whose last entry was edited.
        """
        with self.transaction():
            row = new_row(self.head(), event, release_id=release_id, recipient=recipient, actor=actor, body=body, at=at)
            if signer is not None:
                row = signer.sign(row)
            if signer is not None or event in _SIGNED_EVENTS:
                try:
                    self._key_book().add(row)
                except UnsoundEntry as unsound:
                    raise BadInput(
                        unsound.what,
                        where=f"new entry “{row.event}” of the ledger",
                        expected=unsound.expected,
                        got=unsound.got,
                        fix=unsound.fix
                        or "Sign with the key that is registered for this person: releasegate key list.",
                    ) from None
            with _translated(self._database):
                self._connection.execute(_ENTRY.insert().values(row._asdict()))
            return Entry.from_row(row)

    def entries(
        self,
        release_id: str | None = None,
        recipient: str | None = None,
        event: Event | None = None,
        *,
        after: int | None = None,
    ) -> tuple[Entry, ...]:
        """The entries that match every given term, oldest first; `after` a number, only those with a greater one.

        TamperingFound says that one of them was edited. Missing entries are found by `verify`.
        """
        terms = {"release_id": release_id, "recipient": recipient, "event": event}
        matching = _ORDERED.filter_by(**{name: str(term) for name, term in terms.items() if term is not None})
        return self._entries(matching if after is None else matching.where(_ENTRY.c.sequence > after))

    def latest(self, terms: EntryFilter, *, before: int | None = None, limit: int = 50) -> tuple[Entry, ...]:
        """The newest entries that match every given term, newest first, `before` a number where it is given.

        TamperingFound says that one of them was edited.
        """
        columns = _ENTRY.c
        conditions: Sequence[tuple[object, Callable[[Any], Any]]] = (
            (before, lambda number: columns.sequence < number),
            (terms.release, lambda digits: columns.release_id.startswith(digits, autoescape=True)),
            (terms.event, lambda event: columns.event == event.value),
            (terms.first, lambda day: columns.at >= day.isoformat()),
            # Stamps are of one form, so that they sort as text; a letter after the day sorts behind its hours.
            (terms.last, lambda day: columns.at < day.isoformat() + "U"),
        )
        matching = (condition(term) for term, condition in conditions if term is not None)
        return self._entries(_NEWEST.where(*matching).limit(limit))

    def _entries(self, query: Select[tuple[object, ...]]) -> tuple[Entry, ...]:
        with self._reading() as connection:
            return tuple(Entry.from_row(Row(*stored)) for stored in connection.execute(query))

    def registered_keys(self) -> tuple[RegisteredKey, ...]:
        """Every key that was registered, the first one first, with its end.

        TamperingFound says that an entry of one was edited, or is not signed as it should be.
        """
        return self._key_book().keys

    def _key_book(self) -> KeyBook:
        book = KeyBook()
        query = _ORDERED.where(_ENTRY.c.event.in_([event.value for event in KEY_EVENTS]))
        with self._reading() as connection:
            rows = [Row(*stored) for stored in connection.execute(query)]
        for row in rows:
            row.check_intact()
            try:
                book.add(row)
            except UnsoundEntry as unsound:
                fix = "Stop releasing; verify the ledger and find out who changed it."
                raise broken(unsound.what, row.sequence, unsound.expected, unsound.got, fix) from None
        return book

    def head(self) -> Head:
        """Number and hash of the last entry, ``(0, GENESIS)`` if there is none; TamperingFound where it was edited."""
        last = self._entries(_NEWEST.limit(1))
        return Head(last[0].sequence, last[0].sha256) if last else Head(0, GENESIS)

    def sequence_of(self, sha256: str) -> int | None:
        """The sequence of the entry with this hash; 0 for GENESIS, None where no entry has it."""
        if sha256 == GENESIS:
            return 0
        with self._reading() as connection:
            return connection.execute(select(_ENTRY.c.sequence).where(_ENTRY.c.sha256 == sha256)).scalar()

    def verify(self, checkpoints: Checkpoints = _NO_CHECKPOINTS, documents: Sequence[Anchor] = ()) -> int:
        """Check every entry, every link, every signature, the guards and the file; returns the number of entries.

        The documents, decision records and signed determinations, name its entries: a ledger that was rewritten or cut
        does not match them. TamperingFound names the first wrong entry by its sequence and the reason: edited, missing,
        out of order, different from a checkpoint, not properly signed; or, where all entries are right, documents that
        do not match, changed guards or damaged pages.
        """
        found = self._followed(ChainCheck(checkpoints, documents), lambda _: None)
        if found.problem is not None:
            raise found.problem
        return found.head.sequence

    def examine(self, checkpoints: Checkpoints = _NO_CHECKPOINTS) -> Examination:
        """Verify as `verify` does and read everything, of one state of the ledger, raising no problem that is found.

        A WorkspaceError says that the database cannot be reached or read for another reason than that it is damaged.
        """
        rows: list[Row] = []
        return replace(self._followed(ChainCheck(checkpoints), rows.append), rows=tuple(rows))

    def _followed(self, check: ChainCheck, see: Callable[[Row], None]) -> Examination:
        """The first problem of the ledger, if any, while every row that can be read is seen."""
        problem: TamperingFound | None = None
        broken_at: int | None = None
        all_read = False
        try:
            with self._reading() as connection:
                for row in self._rows(connection):
                    see(row)
                    if problem is None:
                        try:
                            check.add(row)
                        except TamperingFound as error:
                            problem, broken_at = error, check.head.sequence + 1
                all_read = True
                if problem is None:
                    check.finish()
                    self._check_guards()
                    if not self._database.pages_agree(connection):
                        fault = damaged("pages or indexes, beside entries that are right,")
                        raise fault.found(self._database.noun, self.place)
        except TamperingFound as error:
            if problem is None:
                problem, broken_at = error, None if all_read and not check.is_cut else check.head.sequence + 1
        return Examination((), check.head, check.signatures, len(check.keys.keys), problem, broken_at)

    def _rows(self, connection: Connection) -> Iterator[Row]:
        """All rows in order; where a chunk cannot be read, one by one up to the first that cannot."""
        size, query, read = _CHUNK, _ORDERED, 0
        while True:
            try:
                with connection.begin_nested():
                    chunk = [Row(*stored) for stored in connection.execute(query.limit(size))]
            except self._database.errors as error:
                if size == 1:
                    raise _translation(self._database, error, reading=read + 1) from None
                size = 1
                continue
            yield from chunk
            if len(chunk) < size:
                return
            read += size
            query = _ORDERED.where(_ENTRY.c.sequence > chunk[-1].sequence)

    def _check_format(self) -> None:
        with self._reading() as connection:
            found = self._database.format_of(connection)
        if found is None:
            raise FOREIGN.found(self._database.noun, self.place)
        if found != FORMAT:
            raise WorkspaceError(
                "the ledger was written by another version of the program",
                where=self.place,
                expected=f"ledger format {FORMAT}",
                got=f"format {found}",
                fix="Use the version of releasegate that wrote it.",
            )

    def _check_guards(self) -> None:
        """Check that the guards that make the ledger append-only are as created, and no others."""
        changed = self._database.changed_guards(self._connection)
        if changed is not None:
            raise TamperingFound(
                "the guards that make the ledger append-only were changed",
                where=self.place,
                expected=f"the triggers {', '.join(self._database.guards)} and the table's keys as they were created",
                got=f"removed or changed: {', '.join(changed)}" if changed else "further triggers",
                fix="Stop releasing; verify the ledger, restore it from a backup and find out who changed it.",
            )

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """The connection within a transaction: the open one, or one of its own that sees one state of the file."""
        with self._lock, _translated(self._database):
            if self._connection.in_transaction():
                yield self._connection
                return
            with self._begin(write=False):
                yield self._connection

    def _begin(self, *, write: bool) -> RootTransaction:
        """Begin a transaction; on a new connection where the server has closed the old one."""
        self._connection.execution_options(write=write)
        try:
            return self._connection.begin()
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            self._connection.close()
            self._connection = self._engine.connect().execution_options(write=write)
            return self._connection.begin()


@contextmanager
def _translated(database: Database) -> Iterator[None]:
    """Translate a database's errors into ours. The caller's code never runs within it."""
    try:
        yield
    except database.errors as error:
        raise _translation(database, error) from None


def _translation(database: Database, error: Exception, reading: int | None = None) -> ReleasegateError:
    """The gate's own error for a database error, without its text, which may quote what is stored."""
    fault = database.fault_of(error)
    if isinstance(fault, Fault):
        return (fault if reading is None else damaged(f"entry {reading}")).found(database.noun, database.place)
    got, fix = fault
    return WorkspaceError(
        "the ledger cannot be used", where=database.place, expected=f"a writable {database.noun}", got=got, fix=fix
    )


def database_at(place: Path | str) -> Database:
    """The database of a place: PostgreSQL for its addresses, or else SQLite. Raises as ``Postgresql.at``."""
    if isinstance(place, str) and place.startswith(SCHEMES):
        return Postgresql.at(place)
    return Sqlite(Path(place))
