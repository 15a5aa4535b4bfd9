"""Temporary files of workers, such as the renderer's fonts: in a folder of the workspace, swept once nobody holds it.

Workers are ended by signals and tidy nothing up. The folder is removed by the command that has started them or, where
that was killed too, by the next one: a folder that none of their processes holds any more is abandoned.
"""

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "temporary-"
_descriptors: dict[Path, int] = {}
"""Open folders, which this process and those forked from it hold."""


def temporary_folder(private: Path | None) -> Path:
    """A path for such a folder, in the workspace's private one or, without a workspace, among the system's."""
    parent, prefix = (private, _PREFIX) if private else (Path(tempfile.gettempdir()), "releasegate-")
    return parent / f"{prefix}{secrets.token_hex(8)}"


def hold_temporary_folder(folder: Path) -> bool:
    """Make the folder, hold it until this process and those forked from it end, and use it for temporary files.

    False where its parent is not there yet. An OSError says that it cannot be made: no temporary file goes elsewhere.
    """
    if folder not in _descriptors or not folder.is_dir():
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            _descriptors[folder] = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            return False
        fcntl.flock(_descriptors[folder], fcntl.LOCK_SH)
    tempfile.tempdir = str(folder)
    return True


@contextmanager
def held_folder(private: Path) -> Iterator[Path]:
    """A new folder for as long as the block runs; among the system's where the workspace has no private one yet."""
    folder = temporary_folder(private if private.is_dir() else None)
    folder.mkdir(mode=0o700)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def remove_abandoned_folders(private: Path) -> None:
    """Remove folders of a workspace that no process holds."""
    for folder in private.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # one that is held, or is removed at this moment
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
