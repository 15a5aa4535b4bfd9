"""Putting a bundle's files on disk, and reporting what the system refuses."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.core.errors import WorkspaceError


def flush(folder: Path) -> None:
    """Put every file and folder below, and the folder itself, on disk."""
    for root, _, names in os.walk(folder):
        for name in names:
            sync(Path(root, name))
        sync(Path(root))


def sync(path: Path) -> None:
    """Put a file, or what a folder lists, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Report what the system refuses, without its own message's detail."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(
            "the bundle cannot be written",
            where=str(path),
            expected="folders that can be written to, with space left on their disk",
            got=error.strerror or type(error).__name__,
            fix="Check the free space and the permissions, and run again.",
        ) from None
