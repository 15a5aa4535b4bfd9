"""Changes of a release's state: the entry and the check that it may be made, in one transaction of the ledger."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from tasks.decision.record import DecisionRecord
from tasks.decision.standing import Standing, standing
from tasks.decision.states import State
from tasks.decision.verdict import utc_day
from tasks.errors import StageFailed
from tasks.ledger import bodies
from tasks.ledger.entry import Event
from tasks.ledger.signing import PERSONAL, Signer
from tasks.ledger.store import Ledger

Step = tuple[Event, Mapping[str, object]]
"""An event and its body."""


def read_standing(ledger: Ledger, record: DecisionRecord, record_sha256: str, now: datetime) -> Standing:
    """Where a recipient's release stands.

    Raises
    ------
    StageFailed
        If the ledger's entries contradict each other.
    TamperingFound
        If one of them was edited.
    """
    return standing(ledger.entries(release_id=record.release_id), record, record_sha256, utc_day(now))


def change(
    ledger: Ledger,
    record: DecisionRecord,
    record_sha256: str,
    steps: Sequence[Step],
    *,
    actor: str,
    at: datetime,
    expected: Standing | None = None,
    signer: Signer | None = None,
) -> Standing:
    """Append what changes a release's state: all of the steps, or none if one is not allowed.

    Where the release has expired by the calendar and no entry says so yet, one is written before the steps.

    Parameters
    ----------
    ledger : Ledger
    record, record_sha256
        The recipient's decision and the SHA-256 of its bytes.
    steps : sequence of Step
        Events with their bodies, in order; none to note an expiry alone.
    actor : str
        Who causes them.
    at : datetime
        When.
    expected : Standing, optional
        Where the release stood when the steps were prepared; if it is elsewhere by now, nothing is appended.
    signer : Signer, optional
        Whoever does himself what is among the steps (``tasks.ledger.signing.PERSONAL``), with the private key.

    Returns
    -------
    Standing
        Where the release stands afterwards.

    Raises
    ------
    StageFailed
        If a step is not allowed, or the release is not where it was expected.
    BadInput
        If somebody with a registered key has not signed.
    """
    with ledger.transaction():
        begins = any(event is Event.DECIDED for event, _ in steps)
        now = None if begins else read_standing(ledger, record, record_sha256, at)
        if expected is not None and now != expected:
            raise StageFailed(
                "the release was changed by somebody else meanwhile",
                where=f"release to {record.recipient.id}",
                expected="the state that it had when the command began",
                got="another",
                fix="look at its state and run the command again if it still applies",
            )
        if now is not None and now.state is State.EXPIRED and not now.expiry_recorded:
            steps = [(Event.EXPIRED, bodies.expired(record.valid_until)), *steps]
        for event, body in steps:
            ledger.append(
                event,
                release_id=record.release_id,
                recipient=record.recipient.id,
                actor=actor,
                body=body,
                at=at,
                signer=signer if event in PERSONAL else None,
            )
        return read_standing(ledger, record, record_sha256, at)
