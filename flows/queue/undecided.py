"""Requests without a decision, as a board shows them; the service's queue provides them, where a service runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from tasks.core.people import submitters_of
from tasks.ledger.entry import Entry, Event


class BoardState(StrEnum):
    """Progress of a request that has no decision."""

    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    """Asked to stop; it ends with its present stage."""
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNDER_WAY = frozenset({BoardState.QUEUED, BoardState.RUNNING, BoardState.CANCELLING})


REASON = ("what", "where", "expected", "got", "fix", "problems")
"""Parts of a refusal or failure, in the order in which they are shown."""


@dataclass(frozen=True)
class BoardRecipient:
    """A recipient that a request names; unknown fields are empty."""

    id: str
    organisation: str
    purpose: str
    agreement: str


@dataclass(frozen=True)
class Submission:
    """A login or token that has submitted a request, and when it first did."""

    by: str
    at: datetime

    @property
    def logins(self) -> frozenset[str]:
        """The login, and others that took part in it."""
        return submitters_of(self.by)


@dataclass(frozen=True)
class BoardStep:
    """A stage of a run, and when it began."""

    at: datetime
    text: str


@dataclass(frozen=True)
class BoardRequest:
    """A request in the queue, or one that ended without a decision."""

    id: str
    state: BoardState
    title: str
    """Title of the request, as noted where its document was not kept; the document's name where none was noted."""
    requester: str
    """Id of the person who asks for it, as noted where the document was not kept; empty where nobody was noted."""
    hand_ins: tuple[Submission, ...]
    """Everybody who has submitted it, in order, the first at least."""
    recipients: tuple[BoardRecipient, ...]
    since: datetime
    """Time of the last change that is known."""
    attempt: int
    not_before: datetime | None
    """Earliest time of the next attempt."""
    steps: tuple[BoardStep, ...]
    """Stages of the present run, in order."""
    reason: Mapping[str, str]
    """Reason that it ended without a decision, or that its last attempt failed."""
    document: Path | None
    """Its document; None where it was not kept."""
    roots: tuple[Path, ...]
    """Folders that it may name files in."""

    @property
    def handed_in_by(self) -> str:
        """Person who submitted it first."""
        return self.hand_ins[0].by

    @property
    def is_under_way(self) -> bool:
        """Whether it may still come to a decision."""
        return self.state in UNDER_WAY


def ended_undecided(entries: Iterable[Entry]) -> tuple[BoardRequest, ...]:
    """Requests in a ledger that ended without a decision, each by its last attempt, such as those of the command.

    A queue lists the requests that it has ended itself.
    """
    from tasks.audit.history import text, texts  # noqa: PLC0415 - imports every fact, which the runner does without

    ended = {Event.REFUSED: BoardState.REFUSED, Event.FAILED: BoardState.FAILED}
    asked, found, decided = dict[str, Entry](), dict[str, BoardRequest](), set[str]()
    for entry in entries:
        name = entry.release_id or text(entry, "request_id") or entry.sha256
        if entry.event is Event.DECIDED:
            decided.add(name)
        elif entry.event is Event.REQUESTED:
            asked[name] = entry
            found.pop(name, None)
        elif entry.event in ended and "queued" not in entry.body:
            about = asked.get(name, entry)
            found[name] = BoardRequest(
                id=name,
                state=ended[entry.event],
                title=text(about, "title") or "A request that could not be read",
                requester=text(about, "requester_id") or text(about, "requested_by") or "",
                hand_ins=(Submission(about.actor, about.at),),
                recipients=tuple(BoardRecipient(one, "", "", "") for one in texts(about, "recipients")),
                since=entry.at,
                attempt=1,
                not_before=None,
                steps=(),
                reason={part: said for part in REASON if (said := text(entry, part))},
                document=None,
                roots=(),
            )
    return tuple(one for name, one in found.items() if name not in decided)
