"""The check of a hash chain and its signatures, row by row; pure.

It finds an edited row, a missing one and a broken link by itself. Rows cut off at the end leave a valid, shorter chain;
only an anchor, a head's number and hash kept outside the ledger, shows that they are gone. A chain that was computed
anew from some row on breaks the next signature in it; one without signatures, or with other keys, shows against an
anchor or a key's fingerprint kept outside, or against documents that name its heads (``tasks.ledger.anchors``).
"""

from collections.abc import Collection, Mapping
from typing import Never

from tasks.errors import TamperingFound
from tasks.ledger.anchors import AnchorCheck
from tasks.ledger.entry import GENESIS, Head, Row
from tasks.ledger.signing import KeyBook


class ChainCheck:
    """Follows a chain from its first row and stops at the first that is wrong.

    Parameters
    ----------
    anchors : mapping of int to str
        Hashes of entries, by sequence, that were noted outside the ledger.
    fingerprints : collection of str
        Of keys that must have been registered, noted outside the ledger.
    documents : AnchorCheck, optional
        Of documents that name its entries.
    """

    def __init__(
        self, anchors: Mapping[int, str], fingerprints: Collection[str] = (), documents: AnchorCheck | None = None
    ) -> None:
        self._anchors = anchors
        self._documents = documents
        self._fingerprints = fingerprints
        self.keys = KeyBook()
        """The keys registered so far."""
        self.signatures = 0
        """Number of signatures found right."""
        self.head = Head(0, GENESIS)
        """The last row found right."""

    def add(self, row: Row) -> None:
        """Check the next row in order of sequence.

        Raises
        ------
        TamperingFound
            If the row is not the one that continues the chain.
        """
        due = self.head.sequence + 1
        if row.sequence != due:
            if isinstance(row.sequence, int) and row.sequence > due:
                _refuse("an entry of the ledger is missing", due, f"entry {due}", f"entry {row.sequence} in its place")
            _refuse("an entry of the ledger is out of order", row.sequence, f"entry {due}", "another number")
        if not row.is_intact():
            _refuse(
                "an entry of the ledger was edited", due, "fields that give the recorded SHA-256", "another SHA-256"
            )
        if row.prev_sha256 != self.head.sha256:
            before = f"the SHA-256 of entry {due - 1}" if due > 1 else "the start of the chain"
            _refuse("the chain of the ledger is broken", due, f"a link to {before}", "a link to something else")
        if self._anchors.get(due, row.sha256) != row.sha256:
            _refuse("the ledger was rewritten", due, "the SHA-256 noted outside the ledger", "another SHA-256")
        problem = self.keys.add(row)
        if problem is not None:
            _refuse(problem.what, due, problem.expected, problem.got)
        if row.signature is not None:
            self.signatures += 1
        if self._documents is not None:
            self._documents.see(row)
        self.head = Head(due, row.sha256)

    def finish(self) -> int:
        """Check that nothing is missing at the end, and count.

        Returns
        -------
        int
            Number of entries verified.

        Raises
        ------
        TamperingFound
            If an anchored entry lies beyond the last row, an anchor names no possible entry, a key that was noted
            outside the ledger was never registered, or a document names entries that are not in it.
        """
        count = self.head.sequence
        if self._anchors.get(0, GENESIS) != GENESIS or min(self._anchors, default=0) < 0:
            _refuse("an anchor names an entry that cannot exist", 0, "a number from 1 and its SHA-256", "another")
        last = max(self._anchors, default=0)
        if last > count:
            _refuse("the end of the ledger is missing", count + 1, f"at least {last} entries", f"{count} entries")
        if self.keys.missing(self._fingerprints):
            _refuse("a key that was noted outside the ledger is not in it", count, "its registration", "none")
        if self._documents is not None:
            self._documents.finish()
        return count


def _refuse(what: str, sequence: object, expected: str, got: str) -> Never:
    raise TamperingFound(
        what,
        where=f"ledger entry {sequence}",
        expected=expected,
        got=got,
        fix="Stop releasing; restore the ledger from a backup and find out who changed it.",
    )
