"""Entries of the ledger in words, and whom they name. Of a body only what is listed here is ever shown.

Paths, commitments and nonces are of no use to a reader; of a trace nothing is shown but that it was made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tasks.audit.history import text, texts
from tasks.decision.overrides import is_gate_override
from tasks.decision.people import person_key
from tasks.ledger.entry import Entry, Event

_PEOPLE = ("by", "reviewer", "name", "requested_by")
"""Fields of bodies that name people."""


@dataclass(frozen=True)
class Told:
    """An entry as a page shows it."""

    sequence: int
    at: datetime
    event: str
    title: str
    text: str
    who: str
    """The person whom it names, else whoever caused it."""
    actor: str
    signed: bool
    release_id: str | None
    recipient: str | None
    sha256: str


def told(entry: Entry) -> Told:
    """An entry in words."""
    title, words = _WORDS.get(entry.event, (entry.event.value.capitalize(), _nothing))
    named = [text(entry, name) for name in _PEOPLE]
    return Told(
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
    """Whether an entry names somebody; part of a name is enough."""
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
    return f"“{text(entry, 'title') or ''}”, asked for by {text(entry, 'requested_by') or 'nobody'}"


def _decided(entry: Entry) -> str:
    return f"{(text(entry, 'decision') or '').capitalize()}. {' '.join(texts(entry, 'reasons'))}".strip()


def _voted(entry: Entry) -> str:
    return f"{text(entry, 'reviewer')} has voted. The vote is sealed until all are in."


def _reviewed(entry: Entry) -> str:
    return f"{text(entry, 'reviewer')}: {text(entry, 'vote')}. {text(entry, 'reason')}"


def _revoked(entry: Entry) -> str:
    return f"By {text(entry, 'by')} ({text(entry, 'role')}): {text(entry, 'reason')}"


def _overridden(entry: Entry) -> str:
    what = "answers for gates that failed" if is_gate_override(entry) else "puts it before its reviewers again"
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
