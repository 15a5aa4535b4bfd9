"""The inbox: a folder that requests are dropped into.

A file is read once its size and time have not changed for a while, so that a file still being written is left alone.
Accepted files are moved to ``accepted/``, unusable ones to ``refused/`` beside a text with the reason. Hidden files,
links and files with other names stay where they are: a request's data may lie beside it.
"""

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
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
_LONGEST_PAUSE = 300.0


@dataclass(frozen=True)
class _SeenFile:
    """A file as last seen."""

    identity: tuple[int, int, int, int]
    since: float
    tries: int = 0
    not_before: float = 0.0


class InboxWatcher:
    """Takes in the files of a folder."""

    def __init__(self, service: Service, folder: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._folder = folder
        self._monotonic = monotonic
        self._seen: dict[str, _SeenFile] = {}

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
        now, found, taken = self._monotonic(), dict[str, _SeenFile](), list[Received]()
        for path in sorted(self._folder.iterdir()):
            if path.name.startswith(".") or path.suffix.lower() not in _SUFFIXES:
                continue
            seen = self._look(path, now)
            if seen is None:
                continue
            if now - seen.since >= self._service.settings.inbox.settle_seconds and now >= seen.not_before:
                received = self._take(path, seen)
                if received is not None:
                    taken.append(received)
                    continue
                pause = min(2.0**seen.tries, _LONGEST_PAUSE)
                seen = replace(seen, tries=seen.tries + 1, not_before=now + pause)
            found[path.name] = seen
        self._seen = found
        return taken

    def _look(self, path: Path, now: float) -> _SeenFile | None:
        """The file and since when it is unchanged; None if it is not a regular file."""
        try:
            status = path.lstat()
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        identity = _identity(status)
        known = self._seen.get(path.name)
        return known if known is not None and known.identity == identity else _SeenFile(identity, now)

    def _take(self, path: Path, seen: _SeenFile) -> Received | None:
        """Take a file in and move it aside; None if that must be tried again."""
        identifier = "inbox-" + "-".join(map(str, seen.identity))
        try:
            arrival = Arrival(_read(path), "inbox", path.name, (self._folder, *self._service.roots), identifier)
            received = receive(self._service.workspace, arrival, most_queued=self._service.settings.limits.queued)
            self._move(path, received.entry, seen)
        except (ReleasegateError, OSError) as error:
            log_problem("a file of the inbox could not be taken in; will be tried again", error, file=path.name)
            return None
        entry, folded = received.entry, received.folded or None
        log(f"a request was {entry.state.value}", request=entry.id, source="inbox", folded=folded, file=path.name)
        return received

    def _move(self, path: Path, entry: QueuedRequest, seen: _SeenFile) -> None:
        """Move a file aside; one that was refused gets the reason beside it.

        Hashing its data may have taken minutes: a file that has replaced it meanwhile stays, to be read.
        """
        refused = entry.state is RequestState.REFUSED
        folder = self._folder / (REFUSED if refused else ACCEPTED)
        target = folder / f"{path.stem}.{entry.token[:8]}{path.suffix}"
        if refused:
            lines = "".join(f"{part}: {text}\n" for part, text in entry.reason.items())
            write_whole(target.with_name(target.name + ".reason.txt"), lines.encode())
        with suppress(FileNotFoundError):
            if _identity(path.lstat()) == seen.identity:
                path.replace(target)
        sync_folder(folder)
        sync_folder(self._folder)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    """Distinguishes a file from others of its name, and from itself after a change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _read(path: Path) -> bytes:
    """Read one byte more than a request may have, at most; no link is followed."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
        return stream.read(MAXIMUM_BYTES + 1)
