"""Runs of requests that are written in the service's pages: they go through the queue like all others."""

import json
from collections.abc import Mapping
from pathlib import Path

from flows.queue.queue import UNDECIDED, QueuedRequest, RequestState
from flows.queue.undecided import BoardStep
from flows.service.config import Service
from flows.service.intake import Arrival, receive
from flows.studio.project import Project
from flows.studio.runs import RunState
from tasks.core.files import write_whole

_QUEUED = "queued.json"
_WORDS = {
    RequestState.ACCEPTED: "accepted; the gate runs it as its turn comes",
    RequestState.AWAITING_REVIEW: "decided; its reviewers have yet to vote",
    RequestState.DECIDED: "decided",
    RequestState.REFUSED: "refused",
    RequestState.FAILED: "failed",
    RequestState.CANCELLED: "cancelled",
}


class QueuedRuns:
    """Hands requests to the service's queue, in the name of the login that has written them."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def start(self, project: Project, by: str) -> None:
        """Submit a project's request as it is now; errors as of ``receive``."""
        content, folders = project.path.read_bytes(), (project.path.parent.resolve(), *self._service.roots)
        received = receive(self._service, Arrival(content, "http", "request", folders, handed_in_by=by))
        note = {"id": received.entry.id, "request_sha256": received.entry.request_sha256}
        write_whole(project.private / _QUEUED, json.dumps(note).encode())

    def state(self, project: Project) -> RunState | None:
        """Progress of the request that was submitted last; None where there was none."""
        note = _note(project.private / _QUEUED)
        entry = self._service.queue.get(str(note["id"])) if "id" in note else None
        return None if entry is None else _state(entry)


def _note(path: Path) -> Mapping[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _state(entry: QueuedRequest) -> RunState:
    steps = [BoardStep(entry.accepted_at, _WORDS[RequestState.ACCEPTED])]
    if entry.state is not RequestState.ACCEPTED:
        steps.append(BoardStep(entry.finished_at or entry.accepted_at, _WORDS[entry.state]))
    ended_badly = entry.state in UNDECIDED
    return RunState(
        steps=tuple(steps),
        is_running=entry.state is RequestState.ACCEPTED,
        request_sha256=entry.request_sha256,
        release_id=entry.release_id or "",
        recipients=tuple(entry.verdicts),
        error=entry.reason if ended_badly else {},
    )
