"""Decisions that are made anew, since the same party now holds other copies than those that they were made beside.

The entry of a decision lists the ledger's entries of all copies that the party holds, by their sequence. A blocked
decision no longer stands once one of these is revoked; one that awaits review, once another copy is released to the
party, since its approval would be refused. The same inputs are then decided once more, as a release that is named by
the entries of the earlier decision and of these changes. Any other decision stands.
"""

from collections.abc import Collection, Iterable

from tasks.core.canonical import digest
from tasks.decision.earlier_facts import CopyChange, EarlierDecision
from tasks.decision.overrides import inputs_of
from tasks.decision.record import Verdict
from tasks.ledger.entry import Entry, Event


def change_to(decided: Entry, released: Entry, revoked: Entry | None) -> CopyChange | None:
    """The change of a copy held by the same party after which a decision no longer stands; None where it does."""
    beside = decided.body.get("beside", [])
    known = isinstance(beside, list) and released.sequence in beside
    verdict = decided.body["decision"]
    entry = None
    if verdict == Verdict.BLOCKED and known:
        entry = revoked
    elif verdict == Verdict.AWAITING_REVIEW and not known and revoked is None:
        entry = released
    if entry is None:
        return None
    return CopyChange(
        release_id=str(entry.release_id),
        recipient=str(entry.recipient),
        change="revoked" if entry is revoked else "released",
        at=entry.at,
        entry_sha256=entry.sha256,
    )


def redecision_id(inputs: str, entries: Collection[str]) -> str:
    """Name of a release that is decided again: equal for equal inputs and ledger entries, and for nothing else."""
    return digest({"inputs": inputs, "since": sorted(entries)})


def is_redecision(
    before: EarlierDecision, release_id: str, inputs: str, recipient: str, entries: Iterable[Entry]
) -> bool:
    """Whether the ledger's ``entries`` before a decision record the one that it replaces, and why that does not stand.

    Decisions, releases and revocations suffice, oldest first.
    """
    by_hash = {entry.sha256: entry for entry in entries}
    known = {(one.event, one.release_id, one.recipient): one for one in by_hash.values()}
    decided = [
        one
        for one in by_hash.values()
        if one.event is Event.DECIDED and one.recipient == recipient and inputs_of(one) == inputs
    ]
    last = decided[-1] if decided else None
    if last is None or (last.sha256, last.release_id) != (before.entry_sha256, before.release_id):
        return False

    def is_recorded(change: CopyChange) -> bool:
        released, revoked = (
            known.get((event, change.release_id, change.recipient)) for event in (Event.RELEASED, Event.REVOKED)
        )
        return released is not None and change_to(last, released, revoked) == change

    named = {before.entry_sha256, *(one.entry_sha256 for one in before.changes)}
    return (
        last.body["decision"] == before.decision
        and release_id == redecision_id(inputs, before.entries)
        and named <= set(before.entries) <= by_hash.keys()
        and bool(before.changes)
        and all(map(is_recorded, before.changes))
    )
