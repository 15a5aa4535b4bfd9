"""The ledger: an append-only, hash-chained record of every request, decision, release and refusal.

An edited, removed or inserted row, a rewritten link and damaged bytes are detected. A person who can write the file can
also rewrite all of it, or cut its end; only a head noted elsewhere shows that, so every signed report carries one, and
the decision records of a bundle name the head at their time.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import BigInteger, Column, Connection, Index, Integer, MetaData, Select, Table, Text, func, select
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import DBAPIError

from tasks.core.errors import BadInput, ReleasegateError, TamperingFound, WorkspaceError
from tasks.ledger.chain import Anchor, ChainCheck, Checkpoints, Examination
from tasks.ledger.database import FOREIGN, FORMAT, damaged
from tasks.ledger.databases import Database, database_at, translated, translation
from tasks.ledger.entry import (
    GENESIS,
    Entry,
    EntryFilter,
    Event,
    Head,
    Row,
    broken,
    check_clock,
    moment,
    new_row,
    times_after,
)
from tasks.ledger.signing import KEY_EVENTS, PERSONAL, KeyBook, RegisteredKey, Signer, UnsoundEntry

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


class Ledger(AbstractContextManager["Ledger"]):
    """An open ledger. Made by `open`; use it as a context manager.

    It may be used from several threads, one at a time, and the file by several processes at once.
    """

    def __init__(
        self, database: Database, committed: Callable[[Head], object], clock: Callable[[], datetime] | None
    ) -> None:
        self._database, self._committed, self._clock = database, committed, clock
        self._appended: tuple[Head, datetime] | None = None
        """The last entry of the open transaction, and the time that was given for it."""
        self._not_before: datetime | None = None
        """Time of the last entry when the ledger was opened, or the last time that was given since."""
        self._engine = database.connect()
        self._connection = self._engine.connect()
        self._lock = threading.RLock()

    @property
    def place(self) -> str:
        """Name in messages: a path, or a server and a database; never a password."""
        return self._database.place

    @classmethod
    def open(
        cls,
        place: Path | str,
        *,
        create: bool = True,
        committed: Callable[[Head], object] = lambda _head: None,
        clock: Callable[[], datetime] | None = None,
    ) -> Self:
        """Open the ledger at a place: a file, whose folder must exist, or an address as of ``Postgresql.at``.

        ``committed`` is called with the head after each transaction that has appended to it; ``clock`` gives the time
        of writing, which without one is the time that an entry is given.

        A new one is made where there is none and `create` is set; a file is of mode 0600. A WorkspaceError says that it
        is missing, cannot be reached or written, or is of another version, TamperingFound that something else is in its
        place.
        """
        database = database_at(place)
        try:
            with translated(database):
                if not database.exists():
                    if not create:
                        raise WorkspaceError(
                            "there is no ledger",
                            where=database.place,
                            expected="the ledger of the workspace",
                            got=f"no {database.noun} of one",
                            fix="check the path; a ledger that has disappeared must be restored from a backup",
                        )
                    database.create(_METADATA)
                ledger = cls(database, committed, clock)
        except OSError:
            raise WorkspaceError(
                "the ledger cannot be created",
                where=database.place,
                expected="an existing folder that can be written to, with space left",
                got="the system refused",
                fix="check that the folder exists, its permissions and the free space",
            ) from None
        try:
            ledger._check_format()
            with suppress(ReleasegateError), ledger._reading() as connection:  # damage is for `verify` to describe
                ledger._not_before = moment(connection.execute(_NEWEST.with_only_columns(_ENTRY.c.at)).scalar())
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
            with translated(self._database):
                transaction = self._begin(write=True)
            try:
                with translated(self._database):
                    self._check_guards()
                yield
            except BaseException:
                self._appended = None
                with translated(self._database):
                    transaction.rollback()
                raise
            with translated(self._database), transaction:
                pass  # commits on leaving, and rolls back where that fails
            appended, self._appended = self._appended, None
            if appended is not None:
                head, self._not_before = appended
                self._committed(head)

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
        (``signing.PERSONAL``) must be signed. The time of writing is added. An entry is never dated before the last
        one: one that others have appended since this ledger was opened gives it its time, and a time before the one
        found then is refused by a WorkspaceError. BadInput says that it is not signed as it should be; a ValueError is
        that of ``new_row``; others are those of ``transaction``. Nothing is added to a ledger whose last entry was
        edited.
        """
        with self.transaction():
            last = self._entries(_NEWEST.limit(1))
            head = Head(last[0].sequence, last[0].sha256) if last else Head(0, GENESIS)
            check_clock(at, self._appended[1] if self._appended else self._not_before, self.place)
            now = at if self._clock is None else self._clock()
            decided, written = times_after(last[0] if last else None, at, now)
            row = new_row(
                head, event, release_id=release_id, recipient=recipient, actor=actor, body=body, at=decided
            ).written(written)
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
            with translated(self._database):
                self._connection.execute(_ENTRY.insert().values(row._asdict()))
            self._appended = Head(row.sequence, row.sha256), at
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
                fix = "stop releasing; verify the ledger and find out who changed it"
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

    def hash_of(self, sequence: int) -> str | None:
        """The SHA-256 of an entry; GENESIS for 0, None where there is none of this number."""
        if sequence == 0:
            return GENESIS
        with self._reading() as connection:
            return connection.execute(select(_ENTRY.c.sha256).where(_ENTRY.c.sequence == sequence)).scalar()

    def times_backwards(self) -> tuple[int, ...]:
        """Entries that are dated before the one before them, as earlier versions let a clock that was set back do."""
        before = select(_ENTRY.c.sequence, _ENTRY.c.at, func.lag(_ENTRY.c.at).over(order_by=_ENTRY.c.sequence))
        with self._reading() as connection:
            return tuple(number for number, at, last in connection.execute(before) if last is not None and at < last)

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
                    raise translation(self._database, error, reading=read + 1) from None
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
                fix="use the version of releasegate that wrote it",
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
                fix="stop releasing; verify the ledger, restore it from a backup and find out who changed it",
            )

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """The connection within a transaction: the open one, or one of its own that sees one state of the file."""
        with self._lock, translated(self._database):
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
