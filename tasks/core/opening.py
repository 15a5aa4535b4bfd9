"""Opening and reading files of people who may exchange or change them meanwhile; nothing here follows a link or waits.

A path that was resolved and checked may lead elsewhere by the time that it is opened. Here every folder on the way is
opened by itself, so that what is opened lies where the path says.
"""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_AT_ONCE = 1024 * 1024
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW


def open_unlinked(path: Path) -> BinaryIO:
    """Open a regular file at an absolute path without links in it; an OSError where it is anything else."""
    folder = os.open(path.anchor, _FOLDER)
    try:
        for name in path.parts[1:-1]:
            inner = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return _regular(os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder))
    finally:
        os.close(folder)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file, links followed; an OSError where it is anything else, such as a pipe, which would wait."""
    return _regular(os.open(path, os.O_RDONLY | os.O_NONBLOCK))


def _regular(descriptor: int) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return os.fdopen(descriptor, "rb")


def read_unchanged(stream: BinaryIO, write: Callable[[bytes], object] = lambda _: None) -> str | None:
    """SHA-256 of a file that was just opened, every piece of it handed on; None where it changes meanwhile.

    No more is read than it held when it was opened, so that an end comes however fast it grows.
    """
    before, digest = os.fstat(stream.fileno()), hashlib.sha256()
    left = before.st_size
    while left and (piece := stream.read(min(left, _AT_ONCE))):
        digest.update(piece)
        write(piece)
        left -= len(piece)
    after = os.fstat(stream.fileno())
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return digest.hexdigest() if same and not left else None
