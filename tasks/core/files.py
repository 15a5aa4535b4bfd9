"""Small private files that are written whole or not at all, and are on disk when a call returns."""

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.core.errors import WorkspaceError

_HASH_BYTES = 1024 * 1024


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of mode 0600, replacing one that is there; its folder is made where it is missing.

    Raises
    ------
    OSError
        If the system refuses; an earlier file is unchanged then.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _draft(path, content) as draft:
        draft.replace(path)
        sync_folder(path.parent)


def write_new(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 that must not be there yet; of several processes that do so at once, one succeeds.

    Raises
    ------
    FileExistsError
        If there is such a file.
    OSError
        If the system refuses; nothing is written then.
    """
    with _draft(path, content) as draft:
        os.link(draft, path)
        sync_folder(path.parent)


def check_private(path: Path) -> None:
    """Refuse the file of a private key that other users may read.

    Raises
    ------
    WorkspaceError
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise WorkspaceError(
            "other users may read the private key",
            where=str(path),
            expected="permissions 0600",
            got=f"{mode:04o}",
            fix="Set its permissions to 0600; if somebody may have read it, replace the key.",
        )


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _draft(path: Path, content: bytes) -> Iterator[Path]:
    """A complete file next to a path, removed at the end unless it was moved."""
    draft = path.with_name(f".{path.name.removeprefix('.')}-{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, read in pieces."""
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(_HASH_BYTES):
            hasher.update(piece)
    return hasher.hexdigest()
