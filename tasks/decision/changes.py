"""Changes of a release's state: the entry and the check that it may be made, in one transaction of the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tasks.core.errors import StageFailed
from tasks.decision import bodies
from tasks.decision.record import DecisionRecord
from tasks.decision.standing import Standing, standing
from tasks.decision.states import State
from tasks.decision.verdict import utc_day
from tasks.ledger.entry import Event
from tasks.ledger.signing import PERSONAL, Signer
from tasks.ledger.store import Ledger

Step = tuple[Event, Mapping[str, object]]
"""An event and its body."""


@dataclass(frozen=True)
class Author:
    """Author of ledger entries."""

    actor: str
    """Login, schedule or program that causes them."""
    at: datetime
    signer: Signer | None = None
    """The person who acts (``tasks.ledger.signing.PERSONAL``), with their private key; None where nobody signs."""


def read_standing(ledger: Ledger, record: DecisionRecord, record_sha256: str, now: datetime) -> Standing:
    """Standing of a recipient's release; ``StageFailed`` if the ledger's entries contradict each other."""
    return standing(ledger.entries(release_id=record.release_id), record, record_sha256, utc_day(now))


def change(
    ledger: Ledger,
    record: DecisionRecord,
    record_sha256: str,
    steps: Sequence[Step],
    author: Author,
    *,
    expected: Standing | None = None,
) -> Standing:
    """Append entries that change a release's state, all of the steps or none; returns the standing afterwards.

    Where the release has expired and no entry says so yet, that entry is written first; ``steps`` may be empty for
    that. With ``expected``, the standing when the steps were prepared, nothing is appended if it has changed since.

    Raises StageFailed if a step is not allowed, or the release has changed since; BadInput if a person with a
    registered key has not signed.
    """
    with ledger.transaction():
        begins = any(event is Event.DECIDED for event, _ in steps)
        now = None if begins else read_standing(ledger, record, record_sha256, author.at)
        if expected is not None and now != expected:
            raise StageFailed(
                "somebody else changed the release in the meantime",
                where=f"release to {record.recipient.id}",
                expected="the state that it had when the command began",
                got="a different state",
                fix="look at its state and run the command again if it still applies",
            )
        if now is not None and now.state is State.EXPIRED and not now.expiry_recorded:
            steps = [(Event.EXPIRED, bodies.expired(record.valid_until)), *steps]
        for event, body in steps:
            ledger.append(
                event,
                release_id=record.release_id,
                recipient=record.recipient.id,
                actor=author.actor,
                body=body,
                at=author.at,
                signer=author.signer if event in PERSONAL else None,
            )
        return read_standing(ledger, record, record_sha256, author.at)
