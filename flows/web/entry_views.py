"""Entries of the ledger in words, and the people they name. Of an entry's body only the fields listed here are shown.

Paths, commitments and nonces do not help a reader; of a trace only its existence is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from string import Formatter

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
    title, template = _template(entry)
    named = [text(entry, name) for name in _PEOPLE]
    return EntryView(
        sequence=entry.sequence,
        at=entry.at,
        event=entry.event.value,
        title=title,
        text=_words(entry, template),
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


def _words(entry: Entry, template: str) -> str:
    """A template with the fields of an entry's body; empty where the entry has none of them."""
    names = [name for _, name, _, _ in Formatter().parse(template) if name]
    fields = {name: text(entry, name) or (", " if name == "roles" else " ").join(texts(entry, name)) for name in names}
    words = template.format_map(fields).strip() if any(fields.values()) else ""
    return words[:1].upper() + words[1:]


def _template(entry: Entry) -> tuple[str, str]:
    if entry.event is Event.OVERRIDDEN:
        what = "answers for failed gates" if is_gate_override(entry) else "returns it to its reviewers"
        return "Overridden", f"{{by}} {what}: {{reason}}"
    return _TEMPLATES.get(entry.event, (entry.event.value.capitalize(), ""))


_TEMPLATES: Mapping[Event, tuple[str, str]] = {
    Event.REQUESTED: ("Requested", "“{title}”, requested by {requested_by}"),
    Event.REFUSED: ("Request refused", "{what}"),
    Event.FAILED: ("A stage failed", "{what}"),
    Event.DECIDED: ("Decided by the gate", "{decision}. {reasons}"),
    Event.RELEASED: ("Released", "SHA-256 of the file: {output_sha256}"),
    Event.PUBLISHED: ("Bundle published", ""),
    Event.VOTED: ("Vote cast", "{reviewer} has voted. The vote is sealed until all votes are in."),
    Event.REVIEWED: ("Vote opened", "{reviewer}: {vote}. {reason}"),
    Event.REJECTED: ("Rejected by the reviewers", ""),
    Event.APPROVED: ("Approved by the reviewers", ""),
    Event.SIGNED: ("Determination signed", "{subject}"),
    Event.REVOKED: ("Revoked", "By {by} ({role}): {reason}"),
    Event.SUPERSEDED: ("Superseded", "By the release {by_release}"),
    Event.EXPIRED: ("Expired", "Last day: {valid_until}"),
    Event.REASSESSED: ("Assessed again", "{verdict}. {because}"),
    Event.TRACED: ("Trace made", ""),
    Event.KEY_REGISTERED: ("Key registered", "{name}, as {roles}"),
    Event.KEY_RETIRED: ("Key retired", "{name}"),
    Event.KEYS_ROTATED: ("Keys of manifests rotated", ""),
}
