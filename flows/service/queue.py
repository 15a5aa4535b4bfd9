"""The queue: what was asked of the gate, from acceptance to verdict, as files in the workspace's private folder.

::

    .releasegate/
      queue/<id>.json            a request that has no verdict yet
      queue/<id>.lock            held by the process that works on it
      queue/run-<run>.lock       held by the process of a run
      queue/done/<id>.json       one that has: decided, refused or failed
      requests/<sha256>/request.yaml   the document, for as long as decisions rest on it

A request is named by its release id; one that cannot be read, by the SHA-256 of its bytes. The files and the ledger are
the truth; whatever orchestrates runs may be lost without losing a request.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from flows.locking import alone, is_held
from flows.service.files import sync_folder, write_whole
from flows.workspace import Workspace
from tasks.errors import WorkspaceError

_LONGEST_WAIT = 30.0
_OLD_LOCK = 24 * 3600.0
"""Age in seconds past which the lock of a run that nobody holds was left by one that was killed."""


class State(StrEnum):
    """How far a request has come."""

    ACCEPTED = "accepted"
    """To be run, or running."""
    AWAITING_REVIEW = "awaiting review"
    """Decided but for its reviewers."""
    DECIDED = "decided"
    """Every recipient has a verdict."""
    REFUSED = "refused"
    """Request or data cannot be used."""
    FAILED = "failed"
    """No decision could be made; nothing leaves."""


OPEN = frozenset({State.ACCEPTED, State.AWAITING_REVIEW})


class Entry(BaseModel):
    """One request; nothing in it is data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["releasegate/queued/1"] = "releasegate/queued/1"
    id: str
    state: State
    source: Literal["inbox", "http", "event"]
    name: str
    """What the document was called when it came."""
    request_sha256: str
    roots: tuple[str, ...] = ()
    """Folders that it may name files in."""
    inputs: str | None = None
    """Digest of the SHA-256 of every file that it names."""
    code: str | None = None
    """Digest of the program that its id names."""
    arrival: str
    """Tells one arrival of a file from another, so that one that was taken in twice counts once."""
    token: str
    """Names this entry in the ledger and to the orchestrator."""
    accepted_at: datetime
    attempt: int = 1
    lost: int = 0
    """Runs that ended without a verdict for a reason of their own."""
    not_before: datetime | None = None
    """When to try again."""
    release_id: str | None = None
    """The release it came to."""
    reopened: int = 0
    """How often an officer has put that before its reviewers again, as far as this request was moved on for it."""
    verdicts: dict[str, str] = {}
    """Where the release stood for each recipient when it was looked at last."""
    reason: dict[str, str] = {}
    """Why it was refused or failed, or why its last attempt did."""
    recorded: bool = False
    """Whether the ledger says so."""
    finished_at: datetime | None = None
    seconds: float | None = None
    """Of work, waiting for reviewers left out."""

    @property
    def is_open(self) -> bool:
        """Whether it has no verdict yet."""
        return self.state in OPEN


class Queue:
    """The queue of a workspace; any number of processes may use it at once."""

    def __init__(self, workspace: Workspace) -> None:
        self._folder = workspace.private / "queue"
        self._done = self._folder / "done"
        self.documents = workspace.private / "requests"
        """Folder of the documents."""

    def prepare(self) -> None:
        """Make the folders."""
        for folder in (self._folder, self._done, self.documents):
            folder.mkdir(mode=0o700, exist_ok=True)

    def document(self, sha256: str) -> Path:
        """Place of a document, in a folder of its own: paths that it names lead nowhere beside it."""
        return self.documents / sha256 / "request.yaml"

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let nobody else change the queue meanwhile.

        Raises
        ------
        WorkspaceError
            If somebody else does so for too long.
        """
        refused = WorkspaceError(
            "the queue of requests is locked",
            where=str(self._folder),
            expected="to be let in within half a minute",
            got="another process that does not end",
            fix="end the process that holds queue/.lock",
        )
        with alone(self._folder / ".lock", refused, wait_seconds=_LONGEST_WAIT):
            yield

    def get(self, name: str) -> Entry | None:
        """A request by its id; None where there is none.

        Raises
        ------
        WorkspaceError
            If its file is damaged.
        """
        return _read(self._folder / f"{name}.json") or _read(self._done / f"{name}.json")

    def open_entries(self) -> tuple[Entry, ...]:
        """Requests without a verdict, the oldest first."""
        return _sorted(self._folder)

    def done_entries(self) -> tuple[Entry, ...]:
        """Requests with a verdict, the oldest first."""
        return _sorted(self._done)

    def damaged(self) -> tuple[Path, ...]:
        """Entries that cannot be read; they are passed over until somebody has looked at them."""
        found = []
        for path in (*_entry_files(self._folder), *_entry_files(self._done)):
            try:
                _read(path)
            except WorkspaceError:
                found.append(path)
        return tuple(found)

    def put(self, entry: Entry) -> None:
        """Write an entry to where it belongs; call it while `changing`."""
        content = entry.model_dump_json(indent=1).encode() + b"\n"
        if entry.is_open:
            write_whole(self._folder / f"{entry.id}.json", content)
            (self._done / f"{entry.id}.json").unlink(missing_ok=True)
        else:
            write_whole(self._done / f"{entry.id}.json", content)
            (self._folder / f"{entry.id}.json").unlink(missing_ok=True)
        sync_folder(self._folder)

    def change(self, name: str, token: str, made: Callable[[Entry], Entry]) -> Entry | None:
        """Replace an open entry by what a function makes of it; None where it is not open any more.

        Parameters
        ----------
        name, token : str
            Of the entry; another token means that the request was taken in anew meanwhile.
        made : callable
        """
        with self.changing():
            entry = _read(self._folder / f"{name}.json")
            if entry is None or entry.token != token or not entry.is_open:
                return None
            changed = made(entry)
            self.put(changed)
            return changed

    def reopen(self, entry: Entry, often: int) -> Entry | None:
        """Let a decided request wait for its reviewers again; None where it is not what it was.

        Parameters
        ----------
        entry : Entry
        often : int
            How often its release has been put before them again by now.
        """
        with self.changing():
            if _read(self._done / f"{entry.id}.json") != entry or _read(self._folder / f"{entry.id}.json") is not None:
                return None
            changes = {"state": State.AWAITING_REVIEW, "finished_at": None, "recorded": False, "reopened": often}
            waiting = entry.model_copy(update=changes | {"attempt": entry.attempt + 1})
            self.put(waiting)
            return waiting

    def mark_recorded(self, entry: Entry) -> None:
        """Note that the ledger tells of a request's refusal or failure."""
        with self.changing():
            now = _read(self._done / f"{entry.id}.json")
            if now is not None and now.token == entry.token:
                self.put(now.model_copy(update={"recorded": True}))

    def tidy(self) -> None:
        """Finish what a crash between two renames left: a request with a verdict is open no more."""
        with self.changing():
            for path in _entry_files(self._folder):
                with suppress(WorkspaceError):
                    entry, done = _read(path), _read(self._done / path.name)
                    if entry is not None and done is not None and entry.token == done.token:
                        path.unlink()
            for draft in [*self._folder.glob(".*.json-*"), *self._done.glob(".*.json-*")]:
                draft.unlink(missing_ok=True)
            for lock in self._folder.glob("run-*.lock"):
                with suppress(FileNotFoundError):
                    if time.time() - lock.stat().st_mtime > _OLD_LOCK and not is_held(lock):
                        lock.unlink()

    def working_on(self, name: str) -> Path:
        """Lock of the process that works on a request."""
        return self._folder / f"{name}.lock"

    @contextmanager
    def working(self, name: str, *, wait_seconds: float = 0.0) -> Iterator[bool]:
        """Say that this process works on a request; whether no other does, or none any more after a while."""
        taken = WorkspaceError("another process works on this request", where=name[:12])
        try:
            with alone(self.working_on(name), taken, wait_seconds=wait_seconds):
                yield True
        except WorkspaceError as error:
            if error is not taken:
                raise
            yield False

    @contextmanager
    def running(self, run: str) -> Iterator[None]:
        """Say that this process is that of a run, so that it can be seen from other machines whether it is alive.

        Parameters
        ----------
        run : str
            The orchestrator's id of it.

        Raises
        ------
        WorkspaceError
            If another process says so.
        """
        taken = WorkspaceError("another process is at work on this run", where=run)
        path = self._running(run)
        with alone(path, taken, wait_seconds=_LONGEST_WAIT):
            try:
                yield
            finally:
                path.unlink(missing_ok=True)

    def is_running(self, run: str) -> bool:
        """Whether the process of a run is alive."""
        try:
            return is_held(self._running(run))
        except FileNotFoundError:
            return False

    def _running(self, run: str) -> Path:
        return self._folder / f"run-{run}.lock"

    def is_worked_on(self, name: str) -> bool:
        """Whether some process works on a request."""
        path = self.working_on(name)
        return path.exists() and is_held(path)


def new_token() -> str:
    """A name for a new entry."""
    return secrets.token_hex(16)


def _sorted(folder: Path) -> tuple[Entry, ...]:
    found = []
    for path in _entry_files(folder):
        with suppress(WorkspaceError):
            entry = _read(path)
            if entry is not None:
                found.append(entry)
    return tuple(sorted(found, key=lambda one: (one.accepted_at, one.id)))


def _entry_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9a-f]*.json"))


def _read(path: Path) -> Entry | None:
    try:
        return Entry.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise WorkspaceError(
            "an entry of the queue is damaged",
            where=str(path),
            expected="what the service wrote",
            got="something else",
            fix="move the file away, and ask for the release again",
        ) from None
