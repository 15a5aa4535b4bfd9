"""Interface of the requests without a decision, which the service's queue provides to the pages."""

from typing import Protocol

from flows.queue.undecided import BoardRequest, BoardState, Submission
from flows.web.jobs import JobTerms


class RequestBoard(Protocol):
    """Requests that wait, run or ended without a decision, and people's actions on them."""

    @property
    def terms(self) -> JobTerms:
        """Policy of today and folders of requests for the page's jobs."""

    def all(self) -> list[BoardRequest]:
        """All, the latest first. Raises WorkspaceError if the queue cannot be read."""

    def get(self, name: str) -> BoardRequest | None:
        """One of them by its id."""

    def hand_ins(self, name: str) -> tuple[Submission, ...]:
        """Everybody who has submitted a request."""

    def cancel(self, name: str, by: str, reason: str) -> BoardState:
        """Cancel a request. Raises BadInput if it is not under way, or the reason cannot be kept."""

    def retry(self, name: str, by: str) -> str:
        """Submit an ended request again, or end the pause of one that waits; returns its id."""
