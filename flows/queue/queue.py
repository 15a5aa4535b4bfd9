"""The queue: requests from acceptance to verdict, as files in the workspace's private folder.

::

    .releasegate/
      queue/<id>.json                  a request without a verdict
      queue/<id>.lock                  held by the process that works on it
      queue/run-<run>.lock             held by the process of a run of Prefect
      queue/<id>.steps, <id>.cancel    stages of its run, and who has cancelled it (flows.queue.steps)
      queue/done/<id>.json             a request that has ended: decided, refused, failed or cancelled
      requests/<sha256>/request.yaml   the document, kept as long as decisions rest on it

A request is named by its release id; one that cannot be read, by the SHA-256 of its bytes. These files and the ledger
are the truth: the orchestrator's state may be lost without losing a request.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from enum import StrEnum
from functools import lru_cache, reduce
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flows.queue.steps import RunNotes
from flows.queue.undecided import Submission
from flows.workspace.folders import Workspace
from flows.workspace.locking import is_locked, locked, try_lock
from tasks.core.errors import WorkspaceError
from tasks.core.files import sync_folder, write_whole
from tasks.core.people import login_of, other_submitters

_LONGEST_WAIT = 30.0
_MOST_PARSED = 16_384
"""Entries that are kept in memory."""
_OLD_LOCK = 24 * 3600.0
"""Age in seconds past which a run's lock that nobody holds was left by a killed process."""


class RequestState(StrEnum):
    """Progress of a request."""

    ACCEPTED = "accepted"
    """To be run, or running."""
    AWAITING_REVIEW = "awaiting review"
    """Assessed; its reviewers have yet to vote."""
    DECIDED = "decided"
    """Every recipient has a verdict."""
    REFUSED = "refused"
    """Request or data cannot be used."""
    FAILED = "failed"
    """No decision could be made; nothing is delivered."""
    CANCELLED = "cancelled"
    """A person has cancelled it before its verdict."""


OPEN = frozenset({RequestState.ACCEPTED, RequestState.AWAITING_REVIEW})
UNDECIDED = frozenset({RequestState.REFUSED, RequestState.FAILED, RequestState.CANCELLED})
"""Ends without a decision."""


def new_token() -> str:
    """A random identifier."""
    return secrets.token_hex(16)


class QueuedRequest(BaseModel):
    """One request; it holds no data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["releasegate/queued/1"] = "releasegate/queued/1"
    id: str
    state: RequestState
    source: Literal["inbox", "http", "event"]
    name: str
    """Name of the document as received."""
    handed_in_by: str = ""
    """Login or token that it came from."""
    hand_ins: tuple[Submission, ...] = ()
    """Others that have submitted the same request since."""
    title: str = ""
    """Title of the request; empty where the document could not be read."""
    recipients: tuple[str, ...] = ()
    """Ids of its recipients."""
    requested_by: str = ""
    """The requester, as the document names them."""
    request_sha256: str
    roots: tuple[str, ...] = ()
    """Folders that it may name files in."""
    inputs: str | None = None
    """Digest of the SHA-256 of every file that it names."""
    code: str | None = None
    """Digest of the program that its id depends on."""
    arrival: str
    """Identifies one arrival of a file, so that a file taken in twice counts once."""
    token: str = Field(default_factory=new_token)
    """Identifies this entry in the ledger and to the orchestrator."""
    accepted_at: datetime
    attempt: int = 1
    lost: int = 0
    """Runs that ended without a verdict for a reason of their own."""
    not_before: datetime | None = None
    """Earliest time of the next attempt."""
    waits_for: str = ""
    """The server that does not answer, while it waits for one."""
    waiting_since: datetime | None = None
    release_id: str | None = None
    """The release that it led to."""
    verdicts: dict[str, str] = {}
    """State of the release by recipient, when last seen."""
    reason: dict[str, str] = {}
    """Reason that it was refused or failed, or that its last attempt failed."""
    recorded: bool = False
    """Whether the ledger records the refusal or failure."""
    ended_by: str = ""
    """Person who cancelled it, as the ledger names actors; empty where nobody has."""
    finished_at: datetime | None = None
    seconds: float | None = None
    """Time of work, without waiting for reviewers."""

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """Everybody who has submitted it, in order."""
        return (Submission(self.handed_in_by, self.accepted_at), *self.hand_ins)

    @property
    def actor(self) -> str:
        """Actor in whose name it runs: the first who submitted it, with every other login that did."""
        logins = (login for one in self.hand_ins for login in sorted(one.logins))
        return reduce(submitted_again, logins, self.handed_in_by)

    @property
    def is_open(self) -> bool:
        """Whether it has no verdict yet."""
        return self.state in OPEN


def submitted_again(first: str, login: str) -> str:
    """Actor of a request that a login submits again: the first login, and every other one that submitted it."""
    if login.casefold() in {login_of(first), *other_submitters(first)}:
        return first
    name, _, told = first.partition(" (")
    earlier = f"{told.removesuffix(')')}, " if told else ""
    return f"{name} ({earlier}submitted again by {login})"


class Queue:
    """The queue of a workspace; any number of processes may use it at once."""

    def __init__(self, workspace: Workspace) -> None:
        self._folder = workspace.private / "queue"
        self._done = self._folder / "done"
        self._documents = workspace.private / "requests"

    def prepare(self) -> None:
        """Create the folders."""
        for folder in (self._folder, self._done, self._documents):
            folder.mkdir(mode=0o700, exist_ok=True)

    def document(self, sha256: str) -> Path:
        """Path of a document, in a folder of its own so that relative paths in it lead to no other document."""
        return self._documents / sha256 / "request.yaml"

    def notes(self, name: str) -> RunNotes:
        """The notes of a request's run."""
        return RunNotes(self._folder, name)

    def changing(self) -> AbstractContextManager[None]:
        """Exclude other changes of the queue. Raises WorkspaceError if another process changes it for too long."""
        refused = WorkspaceError(
            "the queue of requests is locked",
            where=str(self._folder),
            expected="access within half a minute",
            got="a process that does not release the lock",
            fix="end the process that holds queue/.lock",
        )
        return locked(self._folder / ".lock", refused, wait_seconds=_LONGEST_WAIT)

    def get(self, name: str) -> QueuedRequest | None:
        """A request by its id; None if there is none. Raises WorkspaceError if its file is damaged."""
        return _read(self._folder / f"{name}.json") or _read(self._done / f"{name}.json")

    def open_entries(self) -> tuple[QueuedRequest, ...]:
        """Requests without a verdict, oldest first."""
        return _oldest_first(self._folder)

    def done_entries(self) -> tuple[QueuedRequest, ...]:
        """Requests with a verdict, oldest first."""
        return _oldest_first(self._done)

    def changed(self) -> tuple[int, int]:
        """Times of the last changes of the folders of requests without and with a verdict, in nanoseconds."""
        first, last = (folder.stat().st_mtime_ns if folder.is_dir() else 0 for folder in (self._folder, self._done))
        return first, last

    def damaged(self) -> tuple[Path, ...]:
        """Entries that cannot be read; they are skipped until somebody has looked at them."""
        return tuple(path for folder in (self._folder, self._done) for path, entry in _scan(folder) if entry is None)

    def put(self, entry: QueuedRequest) -> None:
        """Write an entry to the folder of its state; call it while `changing`."""
        here, there = (self._folder, self._done) if entry.is_open else (self._done, self._folder)
        write_whole(here / f"{entry.id}.json", entry.model_dump_json(indent=1).encode() + b"\n")
        (there / f"{entry.id}.json").unlink(missing_ok=True)
        sync_folder(self._folder)

    def update(self, seen: QueuedRequest, **changes: object) -> QueuedRequest | None:
        """Change an entry; None if it was changed or taken in anew since it was seen."""
        with self.changing():
            now = self.get(seen.id)
            if now is None or (now.token, now.state, now.attempt) != (seen.token, seen.state, seen.attempt):
                return None
            changed = now.model_copy(update=changes)
            self.put(changed)
            return changed

    def tidy(self) -> None:
        """Finish what a crash between two renames left: a request with a verdict is no longer open."""
        with self.changing():
            done = {(path.name, entry.token) for path, entry in _scan(self._done) if entry is not None}
            for path, entry in _scan(self._folder):
                if entry is not None and (path.name, entry.token) in done:
                    path.unlink()
            for draft in [*self._folder.glob(".*.json-*"), *self._done.glob(".*.json-*")]:
                draft.unlink(missing_ok=True)
            for lock in self._folder.glob("run-*.lock"):
                with suppress(FileNotFoundError):
                    if time.time() - lock.stat().st_mtime > _OLD_LOCK and not is_locked(lock):
                        lock.unlink()

    def claimed(self, name: str, *, wait_seconds: float = 0.0) -> AbstractContextManager[bool]:
        """Claim a request or a run for this process; yields False if another process holds it for the time given.

        The name is a request's id, or `run_name` of a run. A claim shows, to other machines too, that the process is
        alive.
        """
        return try_lock(self._folder / f"{name}.lock", wait_seconds=wait_seconds)

    def is_claimed(self, name: str) -> bool:
        """Whether some process works on a request or a run."""
        try:
            return is_locked(self._folder / f"{name}.lock")
        except FileNotFoundError:
            return False


def run_name(run: object) -> str:
    """Name under which a run is claimed, by the orchestrator's id of it."""
    return f"run-{run}"


def _oldest_first(folder: Path) -> tuple[QueuedRequest, ...]:
    found = [entry for _, entry in _scan(folder) if entry is not None]
    return tuple(sorted(found, key=lambda one: (one.accepted_at, one.id)))


def _scan(folder: Path) -> Iterator[tuple[Path, QueuedRequest | None]]:
    """Files of entries, each with its entry; None if it is damaged."""
    for path in sorted(folder.glob("[0-9a-f]*.json")):
        try:
            entry = _read(path)
        except WorkspaceError:
            yield path, None
        else:
            if entry is not None:  # not moved away meanwhile
                yield path, entry


def _read(path: Path) -> QueuedRequest | None:
    try:
        status = path.stat()
        return _parsed(path, status.st_ino, status.st_mtime_ns, status.st_size)
    except FileNotFoundError:
        return None
    except ValidationError:
        raise WorkspaceError(
            "an entry of the queue is damaged",
            where=str(path),
            expected="the file that the service wrote",
            got="a file of another form",
            fix="move the file away, and submit the request again",
        ) from None


@lru_cache(_MOST_PARSED)
def _parsed(path: Path, *_identity: int) -> QueuedRequest:
    """An entry, parsed once for each file: a change puts another file in its place."""
    return QueuedRequest.model_validate_json(path.read_bytes())
