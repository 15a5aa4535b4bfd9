"""The check of a hash chain and its signatures, row by row; pure.

It finds an edited row, a missing row and a broken link by itself. Rows cut off at the end leave a valid, shorter
chain; only a head's number and hash noted outside the ledger shows that they are gone. A chain that was recomputed from
some row on breaks the next signature in it; a chain without signatures, or with other keys, is found by a head or a
key's fingerprint noted outside, or by documents that name its heads (``tasks.ledger.anchors``).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Never

from tasks.core.errors import TamperingFound
from tasks.ledger.anchors import Anchor, AnchorCheck
from tasks.ledger.entry import GENESIS, Head, Row
from tasks.ledger.signing import KeyBook, UnsoundEntry


@dataclass(frozen=True)
class Checkpoints:
    """Facts about a ledger that were noted outside it."""

    heads: Mapping[int, str] = field(default_factory=dict)
    """Hashes of entries, by sequence. Without them, a cut end is not found."""
    fingerprints: Collection[str] = ()
    """Of people's keys. Without them, a ledger that was rewritten with other keys, or with none, is not found."""

    def __len__(self) -> int:
        return len(self.heads) + len(self.fingerprints)


@dataclass(frozen=True)
class Examination:
    """All rows of a ledger and the result of its verification; for auditing broken ledgers too."""

    rows: tuple[Row, ...]
    """All rows that can be read, in order; those after a wrong one included."""
    head: Head
    """The last row found right."""
    signatures: int
    keys: int
    """Keys registered up to there."""
    problem: TamperingFound | None
    """The first problem; None where there is none."""
    broken_at: int | None
    """Number of the first wrong entry; None where entries are right, and guards or file are not."""


class ChainCheck:
    """Follows a chain from its first row and stops at the first that is wrong.

    Parameters
    ----------
    checkpoints : Checkpoints
    documents : sequence of Anchor
        Documents that name its entries.
    """

    def __init__(self, checkpoints: Checkpoints, documents: Sequence[Anchor] = ()) -> None:
        self._checkpoints = checkpoints
        self._documents = AnchorCheck(documents) if documents else None
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
            _refuse("an entry of the ledger is out of order", row.sequence, f"entry {due}", "a different number")
        if not row.is_intact():
            _refuse(
                "an entry of the ledger was edited", due, "fields that give the recorded SHA-256", "a different SHA-256"
            )
        if row.prev_sha256 != self.head.sha256:
            before = f"the SHA-256 of entry {due - 1}" if due > 1 else "the start of the chain"
            _refuse("the chain of the ledger is broken", due, f"a link to {before}", "a link to something else")
        if self._checkpoints.heads.get(due, row.sha256) != row.sha256:
            _refuse("the ledger was rewritten", due, "the SHA-256 noted outside the ledger", "a different SHA-256")
        try:
            self.keys.add(row)
        except UnsoundEntry as unsound:
            _refuse(unsound.what, due, unsound.expected, unsound.got)
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
            If a noted entry lies beyond the last row or cannot exist, a noted key was never registered, or a document
            names entries that are not in the ledger.
        """
        count = self.head.sequence
        if self._checkpoints.heads.get(0, GENESIS) != GENESIS or min(self._checkpoints.heads, default=0) < 0:
            _refuse(
                "an anchor names an entry that cannot exist", 0, "a number from 1 and its SHA-256", "a different number"
            )
        last = max(self._checkpoints.heads, default=0)
        if last > count:
            _refuse("the end of the ledger is missing", count + 1, f"at least {last} entries", f"{count} entries")
        if self.keys.missing(self._checkpoints.fingerprints):
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
