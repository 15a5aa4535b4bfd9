"""One entry of the ledger: its fields, its hash, and the form in which it is stored.

Nothing here touches a database or a clock.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, Self

from tasks.core.canonical import canonical_json, digest
from tasks.core.errors import TamperingFound

GENESIS = "0" * 64
"""Hash that the first entry names for the entry before it."""

MAXIMUM_BODY_BYTES = 65_536
"""A body holds figures, hashes and reasons; one larger than this is taken for data and refused."""


class Event(StrEnum):
    """The kinds of entries. ``tasks.decision.bodies`` makes the bodies that verification relies on."""

    REQUESTED = "requested"
    """A request was received."""
    REFUSED = "refused"
    """The request or its data cannot be used (bad input)."""
    VALIDATED = "validated"
    """The validation stage has finished, whatever it found."""
    ASSESSED = "assessed"
    """A recipient's generalization and risk have been computed."""
    FAILED = "failed"
    """A stage could not finish; the release is blocked."""
    DECIDED = "decided"
    """A recipient's verdict, with the digest of its record."""
    RELEASED = "released"
    """A recipient's copy is part of the bundle that is being published."""
    PUBLISHED = "published"
    """The sealed bundle, named by the digest of its manifest, may be moved to its place."""
    VOTED = "voted"
    """A reviewer has voted; the entry commits to the vote without disclosing it."""
    REVIEWED = "reviewed"
    """A vote was opened, with its reason, once all were in."""
    REJECTED = "rejected"
    """The reviewers have decided against a recipient's release."""
    APPROVED = "approved"
    """The reviewers have decided for it."""
    SIGNED = "signed"
    """An expert has signed a recipient's determination; names the signed PDF and the certificate."""
    REVOKED = "revoked"
    """A person has revoked a release, for a reason."""
    OVERRIDDEN = "overridden"
    """An officer has reopened a rejected release, or answered for thresholds that a blocked one does not meet, for a
    reason."""
    SUPERSEDED = "superseded"
    """A later release took the place of this one."""
    EXPIRED = "expired"
    """The last day of a decision has passed; the decision ended on that day, whenever this entry was made."""
    REASSESSED = "reassessed"
    """A delivered copy was re-assessed; its state does not change."""
    TRACED = "traced"
    """A release's decoy manifest was opened to trace an incident, or the attempt failed."""
    KEY_REGISTERED = "key registered"
    """A person's public key is valid from here on; ``tasks.ledger.signing`` makes and reads the body."""
    KEY_RETIRED = "key retired"
    """The end of a registered key: lost, replaced, or its holder has left."""
    KEYS_ROTATED = "keys rotated"
    """All decoy manifests were sealed again under a new key."""


class Row(NamedTuple):
    """An entry as it is stored. Fields read from a damaged file may be of any type."""

    sequence: int
    at: str
    event: str
    release_id: str | None
    recipient: str | None
    actor: str
    body: str
    prev_sha256: str
    sha256: str
    signer: str | None = None
    signature: str | None = None

    def computed_sha256(self) -> str | None:
        """SHA-256 of the canonical JSON of every other field, as stored; None where they cannot be text.

        An entry without signer and signature is hashed without these fields, as every entry of format 1 was.
        """
        fields = self._asdict()
        del fields["sha256"]
        if self.signer is None and self.signature is None:
            del fields["signer"], fields["signature"]
        try:
            return digest(fields)
        except (TypeError, ValueError):
            return None

    def signed_bytes(self) -> bytes:
        """Bytes that a signature covers: every field, with the link to the previous entry, except hash and signature.

        Raises
        ------
        ValueError
            If the fields cannot be text.
        """
        fields = self._asdict()
        del fields["sha256"], fields["signature"]
        return canonical_json(fields)

    def hashed(self) -> Self:
        """The row with the hash of its fields.

        Raises
        ------
        ValueError
            If the fields cannot be text.
        """
        sha256 = self.computed_sha256()
        if sha256 is None:
            raise ValueError("the fields of a ledger entry must be text that UTF-8 can encode")
        return self._replace(sha256=sha256)

    def is_intact(self) -> bool:
        """Whether the stored hash is the hash of the stored fields."""
        return self.computed_sha256() == self.sha256


class Head(NamedTuple):
    """The end of the chain; noted outside the ledger as a checkpoint, and named by decision records."""

    sequence: int
    """Number of the last entry; 0 for an empty ledger."""
    sha256: str
    """Its hash; GENESIS for an empty ledger."""


@dataclass(frozen=True)
class Entry:
    """An entry of the ledger."""

    sequence: int
    """Its place in the chain, from 1."""
    at: datetime
    """When it happened, in UTC."""
    event: Event
    """Kind of event."""
    release_id: str | None
    """The release it concerns; None where a request was refused before it had one."""
    recipient: str | None
    """The recipient it concerns; None where it concerns all of them."""
    actor: str
    """Who caused it: a person, a schedule or a program."""
    body: Mapping[str, object]
    """Details: figures, hashes, reasons; never a data value."""
    prev_sha256: str
    """Hash of the entry before it."""
    sha256: str
    """Hash of all other fields."""
    signer: str | None = None
    """Who signed it; None for an entry without a signature."""
    signature: str | None = None
    """Ed25519 signature, Base64, of ``Row.signed_bytes``; checked by ``Ledger.verify``."""

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """The entry that a row stores.

        Raises
        ------
        TamperingFound
            If the row's hash is not the hash of its fields, or the fields are not those of an entry.
        """
        place = f"ledger entry {row.sequence}"
        if not row.is_intact():
            raise TamperingFound(
                "an entry of the ledger was edited",
                where=place,
                expected="fields that give the recorded SHA-256",
                got="a different SHA-256",
                fix="Stop releasing; restore the ledger from a backup and find out who changed it.",
            )
        try:
            return cls(
                row.sequence,
                datetime.fromisoformat(row.at).astimezone(UTC),
                Event(row.event),
                row.release_id,
                row.recipient,
                row.actor,
                json.loads(row.body),
                row.prev_sha256,
                row.sha256,
                row.signer,
                row.signature,
            )
        except (TypeError, ValueError):
            raise TamperingFound(
                "an entry of the ledger cannot be read",
                where=place,
                expected="a time, an event and a JSON body that this version knows",
                got="something else",
                fix="Read the ledger with the version that wrote it, or restore it from a backup.",
            ) from None


def new_row(
    head: Head,
    event: Event,
    *,
    release_id: str | None,
    recipient: str | None,
    actor: str,
    body: Mapping[str, object],
    at: datetime,
) -> Row:
    """The row that continues the chain at `head`, without a signature.

    Parameters
    ----------
    head : Head
        The end of the chain.
    event, release_id, recipient, actor, body, at
        As in ``Ledger.append``.

    Raises
    ------
    ValueError
        If `at` has no time zone, `actor` is empty, a text holds a NUL or cannot be encoded, or `body` is not JSON,
        holds a NaN or is too large.
    """
    if at.tzinfo is None:
        raise ValueError("the time of a ledger entry needs a time zone")
    if not actor.strip():
        raise ValueError("a ledger entry needs an actor")
    stamp = at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if any("\0" in text for text in (actor, release_id or "", recipient or "")):
        raise ValueError("the fields of a ledger entry must be text without NUL")
    row = Row(head.sequence + 1, stamp, event.value, release_id, recipient, actor, _body_text(body), head.sha256, "")
    return row.hashed()


def _body_text(body: Mapping[str, object]) -> str:
    try:
        text = canonical_json(dict(body))
    except (TypeError, ValueError):
        raise ValueError("the body of a ledger entry must be JSON without NaN") from None
    if len(text) > MAXIMUM_BODY_BYTES:
        raise ValueError(f"the body of a ledger entry must not exceed {MAXIMUM_BODY_BYTES} bytes")
    return text.decode().rstrip("\n")
