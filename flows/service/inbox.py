"""The inbox: a folder that requests are dropped into.

A file is read once its size and time have not changed for a while, so that a file still being written is left alone.
Accepted files are moved to ``accepted/``, unusable ones to ``refused/`` beside a text with the reason. Hidden files,
links and files with other names stay where they are: a request's data may lie beside it.
"""

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from flows.service.config import Service
from flows.service.intake import Arrival, Received, receive
from flows.service.logs import log, log_problem
from flows.service.queue import QueuedRequest, RequestState
from tasks.core.errors import ReleasegateError
from tasks.core.files import sync_folder, write_whole
from tasks.request.document import MAXIMUM_BYTES

ACCEPTED, REFUSED = "accepted", "refused"
_SUFFIXES = (".yaml", ".yml")
_PAUSE = 30.0
"""Seconds, besides those to settle, until a file is tried again."""


_Identity = tuple[int, int, int, int]
"""Distinguishes a file from others of its name, and from itself after a change."""


class InboxWatcher:
    """Takes in the files of a folder."""

    def __init__(self, service: Service, folder: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._folder = folder
        self._monotonic = monotonic
        self._seen: dict[str, tuple[_Identity, float]] = {}
        """By name, files as last seen, and since when they are unchanged."""

    def prepare(self) -> None:
        """Create the folders that files are moved to."""
        for name in (ACCEPTED, REFUSED):
            (self._folder / name).mkdir(mode=0o750, exist_ok=True)

    def tick(self) -> list[Received]:
        """Take in the files that have settled.

        Raises
        ------
        OSError
            If the folder cannot be read.
        """
        now, taken = self._monotonic(), list[Received]()
        seen: dict[str, tuple[_Identity, float]] = {}
        for path in sorted(self._folder.iterdir()):
            if path.name.startswith(".") or path.suffix.lower() not in _SUFFIXES:
                continue
            identity = _identity(path)
            if identity is None:
                continue
            known, since = self._seen.get(path.name, (identity, now))
            if known != identity:
                since = now
            if now - since >= self._service.settings.inbox.settle_seconds:
                received = self._take(path, identity)
                if received is not None:
                    taken.append(received)
                    continue
                since = now + _PAUSE
            seen[path.name] = identity, since
        self._seen = seen
        return taken

    def _take(self, path: Path, identity: _Identity) -> Received | None:
        """Take a file in and move it aside; None if that must be tried again."""
        identifier = "inbox-" + "-".join(map(str, identity))
        try:
            arrival = Arrival(_read(path), "inbox", path.name, (self._folder, *self._service.roots), identifier)
            received = receive(self._service.workspace, arrival, most_queued=self._service.settings.limits.queued)
            self._move(path, received.entry, identity)
        except (ReleasegateError, OSError) as error:
            log_problem("a file of the inbox could not be taken in; will be tried again", error, file=path.name)
            return None
        entry, folded = received.entry, received.folded or None
        log(f"a request was {entry.state.value}", request=entry.id, source="inbox", folded=folded, file=path.name)
        return received

    def _move(self, path: Path, entry: QueuedRequest, identity: _Identity) -> None:
        """Move a file aside; one that was refused gets the reason beside it.

        Hashing its data may have taken minutes: a file that has replaced it meanwhile stays, to be read.
        """
        refused = entry.state is RequestState.REFUSED
        folder = self._folder / (REFUSED if refused else ACCEPTED)
        target = folder / f"{path.stem}.{entry.token[:8]}{path.suffix}"
        if refused:
            lines = "".join(f"{part}: {text}\n" for part, text in entry.reason.items())
            write_whole(target.with_name(target.name + ".reason.txt"), lines.encode())
        if _identity(path) == identity:
            path.replace(target)
        sync_folder(folder)
        sync_folder(self._folder)


def _identity(path: Path) -> _Identity | None:
    """Identity of a regular file; None for anything else."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def _read(path: Path) -> bytes:
    """Read one byte more than a request may have, at most; no link is followed."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
        return stream.read(MAXIMUM_BYTES + 1)
