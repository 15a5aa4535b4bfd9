"""The inbox: a folder that requests are dropped into.

A file is read once it has kept its size and time for a while, so that one that is still being written is left alone.
What was taken in is moved to ``accepted/``; what cannot be used to ``refused/``, beside a text that says why. Hidden
files, links and files of other names are left where they are: data of a request may lie beside it.
"""

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flows.service.config import Service
from flows.service.files import sync_folder, write_whole
from flows.service.intake import Arrival, Received, receive
from flows.service.logs import log, log_problem
from flows.service.queue import Entry, State
from tasks.errors import ReleasegateError
from tasks.request.document import MAXIMUM_BYTES

ACCEPTED, REFUSED = "accepted", "refused"
_SUFFIXES = (".yaml", ".yml")
_LONGEST_PAUSE = 300.0


@dataclass(frozen=True)
class _Looked:
    """A file as it was when it was looked at."""

    identity: tuple[int, int, int, int]
    since: float
    tries: int = 0
    not_before: float = 0.0


class Inbox:
    """Takes in what is dropped."""

    def __init__(self, service: Service, folder: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._folder = folder
        self._monotonic = monotonic
        self._known: dict[str, _Looked] = {}

    def prepare(self) -> None:
        """Make the folders that files are moved to."""
        for name in (ACCEPTED, REFUSED):
            (self._folder / name).mkdir(mode=0o750, exist_ok=True)

    def tick(self) -> list[Received]:
        """Look into the inbox, and take in what has settled.

        Raises
        ------
        OSError
            If the folder cannot be read.
        """
        now, found, taken = self._monotonic(), {}, list[Received]()
        for path in sorted(self._folder.iterdir()):
            if path.name.startswith(".") or path.suffix.lower() not in _SUFFIXES:
                continue
            looked = self._look(path, now)
            if looked is None:
                continue
            if now - looked.since >= self._service.settings.inbox.settle_seconds and now >= looked.not_before:
                received = self._take(path, looked)
                if received is not None:
                    taken.append(received)
                    continue
                pause = min(2.0**looked.tries, _LONGEST_PAUSE)
                looked = _Looked(looked.identity, looked.since, looked.tries + 1, now + pause)
            found[path.name] = looked
        self._known = found
        return taken

    def _look(self, path: Path, now: float) -> _Looked | None:
        """The file with how long it has been as it is; None for what is no plain file."""
        try:
            status = path.lstat()
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        identity = _identity(status)
        known = self._known.get(path.name)
        return known if known is not None and known.identity == identity else _Looked(identity, now)

    def _take(self, path: Path, looked: _Looked) -> Received | None:
        """Take a file in and move it aside; None where that must be tried again."""
        try:
            content = _read(path)
            arrival = Arrival(
                content,
                "inbox",
                path.name,
                (self._folder, *self._service.roots),
                "inbox-" + "-".join(map(str, looked.identity)),
            )
            received = receive(self._service.workspace, arrival, most_queued=self._service.settings.limits.queued)
            self._move(path, received.entry, looked)
        except (ReleasegateError, OSError) as error:
            log_problem("a file of the inbox could not be taken in; it is tried again", error, file=path.name)
            return None
        log(
            f"a request was {received.entry.state.value}",
            request=received.entry.id,
            source="inbox",
            folded=received.folded or None,
            file=path.name,
        )
        return received

    def _move(self, path: Path, entry: Entry, looked: _Looked) -> None:
        """Move a file aside; what cannot be used with the reason beside it.

        Hashing its data may have taken minutes: another file that has come in its place meanwhile stays, to be read.
        """
        refused = entry.state is State.REFUSED
        folder = self._folder / (REFUSED if refused else ACCEPTED)
        target = folder / f"{path.stem}.{entry.token[:8]}{path.suffix}"
        if refused:
            lines = [f"{part}: {text}" for part, text in entry.reason.items()]
            write_whole(target.with_name(target.name + ".reason.txt"), ("\n".join(lines) + "\n").encode())
        with suppress(FileNotFoundError):
            if _identity(path.lstat()) == looked.identity:
                path.replace(target)
        sync_folder(folder)
        sync_folder(self._folder)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    """Tells a file from others of its name, and from itself after it was written to."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _read(path: Path) -> bytes:
    """At most one byte more than a request may have; no link is followed."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
        return stream.read(MAXIMUM_BYTES + 1)
