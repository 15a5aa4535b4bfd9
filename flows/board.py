"""Requests without a decision, as a board shows them and as people act on them; the service's queue provides them.

A page knows no queue: it works with whatever has these methods, or with none where no service runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol


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


@dataclass(frozen=True)
class BoardRecipient:
    """A recipient that a request names."""

    id: str
    organisation: str
    purpose: str
    agreement: str


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
    handed_in_by: str
    recipients: tuple[BoardRecipient, ...]
    accepted_at: datetime
    since: datetime
    """Time of the last change that is known."""
    attempt: int
    not_before: datetime | None
    """Earliest time of the next attempt."""
    steps: tuple[BoardStep, ...]
    """Stages of the present run, in order."""
    reason: Mapping[str, str]
    """Why it ended without a decision, or why its last attempt did."""
    document: Path | None
    """Its document; None where it was not kept."""
    roots: tuple[Path, ...]
    """Folders that it may name files in."""

    @property
    def is_under_way(self) -> bool:
        """Whether it may still come to a decision."""
        return self.state in UNDER_WAY


class RequestBoard(Protocol):
    """The requests without a decision."""

    def all(self) -> Sequence[BoardRequest]:
        """All of them, the latest first. Raises WorkspaceError if the queue cannot be read."""
        ...

    def get(self, name: str) -> BoardRequest | None:
        """One of them by its id; None where there is none."""
        ...

    def cancel(self, name: str, by: str, reason: str) -> BoardState:
        """Cancel a request under way; one that runs ends before its next stage.

        Raises BadInput if it is not under way, or the reason cannot be kept.
        """
        ...

    def retry(self, name: str, by: str) -> str:
        """Submit an ended request again as it was received, or end the pause before its next attempt; returns its id.

        Raises BadInput if its document was not kept; WorkspaceError if the queue is full.
        """
        ...
