"""The check of a hash chain and its signatures, row by row, and of documents outside the ledger that name its entries.

It finds an edited row, a missing row and a broken link by itself. Rows cut off at the end leave a valid, shorter
chain; only a head's number and hash noted outside the ledger shows that they are gone. A chain that was recomputed from
some row on breaks the next signature in it; a chain without signatures, or with other keys, is found by a head or a
key's fingerprint noted outside, or by anchors: documents that name its heads.

A decision record names the head of the ledger of its time by its hash, and with its own digest the entry that decided
it. A determination's signature names the head when it was made, with its number, and with the file's SHA-256 the entry
of the signature. A matching anchor shows that every entry up to its own is unchanged, since each holds the hash of the
one before it. So the first change lies between the last entry that an anchor confirms and the first that an anchor
contradicts. Pure: anchors are given, rows are seen one by one.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tasks.core.errors import TamperingFound
from tasks.ledger.entry import GENESIS, Event, Head, Row, broken, moment
from tasks.ledger.signing import KeyBook, UnsoundEntry

_SHOWN = 5


@dataclass(frozen=True)
class Anchor:
    """The entries that one document names."""

    source: str
    """Name of the document in messages: its path."""
    release_id: str
    recipient: str
    head: str
    """SHA-256 of the last entry before the decision was made."""
    record_sha256: str
    """Digest of the decision, which its ``decided`` entry names."""
    signed_head: Head | None = None
    """Last entry before the document was signed; None for one that is not signed, or names none."""
    signed_sha256: str | None = None
    """SHA-256 of the signed document, which its ``signed`` entry names."""


class AnchorCheck:
    """Follows the rows of a chain that is right in itself, and then checks the anchors."""

    def __init__(self, anchors: Sequence[Anchor]) -> None:
        self._anchors = anchors
        self._named = {one.head for one in anchors} | {one.signed_head.sha256 for one in anchors if one.signed_head}
        self._releases = {anchor.release_id for anchor in anchors}
        self._places = {GENESIS: 0}
        self._decided: dict[tuple[str | None, str | None], dict[object, int]] = defaultdict(dict)
        self._signed: set[object] = set()
        self._count = 0

    def see(self, row: Row) -> None:
        """Take the next row."""
        self._count = row.sequence
        if row.sha256 in self._named:
            self._places[row.sha256] = row.sequence
        if row.release_id in self._releases:
            body = row.object_in_body() or {}
            if row.event == Event.SIGNED:
                self._signed.add(body.get("signed_sha256"))
            elif row.event == Event.DECIDED:
                self._decided[row.release_id, row.recipient][body.get("record_sha256")] = row.sequence

    def finish(self) -> None:
        """Check all anchors; the place in TamperingFound names the entries among which the first change lies."""
        wrong = [(anchor, reason, by) for anchor in self._anchors for reason, by in self._mismatches(anchor)]
        if not wrong:
            return
        confirmed = max((place for anchor in self._anchors for place in self._confirmed(anchor)), default=0)
        places = [by for _, _, by in wrong if by is not None]
        forged = [by for by in places if by <= confirmed]
        shown = [f"{anchor.source}: {reason}" for anchor, reason, _ in wrong[:_SHOWN]]
        if len(wrong) > _SHOWN:
            shown.append(f"and {len(wrong) - _SHOWN} more")
        if forged:
            shown.append(
                f"but other documents confirm entry {confirmed} and all before it: those that contradict it may be "
                "forged"
            )
        raise TamperingFound(
            "the ledger does not match documents kept outside it: it was rewritten, or its end was cut off"
            if any(anchor.signed_head is not None for anchor, _, _ in wrong)
            else "the ledger and documents outside it contradict each other: one or the other was rewritten or cut",
            where=f"the documents that are named; other documents confirm the ledger up to entry {confirmed}"
            if len(forged) == len(wrong)
            else _between(confirmed, min((by for by in places if by > confirmed), default=None), self._count),
            expected="the entries that decision records and signed determinations name",
            got="; ".join(shown),
            fix="stop releasing; restore the ledger from a backup, verify it with the same anchors, and find out who "
            "changed it.",
        )

    def _mismatches(self, anchor: Anchor) -> Iterator[tuple[str, int | None]]:
        decided = self._decided.get((anchor.release_id, anchor.recipient), {})
        entry, place = decided.get(anchor.record_sha256), self._places.get(anchor.head)
        if entry is None:
            other = max(decided.values(), default=None)
            differs = "no entry records" if other is None else f"entry {other} does not record"
            yield f"{differs} the decision that it holds", other
        if place is None:
            before = "" if entry is None else f" before entry {entry}, which records its decision"
            yield f"the head that it names is not in the ledger{before}", entry and entry - 1
        elif entry is not None and place >= entry:
            yield f"its decision is entry {entry}, but it names a later head", entry
        head = anchor.signed_head
        if head is not None and head.sequence > self._count:
            reason = f"it was signed when there were {head.sequence} entries, and now there are {self._count}"
            yield reason, self._count + 1
        elif head is not None and self._places.get(head.sha256) != head.sequence:
            yield f"entry {head.sequence} is not the one that it names", head.sequence
        if anchor.signed_sha256 is not None and anchor.signed_sha256 not in self._signed:
            yield "no entry records its signature", None

    def _confirmed(self, anchor: Anchor) -> list[int]:
        """Entries that the anchor shows to be unchanged."""
        head, place = anchor.signed_head, self._places.get(anchor.head)
        signed = [head.sequence] if head is not None and self._places.get(head.sha256) == head.sequence else []
        return signed if place is None else [place, *signed]


def _between(confirmed: int, changed_by: int | None, count: int) -> str:
    first = confirmed + 1
    if first > count:
        return f"after ledger entry {count}, the last"
    if changed_by is None:
        return f"ledger entry {first} or after"
    return f"ledger entry {first}" if changed_by <= first else f"ledger entries {first} to {changed_by}"


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
    """Follows a chain from its first row and stops at the first that is wrong; documents name entries of it."""

    def __init__(self, checkpoints: Checkpoints, documents: Sequence[Anchor] = ()) -> None:
        self._checkpoints = checkpoints
        self._documents = AnchorCheck(documents) if documents else None
        self.keys = KeyBook()
        """The keys registered so far."""
        self.signatures = 0
        """Number of signatures found right."""
        self.head = Head(0, GENESIS)
        """The last row found right."""
        self._times: tuple[datetime | None, datetime | None] = (None, None)
        """Decision time of the last row, and writing time of the last row that states one."""

    @property
    def is_cut(self) -> bool:
        """Whether a noted entry lies beyond the last row found right."""
        return max(self._checkpoints.heads, default=0) > self.head.sequence

    def add(self, row: Row) -> None:
        """Check the next row in order of sequence; TamperingFound where it does not continue the chain."""
        due = self.head.sequence + 1
        if isinstance(row.sequence, int) and row.sequence > due:
            got = f"entry {row.sequence} in its place"
            raise broken("an entry of the ledger is missing", due, f"entry {due}", got)
        if row.sequence != due:
            raise broken("an entry of the ledger is out of order", row.sequence, f"entry {due}", "a different number")
        row.check_intact()
        if row.prev_sha256 != self.head.sha256:
            link = f"a link to {f'the SHA-256 of entry {due - 1}' if due > 1 else 'the start of the chain'}"
            raise broken("the chain of the ledger is broken", due, link, "a link to something else")
        if self._checkpoints.heads.get(due, row.sha256) != row.sha256:
            noted = "the SHA-256 noted outside the ledger"
            raise broken("the ledger was rewritten", due, noted, "a different SHA-256")
        self._check_times(row)
        try:
            self.keys.add(row)
        except UnsoundEntry as unsound:
            raise broken(unsound.what, due, unsound.expected, unsound.got) from None
        self.signatures += row.signature is not None
        if self._documents is not None:
            self._documents.see(row)
        self.head = Head(due, row.sha256)

    def _check_times(self, row: Row) -> None:
        """Refuse times of decision or writing before the last entry's; entries of earlier versions state one only."""
        decided, stated = moment(row.at), row.stated_recorded_at()
        recorded, (last, last_recorded) = moment(stated), self._times
        if stated is not None and (
            decided is None
            or recorded is None
            or recorded < max(decided, last_recorded or decided)
            or decided < (last or decided)
        ):
            expected = "times of decision and of writing, neither before the last entry's, nor writing before decision"
            raise broken("the times of the ledger run backwards", row.sequence, expected, "an earlier time, or none")
        self._times = decided, recorded or last_recorded

    def finish(self) -> int:
        """Check that nothing is missing at the end; returns the number of entries verified.

        TamperingFound says that a noted entry lies beyond the last row or cannot exist, a noted key was never
        registered, or a document names entries that are not in the ledger.
        """
        count, heads = self.head.sequence, self._checkpoints.heads
        if heads.get(0, GENESIS) != GENESIS or min(heads, default=0) < 0:
            impossible = "an anchor names an entry that cannot exist"
            raise broken(impossible, 0, "a number from 1 and its SHA-256", "a different number")
        last = max(heads, default=0)
        if last > count:
            expected = f"at least {last} entries"
            raise broken("the end of the ledger is missing", count + 1, expected, f"{count} entries")
        if not {key.fingerprint for key in self.keys.keys}.issuperset(self._checkpoints.fingerprints):
            missing = "a key that was noted outside the ledger is not in it"
            raise broken(missing, count, "its registration", "none")
        if self._documents is not None:
            self._documents.finish()
        return count
