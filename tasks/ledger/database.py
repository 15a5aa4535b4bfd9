"""Common part of the ledger's two databases: the version of its table, and errors that are no errors of the disk."""

from typing import NamedTuple

from tasks.core.errors import TamperingFound

FORMAT = 2
"""Version of the table."""


class Fault(NamedTuple):
    """A database error that shows a foreign or damaged ledger, or a refused entry; “{}” stands for file or database."""

    what: str
    expected: str
    got: str
    fix: str

    def found(self, noun: str, where: str) -> TamperingFound:
        """The error for a place, which is a `noun`."""
        return TamperingFound(
            self.what.format(noun), where=where, expected=self.expected, got=self.got, fix=self.fix.format(noun)
        )


def damaged(unreadable: str = "pages") -> Fault:
    """The fault of bytes that changed."""
    return Fault(
        "the ledger {} is damaged",
        "pages, indexes and entries that agree",
        f"{unreadable} that cannot be read",
        "Stop releasing; restore the ledger from a backup and find out what changed it.",
    )


DAMAGED = damaged()
FOREIGN = Fault(
    "the {} is not a ledger",
    "a database written by releasegate",
    "something else",
    "Name the ledger's own place, or restore it from a backup.",
)
REFUSED = Fault(
    "the ledger refused an entry",
    "an entry that follows the last one",
    "one that does not, or a change of what is recorded",
    "Verify the ledger before anything else is released.",
)
