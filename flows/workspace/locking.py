"""Locks between processes: files that the system unlocks when their holder ends, however it ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.workspace.progress import step
from tasks.core.errors import WorkspaceError

_POLL_SECONDS = 0.1


@contextmanager
def locked(path: Path, refused: WorkspaceError, *, wait_seconds: float = 0.0, waiting: str = "") -> Iterator[None]:
    """Hold a lock for as long as the block runs.

    The lock's file at `path` is made where it is missing, in an existing folder, and stays. Raises `refused` where
    another process holds it for longer than `wait_seconds`; `waiting` is shown once as progress meanwhile.
    """
    with try_lock(path, wait_seconds=wait_seconds, waiting=waiting) as taken:
        if not taken:
            raise refused
        yield


@contextmanager
def try_lock(path: Path, *, wait_seconds: float = 0.0, waiting: str = "") -> Iterator[bool]:
    """Hold a lock for as long as the block runs; yields whether it could be had, see `locked`."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as lock:
        deadline = time.monotonic() + wait_seconds
        shown = False
        while not (taken := _taken(lock.fileno())) and time.monotonic() < deadline:
            if not shown:
                step(waiting)
                shown = True
            time.sleep(_POLL_SECONDS)
        yield taken


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock of an existing file."""
    with path.open("r") as lock:
        return not _taken(lock.fileno(), fcntl.LOCK_SH)


def _taken(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
