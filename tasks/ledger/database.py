"""Interface between the ledger and its database; implemented for SQLite and PostgreSQL."""

from collections.abc import Callable
from typing import Protocol

from sqlalchemy import Connection, Engine

from tasks.core.errors import ReleasegateError, TamperingFound

FORMAT = 2
"""Version of the table. Format 1 had no signatures; a file of it is brought up to date when it is opened."""


class Database(Protocol):
    """One place that holds a ledger, or is to hold one."""

    @property
    def place(self) -> str:
        """Name in messages: a path, or a server and a database; never a password."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Errors that a call on the database can raise; ``translate`` turns them into ours."""

    def exists(self) -> bool:
        """Whether a ledger, or something in its place, is there."""

    def create(self, make_tables: Callable[[Connection], None]) -> None:
        """Make a ledger, whole or not at all, unless there is one; of several processes that do so at once, one wins.

        Parameters
        ----------
        make_tables : callable
            Makes the tables; the guards that keep them append-only are the database's own.
        """

    def connect(self) -> Engine:
        """An engine on an existing ledger; a connection begins as the only writer where its option ``write`` is set.

        Any other transaction sees one state of the ledger from beginning to end.
        """

    def check_format(self, connection: Connection) -> int:
        """The format of a ledger, ``FORMAT`` or one that `migrate` knows.

        Raises
        ------
        TamperingFound
            If the database holds no ledger.
        WorkspaceError
            If another version of the program wrote it.
        """

    def migrate(self, connection: Connection) -> None:
        """Bring a ledger of an earlier format up to date, within a writing transaction; hashes stay what they are."""

    def check_guards(self, connection: Connection) -> None:
        """Check that the guards that make the ledger append-only are as they were created, with none added.

        Raises
        ------
        TamperingFound
            If a guard was removed, changed or added.
        """

    def check_pages(self, connection: Connection) -> None:
        """Check the storage of the entries: pages, indexes, constraints.

        Raises
        ------
        TamperingFound
            If the database's own check finds damage.
        """

    def damaged(self, got: str) -> TamperingFound:
        """The error of a ledger whose bytes were changed after the database wrote them."""

    def unreadable(self, error: Exception, sequence: int) -> ReleasegateError:
        """Our error for one of the database's that came while an entry was read to be verified."""

    def translate(self, error: Exception) -> ReleasegateError:
        """Our error for one of the database's, without its text, which may quote what is stored."""


def no_ledger(place: str) -> TamperingFound:
    """The error of a place that holds something else."""
    return TamperingFound(
        "the file is not a ledger" if "://" not in place else "the database holds no ledger",
        where=place,
        expected="a database written by releasegate",
        got="something else",
        fix="Name the ledger's own place, or restore it from a backup.",
    )


def refused_entry(place: str) -> TamperingFound:
    """The error of an entry that a guard or a constraint refused."""
    return TamperingFound(
        "the ledger refused an entry",
        where=place,
        expected="an entry that follows the last one",
        got="one that does not, or a change of what is recorded",
        fix="Verify the ledger before anything else is released.",
    )


def changed_guards(place: str, expected: str, odd: list[str]) -> TamperingFound:
    """The error of guards that are not those a ledger was created with.

    Parameters
    ----------
    place : str
    expected : str
        Guards that a ledger has.
    odd : list of str
        Names of the guards that were removed or changed; empty where there are further ones.
    """
    return TamperingFound(
        "the guards that make the ledger append-only were changed",
        where=place,
        expected=expected,
        got=f"removed or changed: {', '.join(odd)}" if odd else "further triggers",
        fix="Stop releasing; verify the ledger, restore it from a backup and find out who changed it.",
    )
