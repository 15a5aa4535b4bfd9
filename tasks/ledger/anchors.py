"""Anchors: documents outside the ledger that name its entries, and the check that they still match.

A decision record names the head of the ledger of its time by its hash, and with its own digest the entry that decided
it. A determination's signature names the head when it was made, with its number, and with the file's SHA-256 the entry
of the signature. Rewriting the whole chain, or cutting its end, changes the entries that they name.

A matching anchor shows that every entry up to its own is unchanged, since each holds the hash of the one before it. So
the first change lies between the last entry that an anchor confirms and the first that an anchor contradicts.
Pure: anchors are given, rows are seen one by one.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.core.errors import TamperingFound
from tasks.ledger.entry import GENESIS, Event, Head, Row

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


@dataclass(frozen=True)
class _Misfit:
    """An anchor that does not match: why, and an entry at or before which the ledger differs."""

    reason: str
    by: int | None
    signed: bool


class AnchorCheck:
    """Follows the rows of a chain that is right in itself, and then checks the anchors.

    Parameters
    ----------
    anchors : sequence of Anchor
    """

    def __init__(self, anchors: Sequence[Anchor]) -> None:
        self._anchors = anchors
        self._heads = {anchor.head for anchor in anchors}
        self._numbers = {anchor.signed_head.sequence for anchor in anchors if anchor.signed_head is not None}
        self._releases = {anchor.release_id for anchor in anchors}
        self._places: dict[str, int] = {GENESIS: 0}
        self._hashes: dict[int, str] = {0: GENESIS}
        self._decided: dict[tuple[str | None, str | None], dict[str, int]] = {}
        self._signed: dict[str, int] = {}
        self._count = 0

    def see(self, row: Row) -> None:
        """Take the next row."""
        self._count = row.sequence
        if row.sha256 in self._heads:
            self._places[row.sha256] = row.sequence
        if row.sequence in self._numbers:
            self._hashes[row.sequence] = row.sha256
        if row.release_id in self._releases and row.event == Event.DECIDED:
            own = self._decided.setdefault((row.release_id, row.recipient), {})
            own[_named(row, "record_sha256")] = row.sequence
        elif row.release_id in self._releases and row.event == Event.SIGNED:
            self._signed[_named(row, "signed_sha256")] = row.sequence

    def finish(self) -> None:
        """Check all anchors.

        Raises
        ------
        TamperingFound
            If one does not match; `where` names the entries among which the first change lies.
        """
        misfits = [misfit for anchor in self._anchors for misfit in self._misfits(anchor)]
        if not misfits:
            return
        held = max((place for anchor in self._anchors for place in self._held(anchor)), default=0)
        foreign = [misfit for misfit in misfits if misfit.by is not None and misfit.by <= held]
        missed = [misfit.by for misfit in misfits if misfit.by is not None and misfit.by > held]
        shown = [misfit.reason for misfit in misfits[:_SHOWN]]
        if len(misfits) > _SHOWN:
            shown.append(f"and {len(misfits) - _SHOWN} more")
        if foreign:
            shown.append(
                f"but other documents confirm entry {held} and all before it: those that contradict it may be forged"
            )
        raise TamperingFound(
            "the ledger is not the one that documents outside it name: it was rewritten, or its end was cut off"
            if any(misfit.signed for misfit in misfits)
            else "the ledger and documents outside it contradict each other: one or the other was rewritten or cut",
            where=f"the documents that are named; other documents confirm the ledger up to entry {held}"
            if len(foreign) == len(misfits)
            else _between(held, min(missed, default=None), self._count),
            expected="the entries that decision records and signed determinations name",
            got="; ".join(shown),
            fix="Stop releasing; restore the ledger from a backup, verify it with the same anchors, and find out who "
            "changed it.",
        )

    def _misfits(self, anchor: Anchor) -> list[_Misfit]:
        found = []

        def miss(reason: str, by: int | None) -> None:
            found.append(_Misfit(f"{anchor.source}: {reason}", by, anchor.signed_head is not None))

        decided = self._decided.get((anchor.release_id, anchor.recipient), {})
        entry = decided.get(anchor.record_sha256)
        place = self._places.get(anchor.head)
        if entry is None:
            other = max(decided.values(), default=None)
            differs = "no entry records" if other is None else f"entry {other} does not record"
            miss(f"{differs} the decision that it holds", other)
        if place is None:
            before = "" if entry is None else f" before entry {entry}, which records its decision"
            miss(f"the head that it names is not in the ledger{before}", entry and entry - 1)
        elif entry is not None and place >= entry:
            miss(f"its decision is entry {entry}, but it names a later head", entry)
        head = anchor.signed_head
        if head is not None and head.sequence > self._count:
            reason = f"it was signed when there were {head.sequence} entries, and now there are {self._count}"
            miss(reason, self._count + 1)
        elif head is not None and self._hashes.get(head.sequence) != head.sha256:
            miss(f"entry {head.sequence} is not the one that it names", head.sequence)
        if anchor.signed_sha256 is not None and anchor.signed_sha256 not in self._signed:
            miss("no entry records its signature", None)
        return found

    def _held(self, anchor: Anchor) -> list[int]:
        """Entries that the anchor shows to be unchanged."""
        held = [place for place in (self._places.get(anchor.head),) if place is not None]
        head = anchor.signed_head
        if head is not None and self._hashes.get(head.sequence) == head.sha256:
            held.append(head.sequence)
        return held


def _named(row: Row, key: str) -> str:
    try:
        body = json.loads(row.body)
    except (TypeError, ValueError):
        return ""
    return str(body.get(key)) if isinstance(body, dict) else ""


def _between(held: int, missed: int | None, count: int) -> str:
    first = held + 1
    if first > count:
        return f"after ledger entry {count}, the last"
    if missed is None:
        return f"ledger entry {first} or after"
    return f"ledger entry {first}" if missed <= first else f"ledger entries {first} to {missed}"
