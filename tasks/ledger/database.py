"""Common part of the ledger's two databases: what a dialect must provide, and the errors that both raise."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from tasks.core.errors import ReleasegateError, TamperingFound, WorkspaceError

FORMAT = 2
"""Version of the table."""


class Fault(Enum):
    """Database errors that show something else than an unusable database."""

    DAMAGED = "pages cannot be read"
    FOREIGN = "not a ledger"
    REFUSED = "a guard or a constraint refused an entry"


class Database(ABC):
    """A place that holds a ledger, or is to hold one."""

    noun: str
    """The place in messages."""
    errors: tuple[type[Exception], ...] = (DBAPIError,)
    """Errors that a call on the database can raise; ``translate`` turns them into the gate's own."""
    guards: Mapping[str, object]
    """Triggers that make the ledger append-only, by name."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Name in messages: a path, or a server and a database; never a password."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether a ledger, or something in its place, is there."""

    @abstractmethod
    def create(self, make_tables: Callable[[Connection], None]) -> None:
        """Make a ledger, whole or not at all, unless there is one; of several processes that do so at once, one wins.

        Parameters
        ----------
        make_tables : callable
            Makes the tables; the guards that keep them append-only are the database's own.
        """

    @abstractmethod
    def connect(self) -> Engine:
        """An engine on an existing ledger; a connection begins as the only writer where its option ``write`` is set.

        Any other transaction sees one state of the ledger from beginning to end.
        """

    @abstractmethod
    def format_of(self, connection: Connection) -> object:
        """Format of the ledger's table; None where there is none."""

    @abstractmethod
    def changed_guards(self, connection: Connection) -> list[str] | None:
        """Guards that were removed or changed; empty where some were added, None where all are as created."""

    @abstractmethod
    def pages_agree(self, connection: Connection) -> bool:
        """Whether the storage of the entries is sound: pages, indexes, constraints."""

    @abstractmethod
    def fault_of(self, error: Exception) -> Fault | tuple[str, str]:
        """Kind of a database error, or why the database cannot be used and what to do."""

    def check_format(self, connection: Connection) -> None:
        """Check that the database holds a ledger of this version.

        Raises
        ------
        TamperingFound
            If it holds none.
        WorkspaceError
            If another version of the program wrote it.
        """
        found = self.format_of(connection)
        if found is None:
            raise self.tampered(Fault.FOREIGN)
        if found != FORMAT:
            raise WorkspaceError(
                "the ledger was written by another version of the program",
                where=self.place,
                expected=f"ledger format {FORMAT}",
                got=f"format {found}",
                fix="Use the version of releasegate that wrote it.",
            )

    def check_guards(self, connection: Connection) -> None:
        """Check that the guards that make the ledger append-only are as created, and no others.

        Raises
        ------
        TamperingFound
        """
        changed = self.changed_guards(connection)
        if changed is not None:
            raise TamperingFound(
                "the guards that make the ledger append-only were changed",
                where=self.place,
                expected=f"the triggers {', '.join(self.guards)} and the table's keys as they were created",
                got=f"removed or changed: {', '.join(changed)}" if changed else "further triggers",
                fix="Stop releasing; verify the ledger, restore it from a backup and find out who changed it.",
            )

    def check_pages(self, connection: Connection) -> None:
        """Check the storage of the entries.

        Raises
        ------
        TamperingFound
        """
        if not self.pages_agree(connection):
            raise self.tampered(Fault.DAMAGED, "pages or indexes, beside entries that are right,")

    def translate(self, error: Exception, reading: int | None = None) -> ReleasegateError:
        """The gate's own error for a database error, without its text, which may quote what is stored.

        Parameters
        ----------
        error : Exception
        reading : int, optional
            Number of the entry that was being read.
        """
        fault = self.fault_of(error)
        if isinstance(fault, Fault):
            return self.tampered(fault) if reading is None else self.tampered(Fault.DAMAGED, f"entry {reading}")
        got, fix = fault
        return WorkspaceError(
            "the ledger cannot be used", where=self.place, expected=f"a writable {self.noun}", got=got, fix=fix
        )

    def tampered(self, fault: Fault, unreadable: str = "pages") -> TamperingFound:
        """The error for a place that holds something else, a refused entry, or changed bytes."""
        if fault is Fault.FOREIGN:
            return TamperingFound(
                f"the {self.noun} is not a ledger",
                where=self.place,
                expected="a database written by releasegate",
                got="something else",
                fix="Name the ledger's own place, or restore it from a backup.",
            )
        if fault is Fault.REFUSED:
            return TamperingFound(
                "the ledger refused an entry",
                where=self.place,
                expected="an entry that follows the last one",
                got="one that does not, or a change of what is recorded",
                fix="Verify the ledger before anything else is released.",
            )
        return TamperingFound(
            f"the ledger {self.noun} is damaged",
            where=self.place,
            expected="pages, indexes and entries that agree",
            got=f"{unreadable} that cannot be read",
            fix="Stop releasing; restore the ledger from a backup and find out what changed it.",
        )
