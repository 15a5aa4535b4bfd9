"""The queue as a board of requests: those that wait, run or ended without a decision, and people's actions on them."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from flows.library.policies import PolicyShelf
from flows.queue.queue import QueuedRequest, RequestState, submitted_again
from flows.queue.steps import login_in
from flows.queue.undecided import UNDER_WAY, BoardRecipient, BoardRequest, BoardState, Submission
from flows.service.config import Service
from flows.service.intake import Arrival, is_decided, receive, record_end
from flows.service.logs import log
from flows.service.worker import end_of
from flows.web.jobs import JobTerms
from flows.workspace.actor import Clock, utc_now
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, ReleasegateError
from tasks.decision.votes import checked_reason
from tasks.request.load import load_request

_ENDED = {
    RequestState.REFUSED: BoardState.REFUSED,
    RequestState.FAILED: BoardState.FAILED,
    RequestState.CANCELLED: BoardState.CANCELLED,
}
_KEPT = 4096
"""Documents whose titles are kept in memory."""


@dataclass(frozen=True)
class _Asked:
    """Contents of a request's document."""

    title: str
    requester: str
    recipients: tuple[BoardRecipient, ...]


class QueueBoard:
    """The requests of a service's queue."""

    def __init__(self, service: Service, *, clock: Clock = utc_now) -> None:
        self._service = service
        self._queue = service.queue
        self._clock = clock
        self._asked = lru_cache(_KEPT)(self._read)

    @property
    def terms(self) -> JobTerms:
        """Policy of today and folders of requests for the page's jobs: those of the scheduled re-assessment."""
        service = self._service
        policy = service.settings.reassessment.policy
        return JobTerms(None if policy is None else service.workspace.root / policy, service.roots)

    def all(self) -> list[BoardRequest]:
        """All without a decision, the latest first. Raises WorkspaceError if the queue cannot be read."""
        self._queue.prepare()
        entries = (*self._queue.open_entries(), *self._queue.done_entries())
        shown = [one for entry in entries if (one := self._shown(entry)) is not None]
        return sorted(shown, key=lambda one: (one.since, one.id), reverse=True)

    def get(self, name: str) -> BoardRequest | None:
        """One of them by its id."""
        entry = self._queue.get(name)
        return None if entry is None else self._shown(entry)

    def hand_ins(self, name: str) -> tuple[Submission, ...]:
        """Everybody who has submitted a request."""
        entry = self._queue.get(name)
        return () if entry is None else entry.submissions

    def cancel(self, name: str, by: str, reason: str) -> BoardState:
        """Cancel a request: at once where no run works on it, else before the run's next stage.

        Raises BadInput if it is not under way, or the reason cannot be kept.
        """
        reason = checked_reason(reason)
        entry = self._queue.get(name)
        if entry is None or entry.state is not RequestState.ACCEPTED:
            raise _not_under_way(entry)
        notes = self._queue.notes(name)
        with self._queue.claimed(name) as is_free:
            if is_decided(self._service.workspace, name):
                raise _not_under_way(entry, "one whose release is decided")
            if not is_free:
                notes.request_cancellation(by, reason)
                log("a run is to be cancelled", request=name, by=by)
                return BoardState.CANCELLING
            notes.request_cancellation(by, reason)
            cancelled = notes.cancellation()
            changed = cancelled and self._queue.update(entry, **end_of(cancelled, self._clock))
            notes.clear()
            if not changed:
                raise _not_under_way(self._queue.get(name))
            with open_ledger(self._service.workspace, create=True) as ledger:
                record_end(self._queue, ledger, changed)
        log("a request was cancelled", request=name, by=by)
        return BoardState.CANCELLED

    def retry(self, name: str, by: str) -> str:
        """Submit an ended request again in the name of the login that it came from, or end the pause of one that waits.

        The files that it names are read anew; where they have changed, it is another release. Another login that
        submits it is noted behind the first, and has no vote on it. Raises BadInput if its document was not kept;
        WorkspaceError if the queue is full.
        """
        entry = self._queue.get(name)
        if entry is None or (entry.state is not RequestState.ACCEPTED and entry.state not in _ENDED):
            raise _not_to_retry("a request that waits, or that was refused, has failed or was cancelled", "a decision")
        if entry.state is RequestState.ACCEPTED:
            self._queue.update(entry, not_before=None)
            log("a request is tried again at once", request=name, by=by)
            return name
        document = self._queue.document(entry.request_sha256)
        if not document.is_file():
            raise _not_to_retry("a request whose document is kept", "one that was refused, whose document is not kept")
        roots = tuple(Path(root) for root in entry.roots)
        asked = submitted_again(entry.actor, login_in(by))
        arrival = Arrival(document.read_bytes(), entry.source, entry.name, roots, handed_in_by=asked)
        received = receive(self._service, arrival, clock=self._clock)
        log("a request was submitted again", request=received.entry.id, before=name, by=by)
        return received.entry.id

    def _shown(self, entry: QueuedRequest) -> BoardRequest | None:
        """An entry as the board shows it; None where it has a decision, which the ledger shows."""
        notes = self._queue.notes(entry.id)
        if entry.state is RequestState.ACCEPTED:
            running = self._queue.is_claimed(entry.id)
            state = BoardState.RUNNING if running else BoardState.QUEUED
            if running and notes.cancellation() is not None:
                state = BoardState.CANCELLING
        elif entry.state in _ENDED:
            state = _ENDED[entry.state]
        else:
            return None
        steps = notes.steps() if state in UNDER_WAY and state is not BoardState.QUEUED else ()
        asked, document = self._about(entry), self._queue.document(entry.request_sha256)
        since = steps[-1].at if steps else entry.finished_at or entry.accepted_at
        return BoardRequest(
            id=entry.id,
            state=state,
            title=asked.title,
            requester=asked.requester,
            hand_ins=entry.submissions,
            recipients=asked.recipients,
            since=since,
            attempt=entry.attempt,
            not_before=entry.not_before,
            steps=steps,
            reason=entry.reason,
            document=document if document.is_file() else None,
            roots=tuple(Path(root) for root in entry.roots),
        )

    def _about(self, entry: QueuedRequest) -> _Asked:
        """Contents of its document; those noted on acceptance where it was not kept or cannot be read today."""
        try:
            return self._asked(entry.request_sha256, entry.roots)
        except (ReleasegateError, OSError):
            return _Asked(entry.title or entry.name, entry.requested_by, ())

    def _read(self, sha256: str, roots: tuple[str, ...]) -> _Asked:
        shelf = PolicyShelf(self._service.workspace.root)
        request = load_request(self._queue.document(sha256), [Path(root) for root in roots], shelf).request
        recipients = tuple(
            BoardRecipient(one.id, one.organisation, one.purpose, one.agreement.id) for one in request.recipients
        )
        return _Asked(request.title, request.requested_by, recipients)


def _not_under_way(entry: QueuedRequest | None, got: str = "") -> BadInput:
    return BadInput(
        "the request is not under way",
        where="queue",
        expected="a request that waits or runs",
        got=got or ("no such request" if entry is None else f"one that is {entry.state.value}"),
        fix="revoke the release where it was decided",
    )


def _not_to_retry(expected: str, got: str) -> BadInput:
    return BadInput(
        "the request cannot be submitted again from here",
        where="queue",
        expected=expected,
        got=got,
        fix="correct the request and submit it as a new one",
    )
