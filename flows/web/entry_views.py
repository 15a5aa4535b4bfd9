"""Entries of the ledger in words, and the people they name. Of an entry's body only the fields listed here are shown.

Paths, commitments and nonces do not help a reader; of a trace only its existence is shown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tasks.audit.history import text, texts
from tasks.core.people import person_key
from tasks.decision.overrides import is_gate_override
from tasks.ledger.entry import Entry, Event

_PEOPLE = ("by", "reviewer", "name", "requested_by")
"""Fields of bodies that name people."""


@dataclass(frozen=True)
class EntryView:
    """An entry as shown on a page."""

    sequence: int
    at: datetime
    event: str
    title: str
    text: str
    who: str
    """The person it names, or else its actor."""
    actor: str
    signed: bool
    release_id: str | None
    recipient: str | None
    sha256: str


def entry_view(entry: Entry) -> EntryView:
    """An entry in words."""
    title, words = _WORDS.get(entry.event, (entry.event.value.capitalize(), _nothing))
    named = [text(entry, name) for name in _PEOPLE]
    return EntryView(
        sequence=entry.sequence,
        at=entry.at,
        event=entry.event.value,
        title=title,
        text=words(entry),
        who=next((name for name in named if name), entry.actor),
        actor=entry.actor,
        signed=entry.signer is not None,
        release_id=entry.release_id,
        recipient=entry.recipient,
        sha256=entry.sha256,
    )


def concerns(entry: Entry, person: str) -> bool:
    """Whether an entry names a person; part of a name is enough."""
    wanted = person_key(person)
    names = (entry.actor, entry.signer, *(text(entry, name) for name in _PEOPLE))
    return any(wanted in person_key(name) for name in names if name)


def _nothing(_entry: Entry) -> str:
    return ""


def _field(name: str, before: str = "") -> Callable[[Entry], str]:
    def words(entry: Entry) -> str:
        found = text(entry, name)
        return f"{before}{found}" if found else ""

    return words


def _requested(entry: Entry) -> str:
    return f"“{text(entry, 'title') or ''}”, requested by {text(entry, 'requested_by') or 'nobody'}"


def _decided(entry: Entry) -> str:
    return f"{(text(entry, 'decision') or '').capitalize()}. {' '.join(texts(entry, 'reasons'))}".strip()


def _voted(entry: Entry) -> str:
    return f"{text(entry, 'reviewer')} has voted. The vote is sealed until all votes are in."


def _reviewed(entry: Entry) -> str:
    return f"{text(entry, 'reviewer')}: {text(entry, 'vote')}. {text(entry, 'reason')}"


def _revoked(entry: Entry) -> str:
    return f"By {text(entry, 'by')} ({text(entry, 'role')}): {text(entry, 'reason')}"


def _overridden(entry: Entry) -> str:
    what = "answers for failed gates" if is_gate_override(entry) else "returns it to its reviewers"
    return f"{text(entry, 'by')} {what}: {text(entry, 'reason')}"


def _reassessed(entry: Entry) -> str:
    return f"{(text(entry, 'verdict') or '').capitalize()}. {' '.join(texts(entry, 'because'))}".strip()


def _key(entry: Entry) -> str:
    roles = ", ".join(texts(entry, "roles"))
    return (text(entry, "name") or "") + (f", as {roles}" if roles else "")


_WORDS: Mapping[Event, tuple[str, Callable[[Entry], str]]] = {
    Event.REQUESTED: ("Requested", _requested),
    Event.REFUSED: ("Request refused", _field("what")),
    Event.VALIDATED: ("Validated", _nothing),
    Event.ASSESSED: ("Assessed", _nothing),
    Event.FAILED: ("A stage failed", _field("what")),
    Event.DECIDED: ("Decided by the gate", _decided),
    Event.RELEASED: ("Released", _field("output_sha256", "SHA-256 of the file: ")),
    Event.PUBLISHED: ("Bundle published", _nothing),
    Event.VOTED: ("Vote cast", _voted),
    Event.REVIEWED: ("Vote opened", _reviewed),
    Event.REJECTED: ("Rejected by the reviewers", _nothing),
    Event.APPROVED: ("Approved by the reviewers", _nothing),
    Event.SIGNED: ("Determination signed", _field("subject")),
    Event.REVOKED: ("Revoked", _revoked),
    Event.OVERRIDDEN: ("Overridden", _overridden),
    Event.SUPERSEDED: ("Superseded", _field("by_release", "By the release ")),
    Event.EXPIRED: ("Expired", _field("valid_until", "Last day: ")),
    Event.REASSESSED: ("Assessed again", _reassessed),
    Event.TRACED: ("Trace made", _nothing),
    Event.KEY_REGISTERED: ("Key registered", _key),
    Event.KEY_RETIRED: ("Key retired", _key),
    Event.KEYS_ROTATED: ("Keys of manifests rotated", _nothing),
}
