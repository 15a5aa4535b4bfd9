"""One entry of the ledger: its fields, its hash, and the form in which it is stored.

Nothing here touches a database or a clock.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, Self

from tasks.core.canonical import canonical_json, digest
from tasks.core.errors import TamperingFound, WorkspaceError

GENESIS = "0" * 64
"""Hash that the first entry names for the entry before it."""

SKEW = timedelta(minutes=1)
"""By this much the clocks of several machines may differ."""

RECORDED_AT = "recorded_at"
"""Key in a stored body of the time of writing, so that the table is the one that earlier versions made."""

MAXIMUM_BODY_BYTES = 65_536
"""A body holds figures, hashes and reasons; one larger than this is taken for data and refused."""


class Event(StrEnum):
    """The kinds of entries. ``tasks.decision.bodies`` makes the bodies that verification relies on."""

    REQUESTED = "requested"  # a request was received
    REFUSED = "refused"  # the request or its data cannot be used (bad input)
    VALIDATED = "validated"  # the validation stage has finished, whatever it found
    ASSESSED = "assessed"  # a recipient's generalization and risk have been computed
    FAILED = "failed"  # a stage could not finish; the release is blocked
    DECIDED = "decided"  # a recipient's verdict, with the digest of its record
    RELEASED = "released"  # a recipient's copy is part of the bundle that is being published
    PUBLISHED = "published"  # the sealed bundle, named by the digest of its manifest, may be moved to its place
    VOTED = "voted"  # a reviewer has voted; the entry commits to the vote without disclosing it
    # Another login has submitted the same request since its run began: it has no vote, and one cast before is void.
    HANDED_IN = "handed in"
    REVIEWED = "reviewed"  # a vote was opened, with its reason, once all were in
    REJECTED = "rejected"  # the reviewers have decided against a recipient's release
    APPROVED = "approved"  # the reviewers have decided for it
    SIGNED = "signed"  # an expert has signed a recipient's determination; names the signed PDF and the certificate
    REVOKED = "revoked"  # a person has revoked a release, for a reason
    # An officer has reopened a rejected release, or overridden thresholds that a blocked one does not meet.
    OVERRIDDEN = "overridden"
    SUPERSEDED = "superseded"  # a later release took the place of this one
    # The last day of a decision has passed; the decision ended on that day, whenever this entry was made.
    EXPIRED = "expired"
    REASSESSED = "reassessed"  # a delivered copy was re-assessed; its state does not change
    COMMENTED = "commented"  # a person has written a comment on a recipient's release; its state does not change
    TRACED = "traced"  # manifest or crosswalks of a release were opened for an incident, or the attempt failed
    # A person's public key is valid from here on; ``tasks.ledger.signing`` makes and reads the body.
    KEY_REGISTERED = "key registered"
    KEY_RETIRED = "key retired"  # the end of a registered key: lost, replaced, or its holder has left
    RESTORED = "ledger restored"  # a ledger that was put back to an older state was accepted, for a reason
    KEYS_ROTATED = "keys rotated"  # all decoy manifests were sealed again under a new key
    # Policies, populations and persons that requests may name; ``tasks.ledger.enrolment`` makes and reads the body.
    ENROLLED = "enrolled"
    ENROLMENT_ENDED = "enrolment ended"


RESTORE = "Stop releasing; restore the ledger from a backup and find out who changed it."
"""Advice where the ledger is not as it was written."""


def broken(what: str, sequence: object, expected: str, got: str, fix: str = RESTORE) -> TamperingFound:
    """The error for an entry that is not as it was written."""
    return TamperingFound(what, where=f"ledger entry {sequence}", expected=expected, got=got, fix=fix)


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

    def computed_sha256(self) -> str:
        """SHA-256 of the canonical JSON of every other field; of an unsigned entry, without signer and signature.

        Raises TypeError or ValueError where the fields cannot be text.
        """
        unsigned = {"signer", "signature"} if self.signer is None and self.signature is None else set()
        return digest({name: value for name, value in self._asdict().items() if name not in {"sha256"} | unsigned})

    def signed_bytes(self) -> bytes:
        """Bytes that a signature covers: every field, with the link to the previous entry, except hash and signature.

        Raises ValueError where the fields cannot be text.
        """
        covered = {name: value for name, value in self._asdict().items() if name not in {"sha256", "signature"}}
        return canonical_json(covered)

    def hashed(self) -> Self:
        """The row with the hash of its fields; a ValueError where they cannot be text."""
        try:
            return self._replace(sha256=self.computed_sha256())
        except (TypeError, ValueError):
            raise ValueError("the fields of a ledger entry must be text that UTF-8 can encode") from None

    def object_in_body(self) -> Mapping[str, Any] | None:
        """The JSON object in the body, without the time of writing; None where it holds something else."""
        body = self._stored_object()
        return None if body is None else {name: value for name, value in body.items() if name != RECORDED_AT}

    def written(self, at: datetime) -> Self:
        """The row with the time of writing, hashed."""
        body = canonical_json((self._stored_object() or {}) | {RECORDED_AT: stamp(at)})
        return self._replace(body=body.decode().rstrip("\n")).hashed()

    def stated_recorded_at(self) -> object:
        """Stored time of writing; None where there is none, as in entries of earlier versions."""
        return (self._stored_object() or {}).get(RECORDED_AT)

    def _stored_object(self) -> dict[str, Any] | None:
        try:
            body = json.loads(self.body)
        except (TypeError, ValueError):
            return None
        return body if isinstance(body, dict) else None

    def check_intact(self) -> None:
        """Raise TamperingFound for a row whose stored hash is not the hash of its stored fields."""
        try:
            intact = self.computed_sha256() == self.sha256
        except (TypeError, ValueError):
            intact = False
        if not intact:
            edited = "an entry of the ledger was edited"
            raise broken(edited, self.sequence, "fields that give the recorded SHA-256", "a different SHA-256")


class Head(NamedTuple):
    """The end of the chain; noted outside the ledger as a checkpoint, and named by decision records."""

    sequence: int
    """Number of the last entry; 0 for an empty ledger."""
    sha256: str
    """Its hash; GENESIS for an empty ledger."""


@dataclass(frozen=True)
class Entry:
    """An entry of the ledger: the fields of its row, as values."""

    sequence: int
    at: datetime
    """Time of the decision or action."""
    event: Event
    release_id: str | None
    """The release it concerns; None where a request was refused before it had one."""
    recipient: str | None
    """The recipient it concerns; None where it concerns all of them."""
    actor: str
    """Person, schedule or program that caused it."""
    body: Mapping[str, object]
    """Details: figures, hashes, reasons; never a data value."""
    prev_sha256: str
    sha256: str
    signer: str | None = None
    signature: str | None = None
    """Ed25519 signature, Base64, of ``Row.signed_bytes``; checked by ``Ledger.verify``."""
    recorded_at: datetime | None = None
    """Time of writing, at or after `at`; None in entries of earlier versions."""

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """The entry that a row stores; TamperingFound where its hash is another, or its fields are not an entry's."""
        row.check_intact()
        try:
            body = json.loads(row.body)
            recorded = body.pop(RECORDED_AT, None) if isinstance(body, dict) else None
            values = {"at": _utc(row.at), "event": Event(row.event), "body": body}
            return cls(**row._asdict() | values, recorded_at=None if recorded is None else _utc(recorded))
        except (TypeError, ValueError):
            raise broken(
                "an entry of the ledger cannot be read",
                row.sequence,
                "a time, an event and a JSON body that this version knows",
                "something else",
                "Read the ledger with the version that wrote it, or restore it from a backup.",
            ) from None


@dataclass(frozen=True)
class EntryFilter:
    """Terms that entries are searched by, None for any; days are in UTC, the last one included."""

    release: str | None = None
    """First digits of the release id."""
    event: Event | None = None
    first: date | None = None
    last: date | None = None


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
    """The row that continues the chain at `head`, without a signature; otherwise as in ``Ledger.append``.

    A ValueError says that `at` has no time zone, `actor` is empty, a text holds a NUL or cannot be encoded, or `body`
    is not JSON, holds a NaN or is too large.
    """
    try:
        text = canonical_json(dict(body))
    except (TypeError, ValueError):
        raise ValueError("the body of a ledger entry must be JSON without NaN") from None
    mistakes = {
        "the time of a ledger entry needs a time zone": at.tzinfo is None,
        "a ledger entry needs an actor": not actor.strip(),
        "the fields of a ledger entry must be text without NUL": "\0" in f"{actor}{release_id}{recipient}",
        f"the body of a ledger entry must not exceed {MAXIMUM_BODY_BYTES} bytes": len(text) > MAXIMUM_BODY_BYTES,
    }
    for mistake, made in mistakes.items():
        if made:
            raise ValueError(mistake)
    stored = text.decode().rstrip("\n")
    row = Row(head.sequence + 1, stamp(at), event.value, release_id, recipient, actor, stored, head.sha256, "")
    return row.hashed()


def moment(stored: object) -> datetime | None:
    """The time that is stored in a row; None where it is none, or has no time zone."""
    try:
        found = datetime.fromisoformat(str(stored))
    except ValueError:
        return None
    return found if found.tzinfo else None


def times_after(last: Entry | None, decided: datetime, written: datetime) -> tuple[datetime, datetime]:
    """Times of decision and of writing of the entry after `last`: neither before its own, nor writing before decision.

    A slow release reads its clock first and writes last; what others have recorded meanwhile comes before it.
    """
    if decided.tzinfo is None:  # which `new_row` refuses
        return decided, written
    if last is not None:
        decided, written = max(decided, last.at), max(written, last.recorded_at or last.at)
    return decided, max(decided, written)


def check_clock(at: datetime, known: datetime | None, place: str) -> None:
    """Refuse a time before that of a ledger's last entry: under a clock set back, what has ended would hold again."""
    if known is not None and at.tzinfo and at < known - SKEW:
        raise WorkspaceError(
            "the clock is before the last entry of the ledger",
            where=place,
            expected=f"{known:%Y-%m-%d %H:%M:%S} UTC or later",
            got=f"{at:%Y-%m-%d %H:%M:%S}",
            fix="set the clock of this machine; if it is right, find out whose was ahead when that entry was made",
        )


def _utc(stored: str) -> datetime:
    return datetime.fromisoformat(stored).astimezone(UTC)


def stamp(at: datetime) -> str:
    """A time as the ledger writes it: ISO 8601 in UTC with microseconds and a Z, so that times sort as text."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
